//! The settings that hold for one folder: the suite's file and the files of the folders above, merged, each
//! value with the file it is from.

use super::config::{
    Config, EnvironmentSection, ExpectMode, FeatureSource, FolderConfig, Shell, ToolSource, duration,
};
use super::discover::{Suite, configs_for};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Limit of one test when nothing is said.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Merged settings of one folder.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limit of one test.
    pub timeout: Duration,
    /// Who reads command lines.
    pub shell: Shell,
    /// What `EXPECT:` means.
    pub expect: ExpectMode,
    /// Command of files that only have `EXPECT:` lines.
    pub default_exec: Option<String>,
    /// Smallest strength of checks, percent.
    pub min_strength_percent: u32,
    /// Memory limit of each process in bytes.
    pub memory: Option<u64>,
    /// Process limit.
    pub processes: Option<u64>,
    /// Core files.
    pub core_files: bool,
    /// Prose words.
    pub prose: Vec<String>,
    /// Aliases.
    pub alias: BTreeMap<String, String>,
    /// Prefixes of the suite.
    pub prefixes: Vec<String>,
    /// Notice lines.
    pub generated: Vec<String>,
    /// Directives that a suite in the lit dialect has enabled.
    pub enable: Vec<String>,
    /// Features.
    pub features: BTreeMap<String, FeatureSource>,
    /// Tools, with the folder of the file that names each.
    pub tools: BTreeMap<String, (ToolSource, PathBuf)>,
    /// Substitutions.
    pub substitutions: BTreeMap<String, String>,
    /// Environment.
    pub environment: EnvironmentSection,
    /// (key, value, file) of everything that is set, for `list --explain`.
    pub provenance: Vec<(String, String, String)>,
}

impl Settings {
    /// Settings for a test file of a suite.
    pub fn for_file(suite: &Suite, file: &str) -> Self {
        let mut settings = Self {
            timeout: DEFAULT_TIMEOUT,
            shell: Shell::Builtin,
            expect: ExpectMode::Whole,
            default_exec: None,
            min_strength_percent: 0,
            memory: None,
            processes: None,
            core_files: false,
            prose: Vec::new(),
            alias: BTreeMap::new(),
            prefixes: Vec::new(),
            generated: Vec::new(),
            enable: Vec::new(),
            features: BTreeMap::new(),
            tools: BTreeMap::new(),
            substitutions: BTreeMap::new(),
            environment: EnvironmentSection::default(),
            provenance: Vec::new(),
        };
        for folder in configs_for(suite, file) {
            settings.apply(folder, suite);
        }
        settings
    }

    fn apply(&mut self, folder: &FolderConfig, suite: &Suite) {
        let Config { suite: section, features, tools, substitutions, directives, environment, .. } =
            &folder.config;
        let mut seen = |key: &str, value: String| {
            self.provenance.retain(|(k, ..)| k != key);
            self.provenance.push((key.to_owned(), value, folder.source.name.clone()));
        };
        if let Some(value) = section.timeout.as_ref().and_then(|t| duration(t.get_ref())) {
            self.timeout = value;
            seen("suite.timeout", format!("{value:?}"));
        }
        if let Some(value) = section.shell {
            self.shell = value;
            seen("suite.shell", format!("{value:?}").to_lowercase());
        }
        if let Some(value) = section.expect {
            self.expect = value;
            seen("suite.expect", format!("{value:?}").to_lowercase());
        }
        if let Some(value) = &section.default_exec {
            self.default_exec = Some(value.clone());
            seen("suite.default_exec", value.clone());
        }
        if let Some(value) = section.min_strength_percent {
            self.min_strength_percent = value;
            seen("suite.min_strength_percent", value.to_string());
        }
        if let Some(value) = section.memory_mib {
            self.memory = value.checked_mul(1 << 20);
            seen("suite.memory_mib", value.to_string());
        }
        if let Some(value) = section.processes {
            self.processes = Some(value);
            seen("suite.processes", value.to_string());
        }
        if let Some(value) = section.core_files {
            self.core_files = value;
            seen("suite.core_files", value.to_string());
        }
        for (name, value) in features {
            seen(&format!("features.{name}"), format!("{:?}", value.get_ref()));
            self.features.insert(name.clone(), value.get_ref().clone());
        }
        let home = suite.root.join(&folder.folder);
        for (name, value) in tools {
            seen(&format!("tools.{name}"), format!("{:?}", value.get_ref()));
            self.tools.insert(name.clone(), (value.get_ref().clone(), home.clone()));
        }
        for (name, value) in substitutions {
            seen(&format!("substitutions.{name}"), value.clone());
            self.substitutions.insert(name.clone(), value.clone());
        }
        for (name, value) in &environment.set {
            seen(&format!("environment.set.{name}"), value.clone());
            self.environment.set.insert(name.clone(), value.clone());
        }
        for (name, value) in &directives.alias {
            seen(&format!("directives.alias.{name}"), value.clone());
            self.alias.insert(name.clone(), value.clone());
        }
        for (key, from, into) in [
            ("directives.prose", &directives.prose, &mut self.prose),
            ("directives.prefixes", &directives.prefixes, &mut self.prefixes),
            ("directives.generated", &directives.generated, &mut self.generated),
            ("directives.enable", &directives.enable, &mut self.enable),
            ("environment.pass", &environment.pass, &mut self.environment.pass),
        ] {
            if !from.is_empty() {
                seen(key, from.join(", "));
                into.extend(from.iter().cloned());
            }
        }
    }
}
