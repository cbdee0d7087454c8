//! Commands that need no process. Those of the shell itself are lit's; `cat`, `diff`, `count`, `split-file`, `FileCheck` and a few more
//! stand for programs that lit starts, with the programs' behaviour.

use super::getopt::getopt;
use super::redirect::os_error;
use super::shell::{Abort, Ran, State, resolved};
use super::{diff, split_file};
use crate::process::Limits;
use runproof_directives::check::{Wording, program};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What a builtin that stands for a program gets.
pub(super) struct Call<'a> {
    /// Its words, the name first.
    pub args: &'a [String],
    pub cwd: &'a Path,
    pub env: &'a BTreeMap<String, String>,
    /// All of standard input, once.
    pub stdin: &'a mut dyn FnMut() -> io::Result<Vec<u8>>,
    /// All of a file, within the time that the test has.
    pub read: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
    pub stdout: &'a mut Vec<u8>,
    pub stderr: &'a mut Vec<u8>,
}

/// Runs one; its exit status.
pub(super) type Builtin = fn(&mut Call<'_>) -> i32;

/// The builtin that stands for a program. lit's own are called by their bare name; LLVM's test tools also by a path, for
/// suites replace their names by paths.
pub(super) fn of_name(name: &str) -> Option<Builtin> {
    let base = name.rsplit('/').next().unwrap_or(name);
    Some(match base {
        "FileCheck" => file_check,
        "count" => count,
        "split-file" => split_file::run,
        _ if base.len() != name.len() => return None,
        "cat" => cat,
        "diff" => diff::run,
        "echo" => echo_program,
        "true" => |_| 0,
        "false" => |_| 1,
        _ => return None,
    })
}

/// A builtin of the shell itself.
#[derive(Clone, Copy)]
pub(super) struct StateBuiltin {
    pub run: fn(&[String], &mut State) -> Result<Ran, Abort>,
    /// Patterns of file names among its words are expanded.
    pub expands: bool,
    /// Its output can go to a file.
    pub redirects: bool,
}

/// The shell's builtin of this name in a pipeline of `count` commands.
pub(super) fn of_shell(name: &str, count: usize) -> Option<StateBuiltin> {
    let row = |run, expands, redirects| Some(StateBuiltin { run, expands, redirects });
    match name {
        "cd" => row(cd, false, false),
        "export" => row(export, false, false),
        "echo" if count > 1 => None,
        "echo" | "@echo" => row(echo, false, true),
        "mkdir" => row(mkdir, true, false),
        "popd" => row(popd, false, false),
        "pushd" => row(pushd, false, false),
        "rm" => row(rm, true, false),
        "ulimit" => row(ulimit, false, false),
        "umask" => row(umask, false, false),
        ":" => row(|_, _| Ok(Ran::default()), true, false),
        _ => None,
    }
}

fn file_check(call: &mut Call<'_>) -> i32 {
    let first = call.env.get("FILECHECK_OPTS").map(String::as_str).unwrap_or_default();
    let arguments: Vec<&str> =
        first.split_whitespace().chain(call.args[1..].iter().map(String::as_str)).collect();
    let finished = program(Wording::Llvm, &arguments, |name| match name {
        Some(name) => (call.read)(&call.cwd.join(name)),
        None => (call.stdin)(),
    });
    call.stdout.extend_from_slice(&finished.stdout);
    call.stderr.extend_from_slice(&finished.stderr);
    i32::from(finished.status)
}

/// LLVM's `count`: the number of lines of standard input, the last one also without its end.
fn count(call: &mut Call<'_>) -> i32 {
    let mut fail = |text: String, code| {
        call.stderr.extend_from_slice(text.as_bytes());
        code
    };
    let [_, wanted] = call.args else {
        return fail(format!("usage: {} <expected line count>\n", call.args[0]), 2);
    };
    let Ok(expected) = wanted.parse::<u64>() else {
        return fail(format!("{}: invalid count argument '{wanted}'\n", call.args[0]), 2);
    };
    let bytes = match (call.stdin)() {
        Ok(bytes) => bytes,
        Err(e) => return fail(format!("{}: error reading stdin: {e}\n", call.args[0]), 3),
    };
    let ends = memchr::memchr_iter(b'\n', &bytes).count() as u64;
    let lines = ends + u64::from(bytes.last().is_some_and(|b| *b != b'\n'));
    if lines == expected {
        return 0;
    }
    fail(format!("Expected {expected} lines, got {lines}.\n"), 1)
}

fn cat(call: &mut Call<'_>) -> i32 {
    let (options, names) = match getopt(&call.args[1..], "v", &["show-nonprinting"]) {
        Ok(parsed) => parsed,
        Err(why) => {
            call.stderr.extend_from_slice(format!("Unsupported: 'cat':  {why}\n").as_bytes());
            return 1;
        }
    };
    if names.is_empty() {
        return match (call.stdin)() {
            Ok(mut bytes) => {
                call.stdout.append(&mut bytes);
                0
            }
            Err(_) => 1,
        };
    }
    for name in names {
        match (call.read)(&call.cwd.join(&name)) {
            Ok(bytes) if options.is_empty() => call.stdout.extend_from_slice(&bytes),
            Ok(bytes) => show_nonprinting(&bytes, call.stdout),
            Err(e) => {
                call.stderr.extend_from_slice(os_error(&e, &name).as_bytes());
                return 1;
            }
        }
    }
    0
}

/// `^X` and `M-` for what does not print.
fn show_nonprinting(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        let mut byte = *byte;
        if matches!(byte, b'\t' | b'\n') {
            out.push(byte);
            continue;
        }
        if byte > 127 {
            byte -= 128;
            out.extend_from_slice(b"M-");
        }
        match byte {
            0..32 => out.extend_from_slice(&[b'^', byte + 64]),
            127 => out.extend_from_slice(b"^?"),
            _ => out.push(byte),
        }
    }
}

/// `echo` in a pipe, which lit leaves to the program: options of several letters. What has `\` in it is left to the program.
fn echo_program(call: &mut Call<'_>) -> i32 {
    let mut newline = true;
    let mut words = &call.args[1..];
    while let [first, rest @ ..] = words {
        let letters = first.strip_prefix('-').filter(|l| !l.is_empty());
        let Some(letters) = letters.filter(|l| l.chars().all(|c| "neE".contains(c))) else { break };
        newline &= !letters.contains('n');
        words = rest;
    }
    call.stdout.extend_from_slice(words.join(" ").as_bytes());
    if newline {
        call.stdout.push(b'\n');
    }
    0
}

fn cd(args: &[String], state: &mut State) -> Result<Ran, Abort> {
    let [_, folder] = args else { return Err(Abort::error("'cd' supports only one argument".to_owned())) };
    state.change_folder(folder);
    Ok(Ran::default())
}

fn pushd(args: &[String], state: &mut State) -> Result<Ran, Abort> {
    let [_, folder] = args else { return Err(Abort::error("'pushd' supports only one argument".to_owned())) };
    state.left.push(state.cwd.clone());
    state.change_folder(folder);
    Ok(Ran::default())
}

fn popd(args: &[String], state: &mut State) -> Result<Ran, Abort> {
    if args.len() != 1 {
        return Err(Abort::error("'popd' does not support arguments".to_owned()));
    }
    state.cwd = state.left.pop().ok_or_else(|| Abort::error("popd: directory stack empty".to_owned()))?;
    Ok(Ran::default())
}

fn export(args: &[String], state: &mut State) -> Result<Ran, Abort> {
    let [_, text] = args else { return Err(Abort::error("'export' supports only one argument".to_owned())) };
    let env = Arc::make_mut(&mut state.env);
    if text == "-i" {
        env.clear();
    } else if let Some((name, value)) = text.split_once('=') {
        env.insert(name.to_owned(), value.to_owned());
    }
    Ok(Ran::default())
}

/// lit's `echo`: `-e` and `-n` apart, escapes as Python has them.
fn echo(args: &[String], _: &mut State) -> Result<Ran, Abort> {
    let (mut newline, mut escapes) = (true, false);
    let mut words = &args[1..];
    while let [first, rest @ ..] = words {
        match first.as_str() {
            "-e" => escapes = true,
            "-n" => newline = false,
            _ => break,
        }
        words = rest;
    }
    let mut stdout = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            stdout.push(b' ');
        }
        let text = if escapes { unicode_escape(word)? } else { word.clone() };
        stdout.extend_from_slice(text.as_bytes());
    }
    if newline {
        stdout.push(b'\n');
    }
    Ok(Ran { stdout, ..Ran::default() })
}

/// Python's `unicode_escape` of UTF-8 text: each byte above 127 becomes a character of its own.
fn unicode_escape(text: &str) -> Result<String, Abort> {
    let bad = || Abort::Exception("UnicodeDecodeError: 'unicodeescape' codec can't decode it".to_owned());
    let mut out = String::new();
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(char::from(byte));
            continue;
        }
        let escape = bytes.next().ok_or_else(bad)?;
        let digits = match escape {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            _ => 0,
        };
        let mut value = 0u32;
        for _ in 0..digits {
            let digit = bytes.next().and_then(|b| char::from(b).to_digit(16)).ok_or_else(bad)?;
            value = value.wrapping_mul(16) + digit;
        }
        let c = match escape {
            b'x' | b'u' | b'U' => char::from_u32(value).ok_or_else(bad)?,
            b'a' => '\x07',
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'v' => '\x0b',
            b'\\' | b'\'' | b'"' => char::from(escape),
            b'0'..=b'7' => {
                let mut value = u32::from(escape - b'0');
                for _ in 0..2 {
                    let Some(digit) = bytes.peek().and_then(|b| char::from(*b).to_digit(8)) else { break };
                    bytes.next();
                    value = value * 8 + digit;
                }
                char::from_u32(value).ok_or_else(bad)?
            }
            other => {
                out.push('\\');
                char::from(other)
            }
        };
        out.push(c);
    }
    Ok(out)
}

fn mkdir(args: &[String], state: &mut State) -> Result<Ran, Abort> {
    let (options, names) =
        getopt(&args[1..], "p", &[]).map_err(|why| Abort::error(format!("Unsupported: 'mkdir':  {why}")))?;
    if names.is_empty() {
        return Err(Abort::error("Error: 'mkdir' is missing an operand".to_owned()));
    }
    let mut ran = Ran::default();
    for name in names {
        let path = resolved(&state.cwd, &name);
        if !options.is_empty() {
            std::fs::create_dir_all(&path).map_err(|e| Abort::Exception(os_error(&e, &path)))?;
        } else if let Err(e) = std::fs::create_dir(&path)
            && !path.is_dir()
        {
            let text = format!("Error: 'mkdir' command failed, {}\n", os_error(&e, &path));
            ran.stderr.extend_from_slice(text.as_bytes());
            ran.code = 1;
        }
    }
    Ok(ran)
}

fn rm(args: &[String], state: &mut State) -> Result<Ran, Abort> {
    let (options, names) =
        getopt(&args[1..], "frR", &[]).map_err(|why| Abort::error(format!("Unsupported: 'rm':  {why}")))?;
    if names.is_empty() {
        return Err(Abort::error("Error: 'rm' is missing an operand".to_owned()));
    }
    let force = options.iter().any(|(o, _)| o == "-f");
    let recursive = options.iter().any(|(o, _)| o == "-r" || o == "-R");
    let mut ran = Ran::default();
    for name in names {
        let path = resolved(&state.cwd, &name);
        if force && !path.exists() {
            continue;
        }
        let is_folder = path.is_dir() && !path.is_symlink();
        if is_folder && !recursive {
            let text = format!("Error: {} is a directory\n", path.display());
            ran.stderr.extend_from_slice(text.as_bytes());
            ran.code = 1;
            // lit complains, and removes it all the same.
        }
        let removed = if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        if let Err(e) = removed {
            let text = format!("Error: 'rm' command failed, {}", os_error(&e, &path));
            ran.stderr.extend_from_slice(text.as_bytes());
            ran.code = 1;
        }
    }
    Ok(ran)
}

fn umask(args: &[String], state: &mut State) -> Result<Ran, Abort> {
    let [_, text] = args else { return Err(Abort::error("'umask' supports only one argument".to_owned())) };
    let digits = text.strip_prefix("0o").unwrap_or(text);
    let mask = i32::from_str_radix(digits, 8).map_err(|_| {
        let shown = runproof_directives::lit::python::repr(text);
        Abort::error(format!("Error: 'umask': invalid literal for int() with base 8: {shown}"))
    })?;
    // A mask of -1 is lit's word for none.
    state.umask = u32::try_from(mask).ok().map(|mask| mask & 0o777);
    Ok(Ran::default())
}

/// `-v` and `-s` count KiB, `-f` bytes.
fn ulimit(args: &[String], state: &mut State) -> Result<Ran, Abort> {
    let [_, option, text] = args else {
        return Err(Abort::error("'ulimit' requires two arguments".to_owned()));
    };
    let value = if text == "unlimited" || text == "-1" {
        Limits::UNLIMITED
    } else {
        text.parse().map_err(|_| {
            let shown = runproof_directives::lit::python::repr(text);
            Abort::error(format!("Error: 'ulimit': invalid literal for int() with base 10: {shown}"))
        })?
    };
    let kib = value.saturating_mul(1024);
    let limits = &mut state.limits;
    limits.exact = true;
    match option.as_str() {
        "-v" => limits.memory = Some(kib),
        "-n" => limits.files = Some(value),
        "-s" => limits.stack = Some(kib),
        "-f" => limits.file_size = Some(value),
        _ => return Err(Abort::error(format!("'ulimit' does not support option: {option}"))),
    }
    state.limited = true;
    Ok(Ran::default())
}
