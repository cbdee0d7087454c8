//! The directive language: text in, directives, commands, patterns and findings out.
//!
//! Everything here is pure. What must not enter: files, processes, clocks, devices, the record schema.
//! A file is read by [`read`], which never fails: it returns what it understood *and* every finding, so that
//! one bad line does not hide the rest. What needs to know the declared features and hosts is
//! [`check_universe`].

mod attributes;
mod bind;
pub mod check;
mod checkers;
mod classify;
pub mod codes;
pub mod command;
mod comment;
mod contradictions;
pub mod expect;
mod explain;
pub mod expr;
pub mod finding;
mod head;
pub mod lit;
mod lit_places;
pub mod model;
pub mod patterns;
mod payload;
mod prefixes;
mod prose;
mod pushed;
mod raw;
mod reader;
pub mod source;
mod spelling;
mod syntax;
pub mod table;
pub mod text;
mod universe;

pub use explain::{explain, reference_markdown};
pub use finding::{Finding, Severity};
pub use lit_places::own_lines;
pub use model::TestFile;
pub use reader::read;
pub use source::{Source, Span};
pub use spelling::nearest;
pub use syntax::{Dialect, ExpectMode, Syntax};
pub use universe::{Universe, check_universe, mentioned_features};
