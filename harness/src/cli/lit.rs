//! `lit`: lit's arguments, result lines and exit statuses over our own engine, so that it can stand in its place.

use super::lit_args::{LitArgs, Order};
use super::lit_loudness::Diagnostic;
use super::print_problems;
use crate::diag::Style;
use crate::lit::config::CaseName;
use crate::lit::discover::{Discovered, discover};
use crate::lit::execute::{OUTPUT_LIMIT, UNSUPPORTED_MARK};
use crate::lit::export::{self, Row};
use crate::lit::python::{NoAnswer, Question};
use crate::lit::report::{self, Display, Show};
use crate::lit::run::{self, Ended, Options};
use crate::lit::{Code, Context, Outcome};
use crate::lit::{Test, googletest, programs, times};
use crate::process::Interrupt;
use crate::temporary;
use runproof_directives::lit::{LIT_VERSION, Pattern, scan_others};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs tests as lit does.
pub fn run(args: &LitArgs, style: Style) -> ExitCode {
    match carry_out(args) {
        Ok(status) => ExitCode::from(status),
        Err(Stop::Status(status)) => ExitCode::from(status),
        Err(Stop::Usage(why)) => {
            eprintln!("lit: error: {why}");
            ExitCode::from(2)
        }
        Err(Stop::NoAnswer(NoAnswer::Ended(status))) => ExitCode::from(u8::try_from(status).unwrap_or(2)),
        Err(Stop::NoAnswer(NoAnswer::Problems(problems))) => {
            print_problems(&problems, style);
            ExitCode::from(2)
        }
    }
}

/// Arguments with what the environment adds and what stands in files that are named with `@`.
///
/// # Errors
/// `LIT_OPTS` cannot be taken apart.
pub fn arguments(given: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, String> {
    let environment = std::env::var_os("LIT_OPTS").unwrap_or_default();
    let words = environment.to_str().ok_or("it is not UTF-8").and_then(shell_words);
    let words = words.map_err(|why| format!("LIT_OPTS: {why}: '{}'", environment.display()))?;
    let added = words.into_iter().map(OsString::from);
    let mut all = Vec::new();
    for argument in given.chain(added) {
        match argument.to_str().and_then(|a| a.strip_prefix('@')).map(std::fs::read_to_string) {
            Some(Ok(text)) => all.extend(text.lines().map(OsString::from)),
            _ => all.push(argument),
        }
    }
    Ok(all)
}

/// Words as Python's `shlex.split` makes them.
fn shell_words(text: &str) -> Result<Vec<String>, &'static str> {
    let (unclosed, cut) = (Err("a quotation is not closed"), Err("nothing stands behind a backslash"));
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match (chars.next(), c) {
                        (None, _) => return unclosed,
                        (Some(end), _) if end == c => break,
                        (Some('\\'), '"') => match chars.next() {
                            None => return cut,
                            Some(kept @ ('"' | '\\')) => word.push(kept),
                            Some(other) => word.extend(['\\', other]),
                        },
                        (Some(inner), _) => word.push(inner),
                    }
                }
            }
            '\\' => match chars.next() {
                None => return cut,
                Some(kept) => word.get_or_insert_default().push(kept),
            },
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

enum Stop {
    Status(u8),
    Usage(String),
    NoAnswer(NoAnswer),
}

fn carry_out(args: &LitArgs) -> Result<u8, Stop> {
    let args = &args.clone().with_environment().map_err(Stop::Usage)?;
    let filters = Filters::new(args)?;
    let shard = shard(args)?;
    let slowest = slowest(args)?;
    if args.version {
        println!("lit {LIT_VERSION} (runproof {})", env!("CARGO_PKG_VERSION"));
        return Ok(0);
    }
    if args.incremental {
        println!("WARNING: --incremental is deprecated. Failing tests now always run first.");
    }
    let discovered = discover(&question(args)).map_err(Stop::NoAnswer)?;
    let Discovered { mut tests, groups, coverage, warnings, errors, frozen, .. } = discovered;
    if tests.is_empty() {
        eprintln!("error: did not discover any tests for provided path(s)");
        return Err(Stop::Status(2));
    }
    if args.show_suites || args.show_tests {
        return list(&tests, args);
    }
    if args.show_used_features {
        println!("{}", used_features(&tests).into_iter().collect::<Vec<_>>().join(" "));
        return Ok(0);
    }
    let mut notes = Notes { program: program_name(), level: args.loudness.level, warnings };
    let unseen = |p: &&String| !["output_limit=", "use_normalized_slashes="].iter().any(|n| p.starts_with(n));
    if let Some(param) = args.param.iter().find(unseen).filter(|_| frozen) {
        notes.warning(&format!(
            "-D {param} has no effect on a suite whose configuration was written down; give it to `runproof migrate`"
        ));
    }
    let known = order(&mut tests, args)?;
    mark(&mut tests, args);
    let mut selected = Vec::new();
    for (index, test) in tests.iter().enumerate() {
        if filters.accept(test)? {
            selected.push(index);
        }
    }
    if args.filter_failed {
        selected.retain(|i| known.get(&tests[*i].name()).is_some_and(|t| *t < 0.0));
    }
    if selected.is_empty() {
        eprint!("error: filter did not match any tests (of {} discovered).  ", tests.len());
        if args.allow_empty_runs {
            eprintln!("Suppressing error because '--allow-empty-runs' was specified.");
            return Ok(0);
        }
        eprintln!("Use '--allow-empty-runs' to suppress this error.");
        return Err(Stop::Status(2));
    }
    if let Some((run, shards)) = shard {
        selected = part(&selected, run, shards, &notes);
        if selected.is_empty() {
            eprintln!(
                "warning: shard does not contain any tests.  Consider decreasing the number of shards."
            );
            return Ok(0);
        }
    }
    selected.truncate(args.max_tests.map_or(usize::MAX, usize::from));
    let mut done = run_tests(&tests, &selected, args, groups, coverage || args.per_test_coverage)?;
    if !args.skip_test_time_recording {
        record(&tests, &done, &mut notes);
    }
    let (tests, selected) = by_case(tests, &mut done, selected, &mut notes);
    let all: Vec<Row<'_>> = tests
        .iter()
        .zip(&done.outcomes)
        .map(|(test, (outcome, started))| Row { test, outcome, started: *started })
        .collect();
    finish(args, &all, &selected, shard.is_some(), &done, slowest)?;
    if errors > 0 {
        eprintln!("\n{errors} error(s) in tests");
        return Err(Stop::Status(2));
    }
    if notes.warnings > 0 {
        eprintln!("\n{} warning(s) in tests", notes.warnings);
    }
    if done.ended == Ended::Interrupted {
        return Ok(130);
    }
    if all.iter().any(|row| row.outcome.code.is_failure()) {
        if args.ignore_fail {
            eprintln!("\nExiting with status 0 instead of 1 because '--ignore-fail' was specified.");
        } else {
            return Ok(1);
        }
    }
    Ok(0)
}

/// The name under which this program was called, when it is one of lit's.
fn program_name() -> String {
    let called = std::env::args_os().next().unwrap_or_default();
    let called = Path::new(&called).file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
    if super::LIT_NAMES.contains(&called.as_str()) { called } else { "lit".to_owned() }
}

/// lit's own messages, as loud as they are asked for.
struct Notes {
    program: String,
    level: Diagnostic,
    warnings: u32,
}

impl Notes {
    fn note(&self, text: &str) {
        if self.level >= Diagnostic::Note {
            eprintln!("{}: note: {text}", self.program);
        }
    }

    fn warning(&mut self, text: &str) {
        if self.level >= Diagnostic::Warning {
            eprintln!("{}: warning: {text}", self.program);
        }
        self.warnings += 1;
    }
}

struct Filters {
    only: Option<Pattern>,
    out: Option<Pattern>,
}

impl Filters {
    fn new(args: &LitArgs) -> Result<Self, Stop> {
        let pattern = |option: &str, text: &Option<String>| {
            let Some(text) = text else { return Ok(None) };
            let pattern = Pattern::new(format!("(?i){text}"));
            let tried = pattern.search("");
            tried.map(|_| Some(pattern)).map_err(|e| {
                Stop::Usage(format!("argument {option}: invalid regular expression: '{text}', {e}"))
            })
        };
        Ok(Self { only: pattern("--filter", &args.filter)?, out: pattern("--filter-out", &args.filter_out)? })
    }

    fn accept(&self, test: &Test) -> Result<bool, Stop> {
        let name = test.name();
        let found = |pattern: &Option<Pattern>| pattern.as_ref().map(|p| p.search(&name)).transpose();
        let both = found(&self.only).and_then(|only| Ok((only, found(&self.out)?)));
        both.map(|(only, out)| only != Some(false) && out != Some(true)).map_err(Stop::Usage)
    }
}

fn shard(args: &LitArgs) -> Result<Option<(usize, usize)>, Stop> {
    match (args.run_shard, args.num_shards) {
        (None, None) => Ok(None),
        (Some(run), Some(shards)) if run <= shards => Ok(Some((run.into(), shards.into()))),
        (Some(_), Some(_)) => {
            Err(Stop::Usage("--run-shard must be between 1 and --num-shards (inclusive)".to_owned()))
        }
        _ => Err(Stop::Usage("--num-shards and --run-shard must be used together".to_owned())),
    }
}

/// How many of the slowest tests are shown; `None` for no histogram at all.
fn slowest(args: &LitArgs) -> Result<Option<Option<usize>>, Stop> {
    match args.time_tests.as_deref() {
        None => Ok(None),
        Some(text) if text.eq_ignore_ascii_case("all") => Ok(Some(None)),
        Some("") => Err(Stop::Usage("argument --time-tests requires a value after '='".to_owned())),
        Some(text) => match text.parse() {
            Ok(number) if number > 0 => Ok(Some(Some(number))),
            _ => Err(Stop::Usage(format!("requires positive integer, but found '{text}'"))),
        },
    }
}

fn question(args: &LitArgs) -> Question {
    Question {
        paths: args.paths.clone(),
        params: args.param.clone(),
        folders: folders(args),
        config_prefix: args.config_prefix.clone(),
        timeout: args.timeout,
        retries: args.max_retries_per_test.map(u32::from),
        level: Some(match args.loudness.level {
            Diagnostic::Error => "error",
            Diagnostic::Warning => "warning",
            Diagnostic::Note => "note",
        }),
        debug: args.debug,
        whole_programs: !args.gtest_sharding(),
        program: program_name(),
        ..Question::default()
    }
}

/// Folders to put before PATH.
fn folders(args: &LitArgs) -> Vec<PathBuf> {
    args.path.iter().map(|p| std::path::absolute(p).unwrap_or_else(|_| p.clone())).collect()
}

fn list(tests: &[Test], args: &LitArgs) -> Result<u8, Stop> {
    let mut sorted: Vec<&Test> = tests.iter().collect();
    sorted.sort_by(|a, b| {
        (&a.suite.name, a.path.split('/').collect::<Vec<_>>())
            .cmp(&(&b.suite.name, b.path.split('/').collect::<Vec<_>>()))
    });
    let mut text = String::new();
    if args.show_suites {
        text.push_str("-- Test Suites --\n");
        for suite in sorted.chunk_by(|a, b| a.suite == b.suite) {
            let (info, frozen) = (&suite[0].suite, &suite[0].config.frozen);
            text.push_str(&format!("  {} - {} tests\n", info.name, suite.len()));
            text.push_str(&format!("    Source Root: {}\n", info.source_root.display()));
            text.push_str(&format!("    Exec Root  : {}\n", info.exec_root.display()));
            let features: Vec<&str> = frozen.features.iter().map(String::as_str).collect();
            text.push_str(&format!("    Available Features: {}\n", features.join(" ")));
            let mut pairs: Vec<String> = suite[0]
                .config
                .substitutions
                .iter()
                .map(|s| format!("{} => {}", s.pattern.text(), s.replacement))
                .collect();
            pairs.sort();
            let indent = format!("\n{}", " ".repeat("    Available Substitutions: ".len()));
            text.push_str(&format!("    Available Substitutions: {}\n", pairs.join(&indent)));
        }
    }
    if args.show_tests {
        text.push_str("-- Available Tests --\n");
        for test in sorted {
            text.push_str(&format!("  {}\n", test.name()));
        }
    }
    // A reader that went away (`| head`) is no failure.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(0)
}

fn used_features(tests: &[Test]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for test in tests {
        let file = std::fs::read(test.source())
            .ok()
            .and_then(|bytes| scan_others(&bytes, false, &test.own_lines(&bytes)).ok());
        let Some(file) = file else { continue };
        let lists = [&file.requires, &file.unsupported, &file.xfails];
        names.extend(
            lists
                .into_iter()
                .flatten()
                .filter(|e| *e != "*")
                .flat_map(|e| runproof_directives::lit::mentioned(e)),
        );
    }
    names
}

fn order_of(args: &LitArgs) -> Order {
    if args.shuffle { Order::Random } else { args.order }
}

/// Puts tests into the order asked for; the times of the last run by name.
fn order(tests: &mut [Test], args: &LitArgs) -> Result<BTreeMap<String, f64>, Stop> {
    let mut suites: BTreeMap<PathBuf, times::Times> = BTreeMap::new();
    let mut known = BTreeMap::new();
    for test in tests.iter() {
        let suite = &test.suite;
        if !suites.contains_key(&suite.exec_root) {
            let read = times::read(suite).map_err(|path| {
                eprintln!(
                    "lit: fatal: found malformed timing data in '{}'; remove the file to regenerate it",
                    path.display()
                );
                Stop::Status(2)
            })?;
            suites.insert(suite.exec_root.clone(), read);
        }
        if let Some(time) = suites.get(&suite.exec_root).and_then(|s| s.get(&test.path)) {
            known.insert(test.name(), time);
        }
    }
    match order_of(args) {
        Order::Lexical => tests.sort_by_cached_key(Test::name),
        Order::Random => {
            use std::hash::{BuildHasher as _, RandomState};
            // Its keys are random, on every system.
            let order = RandomState::new();
            tests.sort_by_cached_key(|t| order.hash_one(t.name()));
        }
        Order::Smart => {
            let mut keyed: Vec<(bool, f64, String, Test)> = tests
                .iter()
                .map(|t| {
                    let name = t.name();
                    let time = known.get(&name).copied().unwrap_or(0.0);
                    (time >= 0.0, -time.abs(), name, t.clone())
                })
                .collect();
            keyed.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
            for (place, (.., test)) in tests.iter_mut().zip(keyed) {
                *place = test;
            }
        }
    }
    Ok(known)
}

fn mark(tests: &mut [Test], args: &LitArgs) {
    let lists = [&args.xfail, &args.xfail_not, &args.unsupported, &args.unsupported_not];
    if lists.iter().all(|l| l.is_empty()) {
        return;
    }
    for test in tests {
        let name = test.name();
        let named = |list: &[String]| list.iter().any(|entry| *entry == test.path || *entry == name);
        if named(&args.xfail) {
            test.marks.xfails.push("*".to_owned());
        }
        if named(&args.unsupported) {
            test.marks.unsupported.push(UNSUPPORTED_MARK.to_owned());
        }
        test.marks.xfail_not |= named(&args.xfail_not);
        test.marks.unsupported_not |= named(&args.unsupported_not);
    }
}

fn part(selected: &[usize], run: usize, shards: usize, notes: &Notes) -> Vec<usize> {
    let places: Vec<usize> = (run - 1..selected.len()).step_by(shards).collect();
    let mut preview: Vec<String> = places.iter().take(3).map(|p| (p + 1).to_string()).collect();
    if places.len() > 3 {
        preview.push("...".to_owned());
    }
    notes.note(&format!(
        "Selecting shard {run}/{shards} = size {}/{} = tests #({shards}*k)+{run} = [{}]",
        places.len(),
        selected.len(),
        preview.join(", ")
    ));
    places.into_iter().map(|p| selected[p]).collect()
}

/// What a run came to.
struct Done {
    /// Of every test that was discovered, in their order.
    outcomes: Vec<(Outcome, Option<Instant>)>,
    elapsed: Duration,
    ended: Ended,
}

fn run_tests(
    tests: &[Test],
    selected: &[usize],
    args: &LitArgs,
    groups: BTreeMap<String, usize>,
    coverage: bool,
) -> Result<Done, Stop> {
    let interrupt =
        Interrupt::on_signals().map_err(|e| Stop::Usage(format!("signals cannot be handled: {e}")))?;
    let tmp = match std::env::var_os("LIT_PRESERVES_TMP") {
        Some(_) => None,
        None => Some(tempfile::Builder::new().prefix("lit-tmp-").tempdir().map_err(|e| {
            Stop::Usage(format!("no temporary folder can be made: {e}; {}", temporary::NONE))
        })?),
    };
    let limit = args.param.iter().rev().find_map(|p| p.strip_prefix("output_limit="));
    let context = Context {
        path: folders(args),
        no_execute: args.no_execute,
        output_limit: limit.and_then(|l| l.parse().ok()).unwrap_or(OUTPUT_LIMIT),
        coverage,
        exclude_xfail: args.exclude_xfail,
        gtest_sharding: args.gtest_sharding(),
        shuffle: order_of(args) == Order::Random,
        ..Context::new("lit", tmp.as_ref().map(|t| t.path().to_path_buf()), interrupt)
    };
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = args.workers.map_or(available, usize::from).min(selected.len());
    let options = Options {
        workers,
        max_failures: args.max_failures.map(usize::from),
        max_time: args.max_time.map(|s| Duration::from_secs(s.into())),
        groups,
    };
    let show = show(args);
    let mut outcomes: Vec<(Outcome, Option<Instant>)> =
        tests.iter().map(|_| (Outcome::new(Code::Excluded, ""), None)).collect();
    for index in selected {
        outcomes[*index].0.code = Code::Skipped;
    }
    let chosen: Vec<&Test> = selected.iter().map(|i| &tests[*i]).collect();
    let mut display = Display::new(&show, std::io::stdout(), chosen.len(), tests.len(), workers);
    let started = Instant::now();
    let ended = run::run(&chosen, &context, &options, |index, outcome, started| {
        display.finished(chosen[index], &outcome);
        outcomes[selected[index]] = (outcome, Some(started));
    });
    let elapsed = started.elapsed();
    display.ended(ended == Ended::Interrupted);
    let why = match ended {
        Ended::Done => None,
        Ended::Interrupted => Some("  interrupted by user"),
        Ended::MaxFailures => Some("warning: reached maximum number of test failures"),
        Ended::MaxTime => Some("warning: reached timeout"),
    };
    if let Some(why) = why {
        eprintln!("{why}, skipping remaining tests");
    }
    Ok(Done { outcomes, elapsed, ended })
}

/// Puts the cases of googletest's programs into the programs' places, behind all other tests.
fn by_case(
    tests: Vec<Test>,
    done: &mut Done,
    selected: Vec<usize>,
    notes: &mut Notes,
) -> (Vec<Test>, Vec<usize>) {
    if !tests.iter().any(googletest::has_cases) {
        return (tests, selected);
    }
    let selected: HashSet<usize> = selected.into_iter().collect();
    let outcomes = std::mem::take(&mut done.outcomes);
    for finding in unreconciled(&tests, &outcomes) {
        notes.warning(&finding);
    }
    let (mut kept, mut chosen, mut programs) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (test, (outcome, started))) in tests.into_iter().zip(outcomes).enumerate() {
        let is_selected = selected.contains(&index);
        if googletest::has_cases(&test) {
            // Programs that were left out are no tests at all: their cases are not known.
            programs.extend(is_selected.then_some((test, outcome, started)));
            continue;
        }
        chosen.extend(is_selected.then_some(kept.len()));
        done.outcomes.push((outcome, started));
        kept.push(test);
    }
    for (program, outcome, started) in programs {
        let file = googletest::file(&program);
        for case in outcome.cases.iter().flatten() {
            let path = googletest::case_path(&program.path, case);
            let of_case = Outcome { elapsed: case.elapsed, ..Outcome::new(case.code, case.output.as_str()) };
            chosen.push(kept.len());
            done.outcomes.push((of_case, started));
            let (suite, name) = (case.suite.clone(), case.name.clone());
            let case = Some(CaseName { suite, name, program: file.clone() });
            kept.push(Test { path, case, ..program.clone() });
        }
        if googletest::stays(&outcome) {
            chosen.push(kept.len());
            done.outcomes.push((outcome, started));
            kept.push(program);
        }
    }
    (kept, chosen)
}

/// What the listings of googletest's programs and the reports of their parts do not agree on. The verdict stays lit's, which does not look.
fn unreconciled(tests: &[Test], outcomes: &[(Outcome, Option<Instant>)]) -> Vec<String> {
    /// A test of the program, and the cases that its parts reported; `None` when one of them has no report.
    type Parts<'a> = BTreeMap<PathBuf, (&'a Test, Option<Vec<String>>)>;
    let mut programs: Parts<'_> = BTreeMap::new();
    for (test, (outcome, _)) in tests.iter().zip(outcomes).filter(|(test, _)| googletest::has_cases(test)) {
        let Some(executable) = googletest::executable(test) else { continue };
        let entry = programs.entry(executable).or_insert_with(|| (test, Some(Vec::new())));
        let paths = outcome.cases.as_ref().map(|cases| cases.iter().map(googletest::Case::path));
        entry.1 = entry.1.take().zip(paths).map(|(known, paths)| known.into_iter().chain(paths).collect());
    }
    programs
        .iter()
        .filter_map(|(executable, (test, reported))| {
            Some(programs::unreconciled(test, executable, reported.as_ref()?))
        })
        .flatten()
        .collect()
}

fn show(args: &LitArgs) -> Show {
    let flags = [
        (args.show_excluded, Code::Excluded),
        (args.show_skipped, Code::Skipped),
        (args.show_unsupported, Code::Unsupported),
        (args.show_pass, Code::Pass),
        (args.show_flakypass, Code::FlakyPass),
        (args.show_xfail, Code::Xfail),
    ];
    let loudness = &args.loudness;
    Show {
        results: loudness.results,
        outputs: loudness.outputs,
        bar: loudness.bar,
        bar_interval: Duration::try_from_secs_f64(args.min_output_interval).unwrap_or(Duration::MAX),
        terse: loudness.terse,
        listed: flags.into_iter().filter(|(on, _)| *on).map(|(_, code)| code).collect(),
        relative: args.relative_paths,
    }
}

fn record(tests: &[Test], done: &Done, notes: &mut Notes) {
    let mut suites: BTreeMap<&Path, (&Test, times::Times)> = BTreeMap::new();
    for (test, (outcome, started)) in tests.iter().zip(&done.outcomes) {
        if started.is_none() {
            continue;
        }
        let entry = suites
            .entry(&test.suite.exec_root)
            .or_insert_with(|| (test, times::read(&test.suite).unwrap_or_default()));
        let seconds = outcome.elapsed.as_secs_f64();
        let seconds = if outcome.code.is_failure() { (-seconds).min(-1e-6) } else { seconds };
        entry.1.insert(test.path.clone(), seconds);
    }
    for (test, times) in suites.values() {
        if let Err(path) = times::write(&test.suite, times) {
            notes.warning(&format!("Could not save test time: {}", path.display()));
        }
    }
}

fn finish(
    args: &LitArgs,
    all: &[Row<'_>],
    selected: &[usize],
    sharded: bool,
    done: &Done,
    slowest: Option<Option<usize>>,
) -> Result<(), Stop> {
    let seconds = done.elapsed.as_secs_f64();
    let mut text = Vec::new();
    if let Some(limit) = slowest {
        let times = all.iter().map(|r| (r.test.name(), r.outcome.elapsed.as_secs_f64())).collect();
        let _ = report::histogram(&mut text, times, limit);
    }
    let results: Vec<(&Test, &Outcome)> = all.iter().map(|r| (r.test, r.outcome)).collect();
    let _ = report::summary(&mut text, &show(args), &results, seconds);
    let _ = std::io::stdout().write_all(&text);
    let selected: HashSet<&usize> = selected.iter().collect();
    let rows: Vec<Row<'_>> = all
        .iter()
        .enumerate()
        .filter(|(i, _)| !sharded || selected.contains(i))
        .map(|(_, row)| Row { test: row.test, outcome: row.outcome, started: row.started })
        .filter(|row| !args.report_failures_only || row.outcome.code.is_failure())
        .collect();
    for (path, text) in [
        (&args.output, export::json as fn(&[Row<'_>], f64) -> String),
        (&args.xunit_xml_output, export::xunit),
        (&args.resultdb_output, export::resultdb),
        (&args.time_trace_output, |rows, _| export::trace(rows)),
    ] {
        let Some(path) = path else { continue };
        write(path, &text(&rows, seconds), args.use_unique_output_file_name).map_err(|e| {
            // The tests were run: lit's status is that of a program that fails, not of arguments that are wrong.
            eprintln!("lit: error: `{}` cannot be written: {e}", path.display());
            Stop::Status(1)
        })?;
    }
    Ok(())
}

fn write(path: &Path, text: &str, unique: bool) -> std::io::Result<()> {
    if !unique {
        return std::fs::write(path, text);
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let end = path.extension().map_or(String::new(), |e| format!(".{}", e.to_string_lossy()));
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(&format!("{stem}."))
        .suffix(&end)
        .disable_cleanup(true)
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_environment() {
        let check = |text: &str, words: &[&str]| {
            assert_eq!(shell_words(text), Ok(words.iter().map(|w| (*w).to_owned()).collect()), "{text}");
        };
        check(r#"-v  --filter='a b' "x\"y" z\ "#, &["-v", "--filter=a b", "x\"y", "z "]);
        check(r#""--filter=a\.b\\c" '\d' \d ''"#, &["--filter=a\\.b\\c", "\\d", "d", ""]);
        check("  ", &[]);
        check("a\u{a0}b", &["a\u{a0}b"]);
        for text in ["-v 'x", "-v \"x", "-v x\\", "\"x\\"] {
            assert!(shell_words(text).is_err(), "{text}");
        }
    }
}
