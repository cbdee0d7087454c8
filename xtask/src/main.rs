//! `cargo xtask …`: tasks of this repository. Thin by rule: it builds, then starts the `runproof` program,
//! which has every feature. Nothing may exist here only that a user of runproof would want.

mod dist;
mod generate;
mod tidy;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  test, list, lint, devices, matrix, audit, explain, reference
            the runproof program on this repository's suites (`cargo xtask test --help` for options);
            `test` ends with the matrix of the run
  gen       write everything that is generated (schemas, reference pages, docs/matrix.md); `--check` compares
  tidy      the checks on the tree itself: module docs, file sizes, words that do not belong here
  dist      one folder with the program and the probe libraries
";

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let command = arguments.first().map(|a| a.to_string_lossy().into_owned()).unwrap_or_default();
    let result = match command.as_str() {
        "test" | "list" | "lint" | "devices" => {
            let at = arguments.iter().position(|a| a == "--").unwrap_or(arguments.len());
            arguments.splice(at..at, defaults(&command, &arguments));
            runproof(&arguments)
        }
        "matrix" | "audit" | "explain" | "reference" => runproof(&arguments),
        "gen" => generate::run(arguments.iter().any(|a| a == "--check")),
        "tidy" => tidy::run(),
        "dist" => dist::run(),
        "" | "help" | "--help" | "-h" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        other => {
            eprintln!("error: no task `{other}`\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Options that point the program at this repository, as far as they are not given.
fn defaults(command: &str, given: &[OsString]) -> Vec<OsString> {
    let has = |name: &str| given.iter().any(|a| a.to_string_lossy().split('=').next() == Some(name));
    let mut more = Vec::new();
    let mut add = |name: &str, value: PathBuf| {
        if !has(name) {
            more.extend([OsString::from(name), value.into()]);
        }
    };
    add("--suite", root().join("tests/suites"));
    add("--probe-dir", programs());
    if command != "devices" {
        add("--tool-dir", programs());
    }
    let narrowed = given.iter().skip(1).any(|a| !a.to_string_lossy().starts_with('-'));
    if command == "test" && !has("--format") && !has("--matrix") && !has("--observe") && !narrowed {
        more.push("--matrix".into());
    }
    more
}

/// Where cargo puts programs and probe libraries.
fn programs() -> PathBuf {
    target().join("debug")
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |t| root().join(t))
}

fn cargo(arguments: &[&str]) -> Result<u8, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    start(&cargo, &arguments.iter().map(OsString::from).collect::<Vec<_>>())
}

/// Builds the program, the probes and the test programs, then starts the program.
fn runproof(arguments: &[OsString]) -> Result<u8, String> {
    let built = cargo(&[
        "build",
        "--quiet",
        "-p",
        "runproof",
        "-p",
        "runproof-probe-opencl",
        "-p",
        "runproof-probe-cuda",
        "-p",
        "runproof-tests",
    ])?;
    if built != 0 {
        return Ok(built);
    }
    start(programs().join("runproof").as_os_str(), arguments)
}

fn start(program: &std::ffi::OsStr, arguments: &[OsString]) -> Result<u8, String> {
    let output = duct::cmd(program, arguments)
        .unchecked()
        .run()
        .map_err(|e| format!("`{}` could not be started: {e}", program.to_string_lossy()))?;
    Ok(output.status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(1))
}
