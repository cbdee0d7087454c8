//! Where the injected probe libraries are.

use runproof_records::Digest;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// A probe library that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Absolute path, symbolic links resolved.
    pub path: PathBuf,
    /// Digest of its bytes.
    pub digest: Digest,
}

impl Library {
    /// The library at `path`; `None` when there is no readable file.
    pub fn read(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let digest: [u8; 32] = Sha256::digest(std::fs::read(&path).ok()?).into();
        Some(Self { path, digest: Digest::from_bytes(&digest) })
    }
}

/// A probe library that is nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryMissing {
    /// File name.
    pub name: String,
    /// Folders that were searched, in order.
    pub searched: Vec<PathBuf>,
}

impl std::fmt::Display for LibraryMissing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let folders: Vec<_> = self.searched.iter().map(|p| p.display().to_string()).collect();
        write!(f, "probe missing: no {} in {}", self.name, folders.join(", "))
    }
}

impl std::error::Error for LibraryMissing {}

/// Looks for the probe `stem` (`runproof_probe_opencl`): in `probe_dir` alone when it is given, else beside
/// this executable, then in `../lib/runproof` from there.
///
/// # Errors
/// [`LibraryMissing`] with the folders that were searched.
pub fn find_library(stem: &str, probe_dir: Option<&Path>) -> Result<Library, LibraryMissing> {
    let name = format!("{}{stem}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let folders = match probe_dir {
        Some(folder) => vec![folder.to_path_buf()],
        None => beside_executable(),
    };
    for folder in &folders {
        if let Some(library) = Library::read(&folder.join(&name)) {
            return Ok(library);
        }
    }
    Err(LibraryMissing { name, searched: folders })
}

fn beside_executable() -> Vec<PathBuf> {
    let Some(folder) = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_path_buf())) else {
        return Vec::new();
    };
    let mut folders = vec![folder.clone()];
    // Test executables and examples of Cargo lie one folder below the libraries.
    if folder.file_name().is_some_and(|name| name == "deps" || name == "examples") {
        folders.extend(folder.parent().map(Path::to_path_buf));
    }
    folders.push(folder.join("../lib/runproof"));
    folders
}
