//! Runs tests side by side and hands each outcome on as it comes.

use super::config::Test;
use super::execute::{Context, execute};
use super::outcome::Outcome;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// How a run is carried out.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Tests at a time.
    pub workers: usize,
    /// Ends after so many failures.
    pub max_failures: Option<usize>,
    /// Ends after this long.
    pub max_time: Option<Duration>,
    /// Size of each parallelism group.
    pub groups: BTreeMap<String, usize>,
}

/// Why a run ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It did not.
    Done,
    /// By the user.
    Interrupted,
    /// There were too many failures.
    MaxFailures,
    /// It took too long.
    MaxTime,
}

/// At most so many of a group at a time.
struct Group {
    free: Mutex<usize>,
    freed: Condvar,
}

/// Runs the tests. `finished` is told each outcome, with the number of the test and when it began.
pub fn run(
    tests: &[&Test],
    context: &Context,
    options: &Options,
    mut finished: impl FnMut(usize, Outcome, Instant),
) -> Ended {
    let next = AtomicUsize::new(0);
    let groups: BTreeMap<&str, Group> = options
        .groups
        .iter()
        .map(|(name, size)| {
            let group = Group { free: Mutex::new((*size).max(1)), freed: Condvar::new() };
            (name.as_str(), group)
        })
        .collect();
    let until = options.max_time.map(|t| Instant::now() + t);
    let mut ended = Ended::Done;
    std::thread::scope(|scope| {
        let (sender, outcomes) = mpsc::channel();
        for _ in 0..options.workers.clamp(1, tests.len().max(1)) {
            let (sender, next, groups) = (sender.clone(), &next, &groups);
            scope.spawn(move || {
                while let Some(index) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < tests.len())
                {
                    let group = tests[index].config.frozen.parallelism_group.as_deref();
                    let group = group.and_then(|g| groups.get(g));
                    let started = Instant::now();
                    let outcome = held(group, || execute(tests[index], index, context));
                    // What was interrupted has no outcome, and neither has what comes behind it.
                    let Some(outcome) = outcome else { break };
                    if sender.send((index, outcome, started)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut failures = 0;
        loop {
            let left = until.map(|u| u.saturating_duration_since(Instant::now()));
            let received = match left {
                Some(left) => outcomes.recv_timeout(left),
                None => outcomes.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            };
            match received {
                Ok((index, outcome, started)) => {
                    failures += usize::from(outcome.code.is_failure());
                    finished(index, outcome, started);
                    if options.max_failures == Some(failures) {
                        ended = Ended::MaxFailures;
                        break;
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    ended = Ended::MaxTime;
                    break;
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    if context.interrupt.is_raised() {
                        ended = Ended::Interrupted;
                    }
                    break;
                }
            }
        }
        if ended != Ended::Done {
            next.store(tests.len(), Ordering::Relaxed);
            context.interrupt.raise();
        }
    });
    ended
}

fn held<T>(group: Option<&Group>, work: impl FnOnce() -> T) -> T {
    let Some(group) = group else { return work() };
    let mut free = group.free.lock().unwrap_or_else(PoisonError::into_inner);
    while *free == 0 {
        free = group.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
    }
    *free -= 1;
    drop(free);
    let done = work();
    *group.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    group.freed.notify_one();
    done
}
