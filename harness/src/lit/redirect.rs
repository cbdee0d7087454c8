//! Where the streams of a command go, by lit's rules.

use super::shell::{Abort, State};
use crate::process::Patience;
use runproof_directives::lit::python::repr;
use runproof_directives::lit::shell::{Redirect, Word};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Standard output or error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Whoever reads the stream.
    Reader,
    /// Standard output's reader, or in its stead the next command.
    Stdout,
    /// An opened file, an index.
    File(usize),
}

/// The streams of a command.
#[derive(Debug)]
pub(super) struct Streams {
    /// `None`: what the command before has written.
    pub stdin: Option<usize>,
    pub stdout: Target,
    pub stderr: Target,
}

/// A file that a redirection opened.
#[derive(Debug)]
pub(super) struct Opened {
    /// As written.
    pub name: String,
    pub path: PathBuf,
    pub written: bool,
    pub file: File,
}

/// Where a redirection leads before anything is opened.
#[derive(Clone, Copy)]
enum Slot {
    Stdin,
    Stdout,
    Stderr,
    /// The place of a redirection in the command.
    Named(usize, Mode),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Write,
    Append,
}

/// Reads the redirections of a command and opens its files.
pub(super) fn redirect(
    redirects: &[Redirect],
    state: &State,
    opened: &mut Vec<Opened>,
    patience: &Patience<'_>,
) -> Result<Streams, Abort> {
    let mut slots = [Slot::Stdin, Slot::Stdout, Slot::Stderr];
    for (place, redirect) in redirects.iter().enumerate() {
        let Some(target) = &redirect.target else {
            return Err(Abort::Exception("TypeError: a redirection leads to an operator".to_owned()));
        };
        let file = |mode| Slot::Named(place, mode);
        match (redirect.operator, redirect.number) {
            (">", Some(2)) => slots[2] = file(Mode::Write),
            (">>", Some(2)) => slots[2] = file(Mode::Append),
            (">&", Some(2)) if matches!(target.text(), "0" | "1" | "2") => {
                slots[2] = slots[usize::from(target.text().as_bytes()[0] - b'0')];
            }
            (">&" | "&>", None) => {
                slots[1] = file(Mode::Write);
                slots[2] = slots[1];
            }
            (">", None) => slots[1] = file(Mode::Write),
            (">>", None) => slots[1] = file(Mode::Append),
            ("<", None) => slots[0] = file(Mode::Read),
            (operator, number) => {
                let number = number.map(|n| n.to_string()).unwrap_or_default();
                let operator = if number.is_empty() {
                    format!("({},)", repr(operator))
                } else {
                    format!("({}, {number})", repr(operator))
                };
                let target = match target {
                    Word::Text(text) => repr(text),
                    Word::Glob(text) => text.clone(),
                };
                return Err(Abort::error(format!("Unsupported redirect: ({operator}, {target})")));
            }
        }
    }
    let mut known: Vec<(usize, usize)> = Vec::new();
    let mut file = |place: usize, mode: Mode| -> Result<usize, Abort> {
        if let Some((_, index)) = known.iter().find(|(p, _)| *p == place) {
            return Ok(*index);
        }
        let word = redirects[place].target.as_ref().map_or("", Word::text);
        let name = match &redirects[place].target {
            Some(word @ Word::Glob(_)) => match super::shell::glob(word, &state.cwd)?.as_slice() {
                [one] => one.clone(),
                _ => {
                    let why = "Unsupported: glob in redirect expanded to multiple files";
                    return Err(Abort::error(why.to_owned()));
                }
            },
            _ => word.to_owned(),
        };
        let path = state.cwd.join(name);
        let file = open(&path, mode, patience).map_err(|e| Abort::Exception(os_error(&e, &path)))?;
        opened.push(Opened { name: word.to_owned(), path, written: mode != Mode::Read, file });
        known.push((place, opened.len() - 1));
        Ok(opened.len() - 1)
    };
    let stdin = match slots[0] {
        Slot::Named(place, mode) => Some(file(place, mode)?),
        _ => None,
    };
    let stdout = match slots[1] {
        Slot::Named(place, mode) => Target::File(file(place, mode)?),
        _ => Target::Reader,
    };
    let stderr = match slots[2] {
        Slot::Named(place, mode) => Target::File(file(place, mode)?),
        Slot::Stdout => Target::Stdout,
        // `2>&0`: what stands for standard input is a pipe, and so is what it makes.
        Slot::Stderr | Slot::Stdin => Target::Reader,
    };
    Ok(Streams { stdin, stdout, stderr })
}

/// lit opens files with its own mask: `umask` is for what commands make.
fn open(path: &Path, mode: Mode, patience: &Patience<'_>) -> io::Result<File> {
    let mut options = File::options();
    match mode {
        Mode::Read => options.read(true),
        Mode::Write => options.write(true).create(true).truncate(true),
        Mode::Append => options.append(true).create(true),
    };
    let file = match path.metadata() {
        // Waits for the other end, which may never come.
        Ok(facts) if facts.file_type().is_fifo() => patiently(path.to_owned(), options, patience)?,
        _ => options.open(path)?,
    };
    // Python opens no folder, where the system does.
    if mode == Mode::Read && file.metadata()?.is_dir() {
        return Err(rustix::io::Errno::ISDIR.into());
    }
    Ok(file)
}

/// Opens in a thread of its own, which nobody waits for when the time is up.
fn patiently(path: PathBuf, options: OpenOptions, patience: &Patience<'_>) -> io::Result<File> {
    const LOOK: Duration = Duration::from_millis(50);
    let (done, opened) = channel();
    std::thread::spawn(move || done.send(options.open(path)));
    loop {
        match opened.recv_timeout(LOOK) {
            Ok(file) => return file,
            Err(_) if Instant::now() >= patience.deadline.at || patience.interrupt.is_raised() => {
                return Err(io::Error::other("nobody opened the other end of this pipe"));
            }
            Err(_) => {}
        }
    }
}

/// An error of the system in Python's words.
pub(super) fn os_error(error: &io::Error, name: impl AsRef<Path>) -> String {
    let shown = repr(&name.as_ref().to_string_lossy());
    match error.raw_os_error() {
        Some(number) => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or(&text);
            format!("[Errno {number}] {text}: {shown}")
        }
        None => format!("{error}: {shown}"),
    }
}
