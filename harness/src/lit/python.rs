//! Suites whose configuration is Python: an installed lit is asked what it comes to. It finds the tests on the way.
//!
//! This is the only place where Python is needed, and a suite that was moved over with `runproof migrate` does without.

use super::config::{Config, Frozen, Marks, SuiteInfo, Test};
use super::discover::Discovered;
use crate::diag::Problem;
use crate::temporary;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

const FREEZE: &str = include_str!("freeze.py");
/// The status with which it says that this Python has no lit.
const NO_LIT: i32 = 77;
/// Keeps lit from what its environment says of workers, filters and shards: that is for whoever runs the tests.
const WHATEVER_IS_RUN: [&str; 5] =
    ["-j1", "--filter=.*", "--filter-out=^$", "--num-shards=1", "--run-shard=1"];

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Folders and files of suites.
    pub paths: Vec<PathBuf>,
    /// Parameters, `NAME=VALUE`.
    pub params: Vec<String>,
    /// Folders to put before PATH.
    pub folders: Vec<PathBuf>,
    /// First part of the names of lit's files; `lit` unless given.
    pub config_prefix: Option<String>,
    /// Seconds a test may take, over what suites say.
    pub timeout: Option<u64>,
    /// How often a test that failed is run again when nothing else says.
    pub retries: Option<u32>,
    /// `error`, `warning` or `note`: the least important of lit's messages that is shown.
    pub level: Option<&'static str>,
    /// lit says which files it reads.
    pub debug: bool,
    /// Programs with googletest's cases are tests as a whole, not in parts.
    pub whole_programs: bool,
    /// Each case of such a program is a test of its own. Suites whose configuration is Python do not know that.
    pub by_case: bool,
    /// Suites inside a suite are named and not looked into.
    pub one_suite: bool,
    /// Name of the program in messages; `lit` when it is empty.
    pub program: String,
}

impl Question {
    /// First part of the names of lit's files.
    pub fn prefix(&self) -> &str {
        self.config_prefix.as_deref().unwrap_or("lit")
    }

    fn program(&self) -> &str {
        if self.program.is_empty() { "lit" } else { &self.program }
    }

    /// Tells what lit would warn of, unless only errors are shown.
    pub(super) fn warn(&self, text: &str) {
        if self.level != Some("error") {
            eprintln!("{}: warning: {text}", self.program());
        }
    }

    /// Tells what is good to know, where that is asked for.
    pub(super) fn note(&self, text: &str) {
        if self.level == Some("note") {
            eprintln!("{}: note: {text}", self.program());
        }
    }

    /// lit's arguments that a configuration can see.
    fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        arguments.extend(self.params.iter().map(|p| format!("--param={p}").into()));
        for folder in &self.folders {
            arguments.extend(["--path".into(), folder.into()]);
        }
        let options = [
            self.config_prefix.as_ref().map(|p| format!("--config-prefix={p}")),
            self.timeout.map(|t| format!("--timeout={t}")),
            self.retries.map(|r| format!("--max-retries-per-test={r}")),
            self.level.map(|l| format!("--diagnostic-level={l}")),
            self.debug.then(|| "--debug".to_owned()),
            self.whole_programs.then(|| "--no-gtest-sharding".to_owned()),
        ];
        arguments.extend(options.into_iter().flatten().map(OsString::from));
        // A path that looks like an option is none. What `LIT_OPTS` says stands behind, so `--` cannot tell.
        let plain = |path: &PathBuf| match path.as_os_str().as_encoded_bytes() {
            [b'-', ..] => Path::new(".").join(path).into(),
            _ => path.into(),
        };
        arguments.extend(self.paths.iter().map(plain));
        arguments
    }
}

/// What lit said.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// Version of the lit that was asked.
    pub version: String,
    /// Suites.
    pub suites: Vec<AnswerSuite>,
    /// Configurations.
    pub configs: Vec<Frozen>,
    /// Number of the suite, path in the suite, number of the configuration.
    pub tests: Vec<(usize, String, usize)>,
    /// What is said of tests outside their files, by their places in `tests`.
    pub marks: BTreeMap<usize, Marks>,
    /// Every folder that was looked into, in the same way.
    pub folders: Vec<(usize, String, usize)>,
    /// Size of each parallelism group.
    pub groups: BTreeMap<String, usize>,
    /// Each command writes a profile of its own.
    pub coverage: bool,
    /// Warnings that were given on the way.
    pub warnings: u32,
    /// Errors that were told on the way.
    pub errors: u32,
}

/// A suite and where its configuration was found.
#[derive(Clone, Debug, Deserialize)]
pub struct AnswerSuite {
    /// The suite.
    #[serde(flatten)]
    pub info: SuiteInfo,
    /// lit's configuration file.
    pub file: PathBuf,
    /// It was asked for from its root on: every folder that lit looks into is known.
    pub whole: bool,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// lit has said why, and ended with this status.
    Ended(i32),
    /// It could not be asked, or the suite's own file is wrong.
    Problems(Vec<Problem>),
}

impl NoAnswer {
    /// Adds a way out to problems.
    pub(super) fn help(self, text: &str) -> Self {
        match self {
            Self::Problems(problems) => Self::Problems(problems.into_iter().map(|p| p.help(text)).collect()),
            ended @ Self::Ended(_) => ended,
        }
    }

    /// As problems. What lit said itself has been shown.
    pub fn problems(self) -> Vec<Problem> {
        match self {
            Self::Problems(problems) => problems,
            Self::Ended(status) => {
                let why = format!("lit gave up with status {status}; what it said stands above");
                vec![Problem::new("lit-configuration", why)]
            }
        }
    }
}

impl From<Answer> for Discovered {
    fn from(mut answer: Answer) -> Self {
        let suites: Vec<Arc<SuiteInfo>> = answer.suites.into_iter().map(|s| Arc::new(s.info)).collect();
        let configs: Vec<Arc<Config>> = answer.configs.into_iter().map(|c| Arc::new(c.into())).collect();
        let tests = answer
            .tests
            .into_iter()
            .enumerate()
            .filter_map(|(index, (suite, path, config))| {
                let test = Test::new(Arc::clone(suites.get(suite)?), path, Arc::clone(configs.get(config)?));
                Some(Test { marks: answer.marks.remove(&index).unwrap_or_default(), ..test })
            })
            .collect();
        Self {
            tests,
            groups: answer.groups,
            coverage: answer.coverage,
            warnings: answer.warnings,
            errors: answer.errors,
            ..Self::default()
        }
    }
}

/// Asks. Everything that lit prints goes to the user.
///
/// # Errors
/// No Python with lit is found, or lit gives up.
pub fn ask(question: &Question) -> Result<Answer, NoAnswer> {
    let folder = temporary_folder()?;
    let script = folder.path().join("freeze.py");
    let out = folder.path().join("answer.json");
    std::fs::write(&script, FREEZE)
        .map_err(|e| problem(format!("`{}` cannot be written: {e}", script.display())))?;
    let mut arguments: Vec<OsString> =
        vec![script.into(), out.clone().into(), question.program().into(), "--show-tests".into()];
    arguments.extend(WHATEVER_IS_RUN.map(OsString::from));
    arguments.extend(question.arguments());
    let done = with_lit(&arguments, false)?;
    if !done.status.success() || !out.is_file() {
        return Err(gave_up(&done));
    }
    let text = std::fs::read_to_string(&out).map_err(|e| problem(e.to_string()))?;
    serde_json::from_str(&text)
        .map_err(|e| problem(format!("what lit says of the suite cannot be read: {e}")))
}

/// Runs the tests with the installed lit; each name with lit's result.
///
/// # Errors
/// No Python with lit is found, or lit gives up.
pub fn verdicts(question: &Question) -> Result<BTreeMap<String, String>, NoAnswer> {
    #[derive(Deserialize)]
    struct Row {
        name: String,
        code: String,
    }
    #[derive(Deserialize)]
    struct Report {
        tests: Vec<Row>,
    }
    let folder = temporary_folder()?;
    let out = folder.path().join("results.json");
    let script =
        "import sys\ntry:\n    import lit.main\nexcept ImportError:\n    sys.exit(77)\nlit.main.main()\n";
    let mut arguments: Vec<OsString> = vec![
        "-c".into(),
        script.into(),
        "-q".into(),
        "--ignore-fail".into(),
        "-o".into(),
        out.clone().into(),
    ];
    arguments.extend(question.arguments());
    let done = with_lit(&arguments, true)?;
    if !out.is_file() {
        return Err(gave_up(&done));
    }
    let text = std::fs::read_to_string(&out).map_err(|e| problem(e.to_string()))?;
    let report: Report =
        serde_json::from_str(&text).map_err(|e| problem(format!("lit's results cannot be read: {e}")))?;
    Ok(report.tests.into_iter().map(|row| (row.name, row.code)).collect())
}

/// Runs the first Python that has lit. What it says goes to the user, or is kept when that is to be `quiet`.
fn with_lit(arguments: &[OsString], quiet: bool) -> Result<Output, NoAnswer> {
    let mut tried = Vec::new();
    for python in interpreters() {
        let command = duct::cmd(&python, arguments).stdin_null().unchecked();
        let command = if quiet { command.stdout_null().stderr_capture() } else { command };
        match command.run() {
            Ok(done) if done.status.code() == Some(NO_LIT) => {
                tried.push(format!("{} has no module `lit`", python.display()));
            }
            Ok(done) => return Ok(done),
            Err(e) => tried.push(format!("{}: {e}", python.display())),
        }
    }
    let why = if tried.is_empty() { "no Python is on PATH".to_owned() } else { tried.join("; ") };
    let text = format!("this suite's configuration is Python, and no lit is there to read it: {why}");
    let problem = Problem::new("lit-missing", text).help(
        "install lit (`pip install lit`), name its Python with RUNPROOF_PYTHON, or move the suite over with \
         `runproof migrate` where lit is installed",
    );
    Err(NoAnswer::Problems(vec![problem]))
}

/// lit has ended without an answer. What was kept of its words is shown.
fn gave_up(done: &Output) -> NoAnswer {
    let _ = std::io::stderr().write_all(&done.stderr);
    NoAnswer::Ended(done.status.code().filter(|c| *c != 0).unwrap_or(2))
}

fn temporary_folder() -> Result<tempfile::TempDir, NoAnswer> {
    let failed = |e| problem(format!("no temporary folder can be made: {e}")).help(temporary::NONE);
    tempfile::tempdir().map_err(failed)
}

fn problem(why: String) -> NoAnswer {
    NoAnswer::Problems(vec![Problem::new("lit-configuration", why)])
}

/// Pythons that may have lit, the best first.
fn interpreters() -> Vec<PathBuf> {
    let of_program = |name: &str| {
        let first = std::fs::read_to_string(which::which(name).ok()?).ok()?;
        let line = first.lines().next()?.strip_prefix("#!")?.trim().to_owned();
        let path = line.split_whitespace().find(|w| w.contains("python"))?.to_owned();
        if path.contains('/') { Some(PathBuf::from(path)) } else { which::which(path).ok() }
    };
    let mut found: Vec<PathBuf> = Vec::new();
    let candidates = [
        std::env::var_os("RUNPROOF_PYTHON").map(PathBuf::from),
        // A path of modules is meant for the Python that is called by its name.
        std::env::var_os("PYTHONPATH").and_then(|_| which::which("python3").ok()),
        of_program("lit"),
        of_program("llvm-lit"),
        which::which("python3").ok(),
        which::which("python").ok(),
    ];
    for candidate in candidates.into_iter().flatten() {
        if !found.contains(&candidate) {
            found.push(candidate);
        }
    }
    found
}
