//! A witness inside the harness: a thread that looks at devices while a command runs.

use super::session::{Session, Shared};
use super::stream::Read as LineRead;
use runproof_records::wire::{Line, Message, Role};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Connection number of such a witness, beyond those of processes and declared probes.
const CONN: u32 = u32::MAX;

/// Where a witness puts its lines.
pub struct Recorder {
    shared: Arc<Shared>,
    probe: String,
    next: u64,
}

impl Recorder {
    /// A recorder for the witness `probe` of this command.
    pub fn new(session: &Session, probe: &str) -> Self {
        Self { shared: session.shared(), probe: probe.to_owned(), next: 0 }
    }

    /// Keeps a line.
    pub fn say(&mut self, msg: Message) {
        let line = Line { seq: self.next, pid: 0, msg };
        self.next += 1;
        self.shared.keep(&self.probe, Role::Outer, CONN, 0, LineRead::Line(Box::new(line)));
    }
}

/// A witness that looks. Dropping it stops it and forgets how it ended.
pub struct Watch {
    stop: Sender<()>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

impl Watch {
    /// Starts `body`, which looks until its receiver has a message or no sender.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(
        body: impl FnOnce(&Receiver<()>) -> Result<(), String> + Send + 'static,
    ) -> Result<Self, String> {
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("probe-watch".into()).spawn(move || body(&stopped));
        let thread = thread.map_err(|error| format!("no thread for the witness: {error}"))?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Has it take its last look and waits for it.
    ///
    /// # Errors
    /// Why it is no witness.
    pub fn stop(mut self) -> Result<(), String> {
        let _ = self.stop.send(());
        let ended = self.thread.take().map(JoinHandle::join);
        ended.unwrap_or(Ok(Ok(()))).unwrap_or_else(|_| Err("the witness died".to_owned()))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
