//! `filecheck`: the matcher as a program, with FileCheck's arguments and exit statuses (0 the checks hold, 1 they do
//! not, 2 the check file or the input is no good), so that it can stand in its place.

use super::args::FilecheckArgs;
use runproof_directives::check::{Wording, program};
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

/// Runs the matcher. What stands in `FILECHECK_OPTS` comes before the arguments.
pub fn run(args: &FilecheckArgs) -> ExitCode {
    let first = std::env::var("FILECHECK_OPTS").unwrap_or_default();
    let arguments: Vec<&str> =
        first.split_whitespace().chain(args.arguments.iter().map(String::as_str)).collect();
    let finished = program(Wording::Llvm, &arguments, |name| match name {
        Some(name) => std::fs::read(name),
        None => {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes)?;
            Ok(bytes)
        }
    });
    // A reader that went away is no failure of the checks.
    let _ = std::io::stdout().write_all(&finished.stdout);
    let _ = std::io::stderr().write_all(&finished.stderr);
    ExitCode::from(finished.status)
}
