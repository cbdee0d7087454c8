//! Commands that were enqueued and not yet reported.
//!
//! Three things report a finished command: the event's own completion callback, the end of a synchronising
//! call, and the flusher. No OpenCL function is called with the list locked: a driver may hold its own lock
//! while it calls back.

use crate::devices;
use crate::sys::{self, Code, Handle, at};
use runproof_probe_sink::Sink;
use runproof_probe_sink::sys::realtime;
use runproof_records::wire::{Direction, Kernel, Message};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a command does.
pub enum Work {
    Kernel { name: String, grid: Vec<u64>, block: Vec<u64> },
    Copy { dir: Direction, bytes: u64 },
    Fill { bytes: u64 },
}

struct Pending {
    id: u64,
    event: usize,
    dev: u32,
    queue: u64,
    enqueued: u64,
    work: Work,
}

static LIST: Mutex<Vec<Pending>> = Mutex::new(Vec::new());
/// Held by the thread that is reporting.
static TURN: Mutex<()> = Mutex::new(());
static NEXT: AtomicU64 = AtomicU64::new(1);

/// How long the end of the process waits for commands that are still running.
const LAST_WAIT: Duration = Duration::from_millis(100);

/// Forgets the parent's commands in a forked child.
pub fn forget() {
    if let Ok(mut list) = LIST.try_lock() {
        list.clear();
    }
}

/// References that the probe itself holds on `event`.
pub fn own_references(event: Handle) -> u32 {
    let list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
    u32::try_from(list.iter().filter(|p| p.event == event.expose_provenance()).count()).unwrap_or(0)
}

/// Takes over one reference to `event` and reports the command when it is complete.
///
/// # Safety
/// `event` and `queue` are live and belong to a command that was enqueued successfully.
pub unsafe fn add(sink: &Sink, queue: Handle, event: Handle, enqueued: u64, work: Work) {
    // SAFETY: the queue is live (caller); a device id is a pointer.
    let device: Option<usize> = unsafe { sys::info(at::GET_COMMAND_QUEUE_INFO, queue, sys::QUEUE_DEVICE) };
    let Some(device) = device else {
        sink.emit(Message::Error { what: "a queue did not name its device".into() });
        return;
    };
    let dev = devices::index(sink, std::ptr::with_exposed_provenance_mut(device));
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let queue = queue.addr() as u64;
    LIST.lock().unwrap_or_else(PoisonError::into_inner).push(Pending {
        id,
        event: event.expose_provenance(),
        dev,
        queue,
        enqueued,
        work,
    });
    // Without a callback the command is still found by the next flush.
    // SAFETY: the position has this type; the event is live.
    unsafe {
        if let Some(set) = sys::below::<sys::SetEventCallback>(at::SET_EVENT_CALLBACK) {
            set(event, sys::COMPLETE, completed, std::ptr::null_mut());
        }
    }
}

unsafe extern "C" fn completed(_event: Handle, _status: Code, _data: *mut c_void) {
    let _ = std::panic::catch_unwind(|| {
        // Whoever holds the turn already may be waiting for a lock that this driver thread holds.
        if let (Some(sink), Ok(turn)) = (Sink::get(), TURN.try_lock()) {
            report_in_turn(sink, &turn);
        }
    });
}

/// Reports every command that is complete. When this returns, nothing that was complete before is still
/// on its way through another thread.
pub fn report_finished(sink: &Sink) {
    report_in_turn(sink, &TURN.lock().unwrap_or_else(PoisonError::into_inner));
}

fn report_in_turn(sink: &Sink, _turn: &MutexGuard<'_, ()>) {
    let taken = std::mem::take(&mut *LIST.lock().unwrap_or_else(PoisonError::into_inner));
    let (done, open): (Vec<_>, Vec<_>) = taken.into_iter().partition(|p| status(p) <= sys::COMPLETE);
    LIST.lock().unwrap_or_else(PoisonError::into_inner).extend(open);
    for pending in done {
        report(sink, &pending);
    }
}

/// Reports everything: what is still running is given a moment and then reported with end 0.
pub fn report_everything(sink: &Sink, ending: bool) {
    report_finished(sink);
    if ending {
        let waits = LAST_WAIT.as_millis() / 5;
        for _ in 0..waits {
            if LIST.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
            report_finished(sink);
        }
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = std::mem::take(&mut *LIST.lock().unwrap_or_else(PoisonError::into_inner));
    for pending in &open {
        // Reported now as unfinished and kept: it is reported once more if it ends after all.
        if let Work::Kernel { .. } = &pending.work
            && let Some(start) = stamp(pending, sys::PROFILING_COMMAND_START)
            && let Some(start) = devices::realtime(pending.dev, start)
        {
            sink.emit(kernel_line(pending, start, 0));
        }
    }
    LIST.lock().unwrap_or_else(PoisonError::into_inner).extend(open);
}

fn handle(pending: &Pending) -> Handle {
    std::ptr::with_exposed_provenance_mut(pending.event)
}

fn status(pending: &Pending) -> Code {
    // SAFETY: the list owns a reference to the event.
    unsafe { sys::info(at::GET_EVENT_INFO, handle(pending), sys::EVENT_COMMAND_EXECUTION_STATUS) }
        .unwrap_or(-1)
}

fn stamp(pending: &Pending, which: sys::Uint) -> Option<u64> {
    // SAFETY: as above; the value is a `cl_ulong`.
    unsafe { sys::info(at::GET_EVENT_PROFILING_INFO, handle(pending), which) }
}

fn kernel_line(pending: &Pending, start: u64, end: u64) -> Message {
    match &pending.work {
        Work::Kernel { name, grid, block } => Message::Kernel(Kernel {
            name: name.clone(),
            dev: pending.dev,
            stream: pending.queue,
            start,
            end,
            grid: grid.clone(),
            block: block.clone(),
            corr: pending.id,
        }),
        Work::Copy { dir, bytes } => {
            Message::Memcpy { dir: *dir, bytes: *bytes, start, end, dev: pending.dev }
        }
        Work::Fill { bytes } => Message::Memset { dev: pending.dev, bytes: *bytes, start, end },
    }
}

fn report(sink: &Sink, pending: &Pending) {
    if let Some(queued) = stamp(pending, sys::PROFILING_COMMAND_QUEUED).filter(|t| *t != 0) {
        devices::calibrate(pending.dev, queued, pending.enqueued);
    }
    let time = |which| stamp(pending, which).and_then(|t| devices::realtime(pending.dev, t));
    let start = time(sys::PROFILING_COMMAND_START);
    let end = time(sys::PROFILING_COMMAND_END);
    let failed = status(pending) < sys::COMPLETE;
    match (start, end) {
        (Some(start), Some(end)) if !failed => match kernel_line(pending, start, end) {
            Message::Kernel(kernel) => sink.kernel(kernel),
            other => sink.emit(other),
        },
        (Some(start), _) => sink.emit(kernel_line(pending, start, 0)),
        // A command that failed before it started did nothing that could be claimed.
        (None, _) if failed => {}
        (None, _) => sink.emit(Message::Error {
            what: format!("no profiling times for command {} at {}", pending.id, realtime()),
        }),
    }
    // SAFETY: the list owned this reference and gives it up here; the position has this type.
    unsafe {
        if let Some(release) = sys::below::<sys::One>(at::RELEASE_EVENT) {
            release(handle(pending));
        }
    }
}
