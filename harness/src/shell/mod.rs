//! Runs command lines without a shell process. A line of builtins alone starts nothing.
//!
//! What must not enter: what a test expects of a command, and how programs are started and ended
//! (see [`crate::process`]).

mod builtin;
mod diff;
mod files;
mod glob;
mod prefix;
mod real;
mod run;
mod stage;
mod state;
mod stream;

pub use builtin::is_builtin;
pub use real::run_in_real_shell;
pub use run::{CommandOutcome, Program, RunEnv, ScriptExit, StageOutcome, run_script};
pub use state::ShellState;
pub use stream::{Input, Output};

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// A program of the harness itself that the command language does not know: a matcher, a file splitter.
pub trait ExternalBuiltin: Sync {
    /// Runs it; the value is its exit code. Text for the user goes to `stderr`.
    fn run(&self, call: ExternalCall<'_>) -> i32;
}

/// What an [`ExternalBuiltin`] gets.
pub struct ExternalCall<'a> {
    /// Arguments, the name first.
    pub argv: &'a [String],
    /// Standard input.
    pub stdin: Input,
    /// Working folder; relative names are relative to it.
    pub cwd: &'a Path,
    /// Environment of the command.
    pub env: &'a BTreeMap<String, String>,
    /// Standard output.
    pub stdout: &'a mut dyn Write,
    /// Standard error.
    pub stderr: &'a mut dyn Write,
}

/// Where programs of the harness are looked up.
pub trait Builtins: Sync {
    /// The program of this name.
    fn get(&self, name: &str) -> Option<&dyn ExternalBuiltin>;
}

/// Only what the command language itself has.
impl Builtins for () {
    fn get(&self, _name: &str) -> Option<&dyn ExternalBuiltin> {
        None
    }
}
