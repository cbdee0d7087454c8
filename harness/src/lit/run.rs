//! Runs tests side by side and hands each outcome on as it comes.

use super::config::Test;
use super::execute::{Context, execute};
use super::outcome::Outcome;
use crate::process::Deadline;
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
    let until = options.max_time.map(|t| Deadline::after(t).at);
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
    let _slot = group.map(Slot::take);
    work()
}

/// A place in a group, given back when it is dropped: also when what held it panics.
struct Slot<'g>(&'g Group);

impl<'g> Slot<'g> {
    fn take(group: &'g Group) -> Self {
        let free = group.free.lock().unwrap_or_else(PoisonError::into_inner);
        let free = group.freed.wait_while(free, |free| *free == 0);
        *free.unwrap_or_else(PoisonError::into_inner) -= 1;
        Self(group)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_gives_its_place_back() {
        let group = Group { free: Mutex::new(1), freed: Condvar::new() };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            held(Some(&group), || panic!("on purpose"))
        }));
        assert!(panicked.is_err());
        assert_eq!(*group.free.lock().unwrap(), 1);
    }
}
