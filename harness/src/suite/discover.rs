//! Which suites there are and which files each claims. Every file under a suite's root is claimed as a test
//! (`files`), claimed as something else (`exclude`), or reported as claimed by nobody: a test cannot be lost
//! by a wrong path.

use super::config::{self, Config, FolderConfig};
use super::kind::Kind;
use crate::diag::Problem;
use crate::lit::discover::{self, FrozenSuite};
use crate::lit::frozen_suite;
use crate::lit::python::{NoAnswer, Question};
use runproof_directives::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A suite: a folder with a configuration file that names its test files.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Root folder of its files, absolute.
    pub root: PathBuf,
    /// Folder of its `runproof.toml`: the root, unless a suite in lit's dialect says where its files are.
    pub home: PathBuf,
    /// Only the files at the paths that were named are here.
    pub narrowed: bool,
    /// Its configuration as lit has it, in that dialect.
    pub lit: Option<Arc<FrozenSuite>>,
    /// Name, unique in a run.
    pub name: String,
    /// The root's configuration first, then those of folders below it, outer before inner.
    pub configs: Vec<FolderConfig>,
    /// Test files relative to the root, with `/`, sorted.
    pub files: Vec<String>,
    /// Those of `files` that are no files but cases of programs.
    pub cases: BTreeMap<String, crate::lit::Test>,
    /// Files that neither `files` nor `exclude` claims, sorted.
    pub unclaimed: Vec<String>,
}

impl Suite {
    /// The root's configuration.
    pub fn config(&self) -> &Config {
        &self.configs[0].config
    }

    /// What a place, absolute and without links, names of the suite: a path in it, empty for all of it; `None` for
    /// nothing.
    pub fn part_at(&self, place: &Path) -> Option<String> {
        if self.home.starts_with(place) {
            return Some(String::new());
        }
        match &self.lit {
            Some(lit) => lit.inside(place),
            None => place.strip_prefix(&self.root).ok().map(|p| p.to_string_lossy().into_owned()),
        }
    }

    /// A path that the configuration names relative to its file.
    pub fn resolve(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

/// A suite inside another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inner {
    /// Folder of its `runproof.toml`.
    pub home: PathBuf,
    /// Path of its files in the suite around it.
    pub path: String,
}

/// Finds the suites at or below each of `places`, also those inside others; a place inside a suite finds that suite.
///
/// # Errors
/// Every problem of every configuration file found, a place without any suite, two suites with one name.
pub fn find_suites(places: &[PathBuf]) -> Result<Vec<Suite>, Vec<Problem>> {
    let (mut known, mut to_open) = (BTreeSet::new(), Vec::new());
    let (mut real, mut problems) = (Vec::new(), Vec::new());
    for place in places {
        match roots_for(place) {
            Ok((place, found)) => {
                real.push(place);
                to_open.extend(found);
            }
            Err(problem) => problems.push(problem),
        }
    }
    let mut suites: Vec<Suite> = Vec::new();
    while let Some(home) = to_open.pop() {
        if !known.insert(home.clone()) {
            continue;
        }
        match open(&home) {
            Ok((suite, inner)) => {
                let parts: Vec<String> = real.iter().filter_map(|place| suite.part_at(place)).collect();
                let is_named = |inner: &Inner| {
                    parts.iter().any(|p| is_at_or_below(&inner.path, p) || is_at_or_below(p, &inner.path))
                };
                // By whatever links it was reached, a suite is one.
                let inner = inner.into_iter().filter(is_named);
                to_open.extend(inner.map(|i| i.home.canonicalize().unwrap_or(i.home)));
                suites.push(suite);
            }
            Err(more) => problems.extend(more),
        }
    }
    suites.sort_by(|a, b| a.home.cmp(&b.home));
    let mut by_name: BTreeMap<&str, &Suite> = BTreeMap::new();
    for suite in &suites {
        if let Some(other) = by_name.insert(&suite.name, suite) {
            let (name, places) = (&suite.name, [show(&other.home), show(&suite.home)]);
            let text = format!("two suites are named `{name}`: `{}` and `{}`", places[0], places[1]);
            let help = "give one of them another `[suite] name`: names key the evidence";
            problems.push(Problem::new("duplicate-suite", text).help(help));
        }
    }
    if problems.is_empty() { Ok(suites) } else { Err(problems) }
}

/// Whether a path in a suite is this place or lies below it. The empty place is the suite.
pub fn is_at_or_below(path: &str, place: &str) -> bool {
    place.is_empty() || path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A path for a message: relative to the current folder where that is shorter.
pub fn show(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let short = here.and_then(|h| path.strip_prefix(h).ok().map(Path::to_path_buf));
    match short {
        Some(p) if p.as_os_str().is_empty() => ".".to_owned(),
        Some(p) => p.display().to_string(),
        None => path.display().to_string(),
    }
}

/// A file cannot be a test because of its name, or of a folder's above it.
pub fn not_utf8(path: &Path) -> Problem {
    Problem::new("unreadable-file", format!("the name of `{}` is not UTF-8", show(path)))
        .help("rename the file or folder: test ids are UTF-8")
}

/// A place without links, and the suite around it or those below it.
fn roots_for(place: &Path) -> Result<(PathBuf, Vec<PathBuf>), Problem> {
    let absolute = std::fs::canonicalize(place).map_err(|e| {
        Problem::new("no-suite", format!("`{}` cannot be found: {e}", place.display()))
            .help("name a folder that has (or lies in, or contains) a `runproof.toml`")
    })?;
    let start = if absolute.is_dir() { absolute.as_path() } else { absolute.parent().unwrap_or(&absolute) };
    let around = |is_root: fn(Kind) -> bool| {
        start.ancestors().find(|f| Kind::of(f).is_some_and(is_root)).map(Path::to_path_buf)
    };
    if let Some(root) = around(Kind::is_suite) {
        return Ok((absolute, vec![root]));
    }
    let files = walkdir::WalkDir::new(start)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|e| e.depth() == 0 || !is_out_of_bounds(e))
        .filter_map(Result::ok)
        .filter(|e| e.file_name() == config::FILE);
    let folders = files.filter_map(|e| e.path().parent().map(|f| (f.to_path_buf(), Kind::of(f))));
    let (suites, others): (Vec<_>, Vec<_>) = folders.partition(|(_, kind)| kind.is_some_and(Kind::is_suite));
    let mut found: Vec<PathBuf> = suites.into_iter().map(|(folder, _)| folder).collect();
    // Settings of a folder that is in no suite are those of a suite that says too little: that is told.
    let lost = |folder: &PathBuf| !found.iter().any(|root| folder.starts_with(root));
    let lost: Vec<PathBuf> = others.into_iter().map(|(folder, _)| folder).filter(lost).collect();
    found.extend(around(|_| true).into_iter().chain(lost));
    if found.is_empty() {
        return Err(Problem::new("no-suite", format!("no suite at, above or below `{}`", show(start))).help(
            "a suite is a folder with a `runproof.toml`, at least:\n[suite]\nfiles = [\"**/*.test\"]",
        ));
    }
    Ok((absolute, found))
}

/// Folders that hold no suites of a project: hidden ones, build output, evidence.
fn is_out_of_bounds(entry: &walkdir::DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    entry.file_type().is_dir()
        && (name.starts_with('.')
            || name == "node_modules"
            || name == crate::run::OUTPUT_FOLDER
            || is_cargo_target(entry.path()))
}

fn is_cargo_target(path: &Path) -> bool {
    path.file_name().is_some_and(|n| n == "target") && path.join("CACHEDIR.TAG").exists()
}

/// Reads the file of a suite: its text, what it says, and the suite's name.
fn read_root(root: &Path) -> Result<(Source, Config, String), Vec<Problem>> {
    let file = root.join(config::FILE);
    let (source, config) = config::read(&file, &show(&file))?;
    let name = name_of(&config, root);
    Ok((source, config, name))
}

fn name_of(config: &Config, root: &Path) -> String {
    config.suite.name.as_ref().map_or_else(
        || root.file_name().map_or_else(|| "suite".to_owned(), |n| n.to_string_lossy().into_owned()),
        |n| n.get_ref().clone(),
    )
}

/// A suite in lit's dialect whose files were not looked for yet.
///
/// # Errors
/// Its file does not hold, or is of the strict dialect.
pub fn open_lit_root(root: &Path) -> Result<Suite, Vec<Problem>> {
    let (source, config, name) = read_root(root)?;
    if !discover::is_lit(&config) {
        let text = format!("suite `{name}` in `{}` is not in lit's dialect", show(root));
        return Err(vec![Problem::new("bad-config", text).help("run it with `runproof test`")]);
    }
    Ok(without_files(root, source, config, name))
}

fn without_files(home: &Path, source: Source, config: Config, name: String) -> Suite {
    Suite {
        root: frozen_suite::roots(&config.lit, home).0,
        home: home.to_path_buf(),
        narrowed: false,
        lit: None,
        name,
        configs: vec![FolderConfig { folder: String::new(), source, config }],
        files: Vec::new(),
        cases: BTreeMap::new(),
        unclaimed: Vec::new(),
    }
}

/// Opens a suite: its files, and the suites inside it, which are looked for on the way.
fn open(root: &Path) -> Result<(Suite, Vec<Inner>), Vec<Problem>> {
    let (source, config, name) = read_root(root)?;
    if discover::is_lit(&config) {
        return open_as_lit(root, source, config, name);
    }
    let mut problems = Vec::new();
    let Some(patterns) = config.suite.files.clone() else {
        return Err(vec![
            Problem::new("no-files", format!("suite `{name}` does not say which files are tests"))
                .at(
                    &source,
                    runproof_directives::Span::new(0, source.bytes.len().min(1)),
                    "no `files` in `[suite]`",
                )
                .help("add `files = [\"**/*.test\"]` under `[suite]`"),
        ]);
    };
    let compile = |list: Vec<toml::Spanned<String>>| -> Vec<glob::Pattern> {
        list.into_iter().filter_map(|p| glob::Pattern::new(p.get_ref()).ok()).collect()
    };
    let wanted = compile(patterns);
    let excluded = compile(config.suite.exclude.clone().unwrap_or_default());
    let named: BTreeSet<PathBuf> = [config.devices.fleet.as_ref(), config.report.reasons.as_ref()]
        .into_iter()
        .flatten()
        .map(|p| root.join(p.get_ref()))
        .collect();
    let mut suite = without_files(root, source, config, name);
    let mut inner = Vec::new();
    let walk = walkdir::WalkDir::new(root).into_iter().filter_entry(|e| {
        if e.depth() == 0 || is_out_of_bounds(e) {
            return e.depth() == 0;
        }
        let is_suite = e.file_type().is_dir() && Kind::of(e.path()).is_some_and(Kind::is_suite);
        if is_suite && let Some(path) = relative(root, e.path()) {
            inner.push(Inner { home: e.path().to_path_buf(), path });
        }
        !is_suite
    });
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
    for entry in walk {
        let entry = match entry {
            Ok(entry) => entry,
            Err(e) => {
                problems.push(
                    Problem::new(
                        "unreadable-file",
                        format!("a folder of suite `{}` cannot be read: {e}", suite.name),
                    )
                    .help("make it readable or take it out of the suite's root"),
                );
                continue;
            }
        };
        if entry.file_type().is_dir() || entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let Some(relative) = relative(root, entry.path()) else {
            problems.push(not_utf8(entry.path()));
            continue;
        };
        if entry.file_name() == config::FILE {
            if entry.depth() > 1 {
                read_folder(&mut suite, entry.path(), &relative, &mut problems);
            }
        } else if excluded.iter().any(|p| p.matches_with(&relative, options)) {
        } else if wanted.iter().any(|p| p.matches_with(&relative, options)) {
            suite.files.push(relative);
        } else if !named.contains(entry.path()) {
            suite.unclaimed.push(relative);
        }
    }
    suite.files.sort();
    suite.unclaimed.sort();
    suite.configs.sort_by(|a, b| a.folder.cmp(&b.folder));
    if problems.is_empty() { Ok((suite, inner)) } else { Err(problems) }
}

/// A suite in lit's dialect by the text of a `runproof.toml` that is not there yet, with the files that are its tests.
///
/// # Errors
/// The text does not hold.
pub fn lit_suite(home: &Path, text: &str, files: BTreeSet<String>) -> Result<Suite, Vec<Problem>> {
    let file = home.join(config::FILE);
    let (source, config) = config::parse(&show(&file), text.as_bytes().to_vec())?;
    let name = name_of(&config, home);
    let mut suite = without_files(home, source, config, name);
    suite.files = files.into_iter().collect();
    suite.lit = Some(Arc::new(FrozenSuite::of(&suite, &Question::default()).map_err(NoAnswer::problems)?));
    Ok(suite)
}

/// A suite in lit's dialect: its files are those that lit would find, and nobody claims the others.
fn open_as_lit(
    home: &Path,
    source: Source,
    config: Config,
    name: String,
) -> Result<(Suite, Vec<Inner>), Vec<Problem>> {
    let mut suite = without_files(home, source, config, name);
    let question = Question { by_case: true, one_suite: true, ..Question::default() };
    let frozen = FrozenSuite::of(&suite, &question).map_err(NoAnswer::problems)?;
    let found = frozen.tests("", &question).map_err(NoAnswer::problems)?;
    for test in found.tests {
        suite.files.push(test.path.clone());
        if test.of_program.is_some()
            && let Some(other) = suite.cases.insert(test.path.clone(), test)
        {
            let text =
                format!("two cases of programs of suite `{}` have the path `{}`", suite.name, other.path);
            let problem = Problem::new("bad-config", text)
                .help("rename one of them, or put their programs into suites of their own");
            return Err(vec![problem]);
        }
    }
    suite.files.sort();
    suite.lit = Some(Arc::new(frozen));
    Ok((suite, found.inner))
}

fn read_folder(suite: &mut Suite, path: &Path, relative: &str, problems: &mut Vec<Problem>) {
    match config::read(path, &show(path)) {
        Ok((source, config)) => {
            problems.extend(config.check_folder(&source));
            let folder =
                relative.strip_suffix(config::FILE).unwrap_or(relative).trim_end_matches('/').to_owned();
            suite.configs.push(FolderConfig { folder, source, config });
        }
        Err(more) => problems.extend(more),
    }
}

fn relative(root: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.strip_prefix(root).ok()?.iter().map(|p| p.to_str()).collect();
    Some(parts?.join("/"))
}

/// Folder configurations that apply to a file, outermost first.
pub fn configs_for<'a>(suite: &'a Suite, file: &str) -> Vec<&'a FolderConfig> {
    suite
        .configs
        .iter()
        .filter(|c| {
            c.folder.is_empty() || file.strip_prefix(&c.folder).is_some_and(|rest| rest.starts_with('/'))
        })
        .collect()
}

/// Files whose names differ only in letter case: they are one file on some hosts.
pub fn case_clashes(files: &[String]) -> Vec<(String, String)> {
    let mut seen: BTreeMap<String, &String> = BTreeMap::new();
    let mut clashes = Vec::new();
    for file in files {
        if let Some(other) = seen.insert(file.to_lowercase(), file) {
            clashes.push((other.clone(), file.clone()));
        }
    }
    clashes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Vec<Suite>, Vec<Problem>>) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = find_suites(&[dir.path().to_path_buf()]);
        (dir, found)
    }

    #[test]
    fn every_file_is_claimed_or_named() {
        let (_dir, found) = suite(&[
            ("runproof.toml", "[suite]\nname = \"s\"\nfiles = [\"**/*.vx\"]\nexclude = [\"Inputs/**\"]\n"),
            ("a.vx", ""),
            ("deep/er/b.vx", ""),
            ("Inputs/data.txt", ""),
            ("stray.txt", ""),
            (".hidden", ""),
        ]);
        let suites = found.unwrap();
        assert_eq!(suites[0].files, ["a.vx", "deep/er/b.vx"]);
        assert_eq!(suites[0].unclaimed, ["stray.txt"]);
    }

    #[test]
    fn a_nested_suite_is_its_own_and_a_folder_file_overrides() {
        let (_dir, found) = suite(&[
            ("runproof.toml", "[suite]\nname = \"outer\"\nfiles = [\"**/*.vx\"]\n"),
            ("inner/runproof.toml", "[suite]\nname = \"inner\"\nfiles = [\"*.vx\"]\n"),
            ("inner/a.vx", ""),
            ("slow/runproof.toml", "[suite]\ntimeout = \"2m\"\n"),
            ("slow/b.vx", ""),
        ]);
        let suites = found.unwrap();
        let names: Vec<&str> = suites.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["outer", "inner"], "a suite is found inside another");
        assert_eq!(
            (&suites[0].files[..], &suites[1].files[..]),
            (&["slow/b.vx".to_owned()][..], &["a.vx".to_owned()][..])
        );
        assert_eq!(configs_for(&suites[0], "slow/b.vx").len(), 2);
        assert_eq!(configs_for(&suites[0], "slower.vx").len(), 1);
    }

    #[test]
    fn no_suite_is_an_error_with_a_way_out() {
        let (_dir, found) = suite(&[("a.vx", "// RUN: true\n")]);
        let problems = found.unwrap_err();
        assert_eq!(problems[0].code, "no-suite");
        assert!(problems[0].help[0].contains("files ="));
    }

    #[test]
    fn two_suites_with_one_name_are_refused() {
        let (_dir, found) = suite(&[
            ("a/runproof.toml", "[suite]\nname = \"s\"\nfiles = [\"*.vx\"]\n"),
            ("b/runproof.toml", "[suite]\nname = \"s\"\nfiles = [\"*.vx\"]\n"),
        ]);
        assert_eq!(found.unwrap_err()[0].code, "duplicate-suite");
    }

    #[test]
    fn a_suite_must_say_its_files() {
        let (_dir, found) = suite(&[("runproof.toml", "[suite]\nname = \"s\"\n")]);
        assert_eq!(found.unwrap_err()[0].code, "no-files");
    }
}
