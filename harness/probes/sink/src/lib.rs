//! The probe side of the probe protocol: connect, say hello, number, write, flush, aggregate, say bye.
//!
//! Every injected probe links this crate, whatever interface it watches. It lives inside the program under
//! test, so three rules bind it: it never panics across the boundary, it never blocks the program for longer
//! than a write time-out, and it does nothing at all when the harness is not there. What must not enter:
//! any interface (OpenCL, CUDA, …), any judgement about what was seen.
//!
//! A forked child inherits neither threads nor the right to the parent's connection: the first line it
//! writes opens a connection of its own with its own `hello`.

mod aggregate;
mod connection;
pub mod sys;

use connection::Connection;
use runproof_records::wire::{Kernel, Message};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};
use std::time::Duration;

/// How often the flusher asks the probe to hand over what is finished.
pub const FLUSH_PERIOD: Duration = Duration::from_millis(50);

/// Milliseconds that a second thread of a forked child waits for the first one to connect.
const RECONNECT_WAITS: u32 = 1_000;

/// What a probe says about itself in its `hello`.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Probe id, for example `opencl.layer`.
    pub probe: String,
    /// Version of the probe.
    pub version: String,
    /// Interface observed.
    pub api: String,
    /// Version of that interface.
    pub api_version: String,
    /// Return codes of arming the probe, by name; anything but 0 makes the run inconclusive.
    pub rc: BTreeMap<String, i64>,
}

/// What a probe does when it is asked for its records.
pub struct Hooks {
    /// Hand over everything that is finished; called every [`FLUSH_PERIOD`] from a thread of the sink.
    pub finished: fn(&Sink),
    /// Hand over everything, unfinished work too; called when the harness asks and at the end of the process.
    pub everything: fn(&Sink),
    /// Runs first in a forked child, before its `hello`: forget what belongs to the parent.
    pub forked: fn(&Sink),
}

/// The connection of this process to the harness. One per process, alive until the process ends.
pub struct Sink {
    address: String,
    nonce: String,
    identity: Identity,
    hooks: Hooks,
    current: AtomicPtr<Connection>,
    launches: AtomicU64,
    /// The process whose thread is opening, or has opened, the connection: only one thread may.
    opener: AtomicI32,
}

static SINK: AtomicPtr<Sink> = AtomicPtr::new(std::ptr::null_mut());

impl Sink {
    /// Connects to the harness and says hello. `None` when no harness asked for records, when its socket
    /// is gone or when anything at all goes wrong: the program under test then runs as without a probe.
    /// A second call returns the sink that is there.
    pub fn open(identity: Identity, hooks: Hooks) -> Option<&'static Self> {
        if let Some(sink) = Self::get() {
            return Some(sink);
        }
        catch_unwind(AssertUnwindSafe(|| {
            let address = std::env::var(runproof_records::wire::SINK_VARIABLE).ok()?;
            let nonce = std::env::var(runproof_records::wire::NONCE_VARIABLE).unwrap_or_default();
            let sink: &'static Self = Box::leak(Box::new(Self {
                address,
                nonce,
                identity,
                hooks,
                current: AtomicPtr::new(std::ptr::null_mut()),
                launches: AtomicU64::new(0),
                opener: AtomicI32::new(sys::pid()),
            }));
            sink.connect()?;
            SINK.store(std::ptr::from_ref(sink).cast_mut(), Ordering::Release);
            sys::at_exit(say_bye);
            Some(sink)
        }))
        .ok()
        .flatten()
    }

    /// The sink of this process, once [`Self::open`] succeeded.
    pub fn get() -> Option<&'static Self> {
        sys::leaked(&SINK)
    }

    /// Writes one line now.
    pub fn emit(&self, message: Message) {
        self.guarded(|connection| connection.write(message));
    }

    /// Writes a finished or unfinished kernel, or counts it into the sum of its name and device once
    /// [`runproof_records::wire::KERNEL_LINE_CAP`] of them have been written.
    pub fn kernel(&self, kernel: Kernel) {
        self.guarded(|connection| connection.kernel(kernel));
    }

    /// Counts one launch call of the program.
    pub fn count_launch(&self) {
        self.launches.fetch_add(1, Ordering::Relaxed);
    }

    /// Hands over what is finished, sums included: for the end of a synchronising call of the program.
    pub fn flush_finished(&self) {
        let _ = catch_unwind(AssertUnwindSafe(|| (self.hooks.finished)(self)));
        self.guarded(Connection::write_sums);
    }

    /// Hands over everything that the probe holds.
    pub fn flush_everything(&self) {
        let _ = catch_unwind(AssertUnwindSafe(|| (self.hooks.everything)(self)));
        self.guarded(Connection::write_sums);
    }

    /// Runs `act` on the connection of *this* process, which a forked child opens first.
    fn guarded(&self, act: impl FnOnce(&Connection)) {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if let Some(connection) = self.connection() {
                act(connection);
            }
        }));
    }

    fn connection(&self) -> Option<&'static Connection> {
        let connection = sys::leaked(&self.current)?;
        if connection.pid() == sys::pid() { Some(connection) } else { self.reconnect() }
    }

    fn reconnect(&self) -> Option<&'static Connection> {
        if self.opener.swap(sys::pid(), Ordering::AcqRel) == sys::pid() {
            // Another thread of this child is at it, or it failed; a lock could have been held at the fork.
            for _ in 0..RECONNECT_WAITS {
                std::thread::sleep(Duration::from_millis(1));
                let current = sys::leaked(&self.current).filter(|c| c.pid() == sys::pid());
                if current.is_some() {
                    return current;
                }
            }
            return None;
        }
        (self.hooks.forked)(self);
        self.launches.store(0, Ordering::Relaxed);
        let own = Self::get()?;
        own.connect()
    }

    fn connect(&'static self) -> Option<&'static Connection> {
        let connection = Connection::open(&self.address)?;
        let connection: &'static Connection = Box::leak(Box::new(connection));
        self.current.store(std::ptr::from_ref(connection).cast_mut(), Ordering::Release);
        connection.write(Message::Hello(sys::hello(&self.identity, &self.nonce)));
        connection.wait_until_seen();
        let reader = move || connection.answer_requests(|| self.flush_everything());
        let flusher = move || {
            while connection.is_open() {
                std::thread::sleep(FLUSH_PERIOD);
                self.flush_finished();
            }
        };
        sys::quiet_thread("runproof-reader", reader);
        sys::quiet_thread("runproof-flusher", flusher);
        Some(connection)
    }

    fn bye(&self) {
        // A forked child that never worked has no connection of its own: it must not speak for its parent.
        if sys::leaked(&self.current).is_none_or(|connection| connection.pid() != sys::pid()) {
            return;
        }
        self.flush_everything();
        let launches = self.launches.load(Ordering::Relaxed);
        self.guarded(|connection| connection.bye(launches));
    }
}

extern "C" fn say_bye() {
    if let Some(sink) = Sink::get() {
        let _ = catch_unwind(AssertUnwindSafe(|| sink.bye()));
    }
}
