//! The runproof harness: scratch module list of this branch.

pub mod process;
pub mod shell;
