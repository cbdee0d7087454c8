//! Tools: names in commands that stand for programs, found once, with version and digest.

use super::config::ToolSource;
use super::settings::Settings;
use crate::diag::Problem;
use runproof_records::bundle;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A tool that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Absolute path.
    pub path: PathBuf,
    /// What goes into `run.json`.
    pub record: bundle::Tool,
}

/// Finds every tool of some settings. A name is looked up in `folders` first, then on PATH; a path is relative
/// to the file that names it.
///
/// # Errors
/// One problem for each tool that is not there.
pub fn find(settings: &Settings, folders: &[PathBuf]) -> Result<BTreeMap<String, Tool>, Vec<Problem>> {
    let mut tools = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, (source, home)) in &settings.tools {
        let (wanted, version) = asked(source);
        match locate(wanted, home, folders) {
            Some(path) => {
                let record = describe(&path, name, version);
                tools.insert(name.clone(), Tool { path, record });
            }
            None => problems.push(missing(name, wanted, folders)),
        }
    }
    if problems.is_empty() { Ok(tools) } else { Err(problems) }
}

/// Where every tool of some settings is, without a look into it.
///
/// # Errors
/// As [`find`].
pub fn paths(settings: &Settings, folders: &[PathBuf]) -> Result<BTreeMap<String, PathBuf>, Vec<Problem>> {
    let mut found = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, (source, home)) in &settings.tools {
        let (wanted, _) = asked(source);
        match locate(wanted, home, folders) {
            Some(path) => {
                found.insert(name.clone(), path);
            }
            None => problems.push(missing(name, wanted, folders)),
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

fn asked(source: &ToolSource) -> (&str, &[String]) {
    match source {
        ToolSource::Path(path) => (path, &[]),
        ToolSource::Detailed(details) => (&details.path, &details.version),
    }
}

fn missing(name: &str, wanted: &str, folders: &[PathBuf]) -> Problem {
    let looked: Vec<String> =
        folders.iter().map(|f| f.display().to_string()).chain(["PATH".to_owned()]).collect();
    Problem::new("tool-missing", format!("tool `{name}` is not there: `{wanted}`")).help(format!(
        "build it, put it on PATH, name its folder with `--tool-dir`, or mend `[tools] {name}`; looked in {}",
        looked.join(", ")
    ))
}

fn locate(wanted: &str, home: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    if wanted.contains('/') {
        return which::which(home.join(wanted)).ok();
    }
    folders.iter().find_map(|f| which::which(f.join(wanted)).ok()).or_else(|| which::which(wanted).ok())
}

fn describe(path: &Path, name: &str, version: &[String]) -> bundle::Tool {
    let digest = std::fs::read(path).map_or_else(|_| Sha256::digest([]), |bytes| Sha256::digest(&bytes));
    let version = if version.is_empty() {
        "not asked".to_owned()
    } else {
        duct::cmd(path, version)
            .stdin_null()
            .stderr_null()
            .unchecked()
            .read()
            .ok()
            .and_then(|text| text.lines().next().map(str::to_owned))
            .unwrap_or_else(|| "unknown".to_owned())
    };
    bundle::Tool {
        path: format!("${{tool:{name}}}"),
        version,
        digest: runproof_records::Digest::from_bytes(&digest.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn settings(text: &str, dir: &Path) -> Settings {
        std::fs::write(
            dir.join("runproof.toml"),
            format!("[suite]\nname = \"s\"\nfiles = [\"*.vx\"]\n{text}"),
        )
        .unwrap();
        let suites = super::super::find_suites(&[dir.to_path_buf()]).unwrap();
        Settings::for_file(&suites[0], "a.vx")
    }

    #[test]
    fn a_tool_is_found_with_version_and_digest() {
        let dir = tempfile::tempdir().unwrap();
        let tool = dir.path().join("vxc");
        std::fs::write(&tool, "#!/bin/sh\necho vxc 1.2\n").unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        let settings =
            settings("[tools]\nvxc = { path = \"./vxc\", version = [\"--version\"] }\n", dir.path());
        let tools = find(&settings, &[]).unwrap();
        assert_eq!(tools["vxc"].record.version, "vxc 1.2");
        assert_eq!(tools["vxc"].record.path, "${tool:vxc}");
    }

    #[test]
    fn all_missing_tools_are_named_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings("[tools]\na = \"no-such-a\"\nb = \"./no-such-b\"\n", dir.path());
        assert_eq!(find(&settings, &[]).unwrap_err().len(), 2);
    }
}
