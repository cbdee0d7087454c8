//! `diff`: `-u -U N -w -b -I RE -r --strip-trailing-cr`, as lit has them. Output is always unified.

use super::builtin::{Call, Failure};
use similar::{Algorithm, DiffOp, DiffTag};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

#[derive(Default)]
struct Options {
    context: usize,
    ignore_blanks: bool,
    squeeze_blanks: bool,
    strip_cr: bool,
    recursive: bool,
    ignored: Option<regex::bytes::Regex>,
}

/// Exit code 0 for equal, 1 for different.
pub(super) fn run(call: &mut Call<'_>) -> Result<i32, Failure> {
    let (options, names) = read_options(&call.argv[1..])?;
    let [old, new] = names.as_slice() else {
        return Err(Failure::usage("it compares two files"));
    };
    let (old_path, new_path) = (call.state.at(old), call.state.at(new));
    if options.recursive && old_path.is_dir() && new_path.is_dir() {
        return folders(call.stdout, &options, (old, &old_path), (new, &new_path));
    }
    let mut read = |name: &str| match name {
        "-" => std::mem::take(&mut call.stdin).read_all().map_err(|e| Failure::io(name, &e)),
        _ => std::fs::read(call.state.at(name)).map_err(|e| Failure::io(name, &e)),
    };
    let (a, b) = (read(old)?, read(new)?);
    files(call.stdout, &options, (old, &a), (new, &b))
}

fn read_options(words: &[String]) -> Result<(Options, Vec<String>), Failure> {
    let mut options = Options { context: 3, ..Options::default() };
    let mut names = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--strip-trailing-cr" => options.strip_cr = true,
            "--" => names.extend(words.by_ref().cloned()),
            "-" => names.push(word.clone()),
            long if long.starts_with("--") => return Err(Failure::option(long)),
            short if short.starts_with('-') => {
                let mut letters = short[1..].char_indices();
                while let Some((at, letter)) = letters.next() {
                    let mut value = || {
                        let rest = &short[1 + at + letter.len_utf8()..];
                        letters.by_ref().for_each(drop);
                        if rest.is_empty() { words.next().cloned() } else { Some(rest.to_owned()) }
                            .ok_or_else(|| Failure::usage(&format!("`-{letter}` needs a value")))
                    };
                    match letter {
                        'u' => {}
                        'w' => options.ignore_blanks = true,
                        'b' => options.squeeze_blanks = true,
                        'r' => options.recursive = true,
                        'U' => {
                            let value = value()?;
                            options.context = value.parse().map_err(|_| {
                                Failure::usage(&format!("`-U {value}` is no number of lines"))
                            })?;
                        }
                        'I' => {
                            let value = value()?;
                            options.ignored = Some(regex::bytes::Regex::new(&value).map_err(|e| {
                                Failure::usage(&format!("`-I {value}` is no regular expression: {e}"))
                            })?);
                        }
                        _ => return Err(Failure::option(short)),
                    }
                }
            }
            _ => names.push(word.clone()),
        }
    }
    Ok((options, names))
}

impl Options {
    /// What of a line is compared.
    fn key(&self, line: &[u8]) -> Vec<u8> {
        let (mut text, ended) = match line.strip_suffix(b"\n") {
            Some(text) => (text, true),
            None => (line, false),
        };
        if self.strip_cr {
            text = text.strip_suffix(b"\r").unwrap_or(text);
        }
        let mut key = Vec::with_capacity(line.len());
        if self.ignore_blanks {
            key.extend(text.iter().filter(|b| !b.is_ascii_whitespace()));
        } else if self.squeeze_blanks {
            for word in text.split_inclusive(u8::is_ascii_whitespace) {
                match word {
                    [blank] if blank.is_ascii_whitespace() => {
                        if key.last() != Some(&b' ') {
                            key.push(b' ');
                        }
                    }
                    [word @ .., blank] if blank.is_ascii_whitespace() => {
                        key.extend_from_slice(word);
                        key.push(b' ');
                    }
                    word => key.extend_from_slice(word),
                }
            }
            if key.last() == Some(&b' ') {
                key.pop();
            }
        } else {
            key.extend_from_slice(text);
        }
        if ended {
            key.push(b'\n');
        }
        key
    }

    /// Whether `-I` makes a change no change: all its lines match.
    fn ignores(&self, op: &DiffOp, old: &[&[u8]], new: &[&[u8]]) -> bool {
        let Some(pattern) = &self.ignored else { return false };
        let matched = |line: &&[u8]| pattern.is_match(line.strip_suffix(b"\n").unwrap_or(line));
        old[op.old_range()].iter().all(matched) && new[op.new_range()].iter().all(matched)
    }
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|b| *b == b'\n').collect()
}

fn files(
    out: &mut dyn Write,
    options: &Options,
    (old_name, old): (&str, &[u8]),
    (new_name, new): (&str, &[u8]),
) -> Result<i32, Failure> {
    if old == new {
        return Ok(0);
    }
    let (old, new) = (lines(old), lines(new));
    let keys = |lines: &[&[u8]]| lines.iter().map(|l| options.key(l)).collect::<Vec<_>>();
    let ops = similar::capture_diff_slices(Algorithm::Myers, &keys(&old), &keys(&new));
    let changed = |op: &DiffOp| op.tag() != DiffTag::Equal && !options.ignores(op, &old, &new);
    if !ops.iter().any(changed) {
        return Ok(0);
    }
    let mut text = format!("--- {old_name}\n+++ {new_name}\n").into_bytes();
    for group in similar::group_diff_ops(ops, options.context) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        if !group.iter().any(changed) {
            continue;
        }
        let range = |from: usize, to: usize| {
            let length = to - from;
            format!("{},{length}", if length == 0 { from } else { from + 1 })
        };
        let old_range = range(first.old_range().start, last.old_range().end);
        let new_range = range(first.new_range().start, last.new_range().end);
        text.extend(format!("@@ -{old_range} +{new_range} @@\n").bytes());
        for op in &group {
            let mut put = |sign: u8, lines: &[&[u8]]| {
                for line in lines {
                    text.push(sign);
                    text.extend_from_slice(line);
                    if !line.ends_with(b"\n") {
                        text.extend_from_slice(b"\n\\ No newline at end of file\n");
                    }
                }
            };
            if op.tag() == DiffTag::Equal {
                put(b' ', &old[op.old_range()]);
            } else {
                put(b'-', &old[op.old_range()]);
                put(b'+', &new[op.new_range()]);
            }
        }
    }
    out.write_all(&text).map_err(|e| Failure::io("its output", &e))?;
    Ok(1)
}

fn folders(
    out: &mut dyn Write,
    options: &Options,
    (old_name, old): (&str, &Path),
    (new_name, new): (&str, &Path),
) -> Result<i32, Failure> {
    let names = |name: &str, folder: &Path| -> Result<BTreeSet<String>, Failure> {
        let entries = std::fs::read_dir(folder).map_err(|e| Failure::io(name, &e))?;
        Ok(entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect())
    };
    let (olds, news) = (names(old_name, old)?, names(new_name, new)?);
    let mut code = 0;
    for name in olds.union(&news) {
        let (a, b) = (old.join(name), new.join(name));
        let (a_name, b_name) = (format!("{old_name}/{name}"), format!("{new_name}/{name}"));
        let only = match (olds.contains(name), news.contains(name)) {
            (true, false) => Some(format!("Only in {old_name}: {name}\n")),
            (false, true) => Some(format!("Only in {new_name}: {name}\n")),
            _ if a.is_dir() != b.is_dir() => Some(format!("{a_name} and {b_name} are a file and a folder\n")),
            _ => None,
        };
        let found = if let Some(line) = only {
            out.write_all(line.as_bytes()).map_err(|e| Failure::io("its output", &e))?;
            1
        } else if a.is_dir() {
            folders(out, options, (&a_name, &a), (&b_name, &b))?
        } else {
            let read = |name: &str, path: &Path| std::fs::read(path).map_err(|e| Failure::io(name, &e));
            files(out, options, (&a_name, &read(&a_name, &a)?), (&b_name, &read(&b_name, &b)?))?
        };
        code = code.max(found);
    }
    Ok(code)
}
