//! The other files of a bundle: `run.json`, `census.json`, `MANIFEST`.

use crate::digest::Digest;
use crate::record::{Host, Instant, TestKey};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `run.json`. Written twice: when the run opens (without [`Run::end`]) and when it closes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`crate::BUNDLE_SCHEMA`].
    pub schema: String,
    /// Run id, also the folder's name.
    pub id: String,
    /// Nonce, 32 hexadecimal digits.
    pub nonce: String,
    /// Version of runproof.
    pub harness: String,
    /// Digest of the harness's executable.
    pub executable: Digest,
    /// Command line of the harness, paths replaced.
    pub argv: Vec<String>,
    /// Revision of the tested tree.
    pub source: Revision,
    /// The machine.
    pub host: Host,
    /// Tools found, by name.
    pub tools: BTreeMap<String, Tool>,
    /// What was selected.
    pub selection: Selection,
    /// Start.
    pub started: Instant,
    /// End and totals; absent while the run goes on or when it was killed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end: Option<End>,
}

/// Revision of the tested tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Revision {
    /// Commit, or `unknown` outside a repository.
    pub commit: String,
    /// Whether tracked files differ from it.
    pub dirty: bool,
}

/// A tool that the suite names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Path, paths replaced.
    pub path: String,
    /// First line of its `--version`, or `unknown`.
    pub version: String,
    /// Digest of the executable.
    pub digest: Digest,
}

/// What was selected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// `--device` values as given.
    pub devices: Vec<String>,
    /// Filters as given.
    pub filters: Vec<String>,
    /// `i/n` of a sharded run; empty when not sharded.
    pub shard: String,
    /// Filtered, sharded or interrupted: fills no cell.
    pub partial: bool,
    /// `--controls`.
    pub controls: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct End {
    /// When.
    pub at: Instant,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Tests by state.
    pub states: BTreeMap<String, u64>,
    /// Tests by tier; `none` for those that earned none.
    pub tiers: BTreeMap<String, u64>,
    /// Lines in `records.jsonl`.
    pub lines: u64,
    /// Digest of the last line of `records.jsonl`: the chain's head.
    pub head: Digest,
}

/// `census.json`: everything announced before the first test ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Census {
    /// [`crate::BUNDLE_SCHEMA`].
    pub schema: String,
    /// Run id.
    pub run: String,
    /// Nonce of the run.
    pub nonce: String,
    /// Every test on every target, sorted.
    pub tests: Vec<Announced>,
    /// Files under the suites' roots that no suite claims.
    pub unclaimed: Vec<String>,
}

/// One announced test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Announced {
    /// Which test.
    pub key: TestKey,
    /// Digest of the file.
    pub source: Digest,
}

/// `MANIFEST`: one line per file, `<hex digest>  <bytes>  <path>`, sorted by path. The first two columns of
/// each line are checkable with ordinary tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// Digest of the file.
    pub digest: Digest,
    /// Size.
    pub bytes: u64,
    /// Path in the bundle, with `/`.
    pub path: String,
}

/// `run.json`.
pub const RUN: &str = "run.json";
/// `census.json`.
pub const CENSUS: &str = "census.json";
/// `records.jsonl`.
pub const RECORDS: &str = "records.jsonl";
/// `fleet.toml`.
pub const FLEET: &str = "fleet.toml";
/// `MANIFEST`.
pub const MANIFEST: &str = "MANIFEST";
/// `MANIFEST.dsse`.
pub const SIGNATURE: &str = "MANIFEST.dsse";
/// Folder of raw probe files.
pub const PLACEMENT: &str = "placement";
/// Folder of outputs.
pub const LOGS: &str = "logs";
/// Folder of test files by digest.
pub const SOURCES: &str = "sources";
