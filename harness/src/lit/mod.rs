//! Suites written for lit, run with lit's verdicts: its configuration, its shell, its result lines. `runproof lit` stands in the
//! place of the program; suites with `dialect = "lit"` are run by the same code under `runproof test`.
//!
//! What must not enter: the strict dialect, devices, probes, tiers. What lit does to a line of text is in
//! [`runproof_directives::lit`].

mod builtin;
pub mod cases;
pub mod config;
mod diff;
pub mod discover;
pub mod execute;
pub mod export;
pub mod frozen_suite;
mod getopt;
pub mod googletest;
mod hunks;
mod libtest;
mod log;
mod outcome;
mod pipeline;
mod prepare;
pub mod programs;
pub mod python;
mod readfile;
mod redirect;
pub mod report;
pub mod run;
mod shell;
mod split_file;
pub mod times;

pub use config::{Config, Format, SuiteInfo, Test};
pub use execute::Context;
pub use log::LineRan;
pub use outcome::{Code, Outcome, Trap};
pub use shell::Ran;
