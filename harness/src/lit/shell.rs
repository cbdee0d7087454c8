//! Runs the lines of a test: what lasts from one to the next, and what ends them.

use super::log::Log;
use super::outcome::Trap;
use super::{pipeline, readfile};
use crate::process::{Interrupt, Limits, Patience, Scope};
use runproof_directives::lit::shell::{Command, Join, Line, Word};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What lasts from one command to the next.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub cwd: PathBuf,
    pub env: Arc<BTreeMap<String, String>>,
    pub umask: Option<u32>,
    pub limits: Limits,
    /// A limit was set: lit then starts programs through Python, which turns a death by signal into an exit status.
    pub limited: bool,
    pub left: Vec<PathBuf>,
    /// Where lit's rules hid something.
    pub traps: BTreeSet<Trap>,
}

impl State {
    pub(super) fn change_folder(&mut self, folder: &str) {
        self.cwd = resolved(&self.cwd, folder);
        if !self.cwd.is_dir() {
            self.traps.insert(Trap::CdNowhere);
        }
    }
}

/// A name as lit's builtins take it: one that is absolute as it stands, another one without links.
pub(super) fn resolved(cwd: &Path, name: &str) -> PathBuf {
    if name.starts_with('/') { PathBuf::from(name) } else { real(&cwd.join(name)) }
}

/// Links that are followed before a path is taken as it is.
const LINKS: u32 = 40;

/// A path without symbolic links, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    followed(path, LINKS)
}

fn followed(path: &Path, links: u32) -> PathBuf {
    let mut missing: Vec<Component<'_>> = Vec::new();
    let mut known = path;
    loop {
        if let Ok(mut full) = known.canonicalize() {
            for part in missing.iter().rev() {
                match part {
                    Component::ParentDir => drop(full.pop()),
                    part => full.push(part),
                }
            }
            return full;
        }
        // A link that leads nowhere is followed as far as it says.
        if let (Ok(target), true) = (known.read_link(), links > 0) {
            let there = known.parent().unwrap_or(known).join(target);
            return followed(&there.join(missing.iter().rev().collect::<PathBuf>()), links - 1);
        }
        let (Some(parent), Some(part)) = (known.parent(), known.components().next_back()) else {
            return normal(path);
        };
        missing.push(part);
        known = parent;
    }
}

/// A path without `.` and `..`, by its text alone.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// Why a line was not run to its end.
#[derive(Debug)]
pub(super) enum Abort {
    /// lit's shell refuses it: exit status 127, and this message on standard error.
    Error { words: Option<Vec<String>>, message: String },
    /// lit itself fails: the test is unresolved.
    Exception(String),
    /// The run was interrupted.
    Interrupted,
}

impl Abort {
    pub(super) fn error(message: String) -> Self {
        Self::Error { words: None, message }
    }
}

/// One command that was run.
#[derive(Debug, Default)]
pub struct Ran {
    /// Its words as written.
    pub words: Vec<String>,
    /// The executable; absent when it is built in.
    pub program: Option<PathBuf>,
    /// What it wrote to whoever reads the account.
    pub stdout: Vec<u8>,
    /// In the same way.
    pub stderr: Vec<u8>,
    /// How it ended, before `not`: a signal is negative.
    pub status: i32,
    /// Its exit status, after `not`.
    pub code: i32,
    /// The limit of the test was reached.
    pub timed_out: bool,
    /// Redirected outputs of one that failed: name as written, content.
    pub files: Vec<(String, Vec<u8>)>,
}

/// A test's shell.
pub(super) struct Shell<'a> {
    pub state: State,
    pub scope: Option<Scope>,
    pub marker: &'a str,
    pub folder: &'a Path,
    pub interrupt: &'a Interrupt,
    /// When the test must be over, and the limit that this comes from.
    pub deadline: Option<(Instant, Duration)>,
    pub timed_out: bool,
    pub pipefail: bool,
    pub log: &'a mut Log,
}

/// What a line without a limit gets: nobody waits so long.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 86_400);
/// Between asking a process to end and killing it: lit kills at once.
const GRACE: Duration = Duration::ZERO;

/// Until a moment with the limit that it comes from, or for ever.
pub(super) fn patience(deadline: Option<(Instant, Duration)>, interrupt: &Interrupt) -> Patience<'_> {
    let (at, limit) = deadline.unwrap_or_else(|| (Instant::now() + FOREVER, FOREVER));
    Patience {
        deadline: crate::process::Deadline { at, limit },
        grace: GRACE,
        interrupt,
        before_kill: &|_| {},
    }
}

impl Shell<'_> {
    pub(super) fn patience(&self) -> Patience<'_> {
        patience(self.deadline, self.interrupt)
    }

    /// Whether the limit was reached; from then on nothing is started.
    pub(super) fn is_over(&mut self) -> bool {
        self.timed_out |= self.deadline.is_some_and(|(at, _)| Instant::now() >= at);
        self.timed_out
    }

    /// Shows a line before it is run. lit does so with a command of its own, into which files are put as into any other.
    pub(super) fn announce(&mut self, command: &str) -> Result<(), Abort> {
        let command = readfile::expand(command, &self.state.cwd).map_err(|abort| match abort {
            Abort::Error { message, .. } => {
                Abort::Error { words: Some(vec!["@echo".to_owned(), command.to_owned()]), message }
            }
            other => other,
        })?;
        self.log.line(&command);
        Ok(())
    }

    /// Runs a line; `None` when the limit came before its end.
    pub(super) fn line(&mut self, line: &Line) -> Result<Option<i32>, Abort> {
        if line.rest.iter().any(|(join, _)| *join == Join::Background) {
            return Err(Abort::Exception("AttributeError: unsupported shell operator: '&'".to_owned()));
        }
        let mut status = self.pipeline(&line.first)?;
        for (join, commands) in &line.rest {
            let reached = match join {
                Join::And => status == Some(0),
                Join::Or => status != Some(0),
                Join::Then | Join::Background => true,
            };
            if *join == Join::Then && status.is_some_and(|s| s != 0) {
                self.state.traps.insert(Trap::Forgotten);
            }
            if reached {
                status = self.pipeline(commands)?;
            }
        }
        Ok(status)
    }

    fn pipeline(&mut self, commands: &[Command]) -> Result<Option<i32>, Abort> {
        if self.interrupt.is_raised() {
            return Err(Abort::Interrupted);
        }
        if self.is_over() {
            return Ok(None);
        }
        pipeline::run(self, commands).map(Some)
    }
}

/// The words of a command as lit shows them.
pub(super) fn shown(command: &Command) -> Vec<String> {
    command.words.iter().map(|w| w.text().to_owned()).collect()
}

/// What a word stands for: itself, or the files that match it, or itself when none does.
pub(super) fn glob(word: &Word, cwd: &Path) -> Result<Vec<String>, Abort> {
    let Word::Glob(pattern) = word else { return Ok(vec![word.text().to_owned()]) };
    // The folder's own name is a pattern, too: lit's rule. Two stars are one.
    let mut full = cwd.join(pattern).to_string_lossy().into_owned();
    while full.contains("**") {
        full = full.replace("**", "*");
    }
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::default() };
    let Ok(paths) = glob::glob_with(&full, options) else { return Ok(vec![pattern.clone()]) };
    let mut found: Vec<String> = paths.flatten().map(|p| p.to_string_lossy().into_owned()).collect();
    if found.is_empty() {
        return Ok(vec![pattern.clone()]);
    }
    found.sort();
    Ok(found)
}
