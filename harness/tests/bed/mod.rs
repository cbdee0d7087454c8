//! A place to run command lines in.
#![allow(dead_code, reason = "each test file uses its part")]

use runproof::process::{Deadline, Interrupt, Limits, Patience};
use runproof::shell::{Builtins, CommandOutcome, Output, RunEnv, ShellState, run_in_real_shell, run_script};
use runproof_directives::command::{Substitutions, parse};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

static NEXT: AtomicU32 = AtomicU32::new(0);

pub struct Bed {
    pub folder: tempfile::TempDir,
    pub state: ShellState,
    pub limit: Duration,
    pub interrupt: Interrupt,
    pub tools: BTreeMap<String, PathBuf>,
    marker: String,
}

impl Bed {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("my tests é ").tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        let env = BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]);
        let marker = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self {
            state: ShellState::new(cwd, env, Limits::default()),
            folder,
            limit: Duration::from_secs(60),
            interrupt: Interrupt::manual().unwrap(),
            tools: BTreeMap::new(),
            marker,
        }
    }

    pub fn run(&mut self, line: &str) -> CommandOutcome {
        self.run_with(line, &(), &|_| {})
    }

    pub fn run_with(
        &mut self,
        line: &str,
        builtins: &dyn Builtins,
        on_spawn: &dyn Fn(u32),
    ) -> CommandOutcome {
        let script = parse(line).unwrap_or_else(|e| panic!("{line}: {e:?}"));
        self.with_env(builtins, on_spawn, |state, env| run_script(&script, state, env))
    }

    pub fn run_in_bash(&mut self, line: &str) -> CommandOutcome {
        self.with_env(&(), &|_| {}, |state, env| run_in_real_shell(line, state, env))
    }

    fn with_env(
        &mut self,
        builtins: &dyn Builtins,
        on_spawn: &dyn Fn(u32),
        run: impl FnOnce(&mut ShellState, &RunEnv<'_>) -> CommandOutcome,
    ) -> CommandOutcome {
        let output = |name: &str| {
            let path = self.folder.path().join(name);
            let _ = fs::remove_file(&path);
            Output::at(path)
        };
        let (stdout, stderr) = (output(".stdout"), output(".stderr"));
        let mut substitutions = Substitutions::new();
        let root = self.folder.path().canonicalize().unwrap();
        substitutions.paths(&format!("{}/t.vx", root.display()), &format!("{}/t.vx.tmp", root.display()));
        let before_kill = |_| fs::write(root.join(".hook"), "called").unwrap();
        let env = RunEnv {
            marker: &self.marker,
            folder: &root,
            patience: Patience {
                deadline: Deadline::after(self.limit),
                grace: Duration::from_millis(200),
                interrupt: &self.interrupt,
                before_kill: &before_kill,
            },
            stdout: &stdout,
            stderr: &stderr,
            substitutions: &substitutions,
            tools: &self.tools,
            builtins,
            extra_env: &BTreeMap::new(),
            on_spawn,
        };
        run(&mut self.state, &env)
    }

    /// What is in a file; an output that nothing was written to is none.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        match fs::read(self.folder.path().join(name)) {
            Err(e) if name.starts_with(".std") && e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read.unwrap(),
        }
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub fn stdout(&self) -> String {
        self.text(".stdout")
    }

    pub fn stderr(&self) -> String {
        self.text(".stderr")
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.folder.path().join(name), bytes).unwrap();
    }
}

/// Processes whose command line is exactly this and that are not dead.
pub fn alive(command_line: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else { continue };
        let bytes = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<_> =
            bytes.split(|b| *b == 0).filter(|w| !w.is_empty()).map(String::from_utf8_lossy).collect();
        if words.join(" ") == command_line {
            found.push(pid);
        }
    }
    found
}
