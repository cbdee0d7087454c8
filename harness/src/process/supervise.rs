//! Starting, waiting, ending. A [`Scope`] is one command of one test: what it starts ends with it.
//!
//! Children that other parts of the harness start are safe from [`Scope::sweep`] as long as they stay in the
//! harness's own process group.

use super::interrupt::Interrupt;
use super::limits::Limits;
use super::sweep::{self, Leftover, ScopeFacts};
use super::{MARKER, status, sys};
use runproof_records::record::Exit;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, PipeReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How long killed processes may take to go. One that waits for a broken disk never does.
pub(super) const BURY: Duration = Duration::from_secs(2);
/// How long the hook before a kill may take.
const HOOK: Duration = Duration::from_secs(1);
/// How long a pipe is read that nobody who is waited for holds any more.
const LINGER: Duration = Duration::from_secs(30);
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
        // A limit beyond what the clock can say is none: a century will do.
        let century = Duration::from_secs(100 * 365 * 86_400);
        Self { at: Instant::now() + limit.min(century), limit }
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

/// What processes write into a pipe, read while they run.
#[derive(Debug)]
pub struct Capture {
    pipe: Option<PipeReader>,
    /// What came so far.
    pub bytes: Vec<u8>,
    /// The process that reads the pipe; what it leaves is read, and kept nowhere.
    reader: Option<usize>,
    /// Nobody waited for its end.
    given_up: bool,
}

impl Capture {
    /// Of what comes out of a pipe. The other end must be closed here once the processes have it.
    ///
    /// # Errors
    /// When the pipe cannot be read without waiting.
    pub fn new(pipe: PipeReader) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self { pipe: Some(pipe), bytes: Vec::new(), reader: None, given_up: false })
    }

    /// Of a pipe between two processes, so that a writer whose reader has ended early writes on to its own end. `reader` is that
    /// process's place among those that are waited for.
    pub fn left_over(pipe: PipeReader, reader: usize) -> Self {
        Self { pipe: Some(pipe), bytes: Vec::new(), reader: Some(reader), given_up: false }
    }

    /// Whether somebody may still write: what came is not all. Of what is kept nowhere only that nobody waited for it counts.
    pub fn is_open(&self) -> bool {
        self.pipe.is_some() && self.reader.is_none() || self.given_up
    }

    /// The pipe, when it may be read.
    fn readable(&self, ended: &[bool]) -> Option<&PipeReader> {
        self.pipe.as_ref().filter(|_| self.reader.is_none_or(|reader| ended[reader]))
    }

    /// Takes what is there.
    fn drain(&mut self, ended: &[bool]) {
        if let (Some(pipe), Some(_)) = (self.readable(ended), self.reader) {
            // Only now: the reader had the same description of the pipe, and must not find it so.
            let _ = rustix::io::ioctl_fionbio(pipe, true);
        } else if self.reader.is_some() {
            return;
        }
        while let Some(pipe) = &mut self.pipe {
            self.bytes.reserve(1 << 16);
            let from = self.bytes.len();
            self.bytes.resize(self.bytes.capacity(), 0);
            let read = pipe.read(&mut self.bytes[from..]);
            let kept = if self.reader.is_some() { 0 } else { *read.as_ref().unwrap_or(&0) };
            self.bytes.truncate(from + kept);
            match read {
                Ok(0) => self.pipe = None,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

/// A descriptor that is readable when the process has ended, where the system has such.
pub(super) fn wait_fd(process: Pid) -> Option<OwnedFd> {
    #[cfg(target_os = "linux")]
    return rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty()).ok();
    #[cfg(not(target_os = "linux"))]
    {
        let _ = process;
        None
    }
}

pub(super) fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

#[derive(Default)]
pub(super) struct Tables {
    /// Children that somebody waits for.
    pub direct: BTreeSet<u32>,
    pub scopes: BTreeMap<u64, ScopeFacts>,
    next: u64,
    /// Ended, and nobody's.
    pub strays: Vec<Leftover>,
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
pub(super) static STARTING: RwLock<()> = RwLock::new(());

pub(super) fn tables() -> MutexGuard<'static, Tables> {
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

/// One command of one test. Everything started in it carries [`MARKER`].
#[derive(Debug)]
pub struct Scope {
    pub(super) id: u64,
    pub(super) marker: String,
    tied: bool,
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
        Self { id, marker: marker.to_owned(), tied: true }
    }

    /// A scope whose processes are not tied to the life of the harness, which makes starting them cheaper: one that is killed
    /// leaves them to end by themselves.
    pub fn enter_untied(marker: &str, folder: impl Into<PathBuf>) -> Self {
        let mut scope = Self::enter(marker, folder);
        scope.tied = false;
        scope
    }

    /// Starts a process in its own group. The caller has set its streams, folder and environment.
    ///
    /// # Errors
    /// As the system has them: not found, not executable, no memory, …
    pub fn spawn(&self, command: &mut Command, limits: &Limits) -> io::Result<Running> {
        command.env(MARKER, &self.marker);
        sys::prepare(command, limits, self.tied);
        let starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        let mut tables = tables();
        tables.direct.insert(child.id());
        if let Some(scope) = tables.scopes.get_mut(&self.id) {
            scope.groups.push(child.id());
        }
        drop(tables);
        drop(starting);
        let pidfd = pid(child.id()).and_then(wait_fd);
        Ok(Running { child, pidfd, exit: None })
    }

    /// Waits until all have ended, or ends them: hook, SIGTERM to their groups, grace, SIGKILL. What left the
    /// groups is for [`Self::sweep`].
    pub fn wait(&self, running: &mut [Running], patience: &Patience<'_>) -> End {
        self.wait_reading(running, &mut [], patience)
    }

    /// As [`Self::wait`], and reads what they write until they have closed it. One that is held open by a process that went
    /// elsewhere is read for half a minute longer, and left: [`Capture::is_open`] then says so.
    pub fn wait_reading(
        &self,
        running: &mut [Running],
        captures: &mut [Capture],
        patience: &Patience<'_>,
    ) -> End {
        let end = wait_until(running, captures, patience.deadline.at, Some(patience.interrupt));
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

    /// Ends processes at once, before anybody waits for them.
    pub fn end(&self, running: &mut [Running]) {
        for process in running.iter() {
            process.signal_group(Signal::KILL);
        }
        wait_until(running, &mut [], Instant::now() + BURY, None);
        for process in running {
            process.exit = Some(reap(&mut process.child, false));
        }
    }

    /// Ends what outlived the scope so far. `forced` after a time-out or an interrupt: nothing may take its
    /// time, and processes that have gone elsewhere are looked for by their marker.
    pub fn sweep(&self, forced: bool) -> Vec<Leftover> {
        sweep::sweep(Some(self), forced)
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        tables().scopes.remove(&self.id);
    }
}

/// Polls the processes that have not ended; `TimedOut` at `until`.
fn wait_until(
    running: &[Running],
    captures: &mut [Capture],
    until: Instant,
    interrupt: Option<&Interrupt>,
) -> End {
    let mut pause = Duration::from_millis(1);
    let mut lingers: Option<Instant> = None;
    loop {
        let ended: Vec<bool> = running.iter().map(Running::has_ended).collect();
        let open: Vec<&Running> = running.iter().zip(&ended).filter(|(_, e)| !**e).map(|(r, _)| r).collect();
        // After the look at the processes: what one wrote before its end is in the pipe by then.
        captures.iter_mut().for_each(|capture| capture.drain(&ended));
        if open.is_empty() && captures.iter().all(|c| c.pipe.is_none()) {
            return End::Ended;
        }
        // What is left has nobody who reads it: not for ever.
        if ended.last().is_none_or(|last| *last)
            && (open.is_empty() || captures.iter().any(|c| c.reader.is_some()))
        {
            let until = *lingers.get_or_insert_with(|| Instant::now() + LINGER);
            if Instant::now() >= until {
                if open.is_empty() {
                    return End::Ended;
                }
                for capture in captures.iter_mut().filter(|c| c.reader.is_some() && c.pipe.is_some()) {
                    (capture.pipe, capture.given_up) = (None, true);
                }
            }
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
        let wakes = fds.len() == open.len() && !open.is_empty();
        fds.extend(captures.iter().filter_map(|c| c.readable(&ended)).map(|p| PollFd::new(p, PollFlags::IN)));
        fds.extend(interrupt.map(Interrupt::poll_fd));
        let timeout = if wakes && lingers.is_none() { left } else { left.min(pause) };
        pause = (pause * 2).min(PAUSE);
        poll_for(&mut fds, timeout);
    }
}

pub(super) fn poll_for(fds: &mut [PollFd<'_>], timeout: Duration) {
    let timeout = timeout.try_into().ok();
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
        let until = Deadline::after(patience.grace).at;
        while Instant::now() < until && !in_a_hurry() {
            let slice = (Instant::now() + PAUSE).min(until);
            if wait_until(running, &mut [], slice, None) == End::Ended {
                break;
            }
        }
    }
    for process in running {
        process.signal_group(Signal::KILL);
    }
    wait_until(running, &mut [], Instant::now() + BURY, None);
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
