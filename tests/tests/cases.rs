//! Real faults that users of test harnesses reported, each made small, run by the real program as a user would.
//!
//! `tests/cases/NNN-name.toml` is one fault: the files of a suite, how the program is started, and what it has to
//! come to. A fault that cannot be tried yet stands with its reason in `tests/cases/not-yet.toml`; together they
//! cover every known number.
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;
mod case;

use case::Case;
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Numbers of all known faults. Those in between were declined.
const KNOWN: &[u32] = &[
    1, 3, 4, 6, 8, 9, 11, 13, 14, 16, 18, 19, 21, 23, 24, 26, 28, 29, 31, 32, 34, 36, 37, 39, 41, 42, 43, 45,
    46, 48, 50, 51, 53, 54, 56, 57, 59, 61, 62, 64, 66, 68, 69, 71, 73, 74, 76, 78, 79, 81, 83, 84, 86, 88,
    89, 91, 93, 94, 96, 97, 99, 101, 102, 104, 106, 107, 109, 110, 112, 113, 115, 117, 118, 120, 122, 123,
    124, 126, 127, 129, 131, 132, 134, 136, 137,
];

fn main() -> ExitCode {
    // They look into /proc and at OpenCL on the CPU.
    if !cfg!(target_os = "linux") {
        println!("the cases are tried on Linux only");
        return ExitCode::SUCCESS;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.retain(|path| path.file_name().unwrap() != "not-yet.toml");
    let covered = files.clone();
    let mut trials = vec![Trial::test("every known fault is tried or excused", move || {
        let text = std::fs::read_to_string(folder.join("not-yet.toml"))?;
        Ok(coverage(&covered, &text)?)
    })];
    trials.extend(files.into_iter().map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Trial::test(name, move || try_case(&path))
    }));
    bed::program();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn try_case(path: &Path) -> Result<(), Failed> {
    let case: Case = toml::from_str(&std::fs::read_to_string(path)?)?;
    let faults = case.faults();
    if faults.is_empty() { Ok(()) } else { Err(format!("{}\n{}", case.about, faults.join("\n")).into()) }
}

/// Each known number is tried or excused, not both, and no other number is.
fn coverage(files: &[PathBuf], not_yet: &str) -> Result<(), String> {
    let excused: BTreeMap<String, String> = toml::from_str(not_yet).map_err(|e| e.to_string())?;
    let number = |name: &str| name[..3].parse::<u32>().map_err(|e| format!("`{name}`: {e}"));
    let mut found = Vec::new();
    for path in files {
        found.push(number(&path.file_stem().unwrap().to_string_lossy())?);
    }
    for (name, reason) in &excused {
        if reason.is_empty() {
            return Err(format!("`{name}` is excused without a reason"));
        }
        found.push(number(name)?);
    }
    found.sort_unstable();
    if found == KNOWN { Ok(()) } else { Err(format!("known: {KNOWN:?}\nfound: {found:?}")) }
}
