//! `cargo xtask gen`: everything that is generated, written or compared by one command.

use super::{cargo, programs, root};
use std::fs;
use std::path::PathBuf;

/// A generated file: its path and the arguments of `runproof` that print it.
const PAGES: &[(&str, &[&str])] = &[
    ("docs/reference/directives.md", &["reference", "directives"]),
    ("docs/reference/codes.md", &["reference", "codes"]),
    ("docs/reference/cli.md", &["reference", "cli"]),
];

/// Writes (or with `check` compares) every generated file.
pub fn run(check: bool) -> Result<u8, String> {
    let built = cargo(&["build", "--quiet", "-p", "runproof"])?;
    if built != 0 {
        return Ok(built);
    }
    let mut stale = Vec::new();
    for (path, arguments) in PAGES {
        settle(path, &print(arguments)?, check, &mut stale)?;
    }
    for name in print(&["reference", "schema"])?.lines() {
        settle(&format!("docs/schema/{name}"), &print(&["reference", "schema", name])?, check, &mut stale)?;
    }
    let matrix = matrix(check)?;
    if stale.is_empty() {
        return Ok(matrix);
    }
    for path in &stale {
        eprintln!("stale: {path} (run `cargo xtask gen` and commit the result)");
    }
    Ok(1)
}

/// The committed matrix, from the committed bundles.
fn matrix(check: bool) -> Result<u8, String> {
    let mut arguments = vec![
        "matrix",
        "docs/evidence",
        "--fleet",
        "tests/fleet.toml",
        "--reasons",
        "tests/reasons.toml",
        "--out",
        "docs/matrix.md",
        "--json",
        "docs/matrix.json",
    ];
    if check {
        arguments.push("--check");
    }
    let output = duct::cmd(programs().join("runproof"), arguments)
        .dir(root())
        .unchecked()
        .run()
        .map_err(|e| format!("`runproof matrix` could not be started: {e}"))?;
    Ok(output.status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(1))
}

fn print(arguments: &[&str]) -> Result<String, String> {
    duct::cmd(programs().join("runproof"), arguments)
        .read()
        .map(|mut text| {
            text.push('\n');
            text
        })
        .map_err(|e| format!("`runproof {}` failed: {e}", arguments.join(" ")))
}

fn settle(path: &str, text: &str, check: bool, stale: &mut Vec<String>) -> Result<(), String> {
    let file: PathBuf = root().join(path);
    if fs::read_to_string(&file).ok().as_deref() == Some(text) {
        return Ok(());
    }
    if check {
        stale.push(path.to_owned());
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|e| format!("`{}` cannot be made: {e}", folder.display()))?;
    }
    println!("wrote {path}");
    fs::write(&file, text).map_err(|e| format!("`{path}` cannot be written: {e}"))
}
