//! Time limits in every shape, output without end, a reader that goes away.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;
mod rig;

use rig::{Rig, alive, code, read, text};
use runproof_records::verdict::State;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

#[test]
fn nothing_outlives_a_time_limit() {
    let shapes = [
        ("group", "61.8031", "sleep 61.8031 & sleep 61.8031"),
        ("session", "61.8032", "setsid sleep 61.8032 & sleep 61.8032"),
        ("daemon", "61.8033", "setsid sh -c 'sleep 61.8033 & exit' & wait; sleep 61.8033"),
    ];
    for (shape, nap, script) in shapes {
        let test = format!("// TIMEOUT: 400ms\n// RUN: sh -c \"echo before; {script}\"\n");
        let bed = Rig::new([("t.vx", test.as_str()), ("u.vx", "// RUN: true\n")]);
        let output = bed.run(&["test", "-j1", "--run-id", "r"]);
        let said = text(&output);
        assert_eq!(code(output.status), 1, "{shape}: {said}");
        assert_eq!(alive(nap), Vec::<String>::new(), "{shape}");
        assert!(said.contains("400 ms") && said.contains("before"), "{shape}: {said}");
        let escaped = format!("a process escaped the group: sleep {nap}");
        assert_eq!(said.contains(&escaped), shape != "group", "{shape}: {said}");
        let bundle = read(&bed.bundle("r"), 2);
        assert_eq!(bundle.tests[0].state(), State::TimedOut, "{shape}");
        assert_eq!(bundle.tests[1].state(), State::Passed, "{shape}");
        let (audited, said) = bed.audit(&bed.bundle("r"));
        assert_eq!(audited, Some(0), "{shape}: {said}");
    }
}

/// Peak memory of a process, KiB, until it ends: the kernel's own high-water mark, looked at again and again.
fn peak(process: &mut std::process::Child) -> u64 {
    let mut peak = 0;
    while process.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap_or_default();
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let now = line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(now.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    peak
}

#[test]
fn output_without_end_does_not_fill_the_memory() {
    let bytes = 200 << 20;
    let test =
        format!("// RUN: sh -c \"head -c {bytes} /dev/zero; head -c {bytes} /dev/zero >&2; exit 1\"\n");
    let bed = Rig::new([("t.vx", test.as_str())]);
    let mut process = bed.start(&["test", "--run-id", "r"]);
    let peak = peak(&mut process);
    assert_eq!(code(process.wait().unwrap()), 1);
    assert!(peak > 0 && peak < 100 << 10, "{peak} KiB for {} KiB of output", bytes >> 9);
    let bundle = read(&bed.bundle("r"), 1);
    let command = &bundle.tests[0].last().unwrap().commands[0];
    assert_eq!((command.stdout.bytes, command.stderr.bytes), (bytes, bytes));
    bundle.verify_files().unwrap();
    assert!(bed.printed("stdout").len() < 100_000, "a message is not the place for all of it");
}

#[test]
fn a_reader_that_goes_away_does_not_break_a_run() {
    let files: Vec<String> = (0..20).map(|i| format!("t{i}.vx")).collect();
    let bed = Rig::new(files.iter().map(|n| (n.as_str(), "// RUN: false\n")));
    for format in ["pretty", "terse", "json", "github"] {
        let arguments = ["test", "-j2", "--format", format, "--run-id", format];
        let mut process = bed.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(code(process.wait().unwrap()), 1, "{format}");
        let bundle = read(&bed.bundle(format), 20);
        assert!(bundle.missing.is_empty() && bundle.tests.iter().all(|t| t.state() == State::Failed));
    }
}
