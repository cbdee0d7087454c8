//! Starting, waiting, ending. A [`Scope`] is one command of one test: what it starts ends with it.
//!
//! The harness is the reaper of everything its children leave behind, so an orphan shows up as a child of the
//! harness. Several scopes run in parallel, so an orphan must be given to one of them: see [`owner`].
//! Children that other parts of the harness start are safe as long as they stay in the harness's own process
//! group.

use super::interrupt::Interrupt;
use super::limits::Limits;
use super::{MARKER, status, sys, tree};
use runproof_records::record::Exit;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How long a leftover of a command that ended by itself may take to end by itself too.
const SETTLE: Duration = Duration::from_millis(50);
/// How long killed processes may take to go. One that waits for a broken disk never does.
const BURY: Duration = Duration::from_secs(2);
/// How long the hook before a kill may take.
const HOOK: Duration = Duration::from_secs(1);
/// Longest pause between two looks where the system wakes nobody.
const PAUSE: Duration = Duration::from_millis(10);

/// When a command must have ended.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// The moment.
    pub at: Instant,
    /// The limit that it came from, for messages.
    pub limit: Duration,
}

impl Deadline {
    /// This long from now.
    pub fn after(limit: Duration) -> Self {
        Self { at: Instant::now() + limit, limit }
    }
}

/// How long to wait, and what to do when that is over.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    /// When it is over.
    pub deadline: Deadline,
    /// Between asking to end and killing.
    pub grace: Duration,
    /// Ends the wait at once.
    pub interrupt: &'a Interrupt,
    /// Called before anything is ended, to save what would be lost; must be back at the moment given.
    pub before_kill: &'a dyn Fn(Instant),
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every process ended by itself.
    Ended,
    /// The deadline came first.
    TimedOut,
    /// An interrupt came first.
    Interrupted,
}

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

/// A process that was started.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Wakes a wait; absent where the system has none.
    pidfd: Option<OwnedFd>,
    exit: Option<Exit>,
}

impl Running {
    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, after [`Scope::wait`].
    pub fn exit(&self) -> Exit {
        self.exit.clone().unwrap_or(Exit::NotReached)
    }

    /// Whether it has ended. It is not reaped, so that its number, which is its group's, stays taken.
    fn has_ended(&self) -> bool {
        let Some(pid) = pid(self.pid()) else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(rustix::process::waitid(WaitId::Pid(pid), options), Ok(None))
    }

    fn signal_group(&self, signal: Signal) {
        if let Some(pid) = pid(self.pid()) {
            // Gone already is as good.
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }
}

fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// What is known of a running scope.
#[derive(Clone, Debug)]
struct ScopeFacts {
    marker: String,
    /// The processes it started itself, which lead their groups.
    groups: Vec<u32>,
    folder: PathBuf,
    /// Start, clock ticks since boot.
    started: u64,
}

#[derive(Default)]
struct Tables {
    /// Children that somebody waits for.
    direct: BTreeSet<u32>,
    scopes: BTreeMap<u64, ScopeFacts>,
    next: u64,
    /// Ended, and nobody's.
    strays: Vec<Leftover>,
}

static TABLES: LazyLock<Mutex<Tables>> = LazyLock::new(|| {
    #[cfg(target_os = "linux")]
    {
        // Without it orphans go to init and only their marker leads to them.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
    // A soft limit, which children inherit: no core file unless `Limits::cores` raises it again.
    let hard = rustix::process::getrlimit(rustix::process::Resource::Core).maximum;
    let none = rustix::process::Rlimit { current: Some(0), maximum: hard };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    Mutex::default()
});
/// Held for reading while a child is started and not yet in the tables.
static STARTING: RwLock<()> = RwLock::new(());

static DIE_WITH_PARENT: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("NEXTEST_EXECUTION_MODE").is_some_and(|v| v == "process-per-test"));

fn tables() -> MutexGuard<'static, Tables> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Clock ticks since boot, as `/proc/PID/stat` counts them: `USER_HZ` is 100 everywhere.
fn ticks() -> u64 {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(clock);
    u64::try_from(now.tv_sec * 100 + now.tv_nsec / 10_000_000).unwrap_or(0)
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

/// One command of one test. Everything started in it carries [`MARKER`].
#[derive(Debug)]
pub struct Scope {
    id: u64,
    marker: String,
}

impl Scope {
    /// Begins a scope. `marker` is unique among all tests of all runs that may be alive; `folder` is the
    /// test's own folder.
    pub fn enter(marker: &str, folder: impl Into<PathBuf>) -> Self {
        let mut tables = tables();
        let id = tables.next;
        tables.next += 1;
        let facts = ScopeFacts {
            marker: marker.to_owned(),
            groups: Vec::new(),
            folder: folder.into(),
            started: ticks(),
        };
        tables.scopes.insert(id, facts);
        Self { id, marker: marker.to_owned() }
    }

    /// Starts a process in its own group. The caller has set its streams, folder and environment.
    ///
    /// # Errors
    /// As the system has them: not found, not executable, no memory, …
    pub fn spawn(&self, command: &mut Command, limits: &Limits) -> io::Result<Running> {
        command.env(MARKER, &self.marker);
        sys::prepare(command, limits, *DIE_WITH_PARENT);
        let starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        let mut tables = tables();
        tables.direct.insert(child.id());
        if let Some(scope) = tables.scopes.get_mut(&self.id) {
            scope.groups.push(child.id());
        }
        drop(tables);
        drop(starting);
        #[cfg(target_os = "linux")]
        let pidfd =
            pid(child.id()).and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
        #[cfg(not(target_os = "linux"))]
        let pidfd = None;
        Ok(Running { child, pidfd, exit: None })
    }

    /// Waits until all have ended, or ends them: hook, SIGTERM to their groups, grace, SIGKILL. What left the
    /// groups is for [`Self::sweep`].
    pub fn wait(&self, running: &mut [Running], patience: &Patience<'_>) -> End {
        let end = wait_until(running, patience.deadline.at, Some(patience.interrupt));
        let by_itself: Vec<bool> = running.iter().map(|r| end == End::Ended || r.has_ended()).collect();
        if end != End::Ended {
            end_groups(running, patience);
        }
        for (process, by_itself) in running.iter_mut().zip(by_itself) {
            let status = reap(&mut process.child, end == End::Ended);
            let limit_ms = u64::try_from(patience.deadline.limit.as_millis()).unwrap_or(u64::MAX);
            process.exit = Some(match (by_itself, end) {
                (true, _) | (_, End::Ended) => status,
                (false, End::TimedOut) => Exit::TimedOut { limit_ms },
                (false, End::Interrupted) => Exit::Interrupted,
            });
        }
        end
    }

    /// Ends what outlived the scope so far. `forced` after a time-out or an interrupt: nothing may take its
    /// time, and processes that have gone elsewhere are looked for by their marker.
    pub fn sweep(&self, forced: bool) -> Vec<Leftover> {
        sweep(Some(self), forced)
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        tables().scopes.remove(&self.id);
    }
}

/// At the end of a run: ends every orphan that is left, and names all that were nobody's.
pub fn sweep_strays() -> Vec<Leftover> {
    let mut found = sweep(None, true);
    let mut strays = std::mem::take(&mut tables().strays);
    strays.append(&mut found);
    strays
}

/// Polls the processes that have not ended; `TimedOut` at `until`.
fn wait_until(running: &[Running], until: Instant, interrupt: Option<&Interrupt>) -> End {
    let mut pause = Duration::from_millis(1);
    loop {
        let open: Vec<&Running> = running.iter().filter(|r| !r.has_ended()).collect();
        if open.is_empty() {
            return End::Ended;
        }
        if interrupt.is_some_and(Interrupt::is_raised) {
            return End::Interrupted;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return End::TimedOut;
        }
        let mut fds: Vec<PollFd<'_>> =
            open.iter().filter_map(|r| r.pidfd.as_ref()).map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let wakes = fds.len() == open.len();
        fds.extend(interrupt.map(Interrupt::poll_fd));
        let timeout = if wakes { left } else { left.min(pause) };
        pause = (pause * 2).min(PAUSE);
        poll_for(&mut fds, timeout);
    }
}

fn poll_for(fds: &mut [PollFd<'_>], timeout: Duration) {
    // A millisecond more, so that a timeout is over when the poll is.
    let timeout = (timeout + Duration::from_micros(10)).try_into().ok();
    // An error (EINTR) only means looking again.
    let _ = poll(fds, timeout.as_ref());
}

/// Hook, SIGTERM, grace, SIGKILL. Leaders are not reaped, so their groups' numbers cannot be given away.
fn end_groups(running: &[Running], patience: &Patience<'_>) {
    let in_a_hurry = || patience.interrupt.level() >= 2;
    if !in_a_hurry() {
        (patience.before_kill)(Instant::now() + HOOK);
        for process in running {
            process.signal_group(Signal::TERM);
            process.signal_group(Signal::CONT);
        }
        let until = Instant::now() + patience.grace;
        while Instant::now() < until && !in_a_hurry() {
            let slice = (Instant::now() + PAUSE).min(until);
            if wait_until(running, slice, None) == End::Ended {
                break;
            }
        }
    }
    for process in running {
        process.signal_group(Signal::KILL);
    }
    wait_until(running, Instant::now() + BURY, None);
}

/// Reaps a child that has ended; one that cannot be killed is left.
fn reap(child: &mut Child, ended: bool) -> Exit {
    let status = if ended { child.wait().map(Some) } else { child.try_wait() };
    match status {
        Ok(Some(status)) => {
            tables().direct.remove(&child.id());
            status::exit_of(status)
        }
        Ok(None) => Exit::NotStarted { why: format!("process {} could not be ended", child.id()) },
        Err(error) => {
            tables().direct.remove(&child.id());
            Exit::NotStarted { why: format!("its end was lost: {error}") }
        }
    }
}

fn sweep(scope: Option<&Scope>, forced: bool) -> Vec<Leftover> {
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
        #[cfg(target_os = "linux")]
        if let Ok(fd) = rustix::process::pidfd_open(process, PidfdFlags::empty()) {
            let left = until.saturating_duration_since(Instant::now());
            poll_for(&mut [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)], left);
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
