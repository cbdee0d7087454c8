//! The table as data: what JSON shows and Markdown is rendered from.

use runproof_records::Digest;
use runproof_records::reasons::Reason;
use runproof_records::record::RuleRef;
use runproof_records::verdict::{Grade, Tier};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Version of the JSON form.
pub const MATRIX_SCHEMA: &str = "runproof-matrix/1.0";
/// The words before the date in the Markdown form.
pub(super) const AS_OF: &str = "as of ";

/// The whole table.
#[derive(Clone, Debug, Serialize)]
pub struct Matrix {
    /// [`MATRIX_SCHEMA`].
    pub schema: &'static str,
    /// Date it speaks of.
    pub as_of: String,
    /// Tests that a headline needs.
    pub min_executed: u64,
    /// The rule that the tiers were computed by.
    pub rule: RuleRef,
    /// Rows, in the fleet's order.
    pub hosts: Vec<Head>,
    /// Columns: without a device first, then the fleet's.
    pub devices: Vec<Head>,
    /// Cells by tier of their headline. T1 and T2 are never one number.
    pub executed: Executed,
    /// Every cell, row by row.
    pub cells: Vec<Cell>,
    /// Tests across machines or devices.
    pub runs: Vec<RunEntry>,
    /// Tests that ran on none of the hosts whose bundles are here.
    pub nowhere: Vec<Nowhere>,
    /// Bundles that fill nothing, with the reason.
    pub left_out: Vec<LeftOut>,
    /// What makes the table unfit to publish.
    pub problems: Vec<Problem>,
}

/// A row or a column.
#[derive(Clone, Debug, Serialize)]
pub struct Head {
    /// Id in the fleet.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Who keeps it working.
    pub owner: String,
}

/// How many device cells were reached, apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Executed {
    /// Cells of devices with a T2 headline: executed on the device.
    pub on_device: u64,
    /// Cells of devices with a T1 headline: executed on the host's shim or on a software device.
    pub on_shim_or_software: u64,
    /// Cells of devices with neither and no `n/a`.
    pub without: u64,
}

/// State of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellState {
    /// Evidence younger than half of its time to live.
    Filled,
    /// Older than half of it.
    Ageing,
    /// Older than four fifths of it.
    Stale,
    /// Older than all of it: nothing counts.
    Expired,
    /// Two evidences of one commit disagree.
    Conflict,
    /// No evidence.
    Empty,
    /// A rule of the fleet says that there can be none.
    NotApplicable,
}

impl CellState {
    /// The word of the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Filled => "filled",
            Self::Ageing => "ageing",
            Self::Stale => "stale",
            Self::Expired => "expired",
            Self::Conflict => "conflict",
            Self::Empty => "empty",
            Self::NotApplicable => "n/a",
        }
    }
}

/// One host × device entry.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// Host id.
    pub host: String,
    /// Device id, or the name of the column without one.
    pub device: String,
    /// State.
    pub state: CellState,
    /// The best tier that holds here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headline: Option<Headline>,
    /// Counts per tier; a tier without tests is left out.
    pub tiers: BTreeMap<Tier, Counts>,
    /// Of the T1 tests that executed: those that declare a placement.
    pub placement_bearing: u64,
    /// Failed tests by goal.
    pub failed: BTreeMap<Tier, u64>,
    /// Flaky and expected failures, which count for nothing.
    pub flaky: u64,
    /// Expected failures.
    pub xfailed: u64,
    /// Skips by kind.
    pub skipped: BTreeMap<&'static str, u64>,
    /// What the results cover.
    pub scope: BTreeMap<String, BTreeSet<String>>,
    /// Drivers and runtimes covered.
    pub drivers: BTreeSet<String>,
    /// Bundles behind it, oldest first.
    pub evidence: Vec<Evidence>,
    /// Days since the oldest evidence that counts for the headline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_days: Option<i64>,
    /// Last day on which it counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Evidences that disagree.
    pub conflicts: Vec<String>,
    /// The tier that a reason has to explain, when one is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier_missing: Option<Tier>,
    /// The reason from `reasons.toml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The fleet's rule behind an `n/a`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rule: String,
}

/// The best tier of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// Tier.
    pub tier: Tier,
    /// Weakest grade among its tests, for a T2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Whether every one of its tests had a negative control that held.
    pub control: bool,
    /// Whether all of it ran on the host's shim.
    pub shim: bool,
}

/// Tests of one tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Came to an end with this tier.
    pub executed: u64,
    /// Passed.
    pub passed: u64,
}

/// A bundle behind a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Run id.
    pub run: String,
    /// Where it is.
    pub link: String,
    /// Digest of its manifest, compared when the table was made.
    pub digest: Digest,
    /// Commit.
    pub commit: String,
    /// Day of the run, UTC.
    pub date: String,
    /// `continuous` (on every push) or `one-off`.
    pub kind: &'static str,
}

/// A test with several participants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunEntry {
    /// Run id.
    pub run: String,
    /// Link to its bundle.
    pub link: String,
    /// Test.
    pub test: String,
    /// Participants: peers as declared, or devices as the probe saw them, with their kernels.
    pub participants: Vec<String>,
    /// State.
    pub state: &'static str,
    /// Tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
}

/// A test that ran nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Nowhere {
    /// Suite.
    pub suite: String,
    /// Test.
    pub test: String,
    /// Hosts whose bundles are here.
    pub hosts: u64,
    /// What was demanded, and where.
    pub demands: BTreeMap<String, BTreeSet<String>>,
    /// Demands that contradict each other.
    pub contradictions: Vec<String>,
}

/// A bundle that fills nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Run id.
    pub run: String,
    /// Link.
    pub link: String,
    /// Why.
    pub why: String,
}

/// What makes the table unfit to publish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Kind.
    pub kind: ProblemKind,
    /// What and where, with the way out.
    pub message: String,
}

/// Kinds of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// An empty cell, or one below its best tier, without a reason.
    NoReason,
    /// Two reasons for one cell.
    TwoReasons,
    /// A reason for something that is there, or that can never be.
    NeedlessReason,
    /// A reason that has to be looked at again.
    ReviewDue,
    /// A reason with a field that says nothing.
    BadReason,
    /// Evidence in a cell that a rule calls `n/a`.
    NotApplicable,
    /// Evidence that is too old.
    Expired,
    /// Evidences that disagree.
    Conflict,
}
