//! The digest of a compiled model, which is a folder: any change of a name or a byte in it is another digest.
#![cfg_attr(not(target_os = "macos"), allow(dead_code, reason = "its user is built for macOS only"))]

use runproof_records::Digest;
use sha2::{Digest as _, Sha256};
use std::path::Path;

/// Digest of all files below `folder`, in the order of their paths: for each the length of its path, the path, the
/// length of its content, the content. Links are followed: what they name is what is loaded.
///
/// # Errors
/// What cannot be read; a folder without a file is no model.
pub(super) fn digest(folder: &Path) -> Result<Digest, String> {
    let mut hash = Sha256::new();
    let mut files = 0_u64;
    for entry in walkdir::WalkDir::new(folder).follow_links(true).sort_by_file_name() {
        // Messages name no path of this machine: they go into the record.
        let entry = entry.map_err(|error| {
            let why =
                error.io_error().map_or_else(|| "a link goes in circles".to_owned(), ToString::to_string);
            format!("the compiled model cannot be read: {why}")
        })?;
        if !entry.file_type().is_file() {
            continue;
        }
        let name = entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_string_lossy().into_owned();
        let content = std::fs::read(entry.path())
            .map_err(|error| format!("`{name}` of the compiled model cannot be read: {error}"))?;
        for part in [name.as_bytes(), &content] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        files += 1;
    }
    if files == 0 {
        return Err("what the command line names has no files: it is no compiled model".to_owned());
    }
    Ok(Digest::from_bytes(&hash.finalize().into()))
}

#[cfg(test)]
mod tests {
    use super::digest;

    #[test]
    fn names_contents_and_their_borders_all_count() {
        let tree = |files: &[(&str, &str)]| {
            let folder = tempfile::tempdir().unwrap();
            for (name, content) in files {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, content).unwrap();
            }
            digest(folder.path())
        };
        let model = [("model.mil", "a"), ("weights/weight.bin", "bc")];
        assert_eq!(tree(&model), tree(&model));
        for other in [
            [("model.mil", "a"), ("weights/weight.bin", "bd")],
            [("model.mil", "a"), ("weights/weight2.bin", "bc")],
            [("model.mil", "ab"), ("weights/weight.bin", "c")],
            [("model.mil", "a"), ("weights.weight.bin", "bc")],
        ] {
            assert_ne!(tree(&model), tree(&other));
        }
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("weight.bin"), "bc").unwrap();
        let linked = tempfile::tempdir().unwrap();
        std::fs::write(linked.path().join("model.mil"), "a").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), linked.path().join("weights")).unwrap();
        assert_eq!(digest(linked.path()), tree(&model), "a link is what it names");
        std::os::unix::fs::symlink(linked.path(), linked.path().join("self")).unwrap();
        assert!(digest(linked.path()).unwrap_err().contains("goes in circles"));
        assert!(tree(&[]).unwrap_err().contains("no compiled model"));
        assert!(digest("/no/such/model.mlmodelc".as_ref()).is_err());
    }
}
