//! runproof: a test harness that proves where a test ran.
//!
//! The flow is the house: text (`runproof-directives`) → [`suite`] and [`plan`] → [`run`] → records → publish.

pub mod cli;
pub mod device;
pub mod diag;
pub mod exit;
pub mod explain;
pub mod library;
pub mod lit;
pub mod placement;
pub mod plan;
pub mod probe;
pub mod process;
pub mod report;
pub mod run;
pub mod shell;
pub mod suite;
pub mod temporary;

pub use library::Suite;
