//! A folder with a suite in it and the real program started there, as a user would start it.
//!
//! What must not enter: what a run should have come to. That is said by the tests.
#![allow(dead_code, reason = "each test target uses the part that it needs")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The program under test with its probe beside it, built once: Cargo does not build another package's for a test.
pub fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_BIN_EXE_matmul")).parent().unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "-p", "runproof", "-p", "runproof-probe-opencl", "--target-dir"]);
        cargo.arg(folder.parent().unwrap());
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "the program does not build");
        folder.join(format!("runproof{}", std::env::consts::EXE_SUFFIX))
    })
}

fn search_path() -> std::ffi::OsString {
    let own = program().parent().unwrap().to_path_buf();
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&inherited))).unwrap()
}

/// A folder of its own for one test.
pub struct Bed {
    _folder: tempfile::TempDir,
    /// Where the suite is and the program starts.
    pub root: PathBuf,
}

impl Bed {
    /// An empty folder.
    pub fn empty() -> Self {
        Self::below("suite")
    }

    /// An empty folder whose path ends so.
    pub fn below(path: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join(path);
        std::fs::create_dir_all(&root).unwrap();
        Self { _folder: folder, root }
    }

    /// A suite named `case` whose tests are the `.vx` files among `files`.
    pub fn suite(files: &[(&str, &str)]) -> Self {
        let bed = Self::empty();
        bed.write("runproof.toml", b"[suite]\nname = \"case\"\nfiles = [\"**/*.vx\"]\n");
        for (name, text) in files {
            bed.write(name, text.as_bytes());
        }
        bed
    }

    /// Writes a file, with the folders above it.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// The program with these arguments, not started yet; the test programs are on its search path. Nothing of the caller's environment that could
    /// choose a device or a colour gets through.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        command.env("PATH", search_path());
        for name in ["NO_COLOR", "RUNPROOF_KEY", "POCL_DEVICES", "CUDA_VISIBLE_DEVICES"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Outcome {
        self.outcome(&self.command(arguments).output().unwrap())
    }

    /// What an ended program left here.
    pub fn outcome(&self, output: &Output) -> Outcome {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Outcome {
            status: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            bundle: self.newest_bundle(),
        }
    }

    /// The bundle with the newest `run.json`; also of a run that did not come to its end.
    fn newest_bundle(&self) -> Option<PathBuf> {
        let folders = std::fs::read_dir(self.root.join("runproof-out")).ok()?;
        folders
            .filter_map(|entry| entry.ok()?.path().canonicalize().ok())
            .filter(|path| path.join("run.json").is_file())
            .max_by_key(|path| std::fs::metadata(path.join("census.json")).unwrap().modified().unwrap())
    }
}

/// What one start of the program came to.
#[derive(Debug)]
pub struct Outcome {
    /// Exit status.
    pub status: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// The newest bundle in its output folder.
    pub bundle: Option<PathBuf>,
}

impl Outcome {
    /// Everything that was printed.
    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// The announced tests, each with its last record; without one it was announced and not finished.
    /// The name has the device's id behind it where there is one: `t.vx @ card0`.
    pub fn tests(&self) -> BTreeMap<String, Option<Value>> {
        let Some(bundle) = &self.bundle else { return BTreeMap::new() };
        let read = |name: &str| std::fs::read_to_string(bundle.join(name)).unwrap();
        let census: Value = serde_json::from_str(&read("census.json")).unwrap();
        let announced = census["tests"].as_array().unwrap().iter();
        let mut tests: BTreeMap<_, _> = announced.map(|test| (name(&test["key"]), None)).collect();
        for line in read("records.jsonl").lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if line["line"] == "finished" {
                tests.insert(name(&line["key"]), Some(line));
            }
        }
        tests
    }

    /// Asserts status and words, with everything that was printed when they are not there.
    #[track_caller]
    pub fn check(&self, status: i32, says: &[&str]) {
        let text = self.text();
        assert_eq!(self.status, Some(status), "{text}");
        for words in says {
            assert!(text.contains(words), "it does not say {words:?}:\n{text}");
        }
    }
}

fn name(key: &Value) -> String {
    let test = key["test"].as_str().unwrap();
    match key["target"]["id"].as_str() {
        Some(device) => format!("{test} @ {device}"),
        None => test.to_owned(),
    }
}
