//! What the kernel module says under `/proc/driver/nvidia`: a source that needs no library. Some sandboxes do not
//! show it.

use std::path::Path;

/// What the kernel module says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Its version; `None` where the files are not shown.
    pub version: Option<String>,
    /// PCI address and UUID of each device; the UUID is `None` until somebody initialised the device.
    pub devices: Vec<(String, Option<String>)>,
}

/// Reads the files.
pub fn read() -> Module {
    let root = Path::new("/proc/driver/nvidia");
    let version = std::fs::read_to_string(root.join("version")).ok();
    let folders = std::fs::read_dir(root.join("gpus")).into_iter().flatten().flatten();
    Module {
        version: version.as_deref().and_then(module_version),
        devices: folders
            .map(|folder| {
                let text = std::fs::read_to_string(folder.path().join("information")).unwrap_or_default();
                (folder.file_name().to_string_lossy().into_owned(), uuid(&text))
            })
            .collect(),
    }
}

/// The version in `NVRM version: NVIDIA UNIX … Kernel Module [for x86_64]  580.159.04  Release Build …`.
fn module_version(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("NVRM version"))?;
    let is_version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    line.split_whitespace().find(is_version).map(str::to_owned)
}

fn uuid(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("GPU UUID:"))?;
    Some(line.trim().to_owned()).filter(|uuid| !uuid.contains('?'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_both_flavours_of_the_module() {
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (root@b)\n\
                    GCC version:  gcc version 13.2.0\n";
        assert_eq!(module_version(open).as_deref(), Some("580.159.04"));
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6\n";
        assert_eq!(module_version(closed).as_deref(), Some("535.54.03"));
        assert_eq!(module_version("nothing"), None);
    }

    #[test]
    fn a_uuid_that_is_not_known_yet_is_none() {
        let text =
            "Model: \t\t NVIDIA H200\nIRQ:   \t\t 1\nGPU UUID: \t GPU-5c0f0000-0000-0000-0000-000000000001\n";
        assert_eq!(uuid(text).as_deref(), Some("GPU-5c0f0000-0000-0000-0000-000000000001"));
        assert_eq!(uuid("GPU UUID: \t GPU-????????-????-????-????-????????????\n"), None);
    }
}
