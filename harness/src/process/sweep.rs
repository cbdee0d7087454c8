//! Orphans: whose they are, and how they are ended.
//!
//! The harness is the reaper of everything its children leave behind, so an orphan shows up as a child of the
//! harness. Several scopes run in parallel, so an orphan must be given to one of them: see [`owner`].

use super::supervise::{BURY, STARTING, Scope, pid, poll_for, tables, wait_fd};
use super::{MARKER, tree};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Signal, WaitOptions};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// How long a leftover of a command that ended by itself may take to end by itself too.
const SETTLE: Duration = Duration::from_millis(50);

/// A process that outlived its command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its command line.
    pub command: String,
    /// It had left the process groups of the command.
    pub escaped: bool,
    /// It could be ended.
    pub ended: bool,
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.escaped { "a process escaped the group" } else { "a process was left behind" };
        let end = if self.ended { "ended" } else { "could not be ended" };
        write!(f, "{what}: {} ({end})", self.command)
    }
}

/// What is known of a running scope.
#[derive(Clone, Debug)]
pub(super) struct ScopeFacts {
    pub marker: String,
    /// The processes it started itself, which lead their groups.
    pub groups: Vec<u32>,
    pub folder: PathBuf,
    /// Start, clock ticks since boot.
    pub started: u64,
}

/// What is known of an orphan.
struct Orphan {
    marker: Option<String>,
    facts: tree::Facts,
    folder: Option<PathBuf>,
}

/// Whose an orphan is.
#[derive(Debug, PartialEq, Eq)]
enum Owner {
    Scope(u64),
    /// Of a scope that is over, or older than all.
    Nobody,
    /// Several could have started it.
    Undecided,
}

/// Gives an orphan to a scope: by the marker in its environment, else by its group or session, else by the
/// folder it works in, else to the only one that is old enough to have started it.
fn owner(orphan: &Orphan, scopes: &BTreeMap<u64, ScopeFacts>) -> Owner {
    if let Some(marker) = &orphan.marker {
        let found = scopes.iter().find(|(_, s)| s.marker == *marker);
        return found.map_or(Owner::Nobody, |(id, _)| Owner::Scope(*id));
    }
    let by_group =
        |s: &ScopeFacts| s.groups.contains(&orphan.facts.group) || s.groups.contains(&orphan.facts.session);
    let by_folder = |s: &ScopeFacts| orphan.folder.as_ref().is_some_and(|f| f.starts_with(&s.folder));
    let found = scopes.iter().find(|(_, s)| by_group(s)).or_else(|| {
        // Of nested folders the innermost.
        let inside = scopes.iter().filter(|(_, s)| by_folder(s));
        inside.max_by_key(|(_, s)| s.folder.as_os_str().len())
    });
    if let Some((id, _)) = found {
        return Owner::Scope(*id);
    }
    let mut old_enough = scopes.iter().filter(|(_, s)| s.started <= orphan.facts.started);
    match (old_enough.next(), old_enough.next()) {
        (None, _) => Owner::Nobody,
        (Some((id, _)), None) => Owner::Scope(*id),
        (Some(_), Some(_)) => Owner::Undecided,
    }
}

/// At the end of a run: ends every orphan that is left, and names all that were nobody's.
pub fn sweep_strays() -> Vec<Leftover> {
    let mut found = sweep(None, true);
    let mut strays = std::mem::take(&mut tables().strays);
    strays.append(&mut found);
    strays
}

/// Ends what is left of a scope, or of all of them; what was nobody's is kept for [`sweep_strays`].
pub(super) fn sweep(scope: Option<&Scope>, forced: bool) -> Vec<Leftover> {
    let until = Instant::now() + BURY;
    let mut found: BTreeMap<u32, (Leftover, bool)> = BTreeMap::new();
    let mut patient = !forced;
    loop {
        let victims = victims(scope, forced);
        if victims.is_empty() {
            break;
        }
        let late = Instant::now() >= until;
        if patient {
            patient = false;
            let pids: Vec<u32> = victims.keys().copied().collect();
            wait_gone(&pids, Instant::now() + SETTLE);
            continue;
        }
        let mut doomed = Vec::new();
        for (root, (escaped, own)) in victims {
            for number in std::iter::once(root).chain(tree::descendants(root)) {
                let entry = found.entry(number).or_insert_with(|| {
                    let command = tree::command_line(number);
                    (Leftover { command, escaped, ended: true }, own)
                });
                entry.0.ended = !late;
                doomed.push(number);
            }
        }
        if late {
            break;
        }
        for number in &doomed {
            let _ = pid(*number).map(|pid| rustix::process::kill_process(pid, Signal::KILL));
        }
        wait_gone(&doomed, until);
    }
    // After a forced end the groups were killed just now; who is still dying in them is no leftover.
    found.retain(|_, (leftover, _)| !forced || leftover.escaped || !leftover.ended);
    let (own, strays): (Vec<_>, Vec<_>) = found.into_values().partition(|(_, own)| *own);
    tables().strays.extend(strays.into_iter().map(|(l, _)| l));
    own.into_iter().map(|(l, _)| l).collect()
}

/// Orphans to end, each with whether it left the scope's groups and whether it is the scope's own. Dead ones
/// are reaped on the way.
fn victims(scope: Option<&Scope>, forced: bool) -> BTreeMap<u32, (bool, bool)> {
    let mut numbers = tree::own_children();
    if let (Some(scope), true) = (scope, forced) {
        let marked = |n: &u32| tree::variable(*n, MARKER).is_some_and(|m| m == scope.marker);
        numbers.extend(tree::all().filter(marked));
    }
    if numbers.is_empty() {
        return BTreeMap::new();
    }
    // Whatever is being started now is in the tables afterwards.
    drop(STARTING.write().unwrap_or_else(PoisonError::into_inner));
    let (direct, scopes) = {
        let tables = tables();
        (tables.direct.clone(), tables.scopes.clone())
    };
    let me = std::process::id();
    let own_group = rustix::process::getpgrp().as_raw_nonzero().get().cast_unsigned();
    let mut victims = BTreeMap::new();
    for number in numbers {
        if number == me || direct.contains(&number) {
            continue;
        }
        let Some(facts) = tree::facts(number) else { continue };
        let orphan = Orphan { marker: tree::variable(number, MARKER), facts, folder: tree::folder(number) };
        let in_a_group = scopes.values().any(|s| s.groups.contains(&facts.group));
        if orphan.marker.is_none() && facts.group == own_group && !in_a_group {
            continue;
        }
        if facts.zombie {
            let _ = pid(number).map(|pid| rustix::process::waitpid(Some(pid), WaitOptions::NOHANG));
            continue;
        }
        let groups = scope.and_then(|s| scopes.get(&s.id)).map(|s| s.groups.as_slice()).unwrap_or_default();
        let escaped = !groups.contains(&facts.group);
        match (owner(&orphan, &scopes), scope) {
            (Owner::Scope(id), Some(scope)) if id == scope.id => {
                victims.insert(number, (escaped, true));
            }
            (Owner::Nobody, Some(_)) => {
                victims.insert(number, (escaped, false));
            }
            (Owner::Nobody | Owner::Undecided, None) => {
                victims.insert(number, (escaped, true));
            }
            _ => {}
        }
    }
    victims
}

/// Waits until none of the processes runs any more; reaps those that are ours.
fn wait_gone(numbers: &[u32], until: Instant) {
    for number in numbers {
        let Some(process) = pid(*number) else { continue };
        if let Some(fd) = wait_fd(process) {
            poll_for(&mut [PollFd::new(&fd, PollFlags::IN)], until.saturating_duration_since(Instant::now()));
        }
        if !tables().direct.contains(number) {
            let _ = rustix::process::waitpid(Some(process), WaitOptions::NOHANG);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(marker: &str, groups: &[u32], folder: &str, started: u64) -> ScopeFacts {
        ScopeFacts { marker: marker.into(), groups: groups.to_vec(), folder: folder.into(), started }
    }

    #[test]
    fn an_orphan_goes_to_the_scope_that_started_it() {
        let scopes =
            BTreeMap::from([(1, scope("a", &[100], "/t/a", 10)), (2, scope("b", &[200], "/t/a/b", 20))]);
        let check = |marker: Option<&str>, group, session, folder: &str, started, expect: Owner| {
            let facts = tree::Facts { zombie: false, parent: 1, group, session, started };
            let orphan = Orphan { marker: marker.map(Into::into), facts, folder: Some(folder.into()) };
            assert_eq!(owner(&orphan, &scopes), expect, "{marker:?} {group} {session} {folder} {started}");
        };
        check(Some("b"), 100, 100, "/t/a", 15, Owner::Scope(2));
        check(Some("gone"), 100, 100, "/t/a", 15, Owner::Nobody);
        check(None, 100, 7, "/", 30, Owner::Scope(1));
        check(None, 7, 200, "/", 30, Owner::Scope(2));
        check(None, 7, 7, "/t/a/b/c", 30, Owner::Scope(2));
        check(None, 7, 7, "/t/a/x", 30, Owner::Scope(1));
        check(None, 7, 7, "/", 15, Owner::Scope(1));
        check(None, 7, 7, "/", 30, Owner::Undecided);
        check(None, 7, 7, "/", 5, Owner::Nobody);
    }

    #[test]
    fn leftovers_are_named() {
        let leftover = Leftover { command: "sleep 27.1828".into(), escaped: true, ended: true };
        assert_eq!(leftover.to_string(), "a process escaped the group: sleep 27.1828 (ended)");
    }
}
