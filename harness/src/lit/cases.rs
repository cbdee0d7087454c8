//! Cases of programs that list and run their own tests, as googletest's and Rust's do. Each case is run in a process of its own, so that
//! one that crashes takes no other with it, and is reconciled: what was listed has exactly one result, else it has none.

use super::config::{Format, Test};
use super::execute::{Context, environment};
use super::log::LineRan;
use super::outcome::{Code, Outcome};
use super::pipeline::{Program, program};
use super::shell::{Abort, Ran};
use super::{googletest, libtest, redirect};
use crate::process::{self, End};
use runproof_directives::lit::python::quote;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// An executable that lists its cases.
#[derive(Debug, PartialEq, Eq)]
pub struct TestProgram {
    /// Where it is.
    pub path: PathBuf,
    /// Words that start it.
    pub words: Vec<String>,
    /// The folder in which it runs.
    pub folder: PathBuf,
}

/// What of a program a test is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A case, by the name that the program lists.
    Case(String),
    /// Its listing, which does not hold: what is wrong with it.
    Listing(String),
}

/// A program and what of it a test is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfProgram {
    /// The program.
    pub program: Arc<TestProgram>,
    /// What of it.
    pub part: Part,
}

/// What a program said of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// Passed, failed, or left out by the program itself.
    pub code: Code,
    /// What is said of a failure, or why it was left out.
    pub why: String,
}

/// Why a case that was listed has no result.
pub(super) const NOT_REPORTED: &str = "listed and not reported";

/// Stands where the line of a directive does in other tests.
pub const PLACE: &str = "its program";

/// Words that make a program of this format list its cases.
pub(super) fn listing_arguments(format: &Format) -> &'static [&'static str] {
    match format {
        Format::Libtest { .. } => &["--list", "--format", "terse"],
        // Without those that are disabled, which are not run either.
        _ => &["--gtest_list_tests", "--gtest_filter=-*DISABLED_*"],
    }
}

/// What a program finds in its environment besides what the suite says. Rust's own programs may call cargo or rustup, and those have to
/// go by the user's settings: without them rustup may install toolchains that it was told not to.
pub(super) fn of_the_user(format: &Format) -> impl Iterator<Item = (String, String)> {
    let is_rust = matches!(format, Format::Libtest { .. });
    let all = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    all.filter(move |(name, _)| is_rust && is_of_the_user(name))
}

fn is_of_the_user(name: &str) -> bool {
    name.starts_with("CARGO") || name.starts_with("RUSTUP") || name == "RUST_BACKTRACE"
}

/// Runs a test that is part of a program.
pub(super) fn run(test: &Test, of: &OfProgram, number: usize, context: &Context) -> Result<Outcome, Abort> {
    let frozen = &test.config.frozen;
    let failed = |why: String| Abort::Exception(why);
    if frozen.unsupported && matches!(frozen.format, Format::Libtest { .. }) {
        return Ok(Outcome::new(Code::Unsupported, "Test is unsupported"));
    }
    if context.no_execute {
        return Ok(Outcome::new(Code::Pass, ""));
    }
    let mut argv = of.program.words.clone();
    let mut env = environment(test, context);
    for (name, value) in of_the_user(&frozen.format) {
        env.entry(name).or_insert(value);
    }
    // Which cases are run is said here and nowhere else.
    env.retain(|name, _| !googletest::CHOOSES.contains(&name.as_str()));
    let reports = matches!(frozen.format, Format::Googletest { .. });
    let report =
        reports.then(report_file).transpose().map_err(|e| failed(format!("no report can be made: {e}")))?;
    match (&of.part, &frozen.format) {
        (Part::Listing(_), format) => argv.extend(listing_arguments(format).iter().map(|a| (*a).to_owned())),
        (Part::Case(name), Format::Libtest { .. }) => {
            argv.extend([name.as_str(), "--exact", "--color", "never"].map(str::to_owned));
        }
        (Part::Case(name), _) => {
            argv.push(format!("--gtest_filter={name}"));
            env.extend(
                report.iter().map(|path| ("GTEST_OUTPUT".to_owned(), format!("json:{}", path.display()))),
            );
        }
    }
    let limit = frozen.timeout;
    let started = process::now();
    let done = program(&Program {
        marker: &format!("{}/{number}", context.marker),
        folder: &of.program.folder,
        argv: &argv,
        env,
        limit: (limit > 0).then(|| Duration::from_secs(limit)),
        merged: false,
        interrupt: &context.interrupt,
    })
    .map_err(|e| failed(redirect::os_error(&e, &argv[0])))?;
    if done.end == End::Interrupted {
        return Err(Abort::Interrupted);
    }
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let timed_out = done.end == End::TimedOut;
    let said = match (&of.part, &frozen.format) {
        _ if timed_out => Said { code: Code::Timeout, why: format!("Reached timeout of {limit} seconds") },
        (Part::Listing(why), _) => Said { code: Code::Unresolved, why: why.clone() },
        (Part::Case(name), format) => {
            let result = match format {
                Format::Libtest { .. } => libtest::said_of(&out, name),
                _ => {
                    let text = report.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
                    googletest::said_of(text.as_deref(), name)
                }
            };
            settled(result, done.status)
        }
    };
    let script = argv.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    let output = match said.code {
        Code::Pass => String::new(),
        Code::Unsupported => said.why,
        _ => format!("{}\n\n{script}\n--\n{out}{err}\n--\n", said.why.trim_end()),
    };
    let ran = Ran {
        program: which::which(&argv[0]).ok(),
        words: argv,
        stdout: done.stdout,
        stderr: done.stderr,
        status: done.status,
        code: done.status,
        timed_out,
        files: Vec::new(),
    };
    let line =
        LineRan { place: PLACE.to_owned(), script, commands: vec![ran], started, ended: process::now() };
    let lines = if context.keep { vec![line] } else { Vec::new() };
    Ok(Outcome { lines, status: done.status, limit, ..Outcome::new(said.code, output) })
}

/// A place for a report where nothing is yet: a file that is there says that the program got to its end.
pub(super) fn report_file() -> std::io::Result<tempfile::TempPath> {
    let path = tempfile::Builder::new().prefix("gtest-").suffix(".json").tempfile()?.into_temp_path();
    std::fs::remove_file(&path)?;
    Ok(path)
}

/// What a case came to, by what the program said of it and by how the program ended.
fn settled(said: Result<Said, String>, status: i32) -> Said {
    match said {
        Err(why) => Said { code: Code::Unresolved, why: format!("{why}; the program {}", ended(status)) },
        Ok(Said { code: Code::Pass, .. }) if status != 0 => Said {
            code: Code::Fail,
            why: format!("it was reported as passed, and the program {}", ended(status)),
        },
        Ok(said) => said,
    }
}

fn ended(status: i32) -> String {
    if status < 0 {
        return format!("died of {}", process::status::signal_name(-status));
    }
    format!("exited {status}")
}

/// Where the test is run.
pub fn folder(test: &Test) -> Option<&Path> {
    Some(&test.of_program.as_ref()?.program.folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_and_how_it_ended_have_to_agree() {
        let said = |code| Ok(Said { code, why: "said".to_owned() });
        let check = |result: Result<Said, String>, status, code, why: &str| {
            assert_eq!(settled(result, status), Said { code, why: why.to_owned() });
        };
        check(said(Code::Pass), 0, Code::Pass, "said");
        check(said(Code::Pass), 3, Code::Fail, "it was reported as passed, and the program exited 3");
        check(said(Code::Fail), 0, Code::Fail, "said");
        check(said(Code::Unsupported), 0, Code::Unsupported, "said");
        check(Err("no".to_owned()), 0, Code::Unresolved, "no; the program exited 0");
        check(Err("no".to_owned()), -11, Code::Unresolved, "no; the program died of SIGSEGV");
    }
}
