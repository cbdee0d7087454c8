//! runproof: a test harness that proves where a test ran.
//!
//! The flow is the house: text (`runproof-directives`) → [`suite`] and plan → run → records → publish.

pub mod cli;
pub mod diag;
pub mod exit;
pub mod near;
pub mod report;
pub mod run;
pub mod suite;
