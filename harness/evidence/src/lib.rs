//! Evidence: the tier function, the bundle (written and read), what is exported from it, and the matrix.
//!
//! No processes, no devices, no clock: dates and times come from the caller or from the records. What must
//! not enter: a way to hand in a tier. The bundle writer computes it when it appends a record.

pub mod bundle;
pub mod digest;
pub mod export;
pub mod matrix;
pub mod read;
pub mod sign;
pub mod tier;

pub use bundle::{BundleError, BundleWriter};
pub use read::{Bundle, ReadError};
pub use sign::Signer;
