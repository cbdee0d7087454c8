//! What a suite's configuration came to: what lit's Python files evaluate to, or what `[lit]` of a `runproof.toml` says.

use super::cases::OfProgram;
use runproof_directives::lit::{LitFile, Pattern, Substitution, scan_others};
use runproof_directives::{Source, own_lines};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What runs the tests of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Format {
    /// Nothing was said: such a test cannot be run.
    None,
    /// Files with `RUN` lines.
    Shell {
        /// Lines go to a real shell.
        #[serde(default)]
        external: bool,
        /// Substitutions before all others.
        #[serde(default)]
        substitutions: Vec<FrozenSubstitution>,
        /// Command lines before those of the file.
        #[serde(default)]
        preamble: Vec<String>,
    },
    /// Executables that are tests by their exit status.
    Executable,
    /// Executables that list and run tests as googletest does.
    Googletest {
        /// Folders that are looked into below each folder.
        sub_dirs: Vec<String>,
        /// Beginnings of the executables' names; any when there are none.
        #[serde(default)]
        prefixes: Vec<String>,
        /// Ends of the executables' names.
        suffixes: Vec<String>,
        /// Words before the executable.
        #[serde(default)]
        run_under: Vec<String>,
        /// Runs executables that end in `.py`.
        #[serde(default)]
        python: Option<String>,
        /// A program that lists no case is no error.
        #[serde(default)]
        may_be_empty: bool,
    },
    /// Rust test programs: executables that list and run tests as libtest does.
    Libtest {
        /// Patterns of their paths in the suite. A file that fits and is no such program is passed over.
        programs: Vec<String>,
        /// Words before the executable.
        #[serde(default)]
        run_under: Vec<String>,
        /// Folder in which they run, relative to the suite's files; the harness's own unless given.
        #[serde(default)]
        run_in: Option<PathBuf>,
        /// A program that lists no case is no error.
        #[serde(default)]
        may_be_empty: bool,
    },
    /// A class of the suite's own, which only Python can run.
    Python {
        /// Its name.
        class: String,
    },
}

impl Default for Format {
    fn default() -> Self {
        Self::Shell { external: false, substitutions: Vec::new(), preamble: Vec::new() }
    }
}

/// A substitution as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a substitution is a list of two texts: what is looked for, and what stands in its place"
)]
pub enum FrozenSubstitution {
    /// Pattern, and text that stands for it.
    Text(String, String),
    /// Pattern, and a replacement that names groups of it.
    Groups {
        /// What is looked for.
        pattern: String,
        /// What stands in its place.
        groups: String,
    },
}

impl FrozenSubstitution {
    fn thaw(&self) -> Substitution {
        match self {
            Self::Text(pattern, text) => Substitution::new(pattern.as_str(), text),
            Self::Groups { pattern, groups } => Substitution {
                pattern: Arc::new(Pattern::new(pattern.as_str())),
                replacement: groups.as_str().into(),
                template: true,
            },
        }
    }
}

/// The configuration of a folder as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Frozen {
    /// Ends of the names of test files.
    pub suffixes: BTreeSet<String>,
    /// Names of files and folders that are none.
    pub excludes: BTreeSet<String>,
    /// No test of the folder can be run here.
    pub unsupported: bool,
    /// Features that hold.
    pub features: BTreeSet<String>,
    /// When there are some, only tests that require one of them are run.
    pub limit_to_features: BTreeSet<String>,
    /// A pipe fails with any of its stages.
    pub pipefail: bool,
    /// What runs the tests.
    pub format: Format,
    /// How often substitutions are gone through; once when nothing is said.
    pub recursion: Option<u32>,
    /// Tests are not looked for: they are named one by one.
    pub standalone: bool,
    /// Seconds a test may take; no limit when nothing or 0 is said.
    pub timeout: u64,
    /// How often a test that failed is run again when the file does not say.
    pub retries: Option<u32>,
    /// Tests of one group are run at most so many at a time as the group says.
    pub parallelism_group: Option<String>,
    /// Environment of the tests.
    pub environment: BTreeMap<String, String>,
    /// Substitutions in order.
    pub substitutions: Vec<FrozenSubstitution>,
}

impl Default for Frozen {
    fn default() -> Self {
        Self {
            suffixes: BTreeSet::new(),
            excludes: BTreeSet::new(),
            unsupported: false,
            features: BTreeSet::new(),
            limit_to_features: BTreeSet::new(),
            pipefail: true,
            format: Format::default(),
            recursion: None,
            standalone: false,
            timeout: 0,
            retries: None,
            parallelism_group: None,
            environment: BTreeMap::new(),
            substitutions: Vec::new(),
        }
    }
}

/// The configuration of a folder.
#[derive(Debug)]
pub struct Config {
    /// As it is written down.
    pub frozen: Frozen,
    /// Substitutions of the format and of the folder, in order.
    pub substitutions: Vec<Substitution>,
    /// Directives that are not lit's, although it would find its keywords in them.
    pub enabled: BTreeSet<String>,
    /// A substitution stands for one that follows links.
    pub asks_for_real: bool,
}

impl From<Frozen> for Config {
    fn from(frozen: Frozen) -> Self {
        let first = match &frozen.format {
            Format::Shell { substitutions, .. } => substitutions.as_slice(),
            _ => &[],
        };
        let substitutions: Vec<Substitution> =
            first.iter().chain(&frozen.substitutions).map(FrozenSubstitution::thaw).collect();
        let asks_for_real = substitutions.iter().any(|s| s.replacement.contains(super::execute::REAL));
        Self { frozen, substitutions, enabled: BTreeSet::new(), asks_for_real }
    }
}

/// A suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteInfo {
    /// Its name.
    pub name: String,
    /// Where its files are.
    pub source_root: PathBuf,
    /// Where its tests run.
    pub exec_root: PathBuf,
}

/// What is said of a test outside its file: by arguments, or by the format that found it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Marks {
    /// Conditions under which it fails, besides those of the file.
    pub xfails: Vec<String>,
    /// No condition makes it fail.
    pub xfail_not: bool,
    /// Conditions that it needs, besides those of the file.
    pub requires: Vec<String>,
    /// Conditions under which it cannot be run, besides those of the file.
    pub unsupported: Vec<String>,
    /// No condition keeps it from being run, but those that it needs.
    pub unsupported_not: bool,
    /// How often it is run again when it failed and its file does not say.
    pub retries: Option<u32>,
}

/// The case of a googletest program that a test is. Either name may have `/` in it.
#[derive(Clone, Debug)]
pub struct CaseName {
    /// Its suite, as the program names it.
    pub suite: String,
    /// Its own name.
    pub name: String,
    /// The program.
    pub program: PathBuf,
}

/// A test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its suite.
    pub suite: Arc<SuiteInfo>,
    /// Its path in the suite, with `/`.
    pub path: String,
    /// The configuration of its folder.
    pub config: Arc<Config>,
    /// What is said of it outside its file.
    pub marks: Marks,
    /// The program whose case it is.
    pub of_program: Option<OfProgram>,
    /// The case that a program's report has put in the program's place.
    pub case: Option<CaseName>,
}

impl Test {
    /// A test as the suite has it.
    pub fn new(suite: Arc<SuiteInfo>, path: String, config: Arc<Config>) -> Self {
        Self { suite, path, config, marks: Marks::default(), of_program: None, case: None }
    }

    /// `SUITE :: path`.
    pub fn name(&self) -> String {
        format!("{} :: {}", self.suite.name, self.path)
    }

    /// Lines, from 1, that are not lit's to read.
    pub fn own_lines(&self, bytes: &[u8]) -> BTreeSet<u32> {
        if self.config.enabled.is_empty() {
            return BTreeSet::new();
        }
        own_lines(&Source::new(self.path.clone(), bytes), &self.config.enabled)
    }

    /// What lit reads out of its file.
    ///
    /// # Errors
    /// lit's words for why the test is unresolved.
    pub fn scan(&self, bytes: &[u8]) -> Result<LitFile, String> {
        let own = self.own_lines(bytes);
        // A preamble is a script already, and so are commands that are not lit's.
        let has_preamble =
            matches!(&self.config.frozen.format, Format::Shell { preamble, .. } if !preamble.is_empty());
        scan_others(bytes, !has_preamble && own.is_empty(), &own)
    }

    /// Its file.
    pub fn source(&self) -> PathBuf {
        self.suite.source_root.join(&self.path)
    }

    /// The folder in which its lines run, and what `%t` stands for.
    pub fn places(&self) -> (PathBuf, PathBuf) {
        let exec = self.exec();
        let folder = exec.parent().unwrap_or(Path::new("/")).to_path_buf();
        let base = exec.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let tmp = folder.join("Output").join(format!("{base}.tmp"));
        (folder, tmp)
    }

    /// The file's counterpart below the folder where tests run.
    pub fn exec(&self) -> PathBuf {
        self.suite.exec_root.join(&self.path)
    }
}
