//! Makes the commands of a pipeline ready: what they are called by, where their streams go, and which `not` is before them.

use super::builtin::{self, Builtin, StateBuiltin};
use super::readfile;
use super::redirect::{Opened, Streams, Target, os_error, redirect};
use super::shell::{Abort, Ran, Shell, State, glob, normal, shown};
use runproof_directives::lit::python::repr;
use runproof_directives::lit::shell::{Command, Word};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the system's own `echo`, `true` and `false` are.
const USUAL: [&str; 2] = ["/bin", "/usr/bin"];

/// A command made ready.
pub(super) struct Stage<'c> {
    pub command: &'c Command,
    pub args: Vec<String>,
    pub env: Arc<BTreeMap<String, String>>,
    pub runner: Runner,
    pub streams: Streams,
    pub verdict: Verdict,
}

pub(super) enum Runner {
    Program(PathBuf),
    Builtin(Builtin),
}

/// What an exit status means for the pipeline.
#[derive(Clone, Default)]
pub(super) struct Verdict {
    pub nots: u32,
    /// A plain `not`: a crash is no failure that was expected.
    pub no_crash: bool,
    /// Where there is a `not --crash`: every `not`, the outermost first, and whether it is one. lit leaves all of them to the
    /// program, so each counts for itself.
    pub programs: Vec<bool>,
}

impl Verdict {
    pub fn of(&self, status: i32) -> i32 {
        if !self.programs.is_empty() {
            return self.programs.iter().rev().fold(status, |status, crash| match crash {
                true => i32::from(status >= 0),
                false => i32::from(status <= 0),
            });
        }
        if self.nots % 2 == 1 {
            return i32::from(if self.no_crash { status <= 0 } else { status == 0 });
        }
        if self.nots > 1 { i32::from(status != 0) } else { status }
    }
}

pub(super) enum Prepared<'c> {
    Stage(Stage<'c>),
    /// A command that is no stage: it changes the shell, or only prints.
    Ended(Ran),
}

pub(super) fn prepare<'c>(
    shell: &mut Shell<'_>,
    command: &'c Command,
    count: usize,
    opened: &mut Vec<Opened>,
) -> Result<Prepared<'c>, Abort> {
    let words = late(&command.words, &shell.state.cwd)?;
    let mut rest = words.as_slice();
    let mut own_env: Option<BTreeMap<String, String>> = None;
    let (mut verdict, mut plain_not) = (Verdict::default(), true);
    let (mut programs, mut bangs) = (Vec::new(), false);
    loop {
        match rest.first().map(Word::text) {
            Some("env") => {
                let env = own_env.get_or_insert_with(|| (*shell.state.env).clone());
                rest = update(env, rest)?;
                if rest.is_empty() {
                    let lines: Vec<String> = env.iter().map(|(k, v)| format!("{k}={v}")).collect();
                    let stdout = lines.join("\n").into_bytes();
                    return Ok(Prepared::Ended(Ran { words: shown(command), stdout, ..Ran::default() }));
                }
            }
            Some(word @ ("not" | "!")) => {
                plain_not &= word == "not" && verdict.nots == 0;
                verdict.nots += 1;
                rest = &rest[1..];
                bangs |= word == "!";
                let crash = word == "not" && rest.first().is_some_and(|w| w.text() == "--crash");
                programs.push(crash);
                rest = &rest[usize::from(crash)..];
                if rest.is_empty() {
                    return Err(Abort::error(format!("Error: '{word}' requires a subcommand")));
                }
            }
            _ => break,
        }
    }
    let crash = programs.contains(&true);
    let Some(first) = rest.first() else { return Err(Abort::Exception("IndexError: no command".to_owned())) };
    let name = glob(first, &shell.state.cwd)?.into_iter().next().unwrap_or_default();
    if let Some(builtin) = builtin::of_shell(&name, count) {
        if own_env.is_some() {
            return Err(Abort::error(format!("Error: 'env' cannot call '{name}'")));
        }
        if crash {
            return Err(Abort::error(format!("Error: 'not --crash' cannot call '{name}'")));
        }
        if count != 1 {
            return Err(Abort::error(format!("Unsupported: '{name}' cannot be part of a pipeline")));
        }
        let mut ran = change(shell, builtin, &rest[1..], &name, command, opened)?;
        ran.status = ran.code;
        if verdict.nots % 2 == 1 {
            ran.code = i32::from(ran.code == 0);
        }
        ran.words = shown(command);
        return Ok(Prepared::Ended(ran));
    }
    verdict.no_crash = plain_not && verdict.nots == 1;
    if crash && bangs {
        // lit hands all of it to the program `not`, which knows of no `!`.
        return Err(Abort::error("'!': command not found".to_owned()));
    }
    if crash {
        verdict.programs = programs;
    }
    let streams = redirect(&command.redirects, &shell.state, opened, &shell.patience())?;
    let mut env = own_env.map_or_else(|| Arc::clone(&shell.state.env), Arc::new);
    let runner = match builtin::of_name(&name) {
        Some(builtin) => {
            as_program(&name, rest, &env, &shell.state)?.map_or(Runner::Builtin(builtin), Runner::Program)
        }
        None => Runner::Program(find(&name, &env, &shell.state)?),
    };
    if crash {
        // As the program `not` does, so that a crash that is expected makes no noise.
        let env = Arc::make_mut(&mut env);
        env.insert("LLVM_DISABLE_CRASH_REPORT".to_owned(), "1".to_owned());
        env.insert("LLVM_DISABLE_SYMBOLIZATION".to_owned(), "1".to_owned());
    }
    let mut args = vec![name];
    for word in &rest[1..] {
        args.extend(glob(word, &shell.state.cwd)?);
    }
    Ok(Prepared::Stage(Stage { command, args, env, runner, streams, verdict }))
}

/// The program that is run although its name is built in, where the two would not do the same.
fn as_program(
    name: &str,
    words: &[Word],
    env: &BTreeMap<String, String>,
    state: &State,
) -> Result<Option<PathBuf>, Abort> {
    search_path(env, state)?;
    let has = |what: &dyn Fn(&str) -> bool| words.iter().any(|word| what(word.text()));
    // A limit or a mask is for processes.
    let limited = state.limited || state.umask.is_some();
    let differs = match name {
        // Who writes to a pipe by name waits for its reader.
        "cat" => has(&|w| state.cwd.join(w).metadata().is_ok_and(|m| m.file_type().is_fifo())),
        "diff" => false,
        "echo" | "true" | "false" => {
            let program = find(name, env, state)?;
            let is_usual = program.parent().is_some_and(|p| USUAL.iter().any(|usual| p == Path::new(usual)));
            let escapes = has(&|w| w.starts_with('-')) && has(&|w| w.contains('\\'));
            let differs = limited || !is_usual || escapes || has(&|w| matches!(w, "--help" | "--version"));
            return Ok(differs.then_some(program));
        }
        _ => limited,
    };
    Ok(if differs { find(name, env, state).ok() } else { None })
}

/// Words with files put into them.
fn late(words: &[Word], cwd: &Path) -> Result<Vec<Word>, Abort> {
    words
        .iter()
        .map(|word| match word {
            Word::Text(text) => readfile::expand(text, cwd).map(|text| Word::Text(text.into_owned())),
            glob @ Word::Glob(_) => Ok(glob.clone()),
        })
        .collect()
}

/// Applies the words of `env` or `export`, the first of `words`; what is left is the command.
pub(super) fn update<'w>(env: &mut BTreeMap<String, String>, words: &'w [Word]) -> Result<&'w [Word], Abort> {
    let mut unset = false;
    for (at, word) in words.iter().enumerate().skip(1) {
        let Word::Text(text) = word else {
            return Err(Abort::Exception("AttributeError: a file name pattern among variables".to_owned()));
        };
        match text.as_str() {
            "-u" => unset = true,
            "-i" => env.clear(),
            name if unset => {
                unset = false;
                env.remove(name);
            }
            other => match other.split_once('=') {
                Some((name, value)) => {
                    env.insert(name.to_owned(), value.to_owned());
                }
                None => return Ok(&words[at..]),
            },
        }
    }
    Ok(&[])
}

/// A builtin that changes the shell, or `echo` alone.
fn change(
    shell: &mut Shell<'_>,
    builtin: StateBuiltin,
    words: &[Word],
    name: &str,
    command: &Command,
    opened: &mut Vec<Opened>,
) -> Result<Ran, Abort> {
    let expands = builtin.expands;
    let mut args = vec![name.to_owned()];
    for word in words {
        match word {
            Word::Glob(_) if !expands => {
                return Err(Abort::Exception(
                    "TypeError: string argument expected, got 'GlobItem'".to_owned(),
                ));
            }
            word => args.extend(glob(word, &shell.state.cwd)?),
        }
    }
    let streams = if builtin.redirects {
        let streams = redirect(&command.redirects, &shell.state, opened, &shell.patience())?;
        if streams.stdin.is_some() || streams.stderr != Target::Reader {
            return Err(Abort::error(format!("stdin and stderr redirects not supported for {name}")));
        }
        streams
    } else {
        Streams { stdin: None, stdout: Target::Reader, stderr: Target::Reader }
    };
    let mut ran = (builtin.run)(&args, &mut shell.state)?;
    if let Target::File(index) = streams.stdout {
        let text = std::mem::take(&mut ran.stdout);
        let file = &opened[index];
        (&file.file).write_all(&text).map_err(|e| Abort::Exception(os_error(&e, &file.path)))?;
    }
    Ok(ran)
}

/// Where programs are looked for; an empty `PATH` stands for the usual places.
fn search_path<'e>(env: &'e BTreeMap<String, String>, state: &'e State) -> Result<&'e str, Abort> {
    let path = env.get("PATH").or_else(|| state.env.get("PATH"));
    let path = path.ok_or_else(|| Abort::Exception("KeyError: 'PATH'".to_owned()))?;
    Ok(if path.is_empty() { "/bin:/usr/bin" } else { path })
}

/// The executable of this name.
fn find(name: &str, env: &BTreeMap<String, String>, state: &State) -> Result<PathBuf, Abort> {
    if name.starts_with('.') {
        let path = state.cwd.join(name);
        if path.is_file() {
            return Ok(path);
        }
    }
    let path = search_path(env, state)?;
    if name.starts_with('/') && Path::new(name).is_file() {
        return Ok(normal(Path::new(name)));
    }
    // A folder that is relative is so to where the whole run was started.
    let placed = |folder: &str| match folder.starts_with('/') {
        true => Path::new(folder).join(name),
        false => std::env::current_dir().unwrap_or_default().join(folder).join(name),
    };
    path.split(':')
        .map(placed)
        .find(|p| p.metadata().is_ok_and(|m| !m.is_dir()))
        .map(|p| normal(&p))
        .ok_or_else(|| Abort::error(format!("{}: command not found", repr(name))))
}
