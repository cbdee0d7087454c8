//! Violent ends: SIGKILL at any point, signals of a terminal, a hurry. What was known stays known.
//!
//! `RUNPROOF_KILLS=100` is the long form.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;
mod rig;

use rig::{Rig, alive, code, read, signal, until};
use runproof_records::record::Line;
use runproof_records::verdict::State;
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

/// 40 tests of every sort. Each leaves a file in `marks` when it runs. `nap` is what the longest direct children
/// sleep, by which they are found; what escapes a test whose harness is killed has to end by itself.
fn mixed(nap: &str) -> Rig {
    let mut files = Vec::new();
    for i in 0..8 {
        let mark = "// RUN: echo . > %S/marks/%basename_t\n";
        let mut add =
            |kind: &str, text: String| files.push((format!("{kind}{i}.vx"), format!("{mark}{text}")));
        add("pass", "// EXEC_RUN: echo hi\n// EXPECT: hi\n".into());
        add("fail", "// RUN: false\n".into());
        add("children", format!("// RUN: sh -c \"sleep 0.0{i}1 & wait\"\n"));
        add("retry", "// ALLOW_RETRIES: 2\n// RUN: sh -c \"exit 3\"\n".into());
        add(
            ["skip", "refused", "escape", "hang"][i % 4],
            match i % 4 {
                0 => "// UNSUPPORTED: linux\n".into(),
                1 => "// RUM: true\n".into(),
                2 => "// RUN: sh -c \"setsid sleep 2.71828 & sleep 0.05\"\n".into(),
                _ => format!("// TIMEOUT: 300ms\n// RUN: sleep {nap}\n"),
            },
        );
    }
    Rig::new(files.iter().map(|(n, t)| (n.as_str(), t.as_str())))
}

/// Numbers that look random and are the same for the same seed (Marsaglia's xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

#[test]
fn a_killed_run_leaves_a_bundle_that_can_be_read() {
    let bed = mixed("71.4142");
    let begun = Instant::now();
    let whole = bed.run(&["test", "-j2", "--run-id", "whole"]);
    let length = u64::try_from(begun.elapsed().as_micros()).unwrap();
    assert_eq!(code(whole.status), 2, "a refused file: {}", rig::text(&whole));
    read(&bed.bundle("whole"), 40);
    let (status, said) = bed.audit(&bed.bundle("whole"));
    assert_eq!(status, Some(0), "{said}");

    let kills: u32 = std::env::var("RUNPROOF_KILLS").map_or(8, |n| n.parse().unwrap());
    let seed = u64::from(std::process::id()) << 17 | 1;
    let mut random = Random(seed);
    let mut cut_short = 0;
    for kill in 0..kills {
        let id = format!("kill-{kill}");
        for mark in fs::read_dir(bed.path("marks")).unwrap().flatten() {
            fs::remove_file(mark.path()).unwrap();
        }
        let mut process = bed.start(&["test", "-j2", "--format", "json", "--run-id", &id]);
        // The end is shaved off: a run that had ended proves nothing.
        std::thread::sleep(Duration::from_micros(random.below(length * 9 / 10)));
        signal(&process, "KILL");
        process.wait().unwrap();
        let what = format!("seed {seed}, kill {kill}");
        cut_short += u32::from(check_killed(&bed, &id, &what));
        until("the end of the direct children", || alive("71.4142").is_empty());
    }
    assert!(cut_short > 0, "no kill came between the announcement and the end (seed {seed})");
}

/// What holds after a kill. Returns whether the run had announced its tests and not ended.
fn check_killed(bed: &Rig, id: &str, what: &str) -> bool {
    let path = bed.bundle(id);
    if !path.exists() {
        assert_eq!(marks(bed), BTreeSet::new(), "{what}: a test ran before the bundle was there");
        return false;
    }
    let (status, said) = bed.audit(&path);
    assert_eq!(status, Some(0), "{what}: {said}");
    let bundle = read(&path, 40);
    for test in &bundle.tests {
        assert!(!test.reason().is_empty() || test.state() == State::Passed, "{what}: {}", test.key.test);
    }
    // Whoever ran had been announced, on disk, before.
    let records = fs::read_to_string(path.join("records.jsonl")).unwrap();
    let started: BTreeSet<String> = records
        .lines()
        .filter_map(|l| serde_json::from_str(l).ok())
        .filter_map(|l| match l {
            Line::Started(s) => Some(s.key.test),
            Line::Finished(_) => None,
        })
        .collect();
    let ran = marks(bed);
    assert!(ran.is_subset(&started), "{what}: started without a word: {:?}", ran.difference(&started));
    // What was said to have ended is on disk.
    for line in bed.printed("stdout").lines() {
        let Ok(event) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        if event["event"] == "finished" {
            let test = event["record"]["key"]["test"].as_str().unwrap();
            let known = bundle.tests.iter().find(|t| t.key.test == test).unwrap();
            assert!(!known.attempts.is_empty(), "{what}: the result of {test} was lost");
        }
    }
    let partial = bundle.run.end.is_none() || bundle.digest.is_none();
    assert_eq!(said.contains("partial"), partial, "{what}: {said}");
    partial
}

fn marks(bed: &Rig) -> BTreeSet<String> {
    let names = fs::read_dir(bed.path("marks")).unwrap().flatten();
    names.map(|e| e.file_name().into_string().unwrap()).filter(|n| !n.starts_with("std")).collect()
}

/// A run of one test that waits, and one behind it; the signal comes when the first is running.
fn interrupted(script: &str, names: &[&str]) -> (Rig, i32) {
    let running = format!("// RUN: sh -c \"{script}\"\n");
    let bed = Rig::new([("a.vx", "// RUN: true\n"), ("b.vx", running.as_str()), ("c.vx", "// RUN: true\n")]);
    let mut process = bed.start(&["test", "-j1", "--run-id", "cut"]);
    for name in names {
        until("the test", || bed.path("marks/running").exists());
        signal(&process, name);
    }
    let status = process.wait().unwrap();
    (bed, code(status))
}

#[test]
fn a_signal_ends_the_run_and_keeps_what_is_known() {
    for (name, nap) in [("INT", "31.4151"), ("TERM", "31.4152"), ("HUP", "31.4153")] {
        let (bed, status) = interrupted(&format!("echo . > %S/marks/running; sleep {nap}"), &[name]);
        assert_eq!(status, 130, "{name}: {}", bed.printed("stderr"));
        assert_eq!(alive(nap), Vec::<String>::new());
        let bundle = read(&bed.bundle("cut"), 3);
        assert!(bundle.missing.is_empty(), "the bundle is closed: {:?}", bundle.missing);
        assert!(bundle.run.selection.partial && bundle.run.end.as_ref().unwrap().interrupted);
        let state = |i: usize| (bundle.tests[i].state(), bundle.tests[i].reason());
        assert_eq!(state(0), (State::Passed, String::new()));
        assert_eq!(state(1), (State::NotRun, "it was running when the run ended (attempt 1)".into()));
        assert_eq!(state(2), (State::NotRun, "announced and never started".into()));
        let (audited, said) = bed.audit(&bed.bundle("cut"));
        assert_eq!(audited, Some(0), "{name}: {said}");
        let junit = fs::read_to_string(bed.path("runproof-out/cut.junit.xml")).unwrap();
        let report = quick_junit::Report::deserialize_from_str(&junit).unwrap();
        let cases: Vec<_> = report.test_suites.iter().flat_map(|s| &s.test_cases).collect();
        let names: Vec<&str> = cases.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["a.vx", "b.vx", "c.vx"]);
        assert!(junit.contains("it was running when the run ended"), "{junit}");
        assert!(bed.printed("stdout").contains("interrupted"), "{}", bed.printed("stdout"));
    }
}

#[test]
fn a_second_signal_does_not_wait_for_a_test_that_will_not_end() {
    let script = "trap '' TERM INT HUP; echo . > %S/marks/running; sleep 31.4161; sleep 31.4162";
    let (bed, status) = interrupted(script, &["INT", "INT"]);
    assert_eq!(status, 130);
    assert_eq!(alive("31.416"), Vec::<String>::new());
    let (audited, said) = bed.audit(&bed.bundle("cut"));
    assert_eq!(audited, Some(0), "{said}");
}
