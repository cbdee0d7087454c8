//! The schema of everything a run leaves behind: serde types, versioned, and nothing that computes.
//!
//! Outsiders, the audit and the matrix depend on this crate and not on the engine. What must not enter:
//! hashing, tier rules, files, clocks, devices. A record says what was seen; what follows from it is
//! computed elsewhere, twice (by the runner and by the audit).
//!
//! Format rules: unknown fields are refused, there are no nulls (what could not be recorded is listed in
//! [`record::Record::not_recorded`] with its reason), times are integer nanoseconds, counts and bytes are
//! integers, digests are `sha256:` and 64 hexadecimal digits.

pub mod bundle;
pub mod digest;
pub mod fleet;
pub mod reasons;
pub mod record;
#[cfg(feature = "schema")]
pub mod schema;
pub mod verdict;
pub mod wire;

pub use digest::Digest;

/// Version of the record schema. The part before the dot changes when an older reader would misread.
pub const RECORD_SCHEMA: &str = "runproof-record/1.0";
/// Version of `run.json`, `census.json` and the manifest.
pub const BUNDLE_SCHEMA: &str = "runproof-bundle/1.0";
/// Version of the line protocol that probes speak.
pub const PROBE_SCHEMA: u32 = 1;
