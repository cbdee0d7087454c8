//! Ctrl-C and its like. Every signal leaves one byte in a pipe that nothing reads: how many there are is the
//! level, and every wait that polls the pipe wakes at once.

use rustix::event::{PollFd, PollFlags};
use std::io::{self, PipeReader, PipeWriter, Write};
use std::sync::Arc;

/// Whether the run was interrupted. Clones share the state.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<Ends>);

#[derive(Debug)]
struct Ends {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Interrupt {
    /// One that only [`Self::raise`] raises.
    ///
    /// # Errors
    /// When no pipe can be made.
    pub fn manual() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        // A handler must never block, and a full pipe is level enough.
        rustix::io::ioctl_fionbio(&writer, true)?;
        Ok(Self(Arc::new(Ends { reader, writer })))
    }

    /// One that SIGINT, SIGTERM and SIGHUP raise as well. They no longer end the process.
    ///
    /// # Errors
    /// When no pipe can be made or a handler cannot be set.
    pub fn on_signals() -> io::Result<Self> {
        let interrupt = Self::manual()?;
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::low_level::pipe::register(signal, interrupt.0.writer.try_clone()?)?;
        }
        Ok(interrupt)
    }

    /// Interrupts; a second time ends without grace.
    pub fn raise(&self) {
        // The only failure is a full pipe, which says the same.
        let _ = (&self.0.writer).write(b"!");
    }

    /// How often it was raised.
    pub fn level(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.0.reader).unwrap_or(0)
    }

    /// Whether it was raised.
    pub fn is_raised(&self) -> bool {
        self.level() > 0
    }

    /// For polling: readable as soon as it is raised.
    pub(super) fn poll_fd(&self) -> PollFd<'_> {
        PollFd::new(&self.0.reader, PollFlags::IN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_add_up_and_clones_share_them() {
        let a = Interrupt::manual().unwrap();
        let b = a.clone();
        assert!(!b.is_raised());
        a.raise();
        a.raise();
        assert_eq!(b.level(), 2);
    }

    #[test]
    fn a_signal_raises_it() {
        let interrupt = Interrupt::on_signals().unwrap();
        signal_hook::low_level::raise(signal_hook::consts::SIGHUP).unwrap();
        assert!(interrupt.is_raised());
    }
}
