//! Makes a compiled Core ML model: `ane_model --device KIND NAME SCRIPT OUT`. On another device than `ane` nothing is needed,
//! and nothing is made. Python with coremltools builds the package, Core ML compiles it.

use runproof_tests::interpreter::{ask, candidates, choose, last_line};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let made = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--device", "ane", name, script, out] => make(name, Path::new(script), Path::new(out)),
        ["--device", kind, ..] => {
            println!("{kind} needs no model");
            Ok(())
        }
        _ => {
            eprintln!("usage: ane_model --device KIND NAME SCRIPT OUT");
            return ExitCode::from(2);
        }
    };
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(1)
        }
    }
}

fn make(name: &str, script: &Path, out: &Path) -> Result<(), String> {
    let all = candidates(|name| std::env::var_os(name), script, Path::exists);
    let python = choose(&all, ask)?;
    println!("{}: {}", python.candidate.name, python.version);
    let package = out.with_extension("mlpackage");
    let output = Command::new(&python.candidate.program)
        .args([script.as_os_str(), name.as_ref(), package.as_os_str()])
        .stdout(Stdio::inherit())
        .output()
        .map_err(|error| format!("{} could not be started: {error}", python.candidate.name))?;
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        let said = last_line(&output.stderr);
        return Err(format!("{} did not build {name} ({}): {said}", python.candidate.name, output.status));
    }
    compile(&package, out)
}

#[cfg(target_os = "macos")]
fn compile(package: &Path, out: &Path) -> Result<(), String> {
    runproof_coreml::compile(package, out)
}

#[cfg(not(target_os = "macos"))]
fn compile(package: &Path, _out: &Path) -> Result<(), String> {
    let made = if package.exists() { "is built" } else { "is not there" };
    Err(format!("the package {made}; Core ML, which compiles it, is on macOS only"))
}
