//! For tests that are violent to the program: signals, files instead of pipes, what is alive, what is on disk.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

pub use crate::bed::program;
use runproof_evidence::read::Bundle;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

/// A suite in a folder of its own.
pub struct Rig {
    folder: tempfile::TempDir,
}

impl Rig {
    /// A suite of these files; files that end in `.vx` are tests.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let rig = Self { folder: tempfile::tempdir().unwrap() };
        let suite = "[suite]\nname = \"s\"\nfiles = [\"**/*.vx\"]\nexclude = [\"marks/**\"]\n";
        fs::create_dir(rig.path("marks")).unwrap();
        for (name, text) in [("runproof.toml", suite)].into_iter().chain(files) {
            fs::write(rig.path(name), text).unwrap();
        }
        rig
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program in the suite's folder. It is not told of the test runner that these tests run under.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("NEXTEST")) {
            command.env_remove(name);
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts it with its output in the files `stdout` and `stderr`, where a kill does not lose it.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let file = |name: &str| fs::File::create(self.path("marks").join(name)).unwrap();
        self.command(arguments).stdout(file("stdout")).stderr(file("stderr")).spawn().unwrap()
    }

    pub fn printed(&self, name: &str) -> String {
        fs::read_to_string(self.path("marks").join(name)).unwrap()
    }

    /// The bundle of a run.
    pub fn bundle(&self, id: &str) -> PathBuf {
        self.path("runproof-out").join(id)
    }

    /// `audit` on a bundle: status and text.
    pub fn audit(&self, bundle: &Path) -> (Option<i32>, String) {
        let output = self.run(&["audit", bundle.to_str().unwrap()]);
        (output.status.code(), text(&output))
    }
}

/// Standard output and error, one after the other.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The bundle, readable, with every announced test in it.
pub fn read(path: &Path, announced: usize) -> Bundle {
    let bundle = Bundle::open(path).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(bundle.tests.len(), announced);
    bundle
}

/// Waits for a condition that has to come; only a hang ends this otherwise.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} did not come");
}

/// Sends a signal to a process.
pub fn signal(process: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &process.id().to_string()]).status();
    assert!(status.unwrap().success(), "kill -{name}");
}

/// Processes with this text in their command lines, other than dead ones.
pub fn alive(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(text) {
            found.push(line);
        }
    }
    found
}

/// The exit code, with everything that was printed when there is none.
pub fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| panic!("{status}"))
}
