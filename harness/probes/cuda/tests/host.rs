//! The library in a process without a CUDA driver: it says what is missing and never harms its host.
//!
//! The test program is the host too: it starts itself again, loads the library and calls its entry point, as the
//! driver does.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

use runproof_records::wire::{Line, Message, NONCE_VARIABLE, SEEN, SINK_VARIABLE};
use std::ffi::{CString, c_int, c_void};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

const HOST: &str = "RUNPROOF_TEST_HOST";
const NONCE: &str = "0123456789abcdef0123456789abcdef";

/// The library, built once: Cargo does not build what a test does not link.
fn library() -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let own = std::env::current_exe().unwrap();
    let programs = own.parent().unwrap().parent().unwrap().to_path_buf();
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "-p", "runproof-probe-cuda", "--target-dir"])
            .arg(programs.parent().unwrap());
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "the probe does not build");
    });
    programs.join("librunproof_probe_cuda.so")
}

/// Not a test of its own: what the other process does. Exits with what the entry point answered.
#[test]
fn host() {
    let Ok(path) = std::env::var(HOST) else { return };
    let path = CString::new(path).unwrap();
    // SAFETY: the library is ours, and its entry point takes nothing and returns an int.
    let answer = unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null(), "{} cannot be loaded", path.to_string_lossy());
        let entry = libc::dlsym(handle, c"InitializeInjection".as_ptr());
        assert!(!entry.is_null());
        let entry = std::mem::transmute::<*mut c_void, extern "C" fn() -> c_int>(entry);
        // The driver calls once; a second call must change nothing.
        entry() + 10 * entry()
    };
    std::process::exit(answer);
}

fn start(env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "host", "--nocapture"]).env(HOST, library());
    command.env_remove(SINK_VARIABLE).env_remove("RUNPROOF_CUPTI").envs(env.iter().copied());
    command
}

/// What the library says to a harness, and that its host ends well.
fn said(env: &[(&str, &str)]) -> Vec<Message> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let sink = format!("unix:{}", path.display());
    let mut command = start(env);
    let mut child = command.env(SINK_VARIABLE, sink).env(NONCE_VARIABLE, NONCE).spawn().unwrap();
    listener.set_nonblocking(true).unwrap();
    let stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(_) => assert!(child.try_wait().unwrap().is_none(), "the host ended without a word"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    stream.set_nonblocking(false).unwrap();
    (&stream).write_all(&[SEEN]).unwrap();
    let lines = BufReader::new(stream).lines();
    let lines: Vec<Line> = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!(
        child.wait().unwrap().code(),
        Some(11),
        "the host did not end by itself with two answers of 1"
    );
    assert!(lines.iter().map(|line| line.seq).eq(0..lines.len() as u64), "{lines:?}");
    lines.into_iter().map(|line| line.msg).collect()
}

#[test]
fn without_a_harness_it_does_nothing() {
    assert_eq!(start(&[]).status().unwrap().code(), Some(11));
    let gone = start(&[(SINK_VARIABLE, "unix:/no/such/socket")]).status().unwrap();
    assert_eq!(gone.code(), Some(11));
}

#[test]
fn a_library_that_is_no_cupti_is_an_error_line() {
    let messages = said(&[("RUNPROOF_CUPTI", "/no/such/libcupti.so.13")]);
    let Message::Hello(hello) = &messages[0] else { panic!("{messages:?}") };
    assert_eq!((hello.probe.as_str(), hello.api_version.as_str()), ("cuda.cupti", "none"));
    assert_eq!(hello.nonce, NONCE);
    let error = "RUNPROOF_CUPTI names /no/such/libcupti.so.13, which cannot be loaded";
    assert_eq!(messages[1], Message::Error { what: error.into() });
    assert!(matches!(messages.last(), Some(Message::Bye { records: 2, dropped: 0, .. })), "{messages:?}");
    let messages = said(&[("RUNPROOF_CUPTI", "libm.so.6")]);
    assert_eq!(messages[1], Message::Error { what: "CUPTI has no cuptiGetVersion".into() });
}

/// Needs a `libcupti.so` of NVIDIA's, named in `RUNPROOF_TEST_CUPTI`; PyPI's `nvidia-cuda-cupti-cu12` and
/// `nvidia-cuda-cupti` hold one that loads without a driver.
#[test]
fn a_cupti_without_a_driver_gives_codes_that_are_no_success() {
    let Ok(path) = std::env::var("RUNPROOF_TEST_CUPTI") else {
        eprintln!("SKIPPED: RUNPROOF_TEST_CUPTI names no libcupti.so, so CUPTI's own refusal was not seen");
        return;
    };
    let messages = said(&[("RUNPROOF_CUPTI", &path)]);
    let Message::Hello(hello) = &messages[0] else { panic!("{messages:?}") };
    assert!(hello.api_version.parse::<u32>().unwrap() >= 18, "{hello:?}");
    assert_eq!(hello.rc.len(), 10);
    assert!(hello.rc.values().any(|code| *code != 0), "{hello:?}");
}
