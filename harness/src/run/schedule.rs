//! In which order tests run, and on how many threads. The slowest of the last run first, so that the end of a
//! run is not one long test; times are a hint and nothing else.

use super::locks::Locks;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Times of the last runs, milliseconds by test id.
#[derive(Debug, Default)]
pub struct Times {
    path: PathBuf,
    known: BTreeMap<String, u64>,
    new: Mutex<BTreeMap<String, u64>>,
}

impl Times {
    /// Reads the times that an earlier run left in `folder`. A file that is missing or no longer readable only
    /// costs the order.
    pub fn open(folder: &Path) -> Self {
        let path = folder.join("times.json");
        let known =
            std::fs::read(&path).ok().and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default();
        Self { path, known, new: Mutex::default() }
    }

    /// Notes how long a test took.
    pub fn note(&self, id: &str, ms: u64) {
        if let Ok(mut new) = self.new.lock() {
            new.insert(id.to_owned(), ms);
        }
    }

    /// Writes what is known now; a failure costs the next run's order, so it is not an error.
    pub fn save(&self) {
        let mut all = self.known.clone();
        if let Ok(new) = self.new.lock() {
            all.extend(new.iter().map(|(k, v)| (k.clone(), *v)));
        }
        if let Ok(text) = serde_json::to_vec(&all) {
            let _ = std::fs::write(&self.path, text);
        }
    }

    /// Positions of `ids` in the order to run them: slowest first; unknown ones first of all, since they may be
    /// slow; else as given.
    pub fn order(&self, ids: &[String]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(self.known.get(&ids[*i]).copied().unwrap_or(u64::MAX)));
        order
    }
}

/// Runs `work` for each position on `jobs` threads. A position whose `serial` lock is taken waits in its thread.
/// Stops handing out positions when `stop` is set; returns how many were handed out.
pub fn run(
    order: &[usize],
    jobs: usize,
    locks: &Locks,
    serial: &(dyn Fn(usize) -> Vec<String> + Sync),
    stop: &AtomicBool,
    work: &(dyn Fn(usize, std::io::Result<()>) + Sync),
) -> usize {
    let next = AtomicUsize::new(0);
    let worker = || {
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(position) = order.get(at).copied() else { return };
            let names = serial(position);
            if names.is_empty() {
                work(position, Ok(()));
            } else {
                match locks.hold(&names) {
                    Ok(_held) => work(position, Ok(())),
                    Err(e) => work(position, Err(e)),
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.max(1).min(order.len().max(1)) {
            scope.spawn(worker);
        }
        worker();
    });
    next.load(Ordering::Relaxed).min(order.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_and_unknown_tests_first() {
        let dir = tempfile::tempdir().unwrap();
        let times = Times::open(dir.path());
        times.note("fast", 1);
        times.note("slow", 900);
        times.save();
        let times = Times::open(dir.path());
        let ids: Vec<String> = ["fast", "slow", "new"].map(String::from).into();
        assert_eq!(times.order(&ids), [2, 1, 0]);
    }

    #[test]
    fn a_broken_times_file_costs_only_the_order() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("times.json"), "{").unwrap();
        assert_eq!(Times::open(dir.path()).order(&["a".into(), "b".into()]), [0, 1]);
    }

    #[test]
    fn every_position_runs_once_and_a_stop_is_obeyed() {
        let dir = tempfile::tempdir().unwrap();
        let locks = Locks::new(dir.path().to_path_buf());
        let seen = Mutex::new(Vec::new());
        let stop = AtomicBool::new(false);
        let order: Vec<usize> = (0..50).collect();
        let serial = |i: usize| if i.is_multiple_of(2) { vec!["even".to_owned()] } else { Vec::new() };
        let n = run(&order, 4, &locks, &serial, &stop, &|i, _| seen.lock().unwrap().push(i));
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!((n, seen), (50, order.clone()));
        stop.store(true, Ordering::Relaxed);
        assert_eq!(run(&order, 4, &locks, &serial, &stop, &|_, _| unreachable!("stopped")), 0);
    }
}
