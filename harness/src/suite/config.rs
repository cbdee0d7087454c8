//! `runproof.toml`: one table of settings, read with exact error positions. Unknown keys are refused.
//!
//! A folder inside a suite may have its own file: what it sets wins below that folder. A setting that only
//! makes sense for a whole suite (its name, its files) is refused there.

use super::examples::EXAMPLES;
use super::toml_error::{self, span};
use crate::diag::Problem;
use crate::lit::frozen_suite::LitSection;
use runproof_directives::{Source, Span};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use toml::Spanned;

/// Name of the file.
pub const FILE: &str = "runproof.toml";

/// A configuration file as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// `[suite]`.
    pub suite: SuiteSection,
    /// `[features]`: declared features, each with how it is found.
    pub features: BTreeMap<String, Spanned<FeatureSource>>,
    /// `[tools]`: name to program.
    pub tools: BTreeMap<String, Spanned<ToolSource>>,
    /// `[substitutions]`: `%{name}` to text.
    pub substitutions: BTreeMap<String, String>,
    /// `[directives]`.
    pub directives: DirectivesSection,
    /// `[devices]`.
    pub devices: DevicesSection,
    /// `[report]`.
    pub report: ReportSection,
    /// `[environment]`: variables for every command of the suite.
    pub environment: EnvironmentSection,
    /// `[lit]`: for suites in lit's dialect, what lit's own configuration came to.
    pub lit: LitSection,
}

/// `[suite]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SuiteSection {
    /// Name; the folder's name unless given.
    pub name: Option<Spanned<String>>,
    /// Globs of test files relative to the suite's root; `**/*` unless given.
    pub files: Option<Vec<Spanned<String>>>,
    /// Globs of files that are no tests (inputs, goldens). They count as claimed.
    pub exclude: Option<Vec<Spanned<String>>>,
    /// By which rules the files are read; `strict` unless given.
    pub dialect: Option<Spanned<Dialect>>,
    /// The refusals that the suite has today, relative to this file.
    pub baseline: Option<Spanned<String>>,
    /// In lit's dialect: what the strict one would refuse is refused.
    pub strict: Option<bool>,
    /// Command of files that only have `EXPECT:` lines.
    pub default_exec: Option<String>,
    /// What `EXPECT:` means.
    pub expect: Option<ExpectMode>,
    /// Limit of one test; 60 s unless given.
    pub timeout: Option<Spanned<String>>,
    /// Tests that must have been executed and passed in a whole run, else it fails.
    pub min_executed: Option<u32>,
    /// Smallest strength (rejected / tried, in percent) of a test's checks.
    pub min_strength_percent: Option<u32>,
    /// Who reads command lines.
    pub shell: Option<Shell>,
    /// Memory limit of each process in MiB.
    pub memory_mib: Option<u64>,
    /// Limit on the number of processes of the user.
    pub processes: Option<u64>,
    /// Whether core files are written; off unless asked for.
    pub core_files: Option<bool>,
}

/// `dialect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// The closed grammar.
    Strict,
    /// As lit reads them; every verdict is lit's.
    Lit,
}

/// `expect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectMode {
    /// `EXPECT:` lines are the whole of stdout.
    Whole,
    /// `EXPECT:` lines occur in stdout, in order.
    Contains,
}

/// `shell`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shell {
    /// The built-in command language.
    Builtin,
    /// `bash -o pipefail -c`.
    Bash,
}

/// How a feature is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeatureSource {
    /// Declared present or absent.
    Constant(bool),
    /// Found by looking.
    Found(FeatureQuery),
}

// By hand: serde says of no form of several what is wrong with it.
impl<'de> Deserialize<'de> for FeatureSource {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(from)? {
            toml::Value::Boolean(present) => Ok(Self::Constant(present)),
            toml::Value::Table(query) if query.len() == 1 => {
                query.try_into().map(Self::Found).map_err(|e: toml::de::Error| D::Error::custom(e.message()))
            }
            _ => Err(D::Error::custom("a feature is `true`, `false` or a table with one key")),
        }
    }
}

/// How a feature is found by looking: exactly one key.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum FeatureQuery {
    /// Present when this built-in host fact is: `linux`, `x86_64`, …
    Host(String),
    /// Present when this tool is on PATH.
    Tool(String),
    /// Present when a device of this kind is.
    Device(String),
    /// Present when this environment variable is set and not empty.
    Env(String),
    /// Present when this command exits 0, absent when it exits 1; anything else is an error.
    Probe(Vec<String>),
}

/// Where a tool is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolSource {
    /// A name to look up on PATH, or a path relative to the configuration file.
    Path(String),
    /// The same with more to say.
    Detailed(ToolDetails),
}

impl<'de> Deserialize<'de> for ToolSource {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(from)? {
            toml::Value::String(path) => Ok(Self::Path(path)),
            toml::Value::Table(details) => {
                details.try_into().map(Self::Detailed).map_err(|e| D::Error::custom(e.message()))
            }
            _ => Err(D::Error::custom("a tool is a path, or a table with a path")),
        }
    }
}

/// A tool with more to say.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolDetails {
    /// As in [`ToolSource::Path`].
    pub path: String,
    /// Arguments that make it print its version; not asked when empty.
    #[serde(default)]
    pub version: Vec<String>,
}

/// `[directives]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DirectivesSection {
    /// Words in capitals before a colon that are prose here.
    pub prose: Vec<String>,
    /// New name to directive: `EXPECT_FAIL = "EXPECT(refused)"`.
    pub alias: BTreeMap<String, String>,
    /// Check prefixes of the whole suite: a file may leave them unused.
    pub prefixes: Vec<String>,
    /// Notice lines of tools under which unnamed prefixes are notes.
    pub generated: Vec<String>,
    /// In the lit dialect: directives of ours that have our meaning (`EXEC_RUN`, `EXPECT`, `PLACED`, `DEVICES`, `CONTROL_RUN`,
    /// `SCOPE`).
    pub enable: Vec<String>,
}

/// `[devices]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DevicesSection {
    /// The fleet file, relative to this file.
    pub fleet: Option<Spanned<String>>,
}

/// `[report]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReportSection {
    /// Reasons of empty cells, relative to this file.
    pub reasons: Option<Spanned<String>>,
}

/// `[environment]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnvironmentSection {
    /// Variables taken over from the environment of the harness.
    pub pass: Vec<String>,
    /// Variables with fixed values.
    pub set: BTreeMap<String, String>,
}

/// A configuration file with the text it was read from.
#[derive(Clone, Debug)]
pub struct FolderConfig {
    /// Folder relative to the suite's root; empty for the root.
    pub folder: String,
    /// Text, for messages.
    pub source: Source,
    /// What it says.
    pub config: Config,
}

/// Reads a configuration file. `name` is what messages call it.
///
/// # Errors
/// One problem for each thing that is wrong: unreadable file, syntax, unknown key, value out of range.
pub fn read(path: &Path, name: &str) -> Result<(Source, Config), Vec<Problem>> {
    let bytes = std::fs::read(path).map_err(|e| {
        vec![
            Problem::new("unreadable-file", format!("`{name}` cannot be read: {e}"))
                .help("it must be a readable file; see `runproof explain unreadable-file`"),
        ]
    })?;
    parse(name, bytes)
}

/// Parses the content of a configuration file.
///
/// # Errors
/// As [`read`].
pub fn parse(name: &str, bytes: Vec<u8>) -> Result<(Source, Config), Vec<Problem>> {
    let source = Source::new(name, bytes);
    let text = std::str::from_utf8(&source.bytes).map_err(|e| {
        let at = Span::new(e.valid_up_to(), e.valid_up_to() + 1);
        vec![
            Problem::new("bad-config", format!("`{name}` is not UTF-8"))
                .at(&source, at, "this byte")
                .help("TOML files are UTF-8"),
        ]
    })?;
    let config: Config =
        toml::from_str(text).map_err(|e| vec![toml_error::problem(&source, &e, EXAMPLES)])?;
    let problems = config.check(&source);
    if problems.is_empty() { Ok((source.clone(), config)) } else { Err(problems) }
}

impl Config {
    fn check(&self, source: &Source) -> Vec<Problem> {
        let mut problems = Vec::new();
        let globs = [&self.suite.files, &self.suite.exclude];
        for pattern in globs.into_iter().flatten().flatten() {
            if let Err(e) = glob::Pattern::new(pattern.get_ref()) {
                problems.push(
                    Problem::new(
                        "bad-config",
                        format!("`{}` is no file pattern: {}", pattern.get_ref(), e.msg),
                    )
                    .at(source, span(pattern), "this pattern")
                    .help("`*` and `?` match inside one folder, `**` matches folders, `[…]` a set"),
                );
            }
        }
        let is_lit = self.suite.dialect.as_ref().is_some_and(|d| *d.get_ref() == Dialect::Lit);
        for (key, patterns) in [("files", &self.suite.files), ("exclude", &self.suite.exclude)] {
            if let Some(first) = patterns.as_ref().filter(|_| is_lit).and_then(|p| p.first()) {
                problems.push(
                    Problem::new("bad-config", format!("`{key}` has no effect in lit's dialect"))
                        .at(source, span(first), "not here")
                        .help("say `suffixes` and `excludes` under `[lit.config]`, as lit's own configuration does"),
                );
            }
        }
        if !is_lit && self.lit != LitSection::default() {
            let problem =
                Problem::new("bad-config", "`[lit]` has no effect: the suite is not in lit's dialect");
            problems.push(problem.help("add `dialect = \"lit\"` to `[suite]`, or take `[lit]` out"));
        }
        if let Some(strict) = self.suite.strict.filter(|_| !is_lit) {
            let problem =
                Problem::new("bad-config", format!("`strict = {strict}` is for suites in lit's dialect"));
            problems.push(problem.help("take it out: this suite is strict anyway"));
        }
        let can_be_named = |name: &String| {
            // `tool:NAME` is ours, not lit's.
            let own = if is_lit { None } else { name.strip_prefix("tool:") };
            let plain = |c: char| c.is_ascii_alphanumeric() || "-+=._".contains(c);
            !name.is_empty() && own.unwrap_or(name).chars().all(plain)
        };
        for name in self.features.keys().filter(|name| !can_be_named(name)) {
            let at = toml_error::place(source, &["features", name]);
            let problem = Problem::new("bad-config", format!("no directive can name the feature `{name}`"));
            let help = "a feature's name is made of letters, digits and `-+=._`, without blanks";
            problems.push(problem.at(source, at, "this name").help(help));
        }
        if let Some(text) = &self.suite.timeout
            && duration(text.get_ref()).is_none()
        {
            problems.push(
                Problem::new("bad-config", format!("`{}` is no duration", text.get_ref()))
                    .at(source, span(text), "this value")
                    .help("write `500ms`, `30s` or `2m`"),
            );
        }
        problems
    }

    /// What a folder's own file may not say.
    pub fn check_folder(&self, source: &Source) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut refuse = |at: Span, key: &str| {
            problems.push(
                Problem::new("bad-config", format!("`{key}` belongs to the suite's own file, not to a folder's"))
                    .at(source, at, "not here")
                    .help("move it to the suite's root, or give this file a `[suite] name` to make the folder a suite"),
            );
        };
        for pattern in [&self.suite.files, &self.suite.exclude].into_iter().flatten().flatten().take(1) {
            refuse(span(pattern), "files");
        }
        if let Some(fleet) = &self.devices.fleet {
            refuse(span(fleet), "fleet");
        }
        problems
    }
}

/// Reads `500ms`, `30s`, `2m`, `1h`; `None` for anything else and for zero.
pub fn duration(text: &str) -> Option<Duration> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok().filter(|n| *n > 0)?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.checked_mul(millis)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let problems = parse("runproof.toml", text.as_bytes().to_vec()).expect_err(text);
        problems.iter().map(|p| crate::diag::problem(p, crate::diag::Style { colour: false })).collect()
    }

    #[test]
    fn a_misspelt_key_names_the_nearest() {
        let text = problem("[suite]\nfile = [\"*.vx\"]\n");
        assert!(text.contains("unknown field `file`"), "{text}");
        assert!(text.contains("did you mean `files`?"), "{text}");
        assert!(text.contains("runproof.toml:2:1"), "{text}");
    }

    #[test]
    fn values_out_of_range_are_refused_where_they_stand() {
        let text = problem("[suite]\ntimeout = \"soon\"\nfiles = [\"a[\"]\n");
        assert!(text.contains("`soon` is no duration"), "{text}");
        assert!(text.contains("`a[` is no file pattern"), "{text}");
    }

    #[test]
    fn durations() {
        let check = |text: &str, expect: Option<u64>| {
            assert_eq!(duration(text).map(|d| d.as_millis() as u64), expect, "{text}");
        };
        check("500ms", Some(500));
        check("30s", Some(30_000));
        check("2m", Some(120_000));
        check("0s", None);
        check("s", None);
        check("3", None);
        check("99999999999999999999s", None);
        check("18446744073709551615h", None);
    }

    #[test]
    fn bytes_that_are_no_utf8_are_refused_with_their_place() {
        let problems = parse("runproof.toml", b"[suite]\nname = \"\xff\"\n".to_vec()).unwrap_err();
        assert_eq!(problems[0].place.as_ref().unwrap().span.start, 16);
    }
}
