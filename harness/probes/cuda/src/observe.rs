//! From the driver's call to the last line: arming CUPTI, saying hello, handing records over in time and in an
//! order in which each names what was introduced before.

use crate::layout::{Record, kind};
use crate::record::{Around, line};
use crate::{library, sys};
use runproof_probe_sink::sys::{monotonic, realtime};
use runproof_probe_sink::{Hooks, Identity, Sink};
use runproof_records::wire::{Message, SINK_VARIABLE};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Nanoseconds between two flushes in calls of the program that wait for the device.
const WAIT_FLUSH_PERIOD: u64 = 2_000_000;
/// CUPTI's number for CUDA 12.0: older records have other layouts.
const OLDEST: u32 = 18;

/// Arms CUPTI and connects to the harness, when there is one.
pub fn start() {
    if std::env::var_os(SINK_VARIABLE).is_none_or(|sink| sink.is_empty()) || Sink::get().is_some() {
        return;
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let _ = DRIVER.set(library::driver_file_version(&maps));
    let armed = arm();
    let (version, rc) = armed.as_ref().map_or((0, BTreeMap::new()), |(version, rc)| (*version, rc.clone()));
    let identity = Identity {
        probe: "cuda.cupti".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api: "CUPTI".to_owned(),
        api_version: if version == 0 { "none".to_owned() } else { version.to_string() },
        rc,
    };
    let hooks = Hooks {
        finished: |_| flush(false),
        everything: |_| {
            flush(true);
            deliver(Vec::new(), true);
        },
        forked: |_| {
            // CUDA does not survive a fork; what is here belongs to the parent. Its lock may have been held.
            if let Ok(mut state) = STATE.try_lock() {
                *state = State::default();
            }
        },
    };
    if let Some(sink) = Sink::open(identity, hooks)
        && let Err(what) = armed
    {
        sink.emit(Message::Error { what });
    }
}

/// The version and the return codes of everything that must return 0.
fn arm() -> Result<(u32, BTreeMap<String, i64>), String> {
    let api = sys::Api::load(
        library::open(sys::driver_version())?,
        sys::Handlers {
            records,
            lost: |n| say(Message::Error { what: format!("CUPTI lost {n} records") }),
            launch: || {
                if let Some(sink) = Sink::get() {
                    sink.count_launch();
                }
            },
            waited,
            context: |dev| deliver(vec![Message::Context { dev, t: realtime() }], false),
        },
    )?;
    let version = api.version();
    if version < OLDEST {
        return Err(format!("CUPTI is of version {version}; records are known from {OLDEST} (CUDA 12.0) on"));
    }
    // Without a subscription another client could take the buffers over and nobody would notice.
    let (subscribed, launches) = api.subscribe();
    let mut rc = BTreeMap::from([
        ("subscribe".to_owned(), subscribed),
        ("callbacks".to_owned(), launches),
        ("register".to_owned(), api.register()),
    ]);
    for kind in kind::ALL {
        rc.insert(format!("enable.{kind}"), api.enable(kind));
    }
    Ok((version, rc))
}

static DRIVER: OnceLock<String> = OnceLock::new();

#[derive(Default)]
struct State {
    devices: BTreeSet<u32>,
    contexts: BTreeSet<u32>,
    /// Contexts of devices that were not introduced yet.
    early: Vec<(u32, u64)>,
    /// Lines that name a device or context which was not introduced yet.
    waiting: Vec<Message>,
}

static STATE: Mutex<State> = Mutex::new(State {
    devices: BTreeSet::new(),
    contexts: BTreeSet::new(),
    early: Vec::new(),
    waiting: Vec::new(),
});

fn flush(unfinished: bool) {
    if let Some(api) = sys::api() {
        api.flush(unfinished);
    }
}

/// A crash right after this call must not lose what it waited for.
fn waited() {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let (now, last) = (monotonic(), LAST.load(Ordering::Relaxed));
    if now.saturating_sub(last) >= WAIT_FLUSH_PERIOD
        && LAST.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        && let Some(sink) = Sink::get()
    {
        sink.flush_finished();
    }
}

fn records(of_buffer: &mut dyn Iterator<Item = (u32, Record<'static>)>) {
    let driver = DRIVER.get().map_or("", String::as_str);
    let around = Around { text: &sys::text, driver, now: realtime() };
    deliver(of_buffer.filter_map(|(of, record)| line(of, &record, &around)).collect(), false);
}

fn say(message: Message) {
    if let Some(sink) = Sink::get() {
        sink.emit(message);
    }
}

/// Writes lines so that devices come before their contexts and both before what names them. `at_last` writes also
/// what still waits, for the harness to judge.
fn deliver(lines: Vec<Message>, at_last: bool) {
    // One at a time, so that lines of two buffers do not overtake each other's introductions.
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    state.waiting.extend(lines);
    if Sink::get().is_some() {
        for line in state.in_order(at_last) {
            match line {
                Message::Kernel(kernel) => {
                    if let Some(sink) = Sink::get() {
                        sink.kernel(kernel);
                    }
                }
                other => say(other),
            }
        }
    }
}

impl State {
    /// The lines that may be written now.
    fn in_order(&mut self, at_last: bool) -> Vec<Message> {
        let mut ready = Vec::new();
        let mut rest = Vec::new();
        for line in std::mem::take(&mut self.waiting) {
            match line {
                Message::Device(device) => {
                    if self.devices.insert(device.dev) {
                        ready.push(Message::Device(device));
                    }
                }
                Message::Context { dev, t } => {
                    // The callback and the record of one context are the same news.
                    if self.contexts.insert(dev) {
                        self.early.push((dev, t));
                    }
                }
                other => rest.push(other),
            }
        }
        for (dev, t) in std::mem::take(&mut self.early) {
            if at_last || self.devices.contains(&dev) {
                ready.push(Message::Context { dev, t });
            } else {
                self.early.push((dev, t));
            }
        }
        for line in rest {
            if at_last || self.knows(&line) {
                ready.push(line);
            } else {
                self.waiting.push(line);
            }
        }
        ready
    }

    fn knows(&self, line: &Message) -> bool {
        let known = |dev: &u32| self.devices.contains(dev) && self.contexts.contains(dev);
        match line {
            Message::Kernel(kernel) => known(&kernel.dev),
            Message::Memcpy { dev, .. } | Message::Memset { dev, .. } | Message::Alloc { dev, .. } => {
                known(dev)
            }
            Message::PeerCopy { src, dst, .. } => known(src) && known(dst),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runproof_records::wire::{Device, DeviceClass};

    fn device(dev: u32) -> Message {
        Message::Device(Device {
            dev,
            uuid: None,
            name: String::new(),
            vendor: String::new(),
            class: DeviceClass::Gpu,
            capability: None,
            units: 1,
            memory: 1,
            pci: None,
            platform: None,
            driver: String::new(),
            visible: true,
            mig: None,
            facts: BTreeMap::new(),
        })
    }

    fn fill(dev: u32) -> Message {
        Message::Memset { dev, bytes: 1, start: 1, end: 2 }
    }

    fn context(dev: u32) -> Message {
        Message::Context { dev, t: 0 }
    }

    #[track_caller]
    fn check(given: &[Vec<Message>], at_last: bool, expect: &[Message]) {
        let mut state = State::default();
        let mut written = Vec::new();
        for lines in given {
            state.waiting.extend(lines.iter().cloned());
            written.extend(state.in_order(false));
        }
        if at_last {
            written.extend(state.in_order(true));
        }
        assert_eq!(written, expect);
    }

    #[test]
    fn whatever_the_order_introductions_come_first() {
        let order = [device(0), context(0), fill(0)];
        check(&[vec![fill(0), context(0), device(0)]], false, &order);
        check(&[vec![context(0)], vec![fill(0)], vec![device(0)]], false, &order);
        check(&[vec![device(0), device(0), context(0)], vec![context(0), fill(0)]], false, &order);
    }

    #[test]
    fn what_was_never_introduced_is_written_at_last() {
        check(&[vec![device(0), context(0), fill(1)]], false, &[device(0), context(0)]);
        check(&[vec![device(0), fill(1)]], true, &[device(0), fill(1)]);
        check(&[vec![context(1)]], true, &[context(1)]);
    }
}
