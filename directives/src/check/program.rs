//! The program as a function: arguments, a way to read files, and out come status and text.

use std::io;

use super::arguments::{HELP, Invocation, parse_options};
use super::canonical::Canonical;
use super::dump::{DUMP_HELP, dump};
use super::file::CheckFile;
use super::llvm::{self, Scene};
use super::log::Log;
use super::options::{DumpInput, Options};
use super::report::Report;
use super::text::{Subject, errors_text, report_text};
use crate::source::Source;

/// What a call of the program came to.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// Exit status: 0, 1 or 2.
    pub status: u8,
    /// For standard output.
    pub stdout: Vec<u8>,
    /// For standard error. Pieces of the files stand in it as they are, so it need not be UTF-8.
    pub stderr: Vec<u8>,
    /// The checks and what became of them, if it came to matching.
    pub matched: Option<Box<(CheckFile, Report)>>,
}

/// In whose words the program speaks. The verdict is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// Our own: everything that is wrong, with near misses and ways out.
    Own,
    /// Those of LLVM's program, for what reads its text.
    Llvm,
}

impl Finished {
    fn said(status: u8, text: impl Into<Vec<u8>>) -> Self {
        Self { status, stderr: text.into(), ..Self::default() }
    }

    fn shown(text: impl Into<Vec<u8>>) -> Self {
        Self { stdout: text.into(), ..Self::default() }
    }
}

/// Runs the program. `read` reads a named file, or standard input for no name. What stands in `FILECHECK_OPTS` has to
/// be put before the arguments.
pub fn program<S: AsRef<str>>(
    wording: Wording,
    arguments: &[S],
    read: impl FnMut(Option<&str>) -> io::Result<Vec<u8>>,
) -> Finished {
    match parse_options(arguments) {
        Ok(Invocation::Match(options)) => {
            let mut finished = run(wording, &options, read);
            if wording == Wording::Llvm && finished.matched.as_ref().is_some_and(|m| m.1.empty_input) {
                let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
                let line = format!("FileCheck command line:  FileCheck {}\n", arguments.join(" "));
                finished.stderr.extend_from_slice(line.as_bytes());
            }
            finished
        }
        Ok(Invocation::Help) => Finished::shown(help()),
        Ok(Invocation::Version) => Finished::shown(concat!(
            "FileCheck (",
            env!("CARGO_PKG_NAME"),
            " ",
            env!("CARGO_PKG_VERSION"),
            ")\n"
        )),
        Err(error) => {
            let text = match wording {
                Wording::Own => format!("error: {error}\n"),
                Wording::Llvm => llvm::argument_text(&error),
            };
            Finished::said(error.exit_status(), text)
        }
    }
}

/// Runs with options that are already read.
pub fn run(
    wording: Wording,
    options: &Options,
    mut read: impl FnMut(Option<&str>) -> io::Result<Vec<u8>>,
) -> Finished {
    if options.dump_input == DumpInput::Help {
        return Finished::shown(match wording {
            Wording::Own => DUMP_HELP,
            Wording::Llvm => llvm::DUMP_HELP,
        });
    }
    let mut read = |name: &str| read(Some(name).filter(|name| *name != "-"));
    let unreadable = |what: &str, name: &str, error: &io::Error| {
        let text = match wording {
            Wording::Own => format!("error: {name}: the {what} file cannot be read: {error}\n"),
            Wording::Llvm => {
                let reason = error.to_string();
                let reason = reason.split(" (os error").next().unwrap_or_default();
                format!("Could not open {what} file '{name}': {reason}\n")
            }
        };
        Finished::said(2, text)
    };
    // Prefixes that cannot be are refused before anything is read.
    let check_name = options.check_file.as_deref().unwrap_or("-");
    let prefix_errors = options.prefix_errors();
    let checks = match if prefix_errors.is_empty() { read(check_name) } else { Ok(Vec::new()) } {
        Ok(bytes) => Source::new(check_name, bytes),
        Err(error) => return unreadable("check", check_name, &error),
    };
    let file = match CheckFile::parse(&checks, options) {
        Ok(file) => file,
        Err(errors) => {
            let status = errors.first().map_or(2, super::CheckError::exit_status);
            let mut text = Vec::new();
            match wording {
                Wording::Own => text.extend_from_slice(errors_text(&checks, &errors).as_bytes()),
                Wording::Llvm => {
                    llvm::errors_text(&mut text, check_name, &checks.bytes, options, &errors);
                }
            }
            return Finished::said(status, text);
        }
    };
    let input_name = options.input_file.as_deref().unwrap_or("-");
    let input = match read(input_name) {
        Ok(bytes) => bytes,
        Err(error) => return unreadable("input", input_name, &error),
    };
    let shown_name = if input_name == "-" { "<stdin>" } else { input_name };
    let (report, stderr) = match wording {
        Wording::Own => own_words(&checks, &file, shown_name, &input, options),
        Wording::Llvm => llvm_words(&checks, &file, shown_name, &input, options),
    };
    let status = report.exit_status();
    Finished { status, stdout: Vec::new(), stderr, matched: Some(Box::new((file, report))) }
}

fn wants_dump(options: &Options, report: &Report) -> bool {
    let fails = report.exit_status() == 1;
    options.dump_input == DumpInput::Always || (fails && options.dump_input == DumpInput::Fail)
}

fn own_words(
    checks: &Source,
    file: &CheckFile,
    input_name: &str,
    input: &[u8],
    options: &Options,
) -> (Report, Vec<u8>) {
    let report = file.run(input);
    let subject = Subject { checks, file, input_name, input };
    let mut text = report_text(&subject, &report);
    if wants_dump(options, &report) {
        text.push_str(&dump(&subject, &report, options));
    }
    if options.color {
        text = painted(&text);
    }
    (report, text.into_bytes())
}

fn llvm_words(
    checks: &Source,
    file: &CheckFile,
    input_name: &str,
    input: &[u8],
    options: &Options,
) -> (Report, Vec<u8>) {
    let input = Canonical::new(input, options.strict_whitespace);
    let log = Log { level: options.verbosity, events: Vec::new() };
    let (report, log) = file.run_canonical(&input, Some(log));
    let mut text = Vec::new();
    if report.empty_input {
        text.extend_from_slice(format!("FileCheck error: '{input_name}' is empty.\n").as_bytes());
        return (report, text);
    }
    let checks_text = Canonical::new(&checks.bytes, options.strict_whitespace);
    let scene =
        Scene { options, check_name: &checks.name, checks: checks_text, file, input_name, input, log: &log };
    llvm::matches_text(&scene, &mut text, options.dump_input == DumpInput::Never && options.verbosity > 0);
    if wants_dump(options, &report) {
        llvm::dump(&scene, &mut text);
    }
    (report, text)
}

fn help() -> String {
    let mut text = "usage: FileCheck [options] CHECK-FILE < INPUT\n\n".to_owned();
    for (option, meaning) in HELP {
        text.push_str(&format!("  {option}\n        {meaning}\n"));
    }
    text
}

/// Severities in colour.
fn painted(text: &str) -> String {
    let mut painted = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let colour = [("error:", "\x1b[1;31m"), ("note:", "\x1b[1;36m")];
        match colour.iter().find(|(word, _)| line.starts_with(word)) {
            Some((word, start)) => {
                painted.push_str(start);
                painted.push_str(word);
                painted.push_str("\x1b[0m");
                painted.push_str(&line[word.len()..]);
            }
            None => painted.push_str(line),
        }
    }
    painted
}
