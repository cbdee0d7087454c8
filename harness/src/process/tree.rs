//! What `/proc` says of processes. Everything here may be out of date when it is read; nothing fails.

use std::fs;
use std::path::PathBuf;

/// Facts of one process from `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// It is dead and waits to be reaped.
    pub zombie: bool,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    /// Start, clock ticks since boot.
    pub started: u64,
}

/// Reads a `stat` line. The name in it may hold blanks and parentheses.
fn parse_stat(text: &str) -> Option<Facts> {
    let behind = &text[text.rfind(')')? + 1..];
    let mut fields = behind.split_ascii_whitespace();
    let state = fields.next()?;
    let mut number = || fields.next()?.parse::<i64>().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    // Fields 7 to 21 lie between the session and the start time (proc_pid_stat(5)).
    let started = fields.nth(15)?.parse().ok()?;
    let id = |n| u32::try_from(n).ok();
    Some(Facts {
        zombie: matches!(state, "Z" | "X"),
        parent: id(parent)?,
        group: id(group)?,
        session: id(session)?,
        started,
    })
}

pub(super) fn facts(pid: u32) -> Option<Facts> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&bytes))
}

/// Children that the main thread of the harness has: what was orphaned, and what it started itself.
pub(super) fn own_children() -> Vec<u32> {
    let me = std::process::id();
    match fs::read_to_string(format!("/proc/self/task/{me}/children")) {
        Ok(list) => list.split_ascii_whitespace().filter_map(|n| n.parse().ok()).collect(),
        // A kernel without CONFIG_PROC_CHILDREN, or a main thread that has ended.
        Err(_) => all().filter(|pid| facts(*pid).is_some_and(|f| f.parent == me)).collect(),
    }
}

/// Every process that can be seen.
pub(super) fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok())
}

/// A process's descendants, nearest first.
pub(super) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let list = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for child in list.split_ascii_whitespace().filter_map(|n| n.parse().ok()) {
                if !found.contains(&child) {
                    found.push(child);
                    open.push(child);
                }
            }
        }
    }
    found
}

/// The command line, blanks between the words; the kernel's name in brackets when there is none.
pub(super) fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> =
        bytes.split(|b| *b == 0).filter(|w| !w.is_empty()).map(String::from_utf8_lossy).collect();
    if words.is_empty() {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        return format!("[{}]", name.trim_end());
    }
    words.join(" ")
}

/// The value of a variable in the environment that the process was started with.
pub(super) fn variable(pid: u32, name: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value =
        bytes.split(|b| *b == 0).find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// The working folder.
pub(super) fn folder(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_with_any_name() {
        let line = "12 (a) b (c) S 7 11 10 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 123456 99 1 2";
        let expect = Facts { zombie: false, parent: 7, group: 11, session: 10, started: 123_456 };
        assert_eq!(parse_stat(line), Some(expect));
        for broken in ["", ")", "12 (x) S 7", "12 (x) S a b c"] {
            assert_eq!(parse_stat(broken), None, "{broken}");
        }
    }
}
