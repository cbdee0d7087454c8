//! `fleet.toml`: the hosts and devices that a project declares, by one schema.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fleet {
    /// Hosts: the rows of the matrix, in this order.
    #[serde(default)]
    pub host: Vec<HostDecl>,
    /// Devices: the columns of the matrix after `no device`, in this order.
    #[serde(default)]
    pub device: Vec<DeviceDecl>,
    /// Rules that make a cell `n/a`.
    #[serde(default)]
    pub not_applicable: Vec<NotApplicable>,
    /// Outer probes of device kinds that the harness does not know by itself.
    #[serde(default)]
    pub probe: Vec<ProbeDecl>,
}

/// How a machine or device can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// On every push.
    Ci,
    /// Owned by the project.
    Owned,
    /// Rented when needed.
    Rented,
    /// Not at all.
    None,
}

/// A declared host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HostDecl {
    /// Id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Who keeps it working.
    pub owner: String,
    /// `linux`, `macos`, `windows`.
    pub os: String,
    /// `x86_64`, `aarch64`.
    pub arch: String,
    /// How it can be reached.
    pub access: Access,
    /// Days until its evidence expires.
    #[serde(default = "default_ttl")]
    pub ttl_days: u32,
}

/// A declared device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviceDecl {
    /// Id.
    pub id: String,
    /// Device kind: `cuda`, `opencl`, `ane`, or one that a `[[probe]]` declares.
    pub kind: String,
    /// Display name.
    pub name: String,
    /// Who keeps it working.
    pub owner: String,
    /// Vendor.
    pub vendor: String,
    /// Capability: `sm_90`, `gfx942`, `ane-h16`, `any` where the kind has none.
    pub capability: String,
    /// How the physical thing is recognised.
    pub identity: IdentityDecl,
    /// It computes on a CPU or is a simulation, and that is meant: the goal is T1.
    #[serde(default)]
    pub software: bool,
    /// Facts to corroborate at each run.
    #[serde(default)]
    pub fact: Vec<FactDecl>,
    /// Environment variables that may choose or hide devices here without tainting the evidence.
    #[serde(default)]
    pub allowed_overrides: Vec<String>,
    /// How it can be reached.
    pub access: Access,
    /// Days until its evidence expires.
    #[serde(default = "default_ttl")]
    pub ttl_days: u32,
}

/// How a device is recognised: exactly one of the three.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum IdentityDecl {
    /// By UUID.
    Uuid(String),
    /// By PCI address.
    Bus(String),
    /// By the name that the interface reports; `*` is a wildcard, `|` stands between alternatives.
    Model(String),
}

/// A fact that the device has to confirm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FactDecl {
    /// Name of the fact as the device kind reports it (`devices --json` lists them).
    pub fact: String,
    /// Expected value: an integer or a text.
    pub expect: FactValue,
    /// Allowed relative difference of an integer in percent.
    #[serde(default)]
    pub tolerance_percent: u32,
    /// Where the expected value is from.
    #[serde(default)]
    pub source: String,
}

/// A value of a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum FactValue {
    /// An integer: bytes, counts.
    Integer(i64),
    /// A text.
    Text(String),
}

/// A rule that makes cells `n/a`: `device = "ane"`, `needs = { os = "macos" }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NotApplicable {
    /// Device kind that the rule is about.
    pub kind: String,
    /// What the host must be, by field (`os`, `arch`); a host that is something else has no such device.
    pub needs: BTreeMap<String, String>,
}

/// A program that speaks the probe protocol for a device kind of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProbeDecl {
    /// Device kind.
    pub kind: String,
    /// `inner` or `outer`.
    pub role: crate::wire::Role,
    /// Command that prints `device` lines and exits 0.
    pub inventory: Vec<String>,
    /// Command that runs beside the program and prints lines until its standard input closes.
    #[serde(default)]
    pub start: Vec<String>,
    /// Environment for the program under test; `%{device.uuid}` and `%{device.index}` are replaced.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Environment that hides the device, for the negative control.
    #[serde(default)]
    pub hide_env: BTreeMap<String, String>,
}

fn default_ttl() -> u32 {
    90
}
