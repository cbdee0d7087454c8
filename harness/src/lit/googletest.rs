//! Programs that are tests by googletest's rules. One test is a program, or with sharding a part of its cases; what its JSON says of
//! each case takes its place in lists and reports.

use super::cases::{NOT_REPORTED, Said, report_file};
use super::config::{Format, Test};
use super::execute::{Context, expected_to_fail};
use super::outcome::{Code, Outcome};
use super::pipeline::{Program, program};
use super::shell::Abort;
use crate::process::End;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// Stands in the place of a program whose cases could not be listed.
pub(super) const UNLISTED: &str = "failed_to_discover_tests_from_gtest";
/// Variables that say which cases a program runs.
pub const CHOOSES: [&str; 5] = [
    "GTEST_FILTER",
    "GTEST_TOTAL_SHARDS",
    "GTEST_SHARD_INDEX",
    "GTEST_ALSO_RUN_DISABLED_TESTS",
    "GTEST_REPEAT",
];
/// Cases of a part, at most, when no core is idle.
const SHARD: usize = 512;

/// One case of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its suite.
    pub suite: String,
    /// Its name in the suite.
    pub name: String,
    /// How it came out.
    pub code: Code,
    /// What is said of a failure.
    pub output: String,
    /// As the program measured it.
    pub elapsed: Duration,
}

impl Case {
    /// `suite/case`, for a path.
    pub fn path(&self) -> String {
        format!("{}/{}", self.suite, self.name)
    }
}

/// How a suite's programs are run.
#[derive(Clone, Debug, Default)]
pub(super) struct How<'a> {
    /// Words before the program.
    pub run_under: &'a [String],
    /// Runs programs that end in `.py`.
    pub python: Option<&'a str>,
}

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    random_seed: serde_json::Value,
    testsuites: Vec<ReportSuite>,
}

#[derive(Deserialize)]
struct ReportSuite {
    name: String,
    #[serde(default)]
    testsuite: Vec<ReportCase>,
}

#[derive(Deserialize)]
struct ReportCase {
    name: String,
    result: String,
    #[serde(default)]
    time: String,
    failures: Option<Vec<ReportFailure>>,
    #[serde(default)]
    skipped: Vec<ReportSkip>,
}

#[derive(Deserialize)]
struct ReportSkip {
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct ReportFailure {
    failure: String,
}

/// Runs a test; lit's own failures are an error.
pub(super) fn run(test: &Test, number: usize, context: &Context, how: &How<'_>) -> Result<Outcome, Abort> {
    let failed = |why: String| Abort::Exception(why);
    let path = test.source();
    if path.ends_with(UNLISTED) {
        return Ok(Outcome::new(Code::Fail, ""));
    }
    if context.no_execute {
        return Ok(Outcome::new(Code::Pass, ""));
    }
    if context.gtest_sharding && path.is_file() {
        let why = "A program is no test, its parts are: name its folder, or run with --no-gtest-sharding\n";
        return Ok(Outcome::new(Code::Fail, why));
    }
    let (executable, shard) = place(path, context.gtest_sharding)
        .ok_or_else(|| failed(format!("`{}` names no part of a program", test.path)))?;
    let report = report_file().map_err(|e| failed(format!("no report can be made: {e}")))?;
    let mut said = vec![
        ("GTEST_OUTPUT", format!("json:{}", report.display())),
        ("GTEST_SHUFFLE", u8::from(context.shuffle).to_string()),
    ];
    if let Some((index, total)) = shard {
        let or = |name: &str, value: String| std::env::var(name).unwrap_or(value);
        said.push(("GTEST_TOTAL_SHARDS", or("GTEST_TOTAL_SHARDS", total)));
        said.push(("GTEST_SHARD_INDEX", or("GTEST_SHARD_INDEX", index)));
    }
    let mut argv = how.run_under.to_vec();
    if executable.extension().is_some_and(|e| e == "py") {
        argv.extend(how.python.map(str::to_owned));
    }
    argv.push(executable.display().to_string());
    let command = argv.join(" ");
    let header = |said: &[(&str, String)]| {
        let pairs: Vec<String> = said.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("Script(shard):\n--\n{} {command}\n--\n", pairs.join(" "))
    };
    let mut env = super::execute::environment(test, context);
    env.extend(said.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    let limit = test.config.frozen.timeout;
    let done = program(&Program {
        marker: &format!("{}/{number}", context.marker),
        folder: &std::env::current_dir().unwrap_or_default(),
        argv: &argv,
        env,
        limit: (limit > 0).then(|| Duration::from_secs(limit)),
        merged: true,
        interrupt: &context.interrupt,
    })
    .map_err(|e| failed(super::redirect::os_error(&e, &argv[0])))?;
    let out = String::from_utf8_lossy(&done.stdout);
    let stream = format!("\n{out}\n--\nexit: {}\n--\n", done.status);
    match done.end {
        End::Interrupted => return Err(Abort::Interrupted),
        End::TimedOut => {
            let text = format!("{}{stream}Reached timeout of {limit} seconds", header(&said));
            return Ok(Outcome::new(Code::Timeout, text));
        }
        End::Ended => {}
    }
    let Ok(text) = std::fs::read_to_string(&report) else {
        let text = format!("{}{stream}shard JSON output does not exist: {}", header(&said), report.display());
        return Ok(Outcome::new(Code::Fail, text));
    };
    let report: Report =
        serde_json::from_str(&text).map_err(|e| failed(format!("Failed to parse json file: {e}")))?;
    let expected = expected_to_fail(test, &[]).map_err(failed)?;
    let cases = Some(cases(&report, &executable.display().to_string(), expected));
    if done.status == 0 {
        return Ok(Outcome { cases, ..Outcome::new(Code::Pass, "") });
    }
    if context.shuffle {
        said.push(("GTEST_RANDOM_SEED", report.random_seed.to_string()));
    }
    let output = account(&report, &header(&said), &command, &out, &stream);
    Ok(Outcome { cases, ..Outcome::new(Code::Fail, output) })
}

/// The program, and which part of how many.
fn place(path: PathBuf, sharding: bool) -> Option<(PathBuf, Option<(String, String)>)> {
    if !sharding {
        return Some((path, None));
    }
    let part = |p: &std::path::Path| Some(p.file_name()?.to_str()?.to_owned());
    let (total, rest) = (part(&path)?, path.parent()?);
    let (index, program) = (part(rest)?, rest.parent()?);
    Some((program.to_path_buf(), Some((index, total))))
}

/// The account of a program that failed.
fn account(report: &Report, header: &str, command: &str, out: &str, stream: &str) -> String {
    let mut output = format!("{header}\n");
    let mut found = false;
    for (suite, case) in report.testsuites.iter().flat_map(|s| s.testsuite.iter().map(move |c| (s, c))) {
        if matches!(case.result.as_str(), "SUPPRESSED" | "SKIPPED") {
            continue;
        }
        let name = format!("{}.{}", suite.name, case.name);
        let script = format!("Script:\n--\n{command} --gtest_filter={name}\n--\n");
        if let Some(failures) = &case.failures {
            found = true;
            output.push_str(&script);
            let said = said_by(out, &name);
            if !said.is_empty() {
                output.push_str(&format!("{said}\n\n"));
            }
            failures.iter().for_each(|f| output.push_str(&format!("{}\n", f.failure)));
            output.push('\n');
        } else if case.result != "COMPLETED" {
            output.push_str(&format!("{script}unresolved test result\n"));
        }
    }
    if !found {
        // All cases passed, and the program failed all the same: a sanitizer does that.
        output.push_str(stream);
    }
    output
}

/// What a program wrote while a case ran.
fn said_by(out: &str, name: &str) -> String {
    let (begin, end) = (format!("[ RUN      ] {name}"), format!("[  FAILED  ] {name}"));
    let lines = out.lines().skip_while(|l| !l.starts_with(&begin)).skip(1);
    lines.take_while(|l| !l.starts_with(&end)).collect::<Vec<_>>().join("\n")
}

fn cases(report: &Report, executable: &str, expected: bool) -> Vec<Case> {
    let all = report.testsuites.iter().flat_map(|s| s.testsuite.iter().map(move |c| (s, c)));
    all.filter(|(_, case)| case.result != "SUPPRESSED")
        .map(|(suite, case)| {
            let header =
                format!("Script:\n--\n{executable} --gtest_filter={}.{}\n--\n", suite.name, case.name);
            let (code, output) = match (&case.failures, case.result.as_str()) {
                (_, "SKIPPED") => (Code::Skipped, String::new()),
                (Some(failures), _) => {
                    let said: String = failures.iter().map(|f| format!("{}\n", f.failure)).collect();
                    (if expected { Code::Xfail } else { Code::Fail }, header + &said)
                }
                (None, "COMPLETED") => (Code::Pass, String::new()),
                (None, _) => (Code::Unresolved, header + "unresolved test result\n"),
            };
            let seconds = case.time.strip_suffix('s').and_then(|t| t.parse().ok()).unwrap_or(0.0);
            let elapsed = Duration::try_from_secs_f64(seconds).unwrap_or_default();
            Case { suite: suite.name.clone(), name: case.name.clone(), code, output, elapsed }
        })
        .collect()
}

/// The cases of `--gtest_list_tests`, each as `suite.case`.
pub(super) fn listed(text: &str) -> Vec<String> {
    let mut suite = "";
    let mut cases = Vec::new();
    for line in text.lines() {
        // Behind a name stands what it is made of: `# TypeParam = int`.
        let name = line.split_whitespace().next().unwrap_or_default();
        if line.starts_with("  ") {
            cases.push(format!("{suite}{name}"));
        } else if name.ends_with('.') {
            suite = name;
        }
    }
    cases
}

/// A case as a path: `suite/case`.
pub(super) fn path_of(name: &str) -> String {
    name.replacen('.', "/", 1)
}

/// In how many parts lit runs a program with so many cases.
pub(super) fn shards(cases: usize, cores: usize) -> usize {
    let mut size = SHARD;
    while cases.div_ceil(size) < cores && size > 1 {
        size /= 2;
    }
    cases.div_ceil(size)
}

/// What the report of a program that was asked for one case says of it.
pub(super) fn said_of(report: Option<&str>, name: &str) -> Result<Said, String> {
    let Some(text) = report else { return Err(NOT_REPORTED.to_owned()) };
    let report: Report = serde_json::from_str(text).map_err(|e| format!("its report cannot be read: {e}"))?;
    let all = report
        .testsuites
        .iter()
        .flat_map(|s| s.testsuite.iter().map(move |c| (format!("{}.{}", s.name, c.name), c)));
    let ran: Vec<(String, &ReportCase)> = all.filter(|(_, case)| case.result != "SUPPRESSED").collect();
    if let Some((other, _)) = ran.iter().find(|(own, _)| own != name) {
        return Err(format!("`{other}` is reported, and only `{name}` was to be run"));
    }
    let case = match ran.as_slice() {
        [] => return Err(NOT_REPORTED.to_owned()),
        [(_, case)] => case,
        several => return Err(format!("`{name}` was listed once and has {} results", several.len())),
    };
    match (&case.failures, case.result.as_str()) {
        (_, "SKIPPED") => {
            let why =
                case.skipped.first().and_then(|s| s.message.lines().map(str::trim).rfind(|l| !l.is_empty()));
            let why = why.map_or_else(
                || "skipped by the program".to_owned(),
                |w| format!("skipped by the program: {w}"),
            );
            Ok(Said { code: Code::Unsupported, why })
        }
        (Some(failures), _) => {
            let why: Vec<&str> = failures.iter().map(|f| f.failure.trim_end()).collect();
            Ok(Said { code: Code::Fail, why: why.join("\n") })
        }
        (None, "COMPLETED") => Ok(Said { code: Code::Pass, why: String::new() }),
        (None, other) => Err(format!("`{name}` has the result `{other}`, which is none")),
    }
}

/// Whether a test is a program, or a part of one, whose cases take its place.
pub fn has_cases(test: &Test) -> bool {
    matches!(test.config.frozen.format, Format::Googletest { .. })
        && test.of_program.is_none()
        && !test.path.ends_with(UNLISTED)
}

/// The program that a test is, or is a part of.
pub fn executable(test: &Test) -> Option<PathBuf> {
    let path = test.source();
    if path.is_file() {
        return Some(path);
    }
    if path.ends_with(UNLISTED) {
        return path.parent().map(PathBuf::from);
    }
    place(path, true).map(|(program, _)| program)
}

/// The file by which lit names a test: of a googletest program, the program.
pub fn file(test: &Test) -> PathBuf {
    let of_program = || {
        let is_part =
            matches!(test.config.frozen.format, Format::Googletest { .. }) && test.of_program.is_none();
        is_part.then(|| executable(test)).flatten()
    };
    let program = test.case.as_ref().map(|case| case.program.clone());
    super::shell::normal(&program.or_else(of_program).unwrap_or_else(|| test.source()))
}

/// Whether the outcome of the program itself stays in lists beside its cases: it failed, and no case did.
pub fn stays(outcome: &Outcome) -> bool {
    let failed = |case: &Case| matches!(case.code, Code::Fail | Code::Xfail);
    match &outcome.cases {
        None => true,
        Some(cases) => outcome.code.is_failure() && !cases.iter().any(failed),
    }
}

/// The path of a case in its suite: two names of the program's path give way to it.
pub fn case_path(program: &str, case: &Case) -> String {
    let mut names: Vec<&str> = program.split('/').collect();
    names.truncate(names.len().saturating_sub(2));
    let case = case.path();
    names.push(&case);
    names.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"random_seed": 7, "testsuites": [{"name": "S/0", "testsuite": [
        {"name": "a", "result": "COMPLETED", "time": "0.5s"},
        {"name": "b", "result": "COMPLETED", "time": "1s", "failures": [{"failure": "x\ny", "type": ""}]},
        {"name": "c", "result": "SKIPPED", "time": "0s"},
        {"name": "d", "result": "SUPPRESSED"},
        {"name": "e", "result": "LOST"}]}]}"#;

    #[test]
    fn cases_come_from_the_report() {
        let report: Report = serde_json::from_str(REPORT).unwrap();
        let shown = |expected| -> Vec<(String, Code, String)> {
            cases(&report, "p", expected).into_iter().map(|c| (c.path(), c.code, c.output)).collect()
        };
        let filter = "Script:\n--\np --gtest_filter=S/0";
        let row = |path: &str, code, output: &str| (path.to_owned(), code, output.to_owned());
        let mut expect = vec![
            row("S/0/a", Code::Pass, ""),
            row("S/0/b", Code::Fail, &format!("{filter}.b\n--\nx\ny\n")),
            row("S/0/c", Code::Skipped, ""),
            row("S/0/e", Code::Unresolved, &format!("{filter}.e\n--\nunresolved test result\n")),
        ];
        assert_eq!(shown(false), expect);
        expect[1].1 = Code::Xfail;
        assert_eq!(shown(true), expect);
    }

    #[test]
    fn the_account_has_what_was_said_meanwhile() {
        let report: Report = serde_json::from_str(REPORT).unwrap();
        let out = "[ RUN      ] S/0.a\nno\n[ RUN      ] S/0.b\nyes\n[  FAILED  ] S/0.b\nno\n";
        let text = account(&report, "H\n", "p", out, "STREAM");
        assert_eq!(
            text,
            "H\n\nScript:\n--\np --gtest_filter=S/0.b\n--\nyes\n\nx\ny\n\nScript:\n--\np --gtest_filter=S/0.e\n--\n\
             unresolved test result\n"
        );
        let passed: Report = serde_json::from_str(r#"{"testsuites": []}"#).unwrap();
        assert_eq!(account(&passed, "H\n", "p", "", "STREAM"), "H\n\nSTREAM");
    }

    #[test]
    fn cases_are_listed_with_their_suites() {
        let text = "Running main() from x.cc\nS.\n  a\n  b\nT/0.  # TypeParam = int\n  c\nI/P.\n  d/0  # GetParam() = 3\n";
        assert_eq!(listed(text), ["S.a", "S.b", "T/0.c", "I/P.d/0"]);
        assert_eq!(path_of("I/P.d/0"), "I/P/d/0");
    }

    #[test]
    fn parts_are_as_many_as_lit_makes() {
        for (cases, cores, expect) in
            [(0, 4, 0), (1, 4, 1), (3, 2, 2), (4, 4, 4), (5, 4, 5), (1000, 2, 2), (1000, 4, 4), (2000, 2, 4)]
        {
            assert_eq!(shards(cases, cores), expect, "{cases} on {cores}");
        }
    }

    #[test]
    fn a_case_that_was_asked_for_has_one_result() {
        let report = |cases: &str| format!(r#"{{"testsuites": [{{"name": "S", "testsuite": [{cases}]}}]}}"#);
        let check = |cases: &str, expect: Result<(Code, &str), &str>| {
            let said = said_of(Some(&report(cases)), "S.a").map(|s| (s.code, s.why));
            let expect = expect.map(|(code, why)| (code, why.to_owned())).map_err(str::to_owned);
            assert_eq!(said, expect, "{cases}");
        };
        let (pass, other) =
            (r#"{"name": "a", "result": "COMPLETED"}"#, r#"{"name": "b", "result": "COMPLETED"}"#);
        check(pass, Ok((Code::Pass, "")));
        check(
            r#"{"name": "a", "result": "COMPLETED", "failures": [{"failure": "bad\n"}]}"#,
            Ok((Code::Fail, "bad")),
        );
        check(r#"{"name": "a", "result": "SKIPPED"}"#, Ok((Code::Unsupported, "skipped by the program")));
        let why = r#"{"name": "a", "result": "SKIPPED", "skipped": [{"message": "f.cc:3\nno GPU\n"}]}"#;
        check(why, Ok((Code::Unsupported, "skipped by the program: no GPU")));
        check(r#"{"name": "b", "result": "SUPPRESSED"}"#, Err(NOT_REPORTED));
        check(&format!("{pass}, {other}"), Err("`S.b` is reported, and only `S.a` was to be run"));
        check(&format!("{pass}, {pass}"), Err("`S.a` was listed once and has 2 results"));
        check(r#"{"name": "a", "result": "LOST"}"#, Err("`S.a` has the result `LOST`, which is none"));
        assert_eq!(said_of(None, "S.a"), Err(NOT_REPORTED.to_owned()));
    }

    #[test]
    fn where_programs_and_cases_are() {
        let shard = place("/s/d/p/0/2".into(), true);
        assert_eq!(shard, Some(("/s/d/p".into(), Some(("0".to_owned(), "2".to_owned())))));
        assert_eq!(place("/s/d/p".into(), false), Some(("/s/d/p".into(), None)));
        assert_eq!(place("/".into(), true), None);
        let case = Case {
            suite: "S".to_owned(),
            name: "c".to_owned(),
            code: Code::Pass,
            output: String::new(),
            elapsed: Duration::ZERO,
        };
        assert_eq!(case_path("d/p/0/2", &case), "d/p/S/c");
    }
}
