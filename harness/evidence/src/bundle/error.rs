//! Why a bundle cannot be written. No evidence, no tier: each of these ends the run with status 2.

use runproof_records::record::TestKey;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A bundle that cannot be written: what was being done, where, why, and the way out.
#[derive(Debug)]
pub struct BundleError {
    /// The file or folder.
    pub path: PathBuf,
    /// What was being done.
    pub doing: &'static str,
    /// Why it failed.
    pub problem: Problem,
}

/// What went wrong.
#[derive(Debug)]
pub enum Problem {
    /// The file system said no.
    Io(io::Error),
    /// The run id is no plain file name.
    RunId(String),
    /// A test that the census does not announce was to be recorded.
    Unannounced(Box<TestKey>),
    /// An earlier line could not be written whole, so the chain is broken.
    Broken,
    /// A value could not be encoded.
    Encode(String),
    /// A signing key cannot be used.
    Key(String),
}

/// What is done before there is any folder that could have gone.
pub(crate) const MAKING_ROOT: &str = "making the folder for bundles";

impl BundleError {
    pub(crate) fn new(path: &Path, doing: &'static str, problem: Problem) -> Self {
        Self { path: path.to_owned(), doing, problem }
    }

    /// A file of the bundle that its caller could not write.
    pub fn io(path: &Path, doing: &'static str, error: io::Error) -> Self {
        Self::new(path, doing, Problem::Io(error))
    }

    /// What would mend it.
    pub fn way_out(&self) -> &'static str {
        match &self.problem {
            Problem::Io(e) => match e.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "make room on that file system, or put the bundles on another one"
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "give a folder that this user may write to"
                }
                io::ErrorKind::AlreadyExists => {
                    "a bundle is never written over: use a new run id, or move the old one away"
                }
                io::ErrorKind::NotFound if self.doing != MAKING_ROOT => {
                    "leave the folder of a bundle alone until its run has ended"
                }
                io::ErrorKind::NotADirectory => "a file is in the way: give another folder for the bundles",
                _ => "mend the file system or put the bundles elsewhere",
            },
            Problem::RunId(_) => {
                "a run id is letters, digits, `-`, `_` and `.`, and does not begin with a `.`"
            }
            Problem::Unannounced(_) => "announce every test in the census before the first one starts",
            Problem::Broken => {
                "nothing more can be recorded in this run: see the first error, then run again"
            }
            Problem::Encode(_) => "report this: every record can be encoded",
            Problem::Key(_) => "give an unencrypted ed25519 key in PKCS#8 PEM form, or run without a key",
        }
    }
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: ", self.path.display(), self.doing)?;
        match &self.problem {
            Problem::Io(e) => write!(f, "{e}")?,
            Problem::RunId(id) => write!(f, "`{id}` is no run id")?,
            Problem::Unannounced(key) => {
                write!(f, "`{}` of suite `{}` was not announced", key.test, key.suite)?;
            }
            Problem::Broken => f.write_str("an earlier line could not be written")?,
            Problem::Encode(why) | Problem::Key(why) => f.write_str(why)?,
        }
        Ok(())
    }
}

impl std::error::Error for BundleError {}

/// Turns an I/O error into a [`BundleError`] at a place.
pub(crate) fn at(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> BundleError {
    let path = path.to_owned();
    move |e| BundleError { path, doing, problem: Problem::Io(e) }
}
