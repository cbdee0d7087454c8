//! FileCheck as a library: a check file and an input to a verdict, with every failure, match and near miss as data.
//!
//! The verdicts are those of LLVM's program (22), habits included; what goes beyond it is added to the report and never
//! changes a verdict. Reading order: `scan` finds the check lines, `pattern_text` reads their patterns, `file`
//! puts them together, `run` matches; `ere` is the expression engine. What is said has two wordings: `text` and `dump`
//! are our own, `llvm` is that program's, made from the steps that `log` keeps.
//!
//! Where it differs from that program, on purpose: an `--implicit-check-not` that is no pattern is refused, not just
//! complained of; so is a `-D#N=` without a value, which that program does not survive; and a back-reference that fails
//! at the very end of the input is no match, which its engine takes for one. Nesting, counts and sizes that it takes
//! until memory or time run out are refused from a bound on, and arguments are not read from `@FILE`.
//!
//! What must not enter: files, processes, the environment, and the harness's own directives.

mod arguments;
mod canonical;
mod dump;
mod ere;
mod error;
mod expression;
mod file;
mod format;
mod integer;
mod intended;
mod llvm;
mod log;
mod near;
mod numeric_block;
mod options;
mod pattern;
mod pattern_text;
mod place;
mod program;
mod report;
mod run;
mod scan;
mod steps;
mod text;
mod variables;

pub use arguments::{ArgumentError, HELP, Invocation, parse_options};
pub use dump::{DUMP_HELP, dump};
pub use ere::EreError;
pub use error::{CheckError, CheckErrorKind, NameFault, NumericError, Place};
pub use file::{CheckFile, Directive};
pub use near::{Difference, Near};
pub use options::{DumpFilter, DumpInput, Options};
pub use program::{Finished, Wording, program, run};
pub use report::{Binding, Failure, FailureKind, Matched, Note, Outcome, Reason, Report};
pub use scan::Kind;
pub use text::{Subject, errors_text, report_text};
