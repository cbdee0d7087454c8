//! Test files as lit reads them: keywords anywhere in a line, substitutions that are regular expressions, a shell
//! language of its own. What lit takes for nothing is nothing here, too: the verdict has to be lit's. What the strict
//! rules say of the same file is found by [`crate::read`] and listed beside it.
//!
//! Source of every rule: the behaviour of lit 23.1.5, <https://llvm.org/docs/CommandGuide/lit.html>.
//!
//! What must not enter: files, processes, and the rules of the strict dialect.

mod condition;
mod pattern;
pub mod python;
mod scan;
pub mod shell;
mod substitute;

pub use condition::{evaluate, mentioned};
pub use pattern::Pattern;
pub use scan::{Directive, LitFile, scan, scan_others};
pub use substitute::{Substitution, expand, expand_line};

/// The version of lit whose verdicts these rules give.
pub const LIT_VERSION: &str = "23.1.5";
