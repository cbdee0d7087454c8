//! `reasons.toml`: why a cell of the matrix is empty or below its best tier. The only hand-written part of the
//! matrix.

use crate::verdict::Tier;
use serde::{Deserialize, Serialize};

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reasons {
    /// Entries.
    #[serde(default)]
    pub empty: Vec<Reason>,
}

/// One reason for one or several cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Host ids or globs.
    pub host: OneOrMore,
    /// Device ids or globs; [`NO_DEVICE`] for the first column.
    pub device: OneOrMore,
    /// The tier that is missing.
    pub tier_missing: Tier,
    /// What is missing; at least one.
    pub missing: Vec<MissingPart>,
    /// Why, in one sentence.
    pub because: String,
    /// Addresses of what blocks it.
    #[serde(default)]
    pub blockers: Vec<String>,
    /// The smallest next step.
    pub next_step: String,
    /// Who takes it.
    pub owner: String,
    /// Date by which this has to be looked at again, `YYYY-MM-DD`.
    pub review: String,
    /// The smaller claim that can be supported today.
    pub claim: String,
}

/// Name of the column without a device, in `reasons.toml` and in the table.
pub const NO_DEVICE: &str = "no device";

/// One text or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

impl OneOrMore {
    /// All of them.
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(more) => more,
        }
    }
}

/// What can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MissingPart {
    /// The fleet file or the harness has no model of the device.
    FleetModel,
    /// A test.
    Test,
    /// An oracle to compare with.
    Oracle,
    /// A probe that can witness it.
    Probe,
    /// A toolchain.
    Toolchain,
    /// A driver.
    Driver,
    /// Access to the hardware.
    HardwareAccess,
    /// Nothing but a run.
    Run,
    /// The repair of a known fault.
    Fix,
    /// A decision.
    Policy,
}

impl MissingPart {
    /// The word as it stands in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FleetModel => "fleet-model",
            Self::Test => "test",
            Self::Oracle => "oracle",
            Self::Probe => "probe",
            Self::Toolchain => "toolchain",
            Self::Driver => "driver",
            Self::HardwareAccess => "hardware-access",
            Self::Run => "run",
            Self::Fix => "fix",
            Self::Policy => "policy",
        }
    }
}
