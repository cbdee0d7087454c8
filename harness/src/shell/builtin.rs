//! Commands that the language has itself: one row each.

use super::state::ShellState;
use super::stream::Input;
use super::{diff, files, prefix};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write};

/// What a builtin gets.
pub(super) struct Call<'a> {
    /// Arguments, the name first.
    pub argv: &'a [String],
    pub state: &'a mut ShellState,
    /// The environment of this command.
    pub env: &'a BTreeMap<String, String>,
    pub stdin: Input,
    pub stdout: &'a mut dyn Write,
}

/// Why a builtin failed, and its exit code.
#[derive(Debug)]
pub(super) struct Failure {
    pub code: i32,
    pub why: String,
}

impl Failure {
    /// It was called in a way that it has not.
    pub(super) fn usage(why: &str) -> Self {
        Self { code: 2, why: why.to_owned() }
    }

    /// An option that it has not.
    pub(super) fn option(option: &str) -> Self {
        Self::usage(&format!(
            "unknown option `{option}`; point the name at a real program (`[tools]`) if it is needed"
        ))
    }

    /// It did not work.
    pub(super) fn failed(why: &str) -> Self {
        Self { code: 1, why: why.to_owned() }
    }

    /// A file or stream failed.
    pub(super) fn io(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::failed(&format!("{name} does not exist")),
            _ => Self::failed(&format!("{name}: {error}")),
        }
    }
}

type Run = fn(&mut Call<'_>) -> Result<i32, Failure>;

/// One builtin.
pub(super) struct Builtin {
    pub name: &'static str,
    /// It changes what later commands see, so it cannot be part of a pipe.
    pub changes_state: bool,
    pub run: Run,
}

const fn row(name: &'static str, changes_state: bool, run: Run) -> Builtin {
    Builtin { name, changes_state, run }
}

const BUILTINS: [Builtin; 16] = [
    row(":", false, |_| Ok(0)),
    row("cat", false, files::cat),
    row("cd", true, cd),
    row("count", false, count),
    row("diff", false, diff::run),
    row("echo", false, echo),
    row("env", false, env),
    row("export", true, export),
    row("false", false, |_| Ok(1)),
    row("mkdir", false, files::mkdir),
    row("popd", true, popd),
    row("pushd", true, pushd),
    row("rm", false, files::rm),
    row("true", false, |_| Ok(0)),
    row("ulimit", true, ulimit),
    row("umask", true, umask),
];

/// The builtin of this name.
pub(super) fn find(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|b| b.name == name)
}

/// Whether the command language has a command of this name itself.
pub fn is_builtin(name: &str) -> bool {
    find(name).is_some() || matches!(name, "not" | "!")
}

fn print(call: &mut Call<'_>, text: &[u8]) -> Result<i32, Failure> {
    call.stdout.write_all(text).map_err(|e| Failure::io("its output", &e))?;
    Ok(0)
}

fn one<'a>(call: &Call<'a>, what: &str) -> Result<&'a str, Failure> {
    match call.argv {
        [_, one] => Ok(one),
        _ => Err(Failure::usage(&format!("it needs {what}"))),
    }
}

fn enter(state: &mut ShellState, name: &str) -> Result<i32, Failure> {
    let path = state.at(name);
    // The path without `..`, as the system sees it.
    let path = path.canonicalize().map_err(|e| Failure::io(name, &e))?;
    if !path.is_dir() {
        return Err(Failure::failed(&format!("{name} is no folder")));
    }
    state.cwd = path;
    Ok(0)
}

fn cd(call: &mut Call<'_>) -> Result<i32, Failure> {
    let name = one(call, "one folder")?;
    enter(call.state, name)
}

fn pushd(call: &mut Call<'_>) -> Result<i32, Failure> {
    let name = one(call, "one folder")?;
    let before = call.state.cwd.clone();
    enter(call.state, name)?;
    call.state.left.push(before);
    Ok(0)
}

fn popd(call: &mut Call<'_>) -> Result<i32, Failure> {
    if call.argv.len() > 1 {
        return Err(Failure::usage("it takes no argument"));
    }
    let back = call.state.left.pop().ok_or_else(|| Failure::failed("no folder was left with `pushd`"))?;
    call.state.cwd = back;
    Ok(0)
}

fn count(call: &mut Call<'_>) -> Result<i32, Failure> {
    let text = one(call, "the number of lines")?;
    let expected: u64 =
        text.parse().map_err(|_| Failure::usage(&format!("`{text}` is no number of lines")))?;
    let (mut found, mut last) = (0u64, b'\n');
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = call.stdin.read(&mut buffer).map_err(|e| Failure::io("its input", &e))?;
        let Some(end) = buffer[..length].last() else { break };
        last = *end;
        found += buffer[..length].iter().filter(|b| **b == b'\n').count() as u64;
    }
    found += u64::from(last != b'\n');
    if found == expected {
        return Ok(0);
    }
    Err(Failure::failed(&format!("expected {expected} lines, got {found}")))
}

fn echo(call: &mut Call<'_>) -> Result<i32, Failure> {
    let (mut newline, mut escapes) = (true, false);
    let mut words = &call.argv[1..];
    while let [first, rest @ ..] = words {
        let letters = first.strip_prefix('-').filter(|l| !l.is_empty());
        let Some(letters) = letters.filter(|l| l.chars().all(|c| c == 'n' || c == 'e')) else { break };
        newline &= !letters.contains('n');
        escapes |= letters.contains('e');
        words = rest;
    }
    let text = words.join(" ");
    let (mut bytes, stop) = if escapes { unescape(&text) } else { (text.into_bytes(), false) };
    if newline && !stop {
        bytes.push(b'\n');
    }
    print(call, &bytes)
}

/// Up to `digits` digits as one byte.
fn number_of(bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>, radix: u32, digits: usize) -> Option<u8> {
    let mut value: Option<u32> = None;
    for _ in 0..digits {
        let Some(digit) = bytes.peek().and_then(|b| char::from(*b).to_digit(radix)) else { break };
        bytes.next();
        value = Some(value.unwrap_or(0) * radix + digit);
    }
    u8::try_from(value? & 0xFF).ok()
}

/// Escapes of `echo -e`; whether `\c` ended the output.
fn unescape(text: &str) -> (Vec<u8>, bool) {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'a') => out.push(7),
            Some(b'b') => out.push(8),
            Some(b'c') => return (out, true),
            Some(b'e') => out.push(27),
            Some(b'f') => out.push(12),
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b't') => out.push(b'\t'),
            Some(b'v') => out.push(11),
            Some(b'\\') | None => out.push(b'\\'),
            Some(b'0') => out.push(number_of(&mut bytes, 8, 3).unwrap_or(0)),
            Some(b'x') => match number_of(&mut bytes, 16, 2) {
                Some(value) => out.push(value),
                None => out.extend_from_slice(b"\\x"),
            },
            Some(other) => out.extend_from_slice(&[b'\\', other]),
        }
    }
    (out, false)
}

fn env(call: &mut Call<'_>) -> Result<i32, Failure> {
    let (_, env) =
        prefix::environment(&call.argv[1..], call.env).map_err(|why| Failure { code: 125, why })?;
    let text: String = env.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name}={value}");
        text
    });
    print(call, text.as_bytes())
}

fn export(call: &mut Call<'_>) -> Result<i32, Failure> {
    if call.argv.len() < 2 {
        return Err(Failure::usage("it needs `NAME=value`"));
    }
    for word in &call.argv[1..] {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::usage(&format!("`{word}` is not `NAME=value`")));
        };
        call.state.env.insert(name.to_owned(), value.to_owned());
    }
    Ok(0)
}

fn umask(call: &mut Call<'_>) -> Result<i32, Failure> {
    let text = one(call, "the mask in octal")?;
    let mask = u32::from_str_radix(text, 8).ok().filter(|m| *m <= 0o777);
    let mask = mask.ok_or_else(|| Failure::usage(&format!("`{text}` is no file mode mask in octal")))?;
    call.state.limits.umask = Some(mask);
    Ok(0)
}

/// `-v` and `-s` count KiB, `-f` bytes, as in lit.
fn ulimit(call: &mut Call<'_>) -> Result<i32, Failure> {
    let [_, option, value] = call.argv else {
        return Err(Failure::usage("it needs an option and a value"));
    };
    let number: Option<u64> = if value == "unlimited" {
        None
    } else {
        let number = value.parse().map_err(|_| Failure::usage(&format!("`{value}` is no limit")))?;
        Some(number)
    };
    let kib = number.map(|n| n.saturating_mul(1024));
    let limits = &mut call.state.limits;
    match option.as_str() {
        "-c" => limits.cores = number != Some(0),
        "-f" => limits.file_size = number,
        "-n" => limits.files = number,
        "-s" => limits.stack = kib,
        "-u" => limits.processes = number,
        "-v" => limits.memory = kib,
        _ => return Err(Failure::option(option)),
    }
    Ok(0)
}
