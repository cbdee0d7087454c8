//! What must happen between fork and exec. The only unsafe code of this room.

use super::limits::Limits;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What a child says whose limit is refused.
const REFUSED: &[u8] = b"ulimit: the system refuses this limit\n";

/// Prepares a child: its own group, its limits, and, when it is tied and the system can do that, its end together with the
/// thread that starts it: a harness that is killed has no chance to clean up.
pub(super) fn prepare(command: &mut Command, limits: &Limits, tied: bool) {
    command.process_group(0);
    let resources = limits.resources();
    let (umask, exact) = (limits.umask, limits.exact);
    let tied = tied && cfg!(target_os = "linux");
    if !tied && resources.is_empty() && umask.is_none() {
        return;
    }
    let parent = rustix::process::getpid();
    let before_exec = move || {
        for (resource, limit) in &resources {
            match rustix::process::setrlimit(*resource, *limit) {
                // SAFETY: it writes bytes that are there for ever, and ends the process.
                Err(_) if exact => unsafe {
                    libc::write(2, REFUSED.as_ptr().cast(), REFUSED.len());
                    libc::_exit(1)
                },
                other => other?,
            }
        }
        if let Some(mask) = umask {
            rustix::process::umask(rustix::fs::Mode::from_raw_mode(mask as rustix::fs::RawMode));
        }
        #[cfg(target_os = "linux")]
        if tied {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // The parent may have died before that call: then no signal comes.
            if rustix::process::getppid() != Some(parent) {
                return Err(rustix::io::Errno::SRCH.into());
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = parent;
        Ok(())
    };
    // SAFETY: the closure makes system calls only; it allocates nothing and takes no lock (the error values
    // are built from numbers), so it is sound in the child of a process with threads.
    unsafe { command.pre_exec(before_exec) };
}
