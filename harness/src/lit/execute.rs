//! One test: read, decided, run, given lit's result.

use super::cases;
use super::config::{Format, Test};
use super::googletest::{self, How};
use super::log::{LineRan, Log};
use super::outcome::{Code, Outcome, Trap};
use super::shell::{Abort, Shell, State, real};
use crate::process::{Deadline, End, Interrupt, Limits};
use runproof_directives::lit::shell::{Line, parse};
use runproof_directives::lit::{Directive, LitFile, Substitution, evaluate, expand};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// A name that looks like a substitution.
static UNKNOWN: LazyLock<regex::Regex> =
    LazyLock::new(|| regex::Regex::new(r"%\{[a-zA-Z_/][-\w:/]*\}").expect("a fixed pattern"));

/// Characters of an output that are shown when nothing is said.
pub const OUTPUT_LIMIT: usize = 10_240;

/// End of the substitutions that stand for a path without links.
pub(super) const REAL: &str = ":real}";
/// Variables that name a temporary folder.
pub(super) const TEMPORARY: [&str; 4] = ["TMP", "TMPDIR", "TEMP", "TEMPDIR"];
/// Marks a test as unsupported whatever holds: lit's name of a feature that every such test has.
pub const UNSUPPORTED_MARK: &str = "lit-unsupported-marker";

/// What all tests of a run share.
#[derive(Debug)]
pub struct Context {
    /// Marks processes, before a test's number.
    pub marker: String,
    /// Folders that were put before PATH: a real shell is looked for there first.
    pub path: Vec<PathBuf>,
    /// Temporary folder of the run: in `TMPDIR` and the like; `None` leaves them as they are.
    pub tmp: Option<PathBuf>,
    /// Nothing is run: what would be is passed.
    pub no_execute: bool,
    /// Characters of an output that are shown.
    pub output_limit: usize,
    /// Each command writes a profile of its own.
    pub coverage: bool,
    /// Expected failures are left out.
    pub exclude_xfail: bool,
    /// Tests are parts of programs with googletest's cases, not whole ones.
    pub gtest_sharding: bool,
    /// Such programs run their cases in random order.
    pub shuffle: bool,
    /// A test that failed is not run again here.
    pub one_attempt: bool,
    /// What was run is kept with its outputs.
    pub keep: bool,
    /// Whoever runs the test also runs what is not lit's in it.
    pub runs_own: bool,
    /// Ends everything.
    pub interrupt: Interrupt,
}

impl Context {
    /// As lit runs tests when nothing is said. `marker` is unique among runs that may be alive at one time.
    pub fn new(marker: &str, tmp: Option<PathBuf>, interrupt: Interrupt) -> Self {
        Self {
            marker: format!("{marker}/{}/{:x}", std::process::id(), crate::process::now().utc),
            path: Vec::new(),
            tmp,
            no_execute: false,
            output_limit: OUTPUT_LIMIT,
            coverage: false,
            exclude_xfail: false,
            gtest_sharding: true,
            shuffle: false,
            one_attempt: false,
            keep: false,
            runs_own: false,
            interrupt,
        }
    }
}

/// Runs a test; `None` when the run was interrupted.
pub fn execute(test: &Test, number: usize, context: &Context) -> Option<Outcome> {
    let started = Instant::now();
    let outcome = contained(|| by_format(test, number, context))?;
    Some(Outcome { elapsed: started.elapsed(), ..outcome })
}

/// What panics in one test takes no other with it.
fn contained(work: impl FnOnce() -> Option<Outcome>) -> Option<Outcome> {
    // Only what tests share outlives the panic: counters behind locks, and pipes.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let why = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it did not say why");
        Some(Outcome::new(Code::Unresolved, format!("runproof itself failed in this test: {why}\n")))
    })
}

fn by_format(test: &Test, number: usize, context: &Context) -> Option<Outcome> {
    Some(match (&test.of_program, &test.config.frozen.format) {
        (Some(of), _) => plain(test, cases::run(test, of, number, context))?,
        (None, Format::Shell { external, preamble, .. }) => {
            let mut file = ShellTest { test, number, context, external: *external, preamble };
            file.run()?
        }
        (None, Format::None | Format::Libtest { .. }) => {
            Outcome::new(Code::Unresolved, "The test has no format.\n")
        }
        (None, Format::Googletest { run_under, python, .. }) => {
            let how = How { run_under, python: python.as_deref() };
            plain(test, googletest::run(test, number, context, &how))?
        }
        (None, Format::Executable) => plain(test, executable(test, number, context))?,
        (None, Format::Python { class }) => {
            let why = format!(
                "Tests of the format `{class}` are run by Python code of their suite, which only lit can call.\n"
            );
            Outcome::new(Code::Unresolved, why)
        }
    })
}

/// Why a test will not be run here, when that can be said without running it.
pub fn foresee(test: &Test, bytes: &[u8]) -> Option<String> {
    let frozen = &test.config.frozen;
    if !matches!(frozen.format, Format::Shell { .. }) {
        return None;
    }
    if frozen.unsupported {
        return Some("the folder's configuration says that its tests are unsupported".to_owned());
    }
    let file = test.scan(bytes).ok()?;
    gate(test, &file).ok().flatten().map(|outcome| outcome.output)
}

/// The outcome of a test without `RUN` lines, after what is expected of it.
fn plain(test: &Test, ran: Result<Outcome, Abort>) -> Option<Outcome> {
    let outcome = match ran {
        Ok(outcome) => outcome,
        Err(Abort::Interrupted) => return None,
        Err(Abort::Exception(why) | Abort::Error { message: why, .. }) => exception(&why),
    };
    Some(match expected_to_fail(test, &[]) {
        Ok(expected) => as_expected(outcome, expected),
        Err(why) => Outcome::new(Code::Unresolved, why),
    })
}

/// A program that passes by its exit status. Its environment is lit's own, not the suite's.
fn executable(test: &Test, number: usize, context: &Context) -> Result<Outcome, Abort> {
    if test.config.frozen.unsupported {
        return Ok(Outcome::new(Code::Unsupported, ""));
    }
    let argv = [test.source().display().to_string()];
    let own = std::env::vars_os().filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?)));
    let done = super::pipeline::program(&super::pipeline::Program {
        marker: &format!("{}/{number}", context.marker),
        folder: &std::env::current_dir().unwrap_or_default(),
        argv: &argv,
        env: own.chain(temporary(context)).collect(),
        limit: None,
        merged: false,
        interrupt: &context.interrupt,
    })
    .map_err(|e| Abort::Exception(super::redirect::os_error(&e, &argv[0])))?;
    if done.end == End::Interrupted {
        return Err(Abort::Interrupted);
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(match done.status {
        0 => Outcome::new(Code::Pass, ""),
        _ => Outcome::new(Code::Fail, text(&done.stdout) + &text(&done.stderr)),
    })
}

/// Whether a test is expected to fail, by what its file says and what is said of it from outside.
pub(super) fn expected_to_fail(test: &Test, of_file: &[String]) -> Result<bool, String> {
    if test.marks.xfail_not {
        return Ok(false);
    }
    for item in test.marks.xfails.iter().chain(of_file) {
        if item == "*" {
            return Ok(true);
        }
        let holds = evaluate(item, &test.config.frozen.features);
        if holds.map_err(|e| format!("Error in XFAIL list:\n{e}"))? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn as_expected(mut outcome: Outcome, expected: bool) -> Outcome {
    outcome.code = match outcome.code {
        Code::Pass if expected => Code::Xpass,
        Code::Fail if expected => Code::Xfail,
        other => other,
    };
    if outcome.code != Code::Xfail {
        // They are about expected failures only.
        outcome.traps.remove(&Trap::XfailNotStarted);
        outcome.traps.remove(&Trap::XfailCrash);
    }
    outcome
}

/// The environment of a test.
pub fn environment(test: &Test, context: &Context) -> BTreeMap<String, String> {
    let mut env = test.config.frozen.environment.clone();
    env.extend(temporary(context));
    env.insert("LIT_CURRENT_TESTCASE".to_owned(), test.name());
    env
}

/// The variables that name the run's temporary folder.
fn temporary(context: &Context) -> impl Iterator<Item = (String, String)> {
    let named = |tmp: &PathBuf| TEMPORARY.map(|name| (name.to_owned(), tmp.display().to_string()));
    context.tmp.as_ref().map(named).into_iter().flatten()
}

/// Whether a test is not for this place.
fn gate(test: &Test, file: &LitFile) -> Result<Option<Outcome>, String> {
    let frozen = &test.config.frozen;
    let missing = |features: &BTreeSet<String>| -> Result<Vec<String>, String> {
        let mut missing = Vec::new();
        for item in test.marks.requires.iter().chain(&file.requires) {
            let holds = evaluate(item, features).map_err(|e| format!("Error in REQUIRES list:\n{e}"))?;
            if !holds {
                missing.push(item.clone());
            }
        }
        Ok(missing)
    };
    let unsupported = |text: String| Outcome::new(Code::Unsupported, text);
    let absent = missing(&frozen.features)?;
    if !absent.is_empty() {
        let text = format!("Test requires the following unavailable features: {}", absent.join(", "));
        return Ok(Some(Outcome { missing: absent, ..unsupported(text) }));
    }
    let mut present = Vec::new();
    if !test.marks.unsupported_not {
        for item in test.marks.unsupported.iter().chain(&file.unsupported) {
            let holds = if item == UNSUPPORTED_MARK { Ok(true) } else { evaluate(item, &frozen.features) };
            if holds.map_err(|e| format!("Error in UNSUPPORTED list:\n{e}"))? {
                present.push(item.clone());
            }
        }
    }
    if !present.is_empty() {
        let text =
            format!("Test does not support the following features and/or targets: {}", present.join(", "));
        return Ok(Some(unsupported(text)));
    }
    if !frozen.limit_to_features.is_empty() {
        let rest = frozen.features.difference(&frozen.limit_to_features).cloned().collect();
        if missing(&rest)?.is_empty() {
            let limits: Vec<&str> = frozen.limit_to_features.iter().map(String::as_str).collect();
            let text = format!(
                "Test does not require any of the features specified in limit_to_features: {}",
                limits.join(", ")
            );
            return Ok(Some(unsupported(text)));
        }
    }
    Ok(None)
}

/// A file with `RUN` lines.
struct ShellTest<'a> {
    test: &'a Test,
    number: usize,
    context: &'a Context,
    external: bool,
    preamble: &'a [String],
}

/// How one attempt ended.
struct Attempt {
    code: Code,
    status: i32,
    timeout: Option<u64>,
    log: String,
    stderr: String,
    lines: Vec<LineRan>,
    traps: BTreeSet<Trap>,
}

impl ShellTest<'_> {
    fn run(&mut self) -> Option<Outcome> {
        let frozen = &self.test.config.frozen;
        if frozen.unsupported {
            return Some(Outcome::new(Code::Unsupported, "Test is unsupported"));
        }
        let source = self.test.source();
        let bytes = match std::fs::read(&source) {
            Ok(bytes) => bytes,
            // It was found, and is gone, or is a link to nothing.
            Err(e) => return Some(exception(&super::redirect::os_error(&e, source))),
        };
        if !self.context.runs_own && !self.test.own_lines(&bytes).is_empty() {
            let why = "It has EXEC_RUN lines, which `runproof test` runs and not lit";
            return Some(Outcome::new(Code::Unsupported, why));
        }
        let file = match self.test.scan(&bytes) {
            Ok(file) => file,
            Err(why) => return Some(Outcome::new(Code::Unresolved, why)),
        };
        let expected = match expected_to_fail(self.test, &file.xfails) {
            Ok(expected) => expected,
            Err(why) => return Some(Outcome::new(Code::Unresolved, why)),
        };
        let outcome = match self.gate(&file, expected) {
            Ok(None) if self.context.no_execute => Outcome::new(Code::Pass, ""),
            Ok(None) => self.attempts(&file)?,
            Ok(Some(outcome)) => outcome,
            Err(why) => Outcome::new(Code::Unresolved, why),
        };
        Some(as_expected(outcome, expected))
    }

    fn gate(&self, file: &LitFile, expected: bool) -> Result<Option<Outcome>, String> {
        if self.context.exclude_xfail && expected {
            return Ok(Some(Outcome::new(Code::Excluded, "excluding XFAIL tests")));
        }
        gate(self.test, file)
    }

    fn attempts(&self, file: &LitFile) -> Option<Outcome> {
        let frozen = &self.test.config.frozen;
        let (folder, tmp) = self.test.places();
        let mut substitutions = self.test.config.substitutions.clone();
        let asks = |text: &str| text.contains(REAL);
        let links = self.test.config.asks_for_real
            || self.preamble.iter().any(|line| asks(line))
            || file.script.iter().any(|directive| match directive {
                Directive::Run { text, .. } => asks(text),
                Directive::Define { value, .. } => asks(value),
            });
        defaults(&mut substitutions, &self.test.source(), &tmp, links);
        let mut script: Vec<String> =
            self.preamble.iter().map(|line| format!("%dbg(preamble command line) {line}")).collect();
        let lines = (|| {
            for line in &mut script {
                *line = runproof_directives::lit::expand_line(
                    line,
                    &substitutions,
                    &frozen.features,
                    frozen.recursion,
                )?;
            }
            expand(&file.script, &mut substitutions, &frozen.features, frozen.recursion)
        })();
        match lines {
            Ok(lines) => script.extend(lines),
            Err(why) => {
                // lit fails here itself, and shows where.
                return Some(exception(&format!("ValueError: {why}")));
            }
        }
        if self.context.coverage {
            self.profile(&mut script);
        }
        if let Err(e) = std::fs::create_dir_all(folder.join("Output")) {
            return Some(exception(&super::redirect::os_error(&e, folder.join("Output"))));
        }
        let allowed = if self.context.one_attempt { 1 } else { retries(file, self.test).saturating_add(1) };
        let mut attempts = 0;
        let last = loop {
            attempts += 1;
            let attempt = if self.external {
                self.external(&script, &folder, &tmp)
            } else {
                self.once(&script, &folder)
            };
            match attempt {
                Ok(attempt) if attempt.code == Code::Fail && attempts < allowed => {}
                Ok(attempt) => break attempt,
                Err(Abort::Interrupted) => return None,
                Err(Abort::Exception(why) | Abort::Error { message: why, .. }) => {
                    return Some(exception(&why));
                }
            }
        };
        let code = if attempts > 1 && last.code == Code::Pass { Code::FlakyPass } else { last.code };
        let mut output = format!("Exit Code: {}\n", last.status);
        if let Some(seconds) = last.timeout {
            output.push_str(&format!("Timeout: Reached timeout of {seconds} seconds\n"));
        }
        output.push('\n');
        for (name, text) in [("stdout", &last.log), ("stderr", &last.stderr)] {
            if !text.is_empty() {
                output.push_str(&format!("Command Output ({name}):\n--\n{text}\n--\n"));
            }
        }
        let (lines, status, limit) = (last.lines, last.status, frozen.timeout);
        let mut traps = last.traps;
        if status < 0 && last.timeout.is_none() {
            traps.insert(Trap::XfailCrash);
        }
        Some(Outcome { attempts, allowed, lines, traps, status, limit, ..Outcome::new(code, output) })
    }

    /// Gives each command line a profile of its own.
    fn profile(&self, script: &mut [String]) {
        let name = self.test.path.replace('/', "_");
        for (index, text) in script.iter_mut().enumerate() {
            let (place, command) = placed(text);
            let command = command.trim_start();
            *text = format!("%dbg({place}) export LLVM_PROFILE_FILE={name}-%p-%m{index}.profraw; {command}");
        }
    }

    /// Runs the script in lit's shell.
    fn once(&self, script: &[String], folder: &Path) -> Result<Attempt, Abort> {
        let mut lines: Vec<(&str, &str, Option<Line>)> = Vec::with_capacity(script.len());
        for text in script {
            let (place, command) = placed(text);
            let line = match command.trim_start() {
                "" => None,
                command => match parse(command) {
                    Ok(line) => Some(line),
                    Err(why) => {
                        let log = format!("# shell parser error on {place}: {command} ({why})\n");
                        let code = Code::Unresolved;
                        return Ok(Attempt {
                            code,
                            status: 1,
                            timeout: None,
                            log,
                            stderr: String::new(),
                            lines: Vec::new(),
                            traps: BTreeSet::new(),
                        });
                    }
                },
            };
            lines.push((place, command, line));
        }
        let frozen = &self.test.config.frozen;
        let limit = (frozen.timeout > 0).then(|| Duration::from_secs(frozen.timeout));
        let mut log = Log {
            text: String::new(),
            keep: self.context.keep,
            lines: Vec::new(),
            limit: self.context.output_limit,
            limited_time: limit.is_some(),
        };
        let marker = format!("{}/{}", self.context.marker, self.number);
        let mut shell = Shell {
            state: State {
                cwd: folder.to_path_buf(),
                env: Arc::new(environment(self.test, self.context)),
                umask: None,
                limits: Limits::default(),
                limited: false,
                left: Vec::new(),
                traps: BTreeSet::new(),
            },
            scope: None,
            marker: &marker,
            folder,
            interrupt: &self.context.interrupt,
            deadline: limit.map(|l| (Deadline::after(l).at, l)),
            timed_out: false,
            pipefail: frozen.pipefail,
            log: &mut log,
        };
        let mut status = Ok(Some(0));
        for (place, command, line) in &lines {
            if shell.timed_out {
                status = Ok(None);
                break;
            }
            shell.log.place(place, command);
            let Some(line) = line else {
                shell.log.nothing();
                continue;
            };
            status = shell.announce(command.trim_start()).and_then(|()| shell.line(line));
            if !matches!(status, Ok(Some(0))) {
                break;
            }
        }
        let timed_out = shell.timed_out;
        let unknown =
            |line: &&String| UNKNOWN.find_iter(line).any(|m| !m.as_str().starts_with("%{readfile:"));
        if script.iter().any(|line| unknown(&line)) {
            shell.state.traps.insert(Trap::UnknownSubstitution);
        }
        if let Some(scope) = shell.scope.take() {
            let leftovers = scope.sweep(timed_out || !matches!(status, Ok(Some(_))));
            if !leftovers.is_empty() {
                shell.state.traps.insert(Trap::LeftBehind);
            }
        }
        let mut traps = std::mem::take(&mut shell.state.traps);
        let status = match status {
            Ok(status) => status,
            Err(Abort::Error { words, message }) => {
                let words = words.unwrap_or_default();
                let ran = super::shell::Ran {
                    words,
                    stderr: message.into_bytes(),
                    code: 127,
                    status: 127,
                    ..super::shell::Ran::default()
                };
                log.ran(ran);
                traps.insert(Trap::XfailNotStarted);
                Some(127)
            }
            Err(other) => return Err(other),
        };
        let code = match status {
            // Also at the limit: what has ended well in time has.
            Some(0) => Code::Pass,
            _ if timed_out => Code::Timeout,
            _ => Code::Fail,
        };
        let timeout = timed_out.then_some(frozen.timeout);
        let status = status.unwrap_or(-9);
        Ok(Attempt { code, status, timeout, log: log.text, stderr: String::new(), lines: log.lines, traps })
    }

    /// Hands the script to a real shell.
    fn external(&self, script: &[String], folder: &Path, tmp: &Path) -> Result<Attempt, Abort> {
        use runproof_directives::lit::python::quote;
        let frozen = &self.test.config.frozen;
        let mut parts = Vec::new();
        for text in script {
            let (place, command) = placed(text);
            let command = &super::readfile::for_shell(command);
            let note = match command.trim_start() {
                "" => format!("'{place}' has no command after substitutions"),
                command => format!("{} \\# '{place}'", quote(command)),
            };
            let mut part =
                format!("{{ set +x; }} 2>/dev/null && echo {note} >&2 && {{ set -x; }} 2>/dev/null");
            if !command.trim().is_empty() {
                part.push_str(&format!(" && {{ {command}; }}"));
            }
            parts.push(part);
        }
        let mut text = String::new();
        if frozen.pipefail {
            text.push_str("set -o pipefail;");
        }
        text.push_str("set -x;");
        text.push_str(&format!("{{ {}; }}\n", parts.join("; } &&\n{ ")));
        let path = tmp.with_extension("script");
        let failed = |e: &std::io::Error| Abort::Exception(super::redirect::os_error(e, &path));
        std::fs::write(&path, text).map_err(|e| failed(&e))?;
        let shell = bash(&self.context.path);
        let limit = (frozen.timeout > 0).then(|| Duration::from_secs(frozen.timeout));
        let marker = format!("{}/{}", self.context.marker, self.number);
        let done = super::pipeline::program(&super::pipeline::Program {
            marker: &marker,
            folder,
            argv: &[shell.display().to_string(), path.display().to_string()],
            env: environment(self.test, self.context),
            limit,
            merged: false,
            interrupt: &self.context.interrupt,
        })
        .map_err(|e| failed(&e))?;
        if done.end == End::Interrupted {
            return Err(Abort::Interrupted);
        }
        let timed_out = done.end == End::TimedOut;
        let code = match done.status {
            0 => Code::Pass,
            _ if timed_out => Code::Timeout,
            _ => Code::Fail,
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Attempt {
            code,
            status: done.status,
            timeout: timed_out.then_some(frozen.timeout),
            log: text(&done.stdout),
            stderr: text(&done.stderr),
            lines: Vec::new(),
            traps: BTreeSet::new(),
        })
    }
}

/// How often a test that failed is run again.
pub fn retries(file: &LitFile, test: &Test) -> u32 {
    file.retries.or(test.marks.retries).or(test.config.frozen.retries).unwrap_or(0)
}

/// The shell that lit hands scripts to. The folders put before PATH come first, or the system's when there are none.
fn bash(folders: &[PathBuf]) -> PathBuf {
    let first = match folders {
        [] => vec![PathBuf::from("/bin"), PathBuf::from("/usr/bin")],
        folders => folders.to_vec(),
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = first.into_iter().chain(std::env::split_paths(&path));
    let found = all.map(|folder| folder.join("bash")).find(|bash| bash.exists() && !bash.is_dir());
    found.unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

/// The result of a test at which lit itself fails.
fn exception(why: &str) -> Outcome {
    // Python names the kind of an error of the system before it.
    let number = why.strip_prefix("[Errno ").and_then(|rest| rest.split_once(']')).map(|(number, _)| number);
    let kind = match number {
        None => "",
        Some("1" | "13") => "PermissionError: ",
        Some("2") => "FileNotFoundError: ",
        Some("17") => "FileExistsError: ",
        Some("20") => "NotADirectoryError: ",
        Some("21") => "IsADirectoryError: ",
        Some("32") => "BrokenPipeError: ",
        Some(_) => "OSError: ",
    };
    let text =
        format!("Exception during script execution:\nTraceback (most recent call last):\n{kind}{why}\n\n");
    Outcome::new(Code::Unresolved, text)
}

/// A line of a script taken apart: its place, its command.
fn placed(text: &str) -> (&str, &str) {
    let found = text.strip_prefix("%dbg(").and_then(|rest| rest.split_once(')'));
    found.filter(|(place, _)| !place.contains(['\'', '"'])).unwrap_or(("command line", text))
}

/// The substitutions that every test has, behind those of its folder.
///
/// `links` are followed for those that end in `:real}` only where one is used: that takes longer than a small test.
pub fn defaults(list: &mut Vec<Substitution>, source: &Path, tmp: &Path, links: bool) {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = text(source.parent().unwrap_or(Path::new("/")));
    let base = name(tmp);
    let base = base.strip_suffix(".tmp").unwrap_or(&base);
    let file = name(source);
    let stem = match file.rfind('.') {
        Some(dot) if file[..dot].chars().any(|c| c != '.') => &file[..dot],
        _ => &file,
    };
    let mut put = |pattern: String, value: &str| list.push(Substitution::new(pattern, value));
    for (pattern, value) in [
        ("%{pathsep}", ":"),
        ("%basename_t", base),
        ("%{s:basename}", &file),
        ("%{s:stem}", stem),
        ("%{t:stem}", base),
        ("%{fs-src-root}", "/"),
        ("%{fs-tmp-root}", "/"),
        ("%{fs-sep}", "/"),
        ("%/et", &text(tmp)),
    ] {
        put(pattern.to_owned(), value);
    }
    for (letter, path) in [("s", text(source)), ("S", folder.clone()), ("p", folder), ("t", text(tmp))] {
        put(format!("%{letter}"), &path);
        put(format!("%/{letter}"), &path);
        let real = if links { real(Path::new(&path)).to_string_lossy().into_owned() } else { path.clone() };
        put(format!("%{{{letter}:real}}"), &real);
        put(format!("%{{/{letter}:real}}"), &real);
        put(format!("%{{/{letter}:regex_replacement}}"), &path.replace('@', "\\@").replace('&', "\\&"));
        put(format!("%:{letter}"), path.strip_prefix('/').unwrap_or(&path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_where_that_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        let said = |links: bool| {
            let mut list = Vec::new();
            defaults(&mut list, &dir.path().join("link/a.t"), &dir.path().join("t"), links);
            let found = list.iter().find(|s| s.pattern.text() == "%{s:real}");
            found.unwrap().replacement.rsplit('/').nth(1).unwrap().to_owned()
        };
        assert_eq!((said(true), said(false)), ("real".to_owned(), "link".to_owned()));
    }

    #[test]
    fn a_panic_is_one_tests_result() {
        let outcome = contained(|| panic!("on {}", "purpose")).unwrap();
        assert_eq!(outcome.code, Code::Unresolved);
        assert!(outcome.output.contains("on purpose"), "{}", outcome.output);
    }
}
