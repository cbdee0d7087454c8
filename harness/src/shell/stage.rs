//! One command made ready: words substituted and globbed, prefixes taken off, the program found.

use super::builtin::{self, Builtin};
use super::prefix::{self, Negation};
use super::run::{Program, RunEnv};
use super::state::ShellState;
use super::stream::Streams;
use super::{ExternalBuiltin, glob};
use runproof_directives::command::SyntaxError;
use runproof_directives::command::ast::{RedirectionTarget, Simple, Word};
use rustix::fs::{Access, access};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What runs a command.
pub(super) enum Runner<'a> {
    /// The language itself.
    Builtin(&'static Builtin),
    /// A program of the harness.
    Harness(&'a dyn ExternalBuiltin),
    /// A program of the system.
    Program(PathBuf),
    /// Only redirections.
    Nothing,
    /// Nothing can, and why.
    Missing(String),
}

/// A command made ready.
pub(super) struct Stage<'a> {
    /// Every word, prefixes included.
    pub argv: Vec<String>,
    /// Where in `argv` the command itself begins.
    pub command: usize,
    pub negations: Vec<Negation>,
    pub env: BTreeMap<String, String>,
    pub runner: Runner<'a>,
}

impl<'a> Stage<'a> {
    pub(super) fn prepare(simple: &Simple, state: &ShellState, run: &RunEnv<'a>) -> Self {
        let mut env = state.env.clone();
        env.extend(run.extra_env.iter().map(|(k, v)| (k.clone(), v.clone())));
        let mut stage =
            Self { argv: Vec::new(), command: 0, negations: Vec::new(), env, runner: Runner::Nothing };
        if let Err(why) = stage.fill(simple, state, run) {
            stage.runner = Runner::Missing(why);
        }
        stage
    }

    fn fill(&mut self, simple: &Simple, state: &ShellState, run: &RunEnv<'a>) -> Result<(), String> {
        for (name, word) in &simple.assignments {
            let value = substituted(word, run)?;
            self.env.insert(name.clone(), value.text());
        }
        for word in &simple.words {
            self.argv.extend(glob::arguments(&substituted(word, run)?, &state.cwd));
        }
        let found = prefix::strip(&self.argv, &mut self.env, &|name| run.tools.contains_key(name))?;
        self.negations = found.negations;
        self.command = found.taken;
        let Some(name) = self.argv.get(self.command) else {
            if !self.negations.is_empty() {
                return Err("`not` has no command behind it".to_owned());
            }
            return Ok(());
        };
        self.runner = find(name, &self.env, state, run);
        Ok(())
    }

    /// The words of the command itself.
    pub(super) fn words(&self) -> &[String] {
        &self.argv[self.command..]
    }

    pub(super) fn program(&self) -> Program {
        match &self.runner {
            Runner::Builtin(_) | Runner::Harness(_) | Runner::Nothing => Program::Builtin,
            Runner::Program(path) => Program::File(path.clone()),
            Runner::Missing(_) => Program::None,
        }
    }

    /// Applies the redirections of the command in order.
    pub(super) fn redirect(
        simple: &Simple,
        streams: &mut Streams,
        state: &ShellState,
        run: &RunEnv<'_>,
    ) -> Result<(), String> {
        for redirection in &simple.redirections {
            let value = match &redirection.target {
                RedirectionTarget::Read(word)
                | RedirectionTarget::Write(word)
                | RedirectionTarget::Append(word)
                | RedirectionTarget::HereString(word) => substituted(word, run)?.text(),
                RedirectionTarget::Same(_) => String::new(),
            };
            streams.redirect(redirection, &value, &state.at(&value), state.limits.umask)?;
        }
        Ok(())
    }
}

fn substituted(word: &Word, run: &RunEnv<'_>) -> Result<Word, String> {
    let sentence = |errors: Vec<SyntaxError>| {
        errors.iter().map(|e| format!("{}; {}", e.message, e.help)).collect::<Vec<_>>().join("; ")
    };
    run.substitutions.expand_word(word).map_err(sentence)
}

fn find<'a>(name: &str, env: &BTreeMap<String, String>, state: &ShellState, run: &RunEnv<'a>) -> Runner<'a> {
    if let Some(path) = run.tools.get(name) {
        return Runner::Program(path.clone());
    }
    if let Some(builtin) = builtin::find(name) {
        return Runner::Builtin(builtin);
    }
    if let Some(harness) = run.builtins.get(name) {
        return Runner::Harness(harness);
    }
    if name.contains('/') {
        let path = state.at(name);
        return match unusable(&path) {
            None => Runner::Program(path),
            Some(why) => Runner::Missing(format!("{name} could not be started: {why}")),
        };
    }
    // The search path itself stays out of the message: it would carry home folders into the records.
    let path = env.get("PATH").map_or("", String::as_str);
    let folders = std::env::split_paths(OsStr::new(path)).filter(|f| !f.as_os_str().is_empty());
    let mut candidates = folders.map(|folder| state.at(folder).join(name));
    match candidates.find(|c| unusable(c).is_none()) {
        Some(path) => Runner::Program(path),
        None => Runner::Missing(format!(
            "{name} could not be started: no tool of the suite, no builtin, and no program in PATH"
        )),
    }
}

/// Why a file cannot be started.
fn unusable(path: &Path) -> Option<String> {
    match path.metadata() {
        Err(error) => Some(format!("{}: {error}", path.display())),
        Ok(found) if found.is_dir() => Some(format!("{} is a folder", path.display())),
        Ok(_) => access(path, Access::EXEC_OK)
            .is_err()
            .then(|| format!("{} has no permission to be executed", path.display())),
    }
}
