//! The program as a function: arguments, a way to read files, and out come status and text.

use std::io;

use super::arguments::{HELP, Invocation, parse_options};
use super::dump::{DUMP_HELP, dump};
use super::file::CheckFile;
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
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// The checks and what became of them, if it came to matching.
    pub matched: Option<Box<(CheckFile, Report)>>,
}

impl Finished {
    fn refused(status: u8, message: &str) -> Self {
        Self { status, stderr: format!("error: {message}\n"), ..Self::default() }
    }
}

/// Runs the program. `read` reads a named file, or standard input for no name. What stands in `FILECHECK_OPTS` has to
/// be put before the arguments.
pub fn program<S: AsRef<str>>(
    arguments: &[S],
    read: impl FnMut(Option<&str>) -> io::Result<Vec<u8>>,
) -> Finished {
    match parse_options(arguments) {
        Ok(Invocation::Match(options)) => run(&options, read),
        Ok(Invocation::Help) => Finished { stdout: help(), ..Finished::default() },
        Ok(Invocation::Version) => {
            let version =
                concat!("FileCheck (", env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"), ")\n");
            Finished { stdout: version.to_owned(), ..Finished::default() }
        }
        Err(error) => Finished::refused(error.exit_status(), &error.to_string()),
    }
}

/// Runs with options that are already read.
pub fn run(options: &Options, mut read: impl FnMut(Option<&str>) -> io::Result<Vec<u8>>) -> Finished {
    if options.dump_input == DumpInput::Help {
        return Finished { stdout: DUMP_HELP.to_owned(), ..Finished::default() };
    }
    let check_name = options.check_file.as_deref().unwrap_or("-");
    let mut read = |name: &str| read(Some(name).filter(|name| *name != "-"));
    let checks = match read(check_name) {
        Ok(bytes) => Source::new(check_name, bytes),
        Err(error) => {
            return Finished::refused(2, &format!("{check_name}: the check file cannot be read: {error}"));
        }
    };
    let file = match CheckFile::parse(&checks, options) {
        Ok(file) => file,
        Err(errors) => {
            let status = errors.first().map_or(2, super::CheckError::exit_status);
            return Finished { status, stderr: errors_text(&checks, &errors), ..Finished::default() };
        }
    };
    let input_name = options.input_file.as_deref().unwrap_or("-");
    let input = match read(input_name) {
        Ok(bytes) => bytes,
        Err(error) => {
            return Finished::refused(2, &format!("{input_name}: the input cannot be read: {error}"));
        }
    };
    let report = file.run(&input);
    let shown_name = if input_name == "-" { "<stdin>" } else { input_name };
    let subject = Subject { checks: &checks, file: &file, input_name: shown_name, input: &input };
    let mut stderr = report_text(&subject, &report);
    let status = report.exit_status();
    if options.dump_input == DumpInput::Always || (status == 1 && options.dump_input == DumpInput::Fail) {
        stderr.push_str(&dump(&subject, &report, options));
    }
    if options.color {
        stderr = painted(&stderr);
    }
    Finished { status, stdout: String::new(), stderr, matched: Some(Box::new((file, report))) }
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
