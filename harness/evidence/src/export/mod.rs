//! Views of a bundle in formats that others read: JUnit XML, CTRF, GitHub annotations, an in-toto statement.
//!
//! Each is made from a read [`crate::Bundle`] alone and can be made again; none is a source of truth. Every
//! announced test is in every list, so a lost or skipped test is never a smaller total.

mod annotations;
mod ctrf;
mod junit;
mod statement;
mod visible;

pub use annotations::github;
pub use ctrf::ctrf;
pub use junit::junit;
pub use statement::test_result;
pub use visible::visible;

use crate::read::Test;
use runproof_records::record::{Command, Exit, Record, Target};

/// `alpha/run.vx` on the host, `alpha/run.vx on h200` on a device: what a report calls a test.
pub fn title(test: &Test) -> String {
    match target(&test.key.target) {
        "host" => test.key.test.clone(),
        target => format!("{} on {target}", test.key.test),
    }
}

fn target(target: &Target) -> &str {
    match target {
        Target::Host => "host",
        Target::Shim => "shim",
        Target::Device { id } => id,
    }
}

/// Path of the test file, relative to the suite's root: the test id without its variant.
fn file(test: &Test) -> &str {
    let has_variant = test.attempts.last().is_some_and(|r| !r.variant.is_empty());
    match test.key.test.rfind('[') {
        Some(at) if has_variant && test.key.test.ends_with(']') => &test.key.test[..at],
        _ => &test.key.test,
    }
}

/// The line that a report points at: the first check that does not hold, else the first command that does not.
fn line(record: &Record) -> u32 {
    let check = record.result.checks.iter().find(|c| c.executed > 0 && !c.held).map(|c| c.line);
    let command =
        || record.commands.iter().find(|c| !c.exit_held && c.exit != Exit::NotReached).map(|c| c.line);
    check.or_else(command).unwrap_or(1)
}

/// How each command of an attempt ended, with the last bytes of its output, control bytes visible.
fn transcript(bundle: &std::path::Path, record: &Record) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for command in record.commands.iter().filter(|c| c.exit != Exit::NotReached) {
        let _ = writeln!(
            out,
            "$ {}\n  {}, expected {}",
            visible(command.script.as_bytes()),
            ended(command),
            command.expected
        );
        for (name, output) in [("stdout", &command.stdout), ("stderr", &command.stderr)] {
            let Some(log) = &output.log else { continue };
            let (text, cut) = tail(&bundle.join(log));
            let _ = writeln!(
                out,
                "--- {name}{}\n{}",
                if cut { " (its end; all of it is in the bundle)" } else { "" },
                text
            );
        }
    }
    out
}

fn ended(command: &Command) -> String {
    match &command.exit {
        Exit::Code { code } => format!("exit {code}"),
        Exit::Signal { name, .. } => format!("signal {name}"),
        Exit::NotStarted { why } => format!("could not be started: {why}"),
        Exit::TimedOut { limit_ms } => format!("timed out after {limit_ms} ms"),
        Exit::Interrupted => "interrupted".into(),
        Exit::NotReached => "not reached".into(),
    }
}

/// Bytes of each stream that a report carries; the bundle holds all of it.
const TAIL: u64 = 32 * 1024;

fn tail(path: &std::path::Path) -> (String, bool) {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let read = || -> std::io::Result<(Vec<u8>, bool)> {
        let mut file = std::fs::File::open(path)?;
        let skip = file.metadata()?.len().saturating_sub(TAIL);
        file.seek(SeekFrom::Start(skip))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok((bytes, skip > 0))
    };
    match read() {
        Ok((bytes, cut)) => (visible(&bytes), cut),
        Err(e) => (format!("{}: {e}", path.display()), false),
    }
}
