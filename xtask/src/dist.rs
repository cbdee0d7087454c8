//! `cargo xtask dist`: one folder that is copied to a machine with a device and needs nothing else there: the
//! program, the probe libraries, and the suites with their programs.

use super::{cargo, root, target};
use std::fs;
use std::path::Path;

/// Builds in release and fills `dist/`.
pub fn run() -> Result<u8, String> {
    let packages = ["runproof", "runproof-probe-opencl", "runproof-probe-cuda", "runproof-tests"];
    let asked = packages.iter().flat_map(|package| ["-p", package]);
    let built = cargo(&["build", "--release"].into_iter().chain(asked).collect::<Vec<_>>())?;
    if built != 0 {
        return Ok(built);
    }
    let folder = root().join("dist");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|e| format!("the old `dist` cannot be removed: {e}"))?;
    }
    let built = target().join("release");
    copy(&built.join("runproof"), &folder.join("runproof"))?;
    for name in files(&root().join("tests/src/bin"))? {
        let program = name.trim_end_matches(".rs");
        copy(&built.join(program), &folder.join(program))?;
    }
    let libraries = files(&built)?.into_iter().filter(|name| {
        name.starts_with("librunproof_probe_") && (name.ends_with(".so") || name.ends_with(".dylib"))
    });
    for name in libraries {
        copy(&built.join(&name), &folder.join(&name))?;
    }
    for name in ["fleet.toml", "reasons.toml", "suites"] {
        copy(&root().join("tests").join(name), &folder.join(name))?;
    }
    println!("there: dist/runproof test --suite dist/suites --tool-dir dist --device NAME --controls");
    Ok(0)
}

/// Names in a folder.
fn files(folder: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("`{}` cannot be read: {e}", folder.display()))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// Copies a file, or a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    if from.is_dir() {
        return files(from)?.iter().try_for_each(|name| copy(&from.join(name), &to.join(name)));
    }
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent)
        .and_then(|()| fs::copy(from, to))
        .map(drop)
        .map_err(|e| format!("`{}` cannot be copied to `{}`: {e}", from.display(), to.display()))
}
