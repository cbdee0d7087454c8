//! Which tests there are: by a `runproof.toml` in lit's dialect, or by lit's own configuration files. Of the two the nearer
//! one counts, and of two in one folder the `runproof.toml`.

use super::config::{Format, Frozen, FrozenSubstitution, SuiteInfo, Test};
use super::frozen_suite::{Folders, More, lost_folders, other_version, roots};
use super::programs::{self, Wanted};
use super::python::{self, NoAnswer, Question};
use crate::diag::Problem;
use crate::suite::config::{self, Dialect};
use crate::suite::discover::{Inner, Suite, not_utf8, open_lit_root, show};
use crate::suite::features::{Features, KindState};
use crate::suite::kind::Kind;
use crate::suite::{Settings, tools};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::DirEntry;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The tests of some places.
#[derive(Debug, Default)]
pub struct Discovered {
    /// Tests in the order in which they were found.
    pub tests: Vec<Test>,
    /// Size of each parallelism group.
    pub groups: BTreeMap<String, usize>,
    /// Each command writes a profile of its own.
    pub coverage: bool,
    /// Warnings that were given on the way.
    pub warnings: u32,
    /// Errors that were told on the way.
    pub errors: u32,
    /// Some suite's configuration was written down before: parameters do not reach it.
    pub frozen: bool,
    /// Suites inside that were named and not looked into.
    pub inner: Vec<Inner>,
}

impl Discovered {
    fn add(&mut self, mut other: Self) {
        self.tests.append(&mut other.tests);
        self.groups.append(&mut other.groups);
        self.coverage |= other.coverage;
        self.warnings += other.warnings;
        self.errors += other.errors;
        self.frozen |= other.frozen;
        self.inner.append(&mut other.inner);
    }
}

/// Finds the tests of every place that is named.
///
/// # Errors
/// A configuration that cannot be read.
pub fn discover(question: &Question) -> Result<Discovered, NoAnswer> {
    let mut discovered = Discovered::default();
    let mut for_python = Vec::new();
    let mut known: BTreeMap<PathBuf, FrozenSuite> = BTreeMap::new();
    for path in &question.paths {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let absolute = super::shell::normal(&absolute);
        let Some(home) = home_of(&absolute, question.prefix()) else {
            for_python.push(path.clone());
            continue;
        };
        if !known.contains_key(&home) {
            known.insert(home.clone(), FrozenSuite::open(&home, question)?);
        }
        let Some(suite) = known.get(&home) else { continue };
        if absolute.to_str().is_none() {
            return Err(NoAnswer::Problems(vec![not_utf8(&absolute)]));
        }
        let before = discovered.tests.len();
        let place = suite.inside(&absolute).unwrap_or_default();
        discovered.add(suite.tests(&place, question)?);
        if discovered.tests.len() == before {
            question.warn(&format!("input '{}' contained no tests", path.display()));
            discovered.warnings += 1;
        }
    }
    if !for_python.is_empty() {
        let question = Question { paths: for_python, ..question.clone() };
        discovered.add(python::ask(&question)?.into());
    }
    Ok(discovered)
}

/// The folder of the nearest suite at or above a place, unless its configuration is Python.
fn home_of(path: &Path, prefix: &str) -> Option<PathBuf> {
    let mut homes = path.ancestors().filter_map(|folder| Some((folder, home(folder, prefix)?)));
    let (folder, home) = homes.find(|(_, home)| *home != Home::Settings)?;
    (home != Home::Python).then(|| folder.to_path_buf())
}

/// What the files of a folder make of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    /// A suite in lit's dialect, or one that nobody can tell: it is opened, and its problem told.
    Lit,
    /// A suite whose configuration is Python.
    Python,
    /// A suite in the strict dialect.
    Strict,
    /// A folder with settings of its own.
    Settings,
}

fn home(folder: &Path, prefix: &str) -> Option<Home> {
    let kind = Kind::of(folder);
    if matches!(kind, Some(Kind::Lit | Kind::Broken)) {
        return Some(Home::Lit);
    }
    let own = ["site.cfg.py", "site.cfg", "cfg.py", "cfg"];
    if own.iter().any(|end| folder.join(format!("{prefix}.{end}")).exists()) {
        return Some(Home::Python);
    }
    kind.map(|kind| if kind == Kind::Folder { Home::Settings } else { Home::Strict })
}

/// Tells a folder from all others, by whatever path it was reached.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(folder).ok().map(|found| (found.dev(), found.ino()))
}

/// The folders that were gone through to reach one, itself included.
type Way = Vec<(u64, u64)>;

/// A suite whose configuration is in a `runproof.toml`.
#[derive(Debug)]
pub struct FrozenSuite {
    /// Folder of the file.
    pub home: PathBuf,
    /// Name and folders.
    pub info: Arc<SuiteInfo>,
    folders: Folders,
    groups: BTreeMap<String, usize>,
}

impl FrozenSuite {
    /// Reads the file of a folder.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(home: &Path, question: &Question) -> Result<Self, NoAnswer> {
        let suite = open_lit_root(home).map_err(NoAnswer::Problems)?;
        Self::of(&suite, question)
    }

    /// Of a suite that was read already.
    ///
    /// # Errors
    /// A tool that is not there, a feature that cannot be decided, a folder that is none.
    pub fn of(suite: &Suite, question: &Question) -> Result<Self, NoAnswer> {
        let section = &suite.config().lit;
        let (source_root, exec_root) = roots(section, &suite.home);
        let info = SuiteInfo { name: suite.name.clone(), source_root, exec_root };
        let formats = std::iter::once(&section.config.format)
            .chain(section.folder.iter().filter_map(|f| f.format.as_ref()));
        for format in formats {
            programs::check(format).map_err(|problem| NoAnswer::Problems(vec![problem]))?;
        }
        let lost = lost_folders(suite);
        if !lost.is_empty() {
            return Err(NoAnswer::Problems(lost));
        }
        if let Some(text) = other_version(section) {
            question.note(&format!("{}: {text}", suite.name));
        }
        let more = More {
            path: question.folders.clone(),
            timeout: question.timeout,
            retries: question.retries,
            ..by_hand(&Settings::for_file(suite, "any"))?
        };
        let folders = Folders::new(section, more);
        Ok(Self { home: suite.home.clone(), info: Arc::new(info), folders, groups: section.groups.clone() })
    }

    /// A place as a path in the suite. It may be named by where the files are, where they run, or below the file's folder.
    pub fn inside(&self, place: &Path) -> Option<String> {
        let real = place.canonicalize().unwrap_or_else(|_| place.to_path_buf());
        let roots = [&self.info.exec_root, &self.info.source_root, &self.home];
        let inside = [place, &real].into_iter().flat_map(|p| roots.iter().map(move |r| p.strip_prefix(r)));
        inside.flatten().next().map(|p| p.to_string_lossy().into_owned())
    }

    /// The configuration of a file.
    pub fn test(&self, path: &str) -> Test {
        let folder = path.rfind('/').map_or("", |at| &path[..at]);
        Test::new(Arc::clone(&self.info), path.to_owned(), Arc::clone(self.folders.of(folder)))
    }

    /// The tests at or below a path in the suite.
    ///
    /// # Errors
    /// A suite inside it cannot be read.
    pub fn tests(&self, path: &str, question: &Question) -> Result<Discovered, NoAnswer> {
        self.tests_on(&mut Way::new(), path, question)
    }

    fn tests_on(&self, way: &mut Way, path: &str, question: &Question) -> Result<Discovered, NoAnswer> {
        let mut found = Discovered { groups: self.groups.clone(), frozen: true, ..Discovered::default() };
        let place = self.info.source_root.join(path);
        if place.is_dir() {
            let path = path.trim_end_matches('/');
            let length = way.len();
            let above = place.ancestors().take_while(|p| p.starts_with(&self.info.source_root));
            way.extend(above.chain([self.home.as_path()]).filter_map(identity));
            self.walk(way, path, &entries(&place), &mut found, question)?;
            way.truncate(length);
        } else if self.programs_above(path, &mut found, question) {
            found.tests.retain(|test| programs::is_named(test, path));
        } else if place.exists() {
            let test = self.test(path);
            let name = path.rsplit('/').next().unwrap_or(path);
            if test.config.frozen.standalone || is_test(name, &test.config.frozen) {
                found.tests.push(test);
            }
        }
        Ok(found)
    }

    /// Looks for a program at or above a path that is no folder. Whether there is a folder at all whose tests are in programs.
    fn programs_above(&self, path: &str, found: &mut Discovered, question: &Question) -> bool {
        let above = std::iter::successors(Some(path), |p| {
            (!p.is_empty()).then(|| p.rfind('/').map_or("", |at| &p[..at]))
        });
        let mut any = false;
        for folder in above.skip(1) {
            let config = self.folders.of(folder);
            if programs::has_programs(&config.frozen.format) {
                any = true;
                self.programs(folder, found, question, Some(path));
            }
        }
        any
    }

    /// The tests in the programs of a folder.
    fn programs(&self, folder: &str, found: &mut Discovered, question: &Question, only: Option<&str>) {
        let wanted = Wanted { by_case: question.by_case, whole: question.whole_programs, only };
        let (tests, warnings) = programs::tests(&self.info, folder, self.folders.of(folder), wanted);
        found.tests.extend(tests);
        for warning in warnings {
            question.warn(&warning);
            found.warnings += 1;
        }
    }

    fn walk(
        &self,
        way: &mut Way,
        path: &str,
        entries: &[DirEntry],
        found: &mut Discovered,
        question: &Question,
    ) -> Result<(), NoAnswer> {
        let config = self.folders.of(path);
        let frozen = &config.frozen;
        if frozen.standalone {
            return Ok(());
        }
        let of_programs = programs::has_programs(&frozen.format);
        if of_programs {
            self.programs(path, found, question, None);
        }
        let of_files = !of_programs && !matches!(frozen.format, Format::None);
        let mut folders = Vec::new();
        for entry in entries {
            let Ok(name) = entry.file_name().into_string() else {
                if of_files && let Some(lost) = first_test(&entry.path(), frozen) {
                    return Err(NoAnswer::Problems(vec![not_utf8(&lost)]));
                }
                continue;
            };
            let is_folder = match entry.file_type() {
                Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
                Ok(kind) => kind.is_dir(),
                Err(_) => continue,
            };
            let inside = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            if is_folder {
                if !matches!(name.as_str(), "Output" | ".svn" | ".git") && !frozen.excludes.contains(&name) {
                    folders.push(inside);
                }
            } else if of_files && is_test(&name, frozen) {
                found.tests.push(Test::new(Arc::clone(&self.info), inside, Arc::clone(config)));
            }
        }
        for folder in folders {
            let place = self.info.source_root.join(&folder);
            // A link that leads back to a folder above: its tests are found there.
            let Some(identity) = identity(&place).filter(|i| !way.contains(i)) else { continue };
            way.push(identity);
            self.enter(way, &folder, &place, found, question)?;
            way.pop();
        }
        Ok(())
    }

    /// Goes into a folder, which may have a configuration of its own: where tests run, or else where files are.
    fn enter(
        &self,
        way: &mut Way,
        path: &str,
        place: &Path,
        found: &mut Discovered,
        question: &Question,
    ) -> Result<(), NoAnswer> {
        let prefix = question.prefix();
        let exec = self.info.exec_root.join(path);
        if exec != place
            && exec.is_dir()
            && let Some(home) = home(&exec, prefix)
        {
            return self.inner(way, path, (&exec, home), found, question);
        }
        let entries = entries(place);
        // Most folders have none, and it takes a look at five files to tell.
        let is_own = |name: &str| name == config::FILE || name.starts_with(prefix);
        if entries.iter().any(|e| e.file_name().to_str().is_some_and(is_own))
            && let Some(home) = home(place, prefix)
        {
            return self.inner(way, path, (place, home), found, question);
        }
        self.walk(way, path, &entries, found, question)
    }

    /// A folder that has a configuration of its own.
    fn inner(
        &self,
        way: &mut Way,
        path: &str,
        (place, home): (&Path, Home),
        found: &mut Discovered,
        question: &Question,
    ) -> Result<(), NoAnswer> {
        let problem = |text: &str, help: &str| {
            let problem = Problem::new("bad-config", format!("`{}` {text}", show(place))).help(help);
            Err(NoAnswer::Problems(vec![problem]))
        };
        match home {
            Home::Lit | Home::Strict if question.one_suite => {
                found.inner.push(Inner { home: place.to_path_buf(), path: path.to_owned() });
            }
            Home::Lit => {
                // lit knows suites by their real paths.
                let real = place.canonicalize().unwrap_or_else(|_| place.to_path_buf());
                let suite = Self::open(&real, question)?;
                if suite.info != self.info {
                    let inner = suite.tests_on(way, "", question)?;
                    if inner.tests.is_empty() {
                        question.warn(&format!("test suite '{}' contained no tests", suite.info.name));
                        found.warnings += 1;
                    }
                    found.add(inner);
                }
            }
            Home::Python if question.one_suite => {
                return problem(
                    "is a suite whose configuration is Python, in a suite that has moved",
                    &format!(
                        "move it as well, with `runproof migrate {}`, or put its name under `[lit.config] excludes`",
                        show(place)
                    ),
                );
            }
            Home::Python => {
                let question = Question { paths: vec![place.to_path_buf()], ..question.clone() };
                found.add(
                    python::ask(&question)
                        .map_err(|e| e.help(&format!("the suite is `{}`", show(place))))?
                        .into(),
                );
            }
            Home::Strict => {
                let place = show(place);
                question.warn(&format!("suite '{place}' is left out: `runproof test {place}` runs it"));
                found.warnings += 1;
            }
            Home::Settings => {
                return problem(
                    &format!("has a `{}` without effect: it lies in a suite in lit's dialect", config::FILE),
                    "write what differs in that folder under `[[lit.folder]]` of the suite's own file",
                );
            }
        }
        Ok(())
    }
}

/// What is in a folder; nothing when it cannot be read.
fn entries(folder: &Path) -> Vec<DirEntry> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().collect()
}

/// The first test at or below a place, whatever its name is made of.
fn first_test(place: &Path, frozen: &Frozen) -> Option<PathBuf> {
    let files = walkdir::WalkDir::new(place).into_iter().flatten().filter(|e| !e.file_type().is_dir());
    let mut tests = files.filter(|e| is_test(&e.file_name().to_string_lossy(), frozen));
    Some(tests.next()?.into_path())
}

fn is_test(name: &str, frozen: &Frozen) -> bool {
    !name.starts_with('.')
        && !frozen.excludes.contains(name)
        && frozen.suffixes.iter().any(|suffix| name.ends_with(suffix.as_str()))
}

/// What `[features]`, `[tools]`, `[substitutions]` and `[environment]` add to what lit's configuration came to.
fn by_hand(settings: &Settings) -> Result<More, NoAnswer> {
    let mut features = Features::determine(settings, &BTreeSet::new(), &[], |kind| KindState::Broken {
        why: format!("a device of kind `{kind}` is no feature of a suite in lit's dialect"),
    });
    if let Some((name, why)) = features.broken.first_key_value() {
        let problem = Problem::new("lit-configuration", format!("feature `{name}` cannot be decided: {why}"))
            .help("mend `[features]`, or say `true` or `false`");
        return Err(NoAnswer::Problems(vec![problem]));
    }
    // What the strict dialect knows of the host by itself is no feature here, unless the file names it.
    features.present.retain(|f| settings.features.contains_key(f));
    let tools = tools::paths(settings, &[]).map_err(NoAnswer::Problems)?;
    // Where lit's tool substitutions hold: a word of its own, not part of a path, an option or a file name.
    let tool = |(name, path): (String, PathBuf)| {
        let name = regex::escape(&name);
        let pattern = format!(r"(?<![.\-\^/\\<])\b{name}\b(?![\-.])");
        FrozenSubstitution::Text(pattern, path.display().to_string())
    };
    let mut own: Vec<(&String, &String)> = settings.substitutions.iter().collect();
    own.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let own = own.into_iter().map(|(n, v)| FrozenSubstitution::Text(regex::escape(n), v.clone()));
    let passed = settings.environment.pass.iter();
    let passed = passed.filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
    Ok(More {
        features: features.present,
        substitutions: own.chain(tools.into_iter().map(tool)).collect(),
        environment: passed.chain(settings.environment.set.clone()).collect(),
        enabled: settings.enable.iter().cloned().collect(),
        ..More::default()
    })
}

/// Whether a configuration is in lit's dialect.
pub fn is_lit(config: &config::Config) -> bool {
    config.suite.dialect.as_ref().is_some_and(|d| *d.get_ref() == Dialect::Lit)
}
