//! `[lit]` of a `runproof.toml`: what lit's Python files came to when they were asked, or what was written by hand. A folder that
//! differs says only in what.

use super::config::{Config, Format, Frozen, FrozenSubstitution};
use crate::diag::Problem;
use crate::suite::Suite;
use crate::suite::discover::show;
use crate::suite::toml_error::place;
use runproof_directives::lit::LIT_VERSION;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Variables that lit hands from its own environment to tests, when they are set.
/// Source: lit 23.1.5, `TestingConfig`.
const PASSED: &[&str] = &[
    "LIBRARY_PATH",
    "LD_LIBRARY_PATH",
    "SYSTEMROOT",
    "TERM",
    "CLANG",
    "CLANG_TOOLCHAIN_PROGRAM_TIMEOUT",
    "LLDB",
    "LD_PRELOAD",
    "LLVM_SYMBOLIZER_PATH",
    "LLVM_PROFILE_FILE",
    "ASAN_SYMBOLIZER_PATH",
    "HWASAN_SYMBOLIZER_PATH",
    "LSAN_SYMBOLIZER_PATH",
    "MSAN_SYMBOLIZER_PATH",
    "TSAN_SYMBOLIZER_PATH",
    "UBSAN_SYMBOLIZER_PATH",
    "ASAN_OPTIONS",
    "LSAN_OPTIONS",
    "HWASAN_OPTIONS",
    "MSAN_OPTIONS",
    "RTSAN_OPTIONS",
    "TSAN_OPTIONS",
    "UBSAN_OPTIONS",
    "ADB",
    "ADB_SERVER_SOCKET",
    "ANDROID_SERIAL",
    "SSH_AUTH_SOCK",
    "SANITIZER_IGNORE_CVE_2016_2143",
    "TMPDIR",
    "TMP",
    "TEMP",
    "TEMPDIR",
    "AVRLIT_BOARD",
    "AVRLIT_PORT",
    "FILECHECK_OPTS",
    "VCINSTALLDIR",
    "VCToolsinstallDir",
    "VSINSTALLDIR",
    "WindowsSdkDir",
    "WindowsSDKLibVersion",
    "SOURCE_DATE_EPOCH",
    "GTEST_FILTER",
    "DFLTCC",
    "QEMU_LD_PREFIX",
    "QEMU_CPU",
    "HOME",
];

/// Stands for the harness's own PATH at the end of a PATH.
const OWN_PATH: &str = "$PATH";

/// `[lit]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LitSection {
    /// Version of the lit that was asked; absent when this was written by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where the files are, relative to this file; its folder unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// Where tests run, relative to this file; where the files are unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<PathBuf>,
    /// How many tests of a parallelism group run at a time.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, usize>,
    /// `[lit.config]`: the configuration of every folder that says nothing else.
    pub config: Frozen,
    /// `[[lit.folder]]`: folders that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folder: Vec<Folder>,
}

/// `[[lit.folder]]`: folders, each with all below it, and in what they differ from `[lit.config]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Folder {
    /// Paths in the suite.
    pub paths: Vec<String>,
    /// As in `[lit.config]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suffixes: Option<BTreeSet<String>>,
    /// As in `[lit.config]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excludes: Option<BTreeSet<String>>,
    /// As in `[lit.config]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<bool>,
    /// Features that hold only here.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub more_features: BTreeSet<String>,
    /// Features that do not hold here.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub less_features: BTreeSet<String>,
    /// As in `[lit.config]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_to_features: Option<BTreeSet<String>>,
    /// As in `[lit.config]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipefail: Option<bool>,
    /// As in `[lit.config]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// As in `[lit.config]`; 0 is once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recursion: Option<u32>,
    /// As in `[lit.config]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standalone: Option<bool>,
    /// As in `[lit.config]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// As in `[lit.config]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// As in `[lit.config]`; empty is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallelism_group: Option<String>,
    /// Variables that differ here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Variables that are not set here.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub less_environment: BTreeSet<String>,
    /// Substitutions before all others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first_substitutions: Vec<FrozenSubstitution>,
    /// Substitutions behind all others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_substitutions: Vec<FrozenSubstitution>,
    /// All substitutions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub substitutions: Option<Vec<FrozenSubstitution>>,
}

fn changed<T: Clone + PartialEq>(base: &T, own: &T) -> Option<T> {
    (base != own).then(|| own.clone())
}

impl Folder {
    /// In what `own` differs from `base`.
    pub fn difference(base: &Frozen, own: &Frozen) -> Self {
        let count = base.substitutions.len();
        let (mut first, mut last, mut all) = (Vec::new(), Vec::new(), None);
        let found = own.substitutions.windows(count.max(1)).position(|w| w == base.substitutions);
        match found {
            _ if own.substitutions == base.substitutions => {}
            Some(at) if count > 0 => {
                first = own.substitutions[..at].to_vec();
                last = own.substitutions[at + count..].to_vec();
            }
            _ => all = Some(own.substitutions.clone()),
        }
        let differs = |(name, value): &(&String, &String)| base.environment.get(*name) != Some(*value);
        Self {
            paths: Vec::new(),
            suffixes: changed(&base.suffixes, &own.suffixes),
            excludes: changed(&base.excludes, &own.excludes),
            unsupported: changed(&base.unsupported, &own.unsupported),
            more_features: own.features.difference(&base.features).cloned().collect(),
            less_features: base.features.difference(&own.features).cloned().collect(),
            limit_to_features: changed(&base.limit_to_features, &own.limit_to_features),
            pipefail: changed(&base.pipefail, &own.pipefail),
            format: changed(&base.format, &own.format),
            recursion: changed(&base.recursion, &own.recursion).map(Option::unwrap_or_default),
            standalone: changed(&base.standalone, &own.standalone),
            timeout: changed(&base.timeout, &own.timeout),
            retries: changed(&base.retries, &own.retries).map(Option::unwrap_or_default),
            parallelism_group: changed(&base.parallelism_group, &own.parallelism_group)
                .map(Option::unwrap_or_default),
            environment: own
                .environment
                .iter()
                .filter(differs)
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect(),
            less_environment: base
                .environment
                .keys()
                .filter(|name| !own.environment.contains_key(*name))
                .cloned()
                .collect(),
            first_substitutions: first,
            last_substitutions: last,
            substitutions: all,
        }
    }

    /// The configuration of these folders.
    pub fn applied(&self, base: &Frozen) -> Frozen {
        let mut own = base.clone();
        own.features.extend(self.more_features.iter().cloned());
        own.features.retain(|f| !self.less_features.contains(f));
        own.environment.extend(self.environment.iter().map(|(n, v)| (n.clone(), v.clone())));
        own.environment.retain(|name, _| !self.less_environment.contains(name));
        let first = self.first_substitutions.iter().chain(&base.substitutions);
        own.substitutions = match &self.substitutions {
            Some(all) => all.clone(),
            None => first.chain(&self.last_substitutions).cloned().collect(),
        };
        fn set<T: Clone>(place: &mut T, value: Option<&T>) {
            if let Some(value) = value {
                place.clone_from(value);
            }
        }
        set(&mut own.suffixes, self.suffixes.as_ref());
        set(&mut own.excludes, self.excludes.as_ref());
        set(&mut own.unsupported, self.unsupported.as_ref());
        set(&mut own.limit_to_features, self.limit_to_features.as_ref());
        set(&mut own.pipefail, self.pipefail.as_ref());
        set(&mut own.format, self.format.as_ref());
        set(&mut own.standalone, self.standalone.as_ref());
        set(&mut own.timeout, self.timeout.as_ref());
        if let Some(recursion) = self.recursion {
            own.recursion = Some(recursion).filter(|r| *r > 0);
        }
        if let Some(retries) = self.retries {
            own.retries = Some(retries);
        }
        if let Some(group) = &self.parallelism_group {
            own.parallelism_group = Some(group.clone()).filter(|g| !g.is_empty());
        }
        own
    }
}

/// The environment that lit gives every test of a suite that says nothing.
fn given(paths: &[PathBuf]) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = PASSED
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let mut path: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    path.push(std::env::var("PATH").unwrap_or_default());
    env.insert("PATH".to_owned(), path.join(":"));
    env.insert("LLVM_DISABLE_CRASH_REPORT".to_owned(), "1".to_owned());
    env
}

/// Takes out of an environment what every environment has here, so that what is written down holds elsewhere.
pub fn without_given(environment: &mut BTreeMap<String, String>) {
    let given = given(&[]);
    let own_path = given.get("PATH").cloned().unwrap_or_default();
    if let Some(path) = environment.get_mut("PATH")
        && let Some(first) = path.strip_suffix(&own_path)
        && !own_path.is_empty()
    {
        *path = format!("{first}{OWN_PATH}");
    }
    environment.retain(|name, value| name != "PATH" || value != OWN_PATH);
    environment.retain(|name, value| given.get(name) != Some(value) || name == "PATH");
    for name in super::execute::TEMPORARY {
        environment.remove(name);
    }
}

/// The configurations of a suite, by folder. Each is made ready when it is asked for first.
#[derive(Debug)]
pub struct Folders {
    base: Frozen,
    more: More,
    /// In what folders differ; the first differs in nothing.
    folders: Vec<(Folder, OnceLock<Arc<Config>>)>,
    by_path: BTreeMap<String, usize>,
}

/// What is put into every configuration of a suite.
#[derive(Clone, Debug, Default)]
pub struct More {
    /// Folders to put before PATH.
    pub path: Vec<PathBuf>,
    /// Features.
    pub features: BTreeSet<String>,
    /// Substitutions, behind all others.
    pub substitutions: Vec<FrozenSubstitution>,
    /// Variables, over all others.
    pub environment: BTreeMap<String, String>,
    /// Seconds that a test may take, over what folders say.
    pub timeout: Option<u64>,
    /// How often a test that failed is run again when its folder does not say.
    pub retries: Option<u32>,
    /// Directives that are not lit's.
    pub enabled: BTreeSet<String>,
}

impl Folders {
    /// Of a section.
    pub fn new(section: &LitSection, more: More) -> Self {
        let all = std::iter::once(Folder::default()).chain(section.folder.iter().cloned());
        let folders: Vec<_> = all.map(|folder| (folder, OnceLock::new())).collect();
        let by_path = folders
            .iter()
            .enumerate()
            .flat_map(|(index, (folder, _))| folder.paths.iter().map(move |path| (path.clone(), index)))
            .collect();
        Self { base: section.config.clone(), more, folders, by_path }
    }

    /// Of a folder: what the nearest folder at or above it says.
    pub fn of(&self, folder: &str) -> &Arc<Config> {
        let above = std::iter::successors(Some(folder), |f| f.rfind('/').map(|at| &f[..at]));
        let index = above.chain([""]).find_map(|f| self.by_path.get(f)).copied().unwrap_or(0);
        let (folder, config) = &self.folders[index];
        config.get_or_init(|| {
            let config: Config = self.ready(folder.applied(&self.base)).into();
            Arc::new(Config { enabled: self.more.enabled.clone(), ..config })
        })
    }

    fn ready(&self, mut frozen: Frozen) -> Frozen {
        let mut env = given(&self.more.path);
        let own_path = env.get("PATH").cloned().unwrap_or_default();
        for (name, value) in std::mem::take(&mut frozen.environment) {
            let value = match value.strip_suffix(OWN_PATH) {
                Some(first) if name == "PATH" => format!("{first}{own_path}"),
                _ => value,
            };
            env.insert(name, value);
        }
        env.extend(self.more.environment.iter().map(|(n, v)| (n.clone(), v.clone())));
        frozen.environment = env;
        frozen.features.extend(self.more.features.iter().cloned());
        frozen.substitutions.extend(self.more.substitutions.iter().cloned());
        frozen.timeout = self.more.timeout.unwrap_or(frozen.timeout);
        frozen.retries = frozen.retries.or(self.more.retries);
        frozen
    }
}

/// A path of `[[lit.folder]]` that names no folder of the suite: what it says would apply to nothing.
pub fn lost_folders(suite: &Suite) -> Vec<Problem> {
    let section = &suite.config().lit;
    let numbered = section.folder.iter().enumerate();
    let paths =
        numbered.flat_map(|(f, folder)| folder.paths.iter().enumerate().map(move |(p, path)| (f, p, path)));
    let source = &suite.configs[0].source;
    paths
        .filter_map(|(f, p, path)| {
            let (why, help) = lost(&suite.root, path)?;
            let at = place(source, &["lit", "folder", &f.to_string(), "paths", &p.to_string()]);
            let problem = Problem::new("bad-config", format!("`{path}` {why}"));
            Some(problem.at(source, at, "nothing would go by it").help(help))
        })
        .collect()
}

/// Why a path names no folder of a suite, and a way out.
fn lost(root: &Path, path: &str) -> Option<(String, String)> {
    let inside = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !inside && !path.is_empty() {
        let why = "is no path in the suite".to_owned();
        return Some((
            why,
            "write it as tests are named, from the suite's files on: `gpu/kernels`".to_owned(),
        ));
    }
    if root.join(path).is_dir() {
        return None;
    }
    let above = Path::new(path).ancestors().skip(1).find(|p| root.join(p).is_dir()).unwrap_or(Path::new(""));
    let entries = std::fs::read_dir(root.join(above)).into_iter().flatten().flatten();
    let folders = entries
        .filter(|e| e.path().is_dir())
        .filter_map(|e| above.join(e.file_name()).into_os_string().into_string().ok());
    let folders: Vec<String> = folders.collect();
    let help = match runproof_directives::nearest(path, folders.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "take it out, or run `runproof migrate` again if that wrote it".to_owned(),
    };
    Some((format!("is no folder below `{}`", show(root)), help))
}

/// What is to be said of a section that was written with another lit than the one whose behaviour this is.
pub fn other_version(section: &LitSection) -> Option<String> {
    let version = section.version.as_ref().filter(|v| *v != LIT_VERSION)?;
    Some(format!(
        "`[lit] version` says which lit was asked when the file was written, {version}; \
         verdicts are those of lit {LIT_VERSION}"
    ))
}

/// Where a suite's files are and where its tests run, for the folder of its `runproof.toml`.
pub fn roots(section: &LitSection, home: &Path) -> (PathBuf, PathBuf) {
    let source =
        section.source.as_ref().map_or_else(|| home.to_path_buf(), |s| super::shell::normal(&home.join(s)));
    let exec = section.exec.as_ref().map_or_else(|| source.clone(), |e| super::shell::normal(&home.join(e)));
    (source, exec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn substitution(name: &str) -> FrozenSubstitution {
        FrozenSubstitution::Text(name.to_owned(), "x".to_owned())
    }

    fn base() -> Frozen {
        Frozen {
            suffixes: BTreeSet::from([".ll".to_owned()]),
            features: BTreeSet::from(["a".to_owned(), "b".to_owned()]),
            environment: BTreeMap::from([("X".to_owned(), "1".to_owned()), ("Y".to_owned(), "2".to_owned())]),
            substitutions: vec![substitution("%a"), substitution("%b")],
            retries: Some(1),
            ..Frozen::default()
        }
    }

    #[test]
    fn a_difference_brings_back_what_it_came_from() {
        let base = base();
        let mut changes: Vec<Frozen> = Vec::new();
        let mut change = |make: &dyn Fn(&mut Frozen)| {
            let mut own = base.clone();
            make(&mut own);
            changes.push(own);
        };
        change(&|_| {});
        change(&|f| f.unsupported = true);
        change(&|f| f.features = BTreeSet::from(["b".to_owned(), "c".to_owned()]));
        change(&|f| {
            f.environment.remove("X");
            f.environment.insert("Y".to_owned(), "3".to_owned());
        });
        change(&|f| f.substitutions.insert(0, substitution("%first")));
        change(&|f| f.substitutions.push(substitution("%last")));
        change(&|f| f.substitutions.reverse());
        change(&|f| f.substitutions.clear());
        change(&|f| f.recursion = Some(4));
        change(&|f| f.parallelism_group = Some("gpu".to_owned()));
        change(&|f| f.format = Format::Executable);
        for own in changes {
            let folder = Folder::difference(&base, &own);
            assert_eq!(folder.applied(&base), own);
            let text = toml::to_string(&folder).unwrap();
            assert_eq!(toml::from_str::<Folder>(&text).unwrap(), folder);
        }
    }

    #[test]
    fn the_nearest_folder_counts() {
        let mut section = LitSection { config: base(), ..LitSection::default() };
        section.folder.push(Folder { paths: vec!["a".into()], unsupported: Some(true), ..Folder::default() });
        section.folder.push(Folder { paths: vec!["a/b".into()], ..Folder::default() });
        let folders = Folders::new(&section, More::default());
        for (folder, expect) in [("", false), ("a", true), ("a/c/d", true), ("a/b", false), ("ab", false)] {
            assert_eq!(folders.of(folder).frozen.unsupported, expect, "{folder}");
        }
    }
}
