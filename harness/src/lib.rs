//! runproof: a test harness that proves where a test ran.

pub mod device;
pub mod placement;
pub mod probe;
