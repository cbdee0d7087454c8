//! One connection of one process: numbered lines out, request bytes in.

use crate::aggregate::Sums;
use crate::sys;
use runproof_records::wire::{FLUSH, Kernel, Line, Message, SEEN};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A write that the harness does not take for this long closes the connection: the program goes on.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long `hello` waits for the harness to look at this process.
const SEEN_TIMEOUT: Duration = Duration::from_secs(5);

pub struct Connection {
    pid: i32,
    stream: UnixStream,
    open: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    kernels: u64,
    dropped: u64,
    said_bye: bool,
    sums: Sums,
}

impl Connection {
    pub fn open(address: &str) -> Option<Self> {
        let path = address.strip_prefix("unix:")?;
        let stream = UnixStream::connect(path).ok()?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT)).ok()?;
        Some(Self { pid: sys::pid(), stream, open: AtomicBool::new(true), state: Mutex::default() })
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    pub fn write(&self, message: Message) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.put(&mut state, message);
    }

    pub fn kernel(&self, kernel: Kernel) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if kernel.end != 0 {
            state.kernels += 1;
        }
        if let Some(message) = state.sums.take(kernel) {
            self.put(&mut state, message);
        }
    }

    pub fn write_sums(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for message in state.sums.drain() {
            self.put(&mut state, message);
        }
    }

    pub fn bye(&self, launches: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut state.said_bye, true) {
            return;
        }
        let (t, kernels, records, dropped) = (sys::realtime(), state.kernels, state.next, state.dropped);
        self.put(&mut state, Message::Bye { t, launches, kernels, records, dropped });
    }

    /// Waits until the harness has read this process's facts from outside, so that a program which ends
    /// at once is not gone before anybody looked.
    pub fn wait_until_seen(&self) {
        let _ = self.stream.set_read_timeout(Some(SEEN_TIMEOUT));
        let mut byte = [0_u8];
        // The harness says SEEN before it asks for anything, so nothing else can be read here.
        let seen = (&self.stream).read(&mut byte).is_ok_and(|n| n == 1) && byte[0] == SEEN;
        let _ = self.stream.set_read_timeout(None);
        if !seen {
            self.write(Message::Error { what: "the harness did not acknowledge the connection".into() });
        }
    }

    /// Answers each [`FLUSH`] with everything and a `forced` line; returns when the harness hangs up.
    pub fn answer_requests(&self, everything: impl Fn()) {
        let mut byte = [0_u8];
        while let Ok(1) = (&self.stream).read(&mut byte) {
            if byte[0] != FLUSH {
                continue;
            }
            let before = self.lines();
            everything();
            let records = self.lines() - before;
            self.write(Message::Forced { t: sys::realtime(), records });
        }
        self.open.store(false, Ordering::Relaxed);
    }

    fn lines(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).next
    }

    fn put(&self, state: &mut State, msg: Message) {
        if !self.is_open() {
            state.dropped += 1;
            return;
        }
        let Ok(mut text) = serde_json::to_vec(&Line { seq: state.next, pid: self.pid, msg }) else {
            state.dropped += 1;
            return;
        };
        text.push(b'\n');
        // The standard library writes to sockets with MSG_NOSIGNAL, so a harness that is gone raises no
        // SIGPIPE. A half-written line cannot be mended: the stream ends there.
        if (&self.stream).write_all(&text).is_err() {
            self.open.store(false, Ordering::Relaxed);
            state.dropped += 1;
            return;
        }
        state.next += 1;
    }
}
