//! runproof: a test harness that proves where a test ran.

pub mod process;
pub mod shell;
