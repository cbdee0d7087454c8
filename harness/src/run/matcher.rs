//! `FileCheck` as a program of the harness: the matcher of the directive language, run in process. What became of
//! each check line is kept, so that the record can say which lines were evaluated.
//!
//! The check lines of the test itself are those that the reader found, and no others: the matcher alone would also
//! take `CHECK:` in a link, in code or in prose for one.

use crate::plan::LoadedFile;
use crate::shell::{Builtins, ExternalBuiltin, ExternalCall, Input};
use runproof_directives::check::{CheckFile, Report, Subject, Wording, program};
use runproof_directives::patterns::only_checks;
use runproof_directives::{Source, Span};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The reader has refused a prefix that is unused without the suite's leave.
const READER_DECIDES: &str = "--allow-unused-prefixes";

/// Programs of the harness for one attempt of one test.
#[derive(Debug)]
pub struct Matchers {
    filecheck: FileCheck,
}

impl Matchers {
    /// For a test whose file stands at `test_file`: only check lines of that file are kept.
    pub fn new(test_file: PathBuf, file: &LoadedFile) -> Self {
        let checks = Source::new(file.path.as_str(), only_checks(&file.source, &file.test.checks));
        Self { filecheck: FileCheck { test_file, checks, matched: Mutex::default() } }
    }

    /// What was matched since the last call.
    pub fn take(&self) -> Vec<Matched> {
        std::mem::take(&mut *self.filecheck.matched.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Builtins for Matchers {
    fn get(&self, name: &str) -> Option<&dyn ExternalBuiltin> {
        (name == "FileCheck").then_some(&self.filecheck as &dyn ExternalBuiltin)
    }
}

/// One run of the matcher on the test's own check lines.
#[derive(Clone, Debug)]
pub struct Matched {
    /// One for each check line: line, keyword, times evaluated, whether it held.
    pub checks: Vec<(u32, String, u32, bool)>,
    /// What did not hold: where, and one sentence.
    pub failures: Vec<(Span, String)>,
    /// The checks and the input that they accepted, for trying them on others.
    pub accepted: Option<(Box<CheckFile>, Vec<u8>)>,
}

#[derive(Debug)]
struct FileCheck {
    test_file: PathBuf,
    /// Its check lines, called as messages call the file.
    checks: Source,
    matched: Mutex<Vec<Matched>>,
}

impl ExternalBuiltin for FileCheck {
    fn run(&self, call: ExternalCall<'_>) -> i32 {
        let ExternalCall { argv, stdin, cwd, env, stdout, stderr } = call;
        let from_environment = env.get("FILECHECK_OPTS").map(String::as_str).unwrap_or_default();
        let mut arguments: Vec<&str> =
            from_environment.split_whitespace().chain(argv.iter().skip(1).map(String::as_str)).collect();
        if arguments.iter().any(|word| cwd.join(word) == self.test_file) {
            arguments.push(READER_DECIDES);
        }
        let mut stdin = Some(stdin);
        let (mut own, mut input) = (false, Vec::new());
        let finished = program(Wording::Own, &arguments, |name| match name {
            None => {
                let bytes = stdin.take().map_or_else(|| Ok(Vec::new()), Input::read_all)?;
                input.clone_from(&bytes);
                Ok(bytes)
            }
            Some(name) => {
                let path = cwd.join(name);
                // The check file is read first; the same file may then be the input, as it is.
                if path == self.test_file && !std::mem::replace(&mut own, true) {
                    return Ok(self.checks.bytes.clone());
                }
                read(&path)
            }
        });
        // A reader that went away (`| head`) is no failure of the matcher.
        let _ = stdout.write_all(&finished.stdout);
        let _ = stderr.write_all(&finished.stderr);
        if let (true, Some(matched)) = (own, finished.matched) {
            let (file, report) = *matched;
            let mut kept = keep(&self.checks, &file, &report, &input);
            kept.accepted = (report.exit_status() == 0).then(|| (Box::new(file), input));
            self.matched.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
        }
        i32::from(finished.status)
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn keep(source: &Source, file: &CheckFile, report: &Report, input: &[u8]) -> Matched {
    let subject = Subject { checks: source, file, input_name: "<stdin>", input };
    let directives = file.directives();
    let checks = directives
        .iter()
        .zip(&report.outcomes)
        .enumerate()
        .filter(|(_, (directive, _))| directive.line > 0)
        .map(|(index, (directive, outcome))| {
            let held = !report.empty_input && !report.failures.iter().any(|f| f.directive == index);
            (directive.line, directive.name(), outcome.executed, held)
        })
        .collect();
    let failures = report
        .failures
        .iter()
        .map(|failure| (directives[failure.directive].span, subject.headline(failure)))
        .collect();
    Matched { checks, failures, accepted: None }
}
