//! What lasts from one command line of a test to the next.

use crate::process::Limits;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Working folder, environment, limits.
#[derive(Clone, Debug, Default)]
pub struct ShellState {
    /// Working folder, absolute.
    pub cwd: PathBuf,
    /// The whole environment of what is started.
    pub env: BTreeMap<String, String>,
    /// Limits of what is started; `ulimit` and `umask` change them.
    pub limits: Limits,
    /// Folders that `pushd` left.
    pub(super) left: Vec<PathBuf>,
}

impl ShellState {
    /// The state at the beginning of a test.
    pub fn new(cwd: impl Into<PathBuf>, env: BTreeMap<String, String>, limits: Limits) -> Self {
        Self { cwd: cwd.into(), env, limits, left: Vec::new() }
    }

    /// A name as written in a command, made absolute.
    pub(super) fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.cwd.join(name)
    }
}
