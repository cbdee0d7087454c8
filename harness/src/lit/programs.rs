//! Which files of a folder are programs with cases, and what they list. The only place where a program is started before the run.

use super::cases::{OfProgram, Part, TestProgram, listing_arguments, of_the_user};
use super::config::{Config, Format, SuiteInfo, Test};
use super::googletest::UNLISTED;
use super::pipeline::{Program, program};
use super::{googletest, libtest, redirect};
use crate::diag::Problem;
use crate::process::{End, Interrupt};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Seconds that a listing may take where the suite has no limit.
const LISTING_LIMIT: u64 = 60;
/// Characters that are shown of what a program said instead of a listing.
const SAID: usize = 2_000;

/// How tests are made of programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Each case is a test, not each part of a program.
    pub by_case: bool,
    /// Programs are not run in parts.
    pub whole: bool,
    /// Only the program at, or above, this path in the suite.
    pub only: Option<&'a str>,
}

/// Whether a format's tests are in programs that list them.
pub fn has_programs(format: &Format) -> bool {
    matches!(format, Format::Googletest { .. } | Format::Libtest { .. })
}

/// Whether what a format says of its programs can be understood.
pub(super) fn check(format: &Format) -> Result<(), Problem> {
    let Format::Libtest { programs, .. } = format else { return Ok(()) };
    for pattern in programs {
        glob::Pattern::new(pattern).map_err(|e| {
            Problem::new("bad-config", format!("`{pattern}` under `programs` is no pattern: {e}"))
                .help("name programs by their paths in the suite: `deps/mine-*`")
        })?;
    }
    Ok(())
}

/// A program of a folder.
struct Found {
    /// The path that its tests have.
    path: String,
    file: PathBuf,
}

/// The tests of the programs of a folder, and what lit would warn of.
pub(super) fn tests(
    suite: &Arc<SuiteInfo>,
    folder: &str,
    config: &Arc<Config>,
    wanted: Wanted<'_>,
) -> (Vec<Test>, Vec<String>) {
    let (mut tests, mut warnings) = (Vec::new(), Vec::new());
    for found in find(suite, folder, &config.frozen.format) {
        let own = [without_dots(&found.path), in_suite(suite, &found.file)];
        let is_named = |place: &str| own.iter().any(|path| is_at_or_below(place, path));
        if wanted.only.is_none_or(is_named) {
            of_program(suite, config, &found, wanted, &mut tests, &mut warnings);
        }
    }
    (tests, warnings)
}

/// Whether a test is at or below a place: by its path, or because it is part of the program there.
pub(super) fn is_named(test: &Test, place: &str) -> bool {
    let of_file = test.of_program.as_ref().is_some_and(|of| in_suite(&test.suite, &of.program.path) == place);
    of_file || is_at_or_below(&without_dots(&test.path), place)
}

fn is_at_or_below(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn in_suite(suite: &SuiteInfo, file: &Path) -> String {
    let inside = super::shell::normal(file);
    let inside = inside.strip_prefix(&suite.source_root).unwrap_or(&inside);
    inside.to_string_lossy().into_owned()
}

/// A path without the `.` that lit leaves in it.
pub fn without_dots(path: &str) -> String {
    path.split('/').filter(|part| *part != ".").collect::<Vec<_>>().join("/")
}

fn find(suite: &SuiteInfo, folder: &str, format: &Format) -> Vec<Found> {
    let inside = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    let mut found = Vec::new();
    match format {
        Format::Googletest { sub_dirs, prefixes, suffixes, .. } => {
            for sub in sub_dirs {
                let at = inside(sub);
                let fits = |name: &str| {
                    suffixes.iter().any(|end| name.ends_with(end.as_str()))
                        && (prefixes.is_empty()
                            || prefixes.iter().any(|start| name.starts_with(start.as_str())))
                };
                let place = suite.source_root.join(&at);
                found.extend(
                    files(&place)
                        .into_iter()
                        .filter(|name| fits(name))
                        .map(|name| Found { path: format!("{at}/{name}"), file: place.join(&name) }),
                );
            }
        }
        Format::Libtest { programs, .. } => {
            let patterns: Vec<glob::Pattern> =
                programs.iter().filter_map(|p| glob::Pattern::new(p).ok()).collect();
            let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
            let place = suite.source_root.join(folder);
            let mut names = files(&place);
            names.retain(|name| {
                patterns.iter().any(|p| p.matches_with(&inside(name), options))
                    && is_rust_test(&place.join(name))
            });
            for name in &names {
                // One program of this name is known by it in all builds; of several, only the whole name tells.
                let stem = libtest::without_hash(name);
                let is_one = names.iter().filter(|other| libtest::without_hash(other) == stem).count() == 1;
                let path = inside(if is_one { stem } else { name });
                found.push(Found { path, file: place.join(name) });
            }
        }
        _ => {}
    }
    // A folder that is named twice is looked into once.
    let mut known = BTreeSet::new();
    found.retain(|one| known.insert(one.path.clone()));
    found
}

/// Names of the files of a folder, sorted, without hidden ones. One that is not UTF-8 becomes a name that no file has:
/// what cannot be started is told, and what is left out is not.
fn files(place: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(place) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| !entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

fn is_rust_test(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let executable =
        std::fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    executable && std::fs::read(file).is_ok_and(|content| libtest::is_program(&content))
}

fn of_program(
    suite: &Arc<SuiteInfo>,
    config: &Arc<Config>,
    found: &Found,
    wanted: Wanted<'_>,
    tests: &mut Vec<Test>,
    warnings: &mut Vec<String>,
) {
    let format = &config.frozen.format;
    let program = Arc::new(start_of(suite, found, format));
    let listed = list(&program, config);
    let mut add = |path: String, part: Option<Part>| {
        let of_program = part.map(|part| OfProgram { program: Arc::clone(&program), part });
        tests.push(Test { of_program, ..Test::new(Arc::clone(suite), path, Arc::clone(config)) });
    };
    let in_parts = matches!(format, Format::Googletest { .. }) && !wanted.by_case;
    if !in_parts {
        match listed.and_then(|cases| checked(&cases, format).map(|()| cases)) {
            Ok(cases) => cases.into_iter().for_each(|name| {
                add(format!("{}/{}", found.path, case_path(&name, format)), Some(Part::Case(name)));
            }),
            Err(why) => add(found.path.clone(), Some(Part::Listing(why))),
        }
        return;
    }
    match listed {
        Ok(cases) => {
            if let Err(why) = checked(&cases, format) {
                warnings.push(format!("'{}' {why}", found.file.display()));
            }
            if wanted.whole {
                add(found.path.clone(), None);
                return;
            }
            let cores = usable_cores();
            let total = googletest::shards(cases.len(), cores);
            (0..total).for_each(|index| add(format!("{}/{index}/{total}", found.path), None));
        }
        Err(why) => {
            warnings.push(format!("unable to discover google-tests in '{}': {why}", found.file.display()));
            add(format!("{}/{UNLISTED}", found.path), None);
        }
    }
}

/// How a program is started.
fn start_of(suite: &SuiteInfo, found: &Found, format: &Format) -> TestProgram {
    let file = super::shell::normal(&found.file);
    let here = std::env::current_dir().unwrap_or_default();
    let (mut words, folder) = match format {
        Format::Googletest { run_under, python, .. } => {
            let python = python.iter().filter(|_| file.extension().is_some_and(|e| e == "py"));
            (run_under.iter().chain(python).cloned().collect(), here)
        }
        Format::Libtest { run_under, run_in, .. } => {
            let folder = run_in.as_ref().map_or(here, |f| super::shell::normal(&suite.source_root.join(f)));
            (run_under.clone(), folder)
        }
        _ => (Vec::new(), here),
    };
    words.push(file.display().to_string());
    TestProgram { path: file, words, folder }
}

/// The cases that a program lists.
fn list(of: &TestProgram, config: &Config) -> Result<Vec<String>, String> {
    let format = &config.frozen.format;
    let mut argv = of.words.clone();
    argv.extend(listing_arguments(format).iter().map(|a| (*a).to_owned()));
    let limit = Some(config.frozen.timeout).filter(|t| *t > 0).unwrap_or(LISTING_LIMIT);
    let mut env = config.frozen.environment.clone();
    for (name, value) in of_the_user(format) {
        env.entry(name).or_insert(value);
    }
    let interrupt = Interrupt::manual().map_err(|e| e.to_string())?;
    let done = program(&Program {
        marker: &format!("listing/{}", std::process::id()),
        folder: &of.folder,
        argv: &argv,
        env,
        limit: Some(Duration::from_secs(limit)),
        merged: false,
        interrupt: &interrupt,
    })
    .map_err(|e| format!("its cases cannot be listed: {}", redirect::os_error(&e, &argv[0])))?;
    let said = || {
        let all = [done.stdout.as_slice(), done.stderr.as_slice()].concat();
        let text = String::from_utf8_lossy(&all);
        text.trim().chars().take(SAID).collect::<String>()
    };
    match (done.end, done.status) {
        (End::Ended, 0) => {}
        (End::Ended, status) => {
            return Err(format!("its cases cannot be listed: exit status {status}; it said: {}", said()));
        }
        _ => return Err(format!("its cases cannot be listed: it took more than {limit} seconds")),
    }
    let text = String::from_utf8_lossy(&done.stdout);
    match format {
        Format::Libtest { .. } => {
            libtest::listed(&text).map_err(|why| format!("its listing cannot be read: {why}"))
        }
        _ => Ok(googletest::listed(&text)),
    }
}

fn case_path(name: &str, format: &Format) -> String {
    match format {
        Format::Googletest { .. } => googletest::path_of(name),
        _ => name.to_owned(),
    }
}

/// A listing must name something, and nothing twice: each case has one place in the results.
fn checked(cases: &[String], format: &Format) -> Result<(), String> {
    let may_be_empty = match format {
        Format::Googletest { may_be_empty, .. } | Format::Libtest { may_be_empty, .. } => *may_be_empty,
        _ => true,
    };
    if cases.is_empty() && !may_be_empty {
        return Err("lists no case; `may_be_empty = true` of its format accepts that".to_owned());
    }
    let mut known = BTreeSet::new();
    match cases.iter().find(|name| !known.insert(case_path(name, format))) {
        Some(name) => Err(format!("lists `{name}` twice")),
        None => Ok(()),
    }
}

/// What the parts of a googletest program, all of which have run, leave open: cases that are listed and were not reported, that were
/// reported twice, or reported and not listed. Nothing when the cases were chosen from outside.
pub fn unreconciled(test: &Test, executable: &Path, reported: &[String]) -> Vec<String> {
    let config = &test.config;
    let is_set =
        |name: &str| config.frozen.environment.contains_key(name) || std::env::var_os(name).is_some();
    if googletest::CHOOSES.iter().any(|name| is_set(name)) {
        return Vec::new();
    }
    let found = Found { path: String::new(), file: executable.to_path_buf() };
    let Ok(cases) = list(&start_of(&test.suite, &found, &config.frozen.format), config) else {
        return Vec::new();
    };
    let listed: Vec<String> = cases.iter().map(|name| googletest::path_of(name)).collect();
    let told = disagreements(&listed, reported);
    told.into_iter().map(|what| format!("'{}': {what}", executable.display())).collect()
}

fn disagreements(listed: &[String], reported: &[String]) -> Vec<String> {
    let counts = |names: &[String]| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        names.iter().for_each(|name| *counts.entry(name.clone()).or_default() += 1);
        counts
    };
    let (listed, reported) = (counts(listed), counts(reported));
    let lost = listed.keys().filter(|case| !reported.contains_key(*case));
    let lost = lost.map(|case| format!("`{case}` was {}", super::cases::NOT_REPORTED));
    let odd = reported.iter().filter_map(|(case, count)| match (listed.contains_key(case), count) {
        (false, _) => Some(format!("`{case}` was reported and not listed")),
        (true, 1) => None,
        (true, count) => Some(format!("`{case}` was listed once and has {count} results")),
    });
    lost.chain(odd).collect()
}

/// Cores that this process may use, as lit counts them: a quota does not count.
fn usable_cores() -> usize {
    #[cfg(target_os = "linux")]
    let cores = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count() as usize);
    #[cfg(not(target_os = "linux"))]
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_names_something_and_nothing_twice() {
        let format = |may_be_empty| Format::Libtest {
            programs: Vec::new(),
            run_under: Vec::new(),
            run_in: None,
            may_be_empty,
        };
        let check = |cases: &[&str], may_be_empty, expect: Result<(), &str>| {
            let cases: Vec<String> = cases.iter().map(|c| (*c).to_owned()).collect();
            assert_eq!(checked(&cases, &format(may_be_empty)), expect.map_err(str::to_owned), "{cases:?}");
        };
        check(&["a", "b"], false, Ok(()));
        check(&["a", "b", "a"], false, Err("lists `a` twice"));
        check(&[], true, Ok(()));
        check(&[], false, Err("lists no case; `may_be_empty = true` of its format accepts that"));
    }

    #[test]
    fn each_case_that_is_listed_is_reported_once() {
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let check = |listed, reported, expect: &[&str]| {
            assert_eq!(disagreements(&names(listed), &names(reported)), expect, "{listed} / {reported}");
        };
        check("a b", "b a", &[]);
        check("a b", "a", &["`b` was listed and not reported"]);
        check("a", "a c", &["`c` was reported and not listed"]);
        check("a", "a a", &["`a` was listed once and has 2 results"]);
    }

    #[test]
    fn places() {
        assert_eq!(without_dots("a/./b/c"), "a/b/c");
        assert!(is_at_or_below("a/b", "a") && is_at_or_below("a", "a") && !is_at_or_below("ab", "a"));
    }
}
