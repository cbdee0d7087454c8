//! The directive language: text in, directives, commands, patterns and findings out.
//!
//! Everything here is pure. What must not enter: files, processes, clocks, devices, the record schema.
//! A file is read by [`read`], which never fails: it returns what it understood *and* every finding, so that
//! one bad line does not hide the rest.

pub mod check;
pub mod command;
pub mod expr;
pub mod finding;
pub mod model;
pub mod source;
pub mod text;

pub use finding::{Finding, Severity};
pub use model::TestFile;
pub use source::{Source, Span};
