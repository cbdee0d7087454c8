//! Who connected, as seen from outside: the kernel's word on the socket and under `/proc`, never the text.

use runproof_records::wire::Role;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A process at the other end of a connection, looked at when it connected; or an outer probe, which the
/// harness started itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Inside the program or outside.
    pub role: Role,
    /// Connection number within the command, from 0.
    pub conn: u32,
    /// Process id from the socket's credentials; 0 when the kernel gave none.
    pub pid: i32,
    /// Whether the chain of its parents leads to the harness.
    pub descends: bool,
    /// Start time in clock ticks since boot; 0 when the process was gone.
    pub start_ticks: u64,
    /// Its executable; empty when the process was gone.
    pub exe: String,
    /// Whether the armed probe library is mapped in it; `None` when that could not be read.
    pub has_library: Option<bool>,
    /// When it connected, `CLOCK_REALTIME` nanoseconds.
    pub opened: u64,
    /// When its connection ended; `None` when the harness ended it.
    pub closed: Option<u64>,
}

impl Peer {
    /// Looks at the process behind `stream`. `ancestor` is the process that everything of the run descends
    /// from; `libraries` are the files of which one must be mapped in a process that carries a probe.
    pub(super) fn look(stream: &UnixStream, conn: u32, ancestor: i32, libraries: &[&Path]) -> Self {
        let opened = super::realtime();
        let pid = credentials(stream).unwrap_or(0);
        Self {
            role: Role::Inner,
            conn,
            pid,
            descends: pid > 0 && descends(pid, ancestor),
            start_ticks: stat(pid).map_or(0, |stat| stat.start_ticks),
            exe: executable(pid),
            has_library: maps(pid, libraries),
            opened,
            closed: None,
        }
    }
}

impl Peer {
    /// An outer probe that the harness started as process `pid`.
    pub(super) fn outer(conn: u32, pid: u32, program: &str) -> Self {
        Self {
            role: Role::Outer,
            conn,
            pid: i32::try_from(pid).unwrap_or(0),
            descends: true,
            start_ticks: stat(i32::try_from(pid).unwrap_or(0)).map_or(0, |stat| stat.start_ticks),
            exe: program.to_owned(),
            has_library: None,
            opened: super::realtime(),
            closed: None,
        }
    }
}

/// What `/proc/PID/stat` says of a process.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: i32,
    start_ticks: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Fields 4 and 22, counted behind the command name, which may hold blanks and parentheses.
fn parse_stat(text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some(Stat { parent: fields.get(1)?.parse().ok()?, start_ticks: fields.get(19)?.parse().ok()? })
}

fn descends(pid: i32, ancestor: i32) -> bool {
    let mut current = pid;
    // Longer than any real chain, so that a chain which changes while it is read ends too.
    for _ in 0..256 {
        if current == ancestor {
            return true;
        }
        match stat(current) {
            Some(stat) if stat.parent > 0 => current = stat.parent,
            _ => return false,
        }
    }
    false
}

/// Whether process `pid` descends from this one.
pub fn descends_from_here(pid: i32) -> bool {
    i32::try_from(std::process::id()).is_ok_and(|own| descends(pid, own))
}

fn executable(pid: i32) -> String {
    std::fs::read_link(format!("/proc/{pid}/exe"))
        .map(|path| path.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn maps(pid: i32, libraries: &[&Path]) -> Option<bool> {
    let text = std::fs::read(format!("/proc/{pid}/maps")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // A process that has ended still has the file, empty.
    if text.is_empty() {
        return None;
    }
    Some(text.lines().any(|line| libraries.iter().any(|library| line.ends_with(&*library.to_string_lossy()))))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn credentials(stream: &UnixStream) -> Option<i32> {
    Some(rustix::net::sockopt::socket_peercred(stream).ok()?.pid.as_raw_nonzero().get())
}

/// Other systems name the peer in other ways that no probe needs yet: its records are kept and not accepted.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn credentials(_stream: &UnixStream) -> Option<i32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_may_look_like_fields() {
        let text = "42 (a) b (c)) S 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 0 0\n";
        assert_eq!(parse_stat(text), Some(Stat { parent: 7, start_ticks: 9876 }));
        assert_eq!(parse_stat(""), None);
        assert_eq!(parse_stat("42 (a) S"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_descends_from_itself_and_from_its_parent_and_init_not_from_it() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(descends(own, own));
        assert!(descends(own, stat(own).unwrap().parent));
        assert!(!descends(stat(own).unwrap().parent, own));
    }
}
