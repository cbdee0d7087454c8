//! `MANIFEST`: the closed list of a bundle's files.

use super::error::{BundleError, at};
use crate::digest;
use runproof_records::Digest;
use runproof_records::bundle::{MANIFEST, ManifestEntry, SIGNATURE};
use std::fs;
use std::path::Path;

/// Every file under the folder but the manifest and its signature, sorted by path.
///
/// # Errors
/// A file cannot be read, or something in the folder is neither file nor folder or has a name that is no UTF-8.
pub fn entries(root: &Path) -> Result<Vec<ManifestEntry>, BundleError> {
    let mut found = Vec::new();
    walk(root, "", &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn walk(folder: &Path, prefix: &str, found: &mut Vec<ManifestEntry>) -> Result<(), BundleError> {
    const DOING: &str = "listing the bundle";
    let odd = |path: &Path, why: &str| at(path, DOING)(std::io::Error::other(why.to_owned()));
    for entry in fs::read_dir(folder).map_err(at(folder, DOING))? {
        let entry = entry.map_err(at(folder, DOING))?;
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| odd(&path, "its name is no UTF-8"))?;
        let name = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
        // No link is followed: what a bundle holds is in the bundle.
        let kind = entry.file_type().map_err(at(&path, DOING))?;
        if kind.is_dir() {
            walk(&path, &name, found)?;
        } else if !kind.is_file() {
            return Err(odd(&path, "it is neither a file nor a folder"));
        } else if name != MANIFEST && name != SIGNATURE {
            let (digest, bytes) = digest::of_file(&path).map_err(at(&path, DOING))?;
            found.push(ManifestEntry { digest, bytes, path: name });
        }
    }
    Ok(())
}

/// The text of a manifest: `<hex digest>  <bytes>  <path>` a line.
pub fn render(entries: &[ManifestEntry]) -> String {
    entries.iter().map(|e| format!("{}  {}  {}\n", e.digest.hex(), e.bytes, e.path)).collect()
}

/// Reads a manifest back.
///
/// # Errors
/// The number of the first line that has not the form, with what is wrong.
pub fn parse(text: &str) -> Result<Vec<ManifestEntry>, (usize, String)> {
    let line = |line: &str| {
        let mut parts = line.splitn(3, "  ");
        let digest = Digest::try_from(format!("sha256:{}", parts.next().unwrap_or_default()))?;
        let bytes = parts.next().and_then(|b| b.parse().ok()).ok_or("the second column is no size")?;
        let path = parts.next().ok_or("the third column, the path, is missing")?.to_owned();
        Ok(ManifestEntry { digest, bytes, path })
    };
    // Not `lines`, which takes a carriage return for part of an end: it may be part of a name.
    text.split_terminator('\n')
        .enumerate()
        .map(|(i, l)| line(l).map_err(|why: String| (i + 1, why)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let entry =
            |path: &str| ManifestEntry { digest: digest::of_bytes(b"x"), bytes: 1, path: path.into() };
        let entries = vec![entry("a b"), entry("ends in a return\r"), entry("logs/c  d")];
        assert_eq!(parse(&render(&entries)), Ok(entries));
        assert_eq!(parse("no\n").map_err(|(line, _)| line), Err(1));
    }
}
