//! Around one enqueued command: make sure there is an event, keep a reference to it, report in time.

use crate::pending::{self, Work};
use crate::sys::{self, Code, Handle, at};
use crate::{devices, layer};
use runproof_probe_sink::sys::realtime;
use runproof_probe_sink::{Hooks, Identity, Sink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Connects to the harness; `None` when there is none.
pub fn start(identity: &Identity) -> Option<&'static Sink> {
    Sink::open(
        identity.clone(),
        Hooks {
            finished: pending::report_finished,
            everything: |sink| pending::report_everything(sink, false),
            forked: |_| {
                devices::forget();
                pending::forget();
            },
        },
    )
}

/// Counts a launch call.
pub fn launched() {
    if let Some(sink) = Sink::get() {
        sink.count_launch();
    }
}

/// A synchronising call of the program ended: what is finished leaves before its next instruction.
pub fn synchronised() {
    if let Some(sink) = Sink::get() {
        sink.flush_finished();
    }
}

/// Registers the last flush. Exit handlers run in reverse order, so one that is registered once the driver
/// is loaded and in use runs before the driver takes itself down.
pub fn flush_before_driver_exit() {
    extern "C" fn flush() {
        if let Some(sink) = Sink::get() {
            let _ = catch_unwind(|| pending::report_everything(sink, true));
        }
    }
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| runproof_probe_sink::sys::at_exit(flush));
}

/// Makes the call of the layer below with an event, and follows that event.
///
/// The program's own event stays the program's: the probe takes one reference more for itself. Where the
/// program wants no event, the probe keeps the only reference.
pub fn command(
    queue: Handle,
    user_event: *mut Handle,
    blocking: bool,
    work: impl FnOnce() -> Work,
    call: impl FnOnce(*mut Handle) -> Code,
) -> Code {
    let mut own: Handle = std::ptr::null_mut();
    let slot = if user_event.is_null() { &raw mut own } else { user_event };
    let enqueued = realtime();
    let code = call(slot);
    if code != sys::SUCCESS {
        return code;
    }
    // A panic of the probe is the probe's loss, never the program's.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let Some(sink) = Sink::get() else { return };
        // SAFETY: the call succeeded, so the slot holds a live event.
        let event = unsafe { *slot };
        if !user_event.is_null() && layer::below!(RETAIN_EVENT as One, event) != sys::SUCCESS {
            return;
        }
        // SAFETY: queue and event belong to the command that was just enqueued, and one reference is ours.
        unsafe { pending::add(sink, queue, event, enqueued, work()) };
        if blocking {
            sink.flush_finished();
        }
    }));
    code
}
