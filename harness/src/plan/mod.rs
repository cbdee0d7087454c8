//! What a run is going to do: every test on every target with what will happen to it, decided before the first
//! command starts. What must not enter: starting anything but tools' versions and feature probes.

pub mod gates;
pub mod load;
pub mod select;

use crate::suite::baseline::Baseline;
use crate::suite::{Settings, Suite, features::Features};
use runproof_directives::model::Step;
use runproof_directives::{Source, TestFile};
use runproof_records::Digest;
use runproof_records::record::{Target, TestKey, Xfail};
use runproof_records::verdict::{SkipKind, State, Tier};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A suite with its files read.
#[derive(Debug)]
pub struct LoadedSuite {
    /// The suite.
    pub suite: Suite,
    /// Its test files, sorted by path.
    pub files: Vec<LoadedFile>,
    /// The refusals that it is known to have.
    pub baseline: Option<Baseline>,
}

/// A test file, read.
#[derive(Debug)]
pub struct LoadedFile {
    /// Path relative to the suite's root.
    pub path: String,
    /// Content.
    pub source: Source,
    /// Digest of the content.
    pub digest: Digest,
    /// What it says.
    pub test: TestFile,
    /// Settings that hold for it.
    pub settings: Arc<Settings>,
    /// Features that hold for it.
    pub features: Arc<Features>,
    /// As a test of lit's, in a suite of that dialect.
    pub lit: Option<crate::lit::Test>,
}

impl LoadedFile {
    /// Whether it has an `EXEC_RUN`.
    pub fn executes(&self) -> bool {
        self.test.steps.iter().any(|step| matches!(step, Step::Command(command) if command.exec))
    }
}

/// A device that was asked for and is usable.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Declared id, or `KIND:N`.
    pub id: String,
    /// The physical devices that answer to it, in the order of the inventory; at least one.
    pub devices: Vec<crate::device::Resolved>,
}

impl Placement {
    /// Device kind.
    pub fn kind(&self) -> &str {
        self.devices.first().map_or("", |d| d.record.kind.as_str())
    }

    /// Whether the fleet declares it as software.
    pub fn is_declared_software(&self) -> bool {
        self.devices.iter().all(|d| d.declared_software)
    }
}

/// One test on one target.
#[derive(Clone, Debug)]
pub struct Item {
    /// Which.
    pub key: TestKey,
    /// Index of the suite.
    pub suite: usize,
    /// Index of the file in the suite.
    pub file: usize,
    /// Variant values.
    pub variant: BTreeMap<String, String>,
    /// What will happen.
    pub fate: Fate,
    /// The tier that it has to reach.
    pub goal: Tier,
    /// An expected failure that applies here.
    pub xfail: Option<Xfail>,
    /// Index into [`Plan::placements`], for a device target.
    pub placement: Option<usize>,
    /// How many devices it needs.
    pub device_count: u32,
}

/// What will happen to a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is run.
    Run,
    /// It reaches this state without being run.
    Settled {
        /// State: `refused`, `skipped`, `errored`.
        state: State,
        /// Kind, of a skip.
        skip: Option<SkipKind>,
        /// Why, in one line.
        reason: String,
    },
}

impl Fate {
    /// A typed skip.
    pub fn skip(kind: SkipKind, reason: impl Into<String>) -> Self {
        Self::Settled { state: State::Skipped, skip: Some(kind), reason: reason.into() }
    }

    /// A refusal.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::Settled { state: State::Refused, skip: None, reason: reason.into() }
    }

    /// Something broke before the test could start.
    pub fn errored(reason: impl Into<String>) -> Self {
        Self::Settled { state: State::Errored, skip: None, reason: reason.into() }
    }
}

/// The whole plan.
#[derive(Debug)]
pub struct Plan {
    /// Suites.
    pub suites: Vec<LoadedSuite>,
    /// Every test on every target, sorted by key.
    pub items: Vec<Item>,
    /// Devices that were asked for.
    pub placements: Vec<Placement>,
    /// Whether some test was left out by a filter or a shard.
    pub partial: bool,
}

impl Plan {
    /// The file of an item.
    pub fn file(&self, item: &Item) -> &LoadedFile {
        &self.suites[item.suite].files[item.file]
    }

    /// Items that will be executed.
    pub fn to_run(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|i| i.fate == Fate::Run)
    }

    /// The folder in which a test of lit's runs.
    pub fn lit_folder(&self, item: &Item) -> String {
        let lit = self.file(item).lit.as_ref();
        if let Some(folder) = lit.and_then(crate::lit::cases::folder) {
            return folder.display().to_string();
        }
        let exec = lit.map(crate::lit::Test::exec);
        exec.and_then(|e| e.parent().map(|p| p.display().to_string())).unwrap_or_default()
    }

    /// Path of the file of an item.
    pub fn path(&self, item: &Item) -> PathBuf {
        self.suites[item.suite].suite.root.join(&self.file(item).path)
    }
}

/// Test id within its suite: `path` or `path[name=value,…]`.
pub fn test_name(path: &str, variant: &BTreeMap<String, String>) -> String {
    if variant.is_empty() {
        return path.to_owned();
    }
    let values: Vec<String> = variant.iter().map(|(k, v)| format!("{k}={v}")).collect();
    format!("{path}[{}]", values.join(","))
}

/// Every combination of variant values, in file order of the names.
pub fn variants(test: &TestFile) -> Vec<BTreeMap<String, String>> {
    let mut all = vec![BTreeMap::new()];
    for variant in &test.variants {
        all = all
            .into_iter()
            .flat_map(|base: BTreeMap<String, String>| {
                variant.values.iter().map(move |value| {
                    let mut one = base.clone();
                    one.insert(variant.name.clone(), value.clone());
                    one
                })
            })
            .collect();
    }
    all
}

/// Targets of a test. With no device asked for: the host, or the shim for a test that declares devices.
pub fn host_target(test: &TestFile) -> Target {
    if test.devices.is_some() { Target::Shim } else { Target::Host }
}
