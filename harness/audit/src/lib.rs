//! The independent verifier of bundles. It shares the record schema with the runner and nothing else: the tier rule
//! is read from the published file by an interpreter of its own, and every derived number is computed again.
//!
//! Needs neither the network nor the build. What must not enter: code of the runner, statistics that are not
//! recomputed here, a check that is not in [`CHECKS`].

mod checks;
mod energy;
mod load;
mod rule;
mod selftest;
mod stream;

pub use checks::{CHECKS, Check, explain};
pub use rule::{RULE_TEXT, Tiered, tier};
pub use selftest::{Escape, SelfTest, selftest};

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::pkcs8::DecodePublicKey as _;
use std::fmt;
use std::path::Path;

/// What the auditor brings along.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keys whose signature counts. Without one, a signature is shown and not believed.
    pub trusted: Vec<VerifyingKey>,
}

impl Options {
    /// Adds a public key in SPKI PEM form.
    ///
    /// # Errors
    /// The text holds no ed25519 public key.
    pub fn trust(&mut self, pem: &str) -> Result<(), String> {
        let key = VerifyingKey::from_public_key_pem(pem).map_err(|e| {
            format!("no ed25519 public key in SPKI PEM form: {e}; give the `.pub` file of the signer")
        })?;
        self.trusted.push(key);
        Ok(())
    }
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Id of the check, in [`CHECKS`].
    pub check: &'static str,
    /// File in the bundle.
    pub path: String,
    /// Line in it, from 1, where there is one.
    pub line: Option<usize>,
    /// What, and what was expected.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {} [{}]", self.message, self.check)
    }
}

/// Whether the bundle is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signed {
    /// There is no envelope.
    Unsigned,
    /// There is one, and no trusted key was given or none of them made it.
    Unverified,
    /// By a trusted key; the digest of its 32 bytes.
    By(String),
}

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned => f.write_str("unsigned"),
            Self::Unverified => f.write_str("signed, by no key that was given as trusted"),
            Self::By(key) => write!(f, "signed by {key}"),
        }
    }
}

/// What the audit says of one bundle.
#[derive(Clone, Debug)]
pub struct AuditReport {
    /// Ids of the checks that were run.
    pub checks: Vec<&'static str>,
    /// Everything that does not hold, sorted.
    pub findings: Vec<Finding>,
    /// What the bundle of a killed run lacks; empty for a complete one. A partial bundle fills no cell.
    pub partial: Vec<String>,
    /// Signature.
    pub signed: Signed,
}

impl AuditReport {
    /// Whether nothing was found. A partial bundle can be clean: see [`Self::partial`].
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Verifies one bundle's folder. Never fails: what cannot be read is a finding.
pub fn audit(folder: &Path, options: &Options) -> AuditReport {
    let loaded = load::Loaded::read(folder);
    let mut sink = checks::Sink::new(loaded.findings.clone());
    let mut ran = vec!["shape"];
    let signed = checks::signature(&loaded, options, &mut sink);
    ran.push("signature");
    // A bundle that cannot be read whole is not judged further: every other finding would be an echo.
    if let Some(bundle) = loaded.bundle() {
        for check in CHECKS {
            let Some(run) = check.run else { continue };
            if check.complete_only && !bundle.complete() {
                continue;
            }
            run(&bundle, sink.named(check.id));
            ran.push(check.id);
        }
    }
    let mut findings = sink.findings;
    findings.sort();
    findings.dedup();
    AuditReport { checks: ran, findings, partial: loaded.partial, signed }
}
