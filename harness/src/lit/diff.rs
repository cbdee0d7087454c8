//! `diff` as lit has it: context format unless `-u` or `-U` asks for the unified one.

use super::builtin::Call;
use super::getopt::getopt;
use super::hunks::operations;
use super::redirect::os_error;
use super::shell::resolved;
use runproof_directives::lit::Pattern;
use similar::{DiffOp, DiffTag};
use std::path::{Path, PathBuf};

#[derive(Default)]
struct Options {
    all_space: bool,
    space_change: bool,
    unified: bool,
    context: usize,
    recursive: bool,
    strip_cr: bool,
    ignored: Option<Pattern>,
}

/// Exit status 0 for equal, 1 for anything else.
pub(super) fn run(call: &mut Call<'_>) -> i32 {
    match compare(call) {
        Ok(differ) => i32::from(differ),
        Err(why) => {
            call.stderr.extend_from_slice(why.as_bytes());
            call.stderr.push(b'\n');
            1
        }
    }
}

fn compare(call: &mut Call<'_>) -> Result<bool, String> {
    let (given, names) = getopt(&call.args[1..], "wbuI:U:r", &["strip-trailing-cr"])
        .map_err(|why| format!("Unsupported: 'diff': {why}"))?;
    let mut options = Options { context: 3, ..Options::default() };
    for (option, value) in given {
        match option.as_str() {
            "-w" => options.all_space = true,
            "-b" => options.space_change = true,
            "-u" => options.unified = true,
            "-r" => options.recursive = true,
            "-I" => options.ignored = Some(Pattern::new(value)),
            "-U" => {
                options.unified = true;
                options.context =
                    value.parse().map_err(|_| format!("Error: invalid '-U' argument: {value}"))?;
            }
            _ => options.strip_cr = true,
        }
    }
    let [old, new] = names.as_slice() else { return Err("Error: missing or extra operand".to_owned()) };
    if options.recursive {
        if old == "-" || new == "-" {
            return Err("Error: cannot recursively compare '-'".to_owned());
        }
        let (old, new) = (resolved(call.cwd, old), resolved(call.cwd, new));
        // lit's own fault: it looks for what is in them.
        if let Some(file) = [&old, &new].into_iter().find(|path| !path.is_dir()) {
            return Err(format!("TypeError: '{}' is no directory", file.display()));
        }
        return trees(&options, &old, &new, call.stdout);
    }
    let mut read = |name: &String| -> Result<(String, Vec<u8>), String> {
        if name == "-" {
            let bytes = (call.stdin)().map_err(|e| format!("Error: 'diff' command failed, {e}"))?;
            return Ok((name.clone(), bytes));
        }
        let path = resolved(call.cwd, name);
        let bytes = (call.read)(&path).map_err(|e| failed(&e, &path))?;
        Ok((path.display().to_string(), bytes))
    };
    let (old, new) = (read(old)?, read(new)?);
    files(&options, (&old.0, &old.1), (&new.0, &new.1), call.stdout)
}

fn file(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| failed(&e, path))
}

fn failed(error: &std::io::Error, path: &Path) -> String {
    format!("Error: 'diff' command failed, {}", os_error(error, path))
}

/// The lines of a text that are compared, and shown.
fn lines(options: &Options, text: &str) -> Result<Vec<Vec<u8>>, String> {
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(ignored) = &options.ignored
            && ignored.matches_start(line)?
        {
            continue;
        }
        let mut text = line.to_owned();
        if options.strip_cr {
            text = text.replace("\r\n", "\n");
        }
        if options.all_space || options.space_change {
            let separator = if options.all_space { "" } else { " " };
            text = text.split_whitespace().collect::<Vec<_>>().join(separator) + "\n";
        }
        lines.push(text.into_bytes());
    }
    Ok(lines)
}

fn files(
    options: &Options,
    (old_name, old): (&str, &[u8]),
    (new_name, new): (&str, &[u8]),
    out: &mut Vec<u8>,
) -> Result<bool, String> {
    // With a pattern every line is tried: it may be none.
    if old == new && options.ignored.is_none() {
        return Ok(false);
    }
    let (old, new, is_unified) = match (std::str::from_utf8(old), std::str::from_utf8(new)) {
        (Ok(old), Ok(new)) => (lines(options, old)?, lines(options, new)?, options.unified),
        // One byte that is no text, and both are compared as bytes: unified, and no option counts.
        _ => {
            let raw = |bytes: &[u8]| bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            (raw(old), raw(new), true)
        }
    };
    let ops = operations(&old, &new);
    let changed = ops.iter().any(|op| op.tag() != DiffTag::Equal);
    if !changed {
        return Ok(false);
    }
    let marks = if is_unified { ["---", "+++"] } else { ["***", "---"] };
    for (mark, name) in marks.iter().zip([old_name, new_name]) {
        out.extend_from_slice(format!("{mark} {name}\n").as_bytes());
    }
    for group in similar::group_diff_ops(ops, options.context) {
        if is_unified { unified(&group, &old, &new, out) } else { context(&group, &old, &new, out) }
    }
    Ok(true)
}

/// First and last line of a group on one side.
fn span(group: &[DiffOp], side: fn(&DiffOp) -> std::ops::Range<usize>) -> (usize, usize) {
    let first = group.first().map_or(0, |op| side(op).start);
    let last = group.last().map_or(0, |op| side(op).end);
    (first, last)
}

fn unified(group: &[DiffOp], old: &[Vec<u8>], new: &[Vec<u8>], out: &mut Vec<u8>) {
    let range = |(start, end): (usize, usize)| match end - start {
        1 => format!("{}", start + 1),
        0 => format!("{start},0"),
        length => format!("{},{length}", start + 1),
    };
    let (a, b) = (range(span(group, DiffOp::old_range)), range(span(group, DiffOp::new_range)));
    out.extend_from_slice(format!("@@ -{a} +{b} @@\n").as_bytes());
    let mut put = |mark: u8, lines: &[Vec<u8>]| {
        for line in lines {
            out.push(mark);
            out.extend_from_slice(line);
        }
    };
    for op in group {
        match op.tag() {
            DiffTag::Equal => put(b' ', &old[op.old_range()]),
            _ => {
                put(b'-', &old[op.old_range()]);
                put(b'+', &new[op.new_range()]);
            }
        }
    }
}

fn context(group: &[DiffOp], old: &[Vec<u8>], new: &[Vec<u8>], out: &mut Vec<u8>) {
    let range = |(start, end): (usize, usize)| match end - start {
        0 => format!("{start}"),
        1 => format!("{}", start + 1),
        _ => format!("{},{end}", start + 1),
    };
    let mark = |op: &DiffOp| match op.tag() {
        DiffTag::Equal => "  ",
        DiffTag::Replace => "! ",
        DiffTag::Delete => "- ",
        DiffTag::Insert => "+ ",
    };
    let mut put = |mark: &str, lines: &[Vec<u8>]| {
        for line in lines {
            out.extend_from_slice(mark.as_bytes());
            out.extend_from_slice(line);
        }
    };
    put("", &[b"***************\n".to_vec()]);
    put("", &[format!("*** {} ****\n", range(span(group, DiffOp::old_range))).into_bytes()]);
    if group.iter().any(|op| matches!(op.tag(), DiffTag::Replace | DiffTag::Delete)) {
        group
            .iter()
            .filter(|op| op.tag() != DiffTag::Insert)
            .for_each(|op| put(mark(op), &old[op.old_range()]));
    }
    put("", &[format!("--- {} ----\n", range(span(group, DiffOp::new_range))).into_bytes()]);
    if group.iter().any(|op| matches!(op.tag(), DiffTag::Replace | DiffTag::Insert)) {
        group
            .iter()
            .filter(|op| op.tag() != DiffTag::Delete)
            .for_each(|op| put(mark(op), &new[op.new_range()]));
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn trees(options: &Options, old: &Path, new: &Path, out: &mut Vec<u8>) -> Result<bool, String> {
    let against = |folder: &Path, file: &Path, first: &str| {
        let empty = file.metadata().is_ok_and(|m| m.len() == 0);
        let kind = if empty { "regular empty file" } else { "regular file" };
        let (a, b) = (folder.display(), file.display());
        match first {
            "folder" => format!("File {a} is a directory while file {b} is a {kind}\n"),
            _ => format!("File {b} is a {kind} while file {a} is a directory\n"),
        }
    };
    match (old.is_dir(), new.is_dir()) {
        (false, false) => {
            let (a, b) = (file(old)?, file(new)?);
            let (old, new) = (old.display().to_string(), new.display().to_string());
            return files(options, (&old, &a), (&new, &b), out);
        }
        (true, false) => {
            out.extend_from_slice(against(old, new, "folder").as_bytes());
            return Ok(true);
        }
        (false, true) => {
            out.extend_from_slice(against(new, old, "file").as_bytes());
            return Ok(true);
        }
        (true, true) => {}
    }
    let (old_names, new_names) = (names(old), names(new));
    let mut all: Vec<&String> = old_names.iter().chain(&new_names).collect();
    all.sort();
    all.dedup();
    let mut differ = false;
    // What only one side has behind the last common name is said last, as lit goes along both lists.
    let only = |folder: &PathBuf, name: &str, out: &mut Vec<u8>| {
        out.extend_from_slice(format!("Only in {}: {name}\n", folder.display()).as_bytes());
    };
    for name in all {
        match (old_names.contains(name), new_names.contains(name)) {
            (true, true) => differ |= trees(options, &old.join(name), &new.join(name), out)?,
            (true, false) => {
                only(&old.to_path_buf(), name, out);
                differ = true;
            }
            _ => {
                only(&new.to_path_buf(), name, out);
                differ = true;
            }
        }
    }
    Ok(differ)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(options: &Options, old: &str, new: &str) -> String {
        let mut out = Vec::new();
        let differ = files(options, ("a", old.as_bytes()), ("b", new.as_bytes()), &mut out).unwrap();
        assert_eq!(differ, !out.is_empty());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn both_formats() {
        let unified = Options { unified: true, context: 3, ..Options::default() };
        assert_eq!(
            diff(&unified, "foo\nbar\n", "foo\nbaz\n"),
            "--- a\n+++ b\n@@ -1,2 +1,2 @@\n foo\n-bar\n+baz\n"
        );
        let context = Options { context: 3, ..Options::default() };
        let expect =
            "*** a\n--- b\n***************\n*** 1,2 ****\n  foo\n! bar\n--- 1,2 ----\n  foo\n! baz\n";
        assert_eq!(diff(&context, "foo\nbar\n", "foo\nbaz\n"), expect);
        assert_eq!(diff(&context, "", "x\n"), "*** a\n--- b\n***************\n*** 0 ****\n--- 1 ----\n+ x\n");
    }

    #[test]
    fn what_is_overlooked() {
        let check = |options: &Options, old: &str, new: &str, expect: bool| {
            assert_eq!(diff(options, old, new).is_empty(), expect, "{old:?} {new:?}");
        };
        check(&Options { all_space: true, ..Options::default() }, "a b\n", "ab\n", true);
        check(&Options { space_change: true, ..Options::default() }, "a  b \n", "a b\n", true);
        check(&Options { space_change: true, ..Options::default() }, "a b\n", "ab\n", false);
        check(&Options { strip_cr: true, ..Options::default() }, "a\r\n", "a\n", true);
        let ignored = || Options { ignored: Some(Pattern::new("t:")), ..Options::default() };
        check(&ignored(), "t: 1\nx\n", "x\n", true);
        check(&ignored(), "x t: 1\n", "x\n", false);
        check(&Options { ignored: Some(Pattern::new("t$")), ..Options::default() }, "t\nx\n", "x\n", true);
        let broken = Options { ignored: Some(Pattern::new("(")), ..Options::default() };
        assert!(files(&broken, ("a", b"x"), ("b", b"x"), &mut Vec::new()).is_err());
    }

    #[test]
    fn bytes_that_are_no_text_take_all_options_away() {
        let options = Options { all_space: true, ..Options::default() };
        let mut out = Vec::new();
        assert_eq!(files(&options, ("a", b"a b\n\xff\n"), ("b", b"ab\n\xff\n"), &mut out), Ok(true));
        assert!(out.starts_with(b"--- a\n+++ b\n"), "{}", String::from_utf8_lossy(&out));
    }
}
