//! Digest and machine of the executables that tests start, each read once.

use runproof_records::Digest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What is known of an executable.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Digest of the file.
    pub digest: Option<Digest>,
    /// Machine of its code: `x86_64`, `aarch64`, `script`, …
    pub machine: Option<String>,
}

/// Executables seen so far, by path, size and time of change: a test may build what another runs.
#[derive(Debug, Default)]
pub struct Executables(Mutex<BTreeMap<(PathBuf, u64, u64), Facts>>);

impl Executables {
    /// Facts of a file; empty ones when it is gone.
    pub fn facts(&self, path: &Path) -> Facts {
        let Ok(metadata) = std::fs::metadata(path) else { return Facts::default() };
        let changed = metadata
            .modified()
            .ok()
            .and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok())
            .map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX));
        let key = (path.to_path_buf(), metadata.len(), changed);
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let facts = Facts {
            digest: runproof_evidence::digest::of_file(path).ok().map(|(digest, _)| digest),
            machine: crate::device::executable::machine(path),
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, facts.clone());
        facts
    }
}
