//! The few system facts and unsafe operations that a probe needs.

use crate::Identity;
use runproof_records::PROBE_SCHEMA;
use runproof_records::wire::Hello;
use std::sync::atomic::{AtomicPtr, Ordering};

/// This process.
pub fn pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

/// `CLOCK_REALTIME` now, nanoseconds.
pub fn realtime() -> u64 {
    clock(libc::CLOCK_REALTIME)
}

/// `CLOCK_MONOTONIC` now, nanoseconds.
pub fn monotonic() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

fn clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, writable timespec; the clock id is one that every Unix has.
    if unsafe { libc::clock_gettime(id, &raw mut time) } != 0 {
        return 0;
    }
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Runs `handler` when the process exits regularly; handlers run in the reverse order of registration.
pub fn at_exit(handler: extern "C" fn()) {
    // SAFETY: the handler is a plain function that lives as long as this library is mapped.
    unsafe { libc::atexit(handler) };
}

/// The value behind a pointer that only ever holds null or a leaked box.
pub(crate) fn leaked<T>(cell: &AtomicPtr<T>) -> Option<&'static T> {
    // SAFETY: every store into these cells is a reference from `Box::leak`, never freed and only shared.
    unsafe { cell.load(Ordering::Acquire).as_ref() }
}

/// Starts a thread that receives none of the program's signals.
pub(crate) fn quiet_thread(name: &str, body: impl FnOnce() + Send + 'static) {
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are writable; `sigfillset` initialises `all` before it is read, and
    // `pthread_sigmask` initialises `before` when it returns 0.
    let masked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) == 0
    };
    // A probe without its threads still writes at every synchronising call.
    let _ = std::thread::Builder::new().name(name.into()).spawn(body);
    if masked {
        // SAFETY: `before` was initialised by the successful call above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    }
}

/// The `hello` of this process.
pub(crate) fn hello(identity: &Identity, nonce: &str) -> Hello {
    let link =
        |path: &str| std::fs::read_link(path).map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    // SAFETY: `getppid` takes nothing and cannot fail.
    let ppid = unsafe { libc::getppid() };
    Hello {
        v: PROBE_SCHEMA,
        nonce: nonce.into(),
        probe: identity.probe.clone(),
        version: identity.version.clone(),
        api: identity.api.clone(),
        api_version: identity.api_version.clone(),
        rc: identity.rc.clone(),
        ppid,
        start_ticks: start_ticks(),
        pidns: link("/proc/self/ns/pid"),
        exe: std::env::current_exe().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default(),
        boot_id: std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|text| text.trim().to_owned())
            .unwrap_or_default(),
        rt: realtime(),
        mono: monotonic(),
    }
}

/// Field 22 of `/proc/self/stat`, counted behind the command name, which may hold blanks and parentheses.
fn start_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_whitespace().nth(19).and_then(|field| field.parse().ok()).unwrap_or(0)
}
