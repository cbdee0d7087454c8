//! The forger's tools: open a bundle, change it, and make every digest, total and signature fit again.

use crate::checks::{PAYLOAD_TYPE, pae};
use crate::load::sha256;
use crate::rule;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use runproof_records::bundle::{CENSUS, Census, MANIFEST, RECORDS, RUN, Run, SIGNATURE};
use runproof_records::record::{CommandPlacement, Line, Record};
use runproof_records::verdict::{State, Tier};
use runproof_records::wire::Stamped;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// An opened copy.
pub(super) struct Forge {
    root: PathBuf,
    pub(super) run: Run,
    pub(super) census: Census,
    pub(super) lines: Vec<Line>,
}

impl Forge {
    /// The forger owns a key that the verifier trusts: only what the bundle says can give him away.
    pub(super) fn key() -> SigningKey {
        SigningKey::from_bytes(&[7; 32])
    }

    pub(super) fn open(root: &Path) -> Result<Self, String> {
        let read = |name: &str| fs::read_to_string(root.join(name)).map_err(|e| format!("{name}: {e}"));
        let lines = read(RECORDS)?;
        let lines = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        Ok(Self {
            root: root.to_owned(),
            run: serde_json::from_str(&read(RUN)?).map_err(|e| e.to_string())?,
            census: serde_json::from_str(&read(CENSUS)?).map_err(|e| e.to_string())?,
            lines: lines.map_err(|e| e.to_string())?,
        })
    }

    /// The first record that fits.
    pub(super) fn find(&mut self, fits: impl Fn(&Record) -> bool) -> Option<&mut Record> {
        self.records().find(|r| fits(r))
    }

    pub(super) fn records(&mut self) -> impl Iterator<Item = &mut Record> {
        self.lines.iter_mut().filter_map(|l| match l {
            Line::Finished(record) => Some(&mut **record),
            Line::Started(_) => None,
        })
    }

    /// Changes the raw probe lines of the first observed command with an accepted process and a record that fits.
    pub(super) fn raw(
        &mut self,
        fits: impl Fn(&Record, &CommandPlacement) -> bool,
        change: impl Fn(&mut Vec<Stamped>) -> Option<()>,
    ) -> Option<()> {
        let name = self.records().find_map(|r| {
            let mut entries = r.placement.iter().flat_map(|p| &p.commands);
            entries.find(|e| e.processes.iter().any(|p| p.accepted) && fits(r, e)).map(|e| e.raw.clone())
        })?;
        let path = self.root.join(name);
        let text = fs::read_to_string(&path).ok()?;
        let mut lines: Vec<Stamped> =
            text.lines().map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
        change(&mut lines)?;
        let text: Option<Vec<String>> = lines.iter().map(|l| serde_json::to_string(l).ok()).collect();
        fs::write(path, text?.join("\n") + "\n").ok()
    }

    /// Makes everything fit again; with `grade` the tiers too.
    pub(super) fn seal(mut self, grade: bool) -> Result<(), String> {
        let root = self.root.clone();
        for record in self.records() {
            for entry in record.placement.iter_mut().flat_map(|p| &mut p.commands) {
                if let Ok(bytes) = fs::read(root.join(&entry.raw)) {
                    entry.raw_digest = sha256(&bytes);
                    entry.lines = bytes.iter().filter(|b| **b == b'\n').count() as u64;
                }
            }
            if grade {
                let got = rule::tier(record);
                let v = &mut record.verdict;
                (v.tier, v.grade, v.control) = (got.tier, got.grade, got.control);
            }
        }
        let text = self.chain()?;
        fs::write(root.join(RECORDS), text).map_err(|e| e.to_string())?;
        let write = |name: &str, text: serde_json::Result<String>| {
            let text = text.map_err(|e| e.to_string())?;
            fs::write(root.join(name), text + "\n").map_err(|e| e.to_string())
        };
        write(RUN, serde_json::to_string(&self.run))?;
        write(CENSUS, serde_json::to_string(&self.census))?;
        close(&root)
    }

    fn chain(&mut self) -> Result<String, String> {
        let mut prev = sha256(self.run.nonce.as_bytes());
        let mut text = String::new();
        let mut last = BTreeMap::new();
        for (i, line) in self.lines.iter_mut().enumerate() {
            match line {
                Line::Started(s) => {
                    (s.seq, s.prev) = (i as u64, prev);
                    last.insert(s.key.clone(), None);
                }
                Line::Finished(r) => {
                    (r.seq, r.prev) = (i as u64, prev);
                    last.insert(r.key.clone(), Some((r.verdict.state, r.verdict.tier)));
                }
            }
            let one = serde_json::to_string(line).map_err(|e| e.to_string())?;
            prev = sha256(one.as_bytes());
            text += &one;
            text.push('\n');
        }
        if let Some(end) = &mut self.run.end {
            (end.lines, end.head) = (self.lines.len() as u64, prev);
            end.states.clear();
            end.tiers.clear();
            for test in &self.census.tests {
                let (state, tier) = last.get(&test.key).copied().flatten().unwrap_or((State::NotRun, None));
                *end.states.entry(state.as_str().into()).or_default() += 1;
                *end.tiers.entry(tier.map_or("none", Tier::as_str).into()).or_default() += 1;
            }
        }
        Ok(text)
    }
}

/// Writes manifest and signature over whatever is there.
pub(super) fn close(root: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    list(root, "", &mut files).map_err(|e| e.to_string())?;
    files.sort();
    let mut manifest = String::new();
    for name in files.iter().filter(|n| *n != MANIFEST && *n != SIGNATURE) {
        let bytes = fs::read(root.join(name)).map_err(|e| e.to_string())?;
        manifest += &format!("{}  {}  {name}\n", sha256(&bytes).hex(), bytes.len());
    }
    fs::write(root.join(MANIFEST), &manifest).map_err(|e| e.to_string())?;
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": MANIFEST, "digest": { "sha256": sha256(manifest.as_bytes()).hex() } }],
        "predicateType": "urn:runproof:bundle:1",
        "predicate": {},
    });
    let payload = statement.to_string();
    let signature = Forge::key().sign(&pae(payload.as_bytes()));
    let envelope = json!({
        "payloadType": PAYLOAD_TYPE,
        "payload": STANDARD.encode(&payload),
        "signatures": [{ "keyid": "", "sig": STANDARD.encode(signature.to_bytes()) }],
    });
    fs::write(root.join(SIGNATURE), envelope.to_string()).map_err(|e| e.to_string())
}

fn list(folder: &Path, prefix: &str, into: &mut Vec<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), into)?;
        } else {
            into.push(name);
        }
    }
    Ok(())
}
