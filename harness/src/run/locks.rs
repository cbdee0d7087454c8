//! Locks by name: a device that is being proved is used by one test at a time, `SERIAL` tests run one at a
//! time. A lock holds between threads of this process and, through a locked file, between processes; the
//! kernel releases it when its holder dies.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// All locks of a process.
#[derive(Debug)]
pub struct Locks {
    folder: PathBuf,
    held: Mutex<BTreeSet<String>>,
    freed: Condvar,
}

/// Held locks; dropping it frees them.
#[derive(Debug)]
pub struct Held<'a> {
    locks: &'a Locks,
    names: Vec<String>,
    /// Locked files; closing one frees its lock.
    _files: Vec<File>,
}

impl Locks {
    /// Locks whose files lie in `folder`, which is made when the first lock is taken.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, held: Mutex::default(), freed: Condvar::new() }
    }

    /// Locks for devices: one folder for all users and projects of this machine.
    pub fn machine_wide() -> Self {
        Self::new(tempfile::env::temp_dir().join("runproof-locks"))
    }

    /// Takes all of the names or waits. Names are taken in one order everywhere, so two holders never wait for
    /// each other.
    ///
    /// # Errors
    /// A lock file cannot be made or locked: without it another process could use the device meanwhile.
    pub fn hold(&self, names: &[String]) -> io::Result<Held<'_>> {
        let names: Vec<String> = names.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let mut held = self.guard();
        while names.iter().any(|n| held.contains(n)) {
            held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        held.extend(names.iter().cloned());
        drop(held);
        let mut taken = Held { locks: self, names, _files: Vec::new() };
        for name in &taken.names {
            taken._files.push(self.lock_file(name)?);
        }
        Ok(taken)
    }

    fn lock_file(&self, name: &str) -> io::Result<File> {
        std::fs::create_dir_all(&self.folder)?;
        let safe: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
        let path = self.folder.join(format!("{safe}.lock"));
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(|e| {
            io::Error::new(e.kind(), format!("lock file `{}` cannot be opened: {e}", path.display()))
        })?;
        file.lock()?;
        Ok(file)
    }

    fn guard(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut held = self.locks.guard();
        for name in &self.names {
            held.remove(name);
        }
        drop(held);
        self.locks.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn one_holder_at_a_time_in_any_order_of_names() {
        let dir = tempfile::tempdir().unwrap();
        let locks = Locks::new(dir.path().join("locks"));
        let inside = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for i in 0..8 {
                let (locks, inside) = (&locks, &inside);
                scope.spawn(move || {
                    let mut names = vec!["GPU-1".to_owned(), "GPU-2".to_owned()];
                    if i % 2 == 0 {
                        names.reverse();
                    }
                    let _held = locks.hold(&names).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
    }

    #[test]
    fn another_process_sees_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let locks = Locks::new(dir.path().to_path_buf());
        let held = locks.hold(&["a/b".to_owned()]).unwrap();
        // The same file opened anew is what another process would do.
        let other = File::options().write(true).open(dir.path().join("a_b.lock")).unwrap();
        assert!(other.try_lock().is_err());
        drop(held);
        assert!(other.try_lock().is_ok());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(Locks::new(file).hold(&["x".to_owned()]).is_err());
    }
}
