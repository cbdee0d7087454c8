//! Processes that misbehave: every one of these was seen in a real suite.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bed;

use bed::{Bed, alive};
use runproof_records::record::Exit;
use std::thread;
use std::time::{Duration, Instant};

/// Runs a line that would last long, with a short limit; what it says of leftovers.
fn timed_out(line: &str, sleeper: &str) -> Vec<String> {
    let mut bed = Bed::new();
    bed.limit = Duration::from_millis(300);
    let outcome = bed.run(line);
    assert_eq!(outcome.exit.exit, Exit::TimedOut { limit_ms: 300 }, "{line}");
    assert_eq!(alive(sleeper), Vec::<u32>::new(), "{line}");
    assert_eq!(bed.text(".hook"), "called", "{line}");
    outcome.leftovers.iter().map(ToString::to_string).collect()
}

#[test]
fn a_timeout_ends_the_group() {
    assert_eq!(timed_out("sh -c 'sleep 31.4101 & sleep 31.4101'", "sleep 31.4101"), Vec::<String>::new());
}

#[test]
fn a_timeout_ends_what_ignores_the_request() {
    timed_out("sh -c 'trap \"\" TERM; sleep 31.4102 & sleep 31.4102; sleep 31.4102'", "sleep 31.4102");
}

#[test]
fn a_timeout_ends_a_session_of_its_own() {
    let found = timed_out("sh -c 'setsid sleep 31.4103 & sleep 31.41031'", "sleep 31.4103");
    assert_eq!(found, ["a process escaped the group: sleep 31.4103 (ended)"]);
}

#[test]
fn a_timeout_ends_a_double_fork() {
    let line = "sh -c '(setsid sh -c \"sleep 31.4104 & sleep 31.41041\" &) ; sleep 31.41042'";
    let found = timed_out(line, "sleep 31.4104");
    assert!(found.iter().any(|l| l == "a process escaped the group: sleep 31.4104 (ended)"), "{found:?}");
    assert_eq!(alive("sleep 31.41041"), Vec::<u32>::new());
}

#[test]
fn a_daemon_that_holds_the_output_holds_nothing_up() {
    let mut bed = Bed::new();
    let outcome = bed.run("setsid -f sleep 27.1801 && echo done");
    assert_eq!(outcome.exit.exit, Exit::Code { code: 0 });
    assert_eq!(bed.stdout(), "done\n");
    let found: Vec<_> = outcome.leftovers.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["a process escaped the group: sleep 27.1801 (ended)"]);
    assert_eq!(alive("sleep 27.1801"), Vec::<u32>::new());
}

#[test]
fn a_daemon_in_a_pipe_before_a_builtin_holds_nothing_up() {
    let mut bed = Bed::new();
    let outcome = bed.run("sh -c 'setsid -f sleep 27.1802; echo x' | cat");
    assert_eq!((outcome.exit.exit, bed.stdout().as_str()), (Exit::Code { code: 0 }, "x\n"));
    assert_eq!(alive("sleep 27.1802"), Vec::<u32>::new());
}

#[test]
fn a_background_process_is_left_behind_and_ended() {
    let outcome = Bed::new().run("sh -c 'sleep 27.1803 & echo x'");
    let found: Vec<_> = outcome.leftovers.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["a process was left behind: sleep 27.1803 (ended)"]);
}

#[test]
fn a_process_that_ends_shortly_after_is_no_leftover() {
    let outcome = Bed::new().run("sh -c 'sleep 0.005 &'");
    assert_eq!(outcome.leftovers, []);
}

#[test]
fn parallel_tests_end_their_own_processes_only() {
    thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let mut bed = Bed::new();
            // Its orphan lives while the others come and go.
            let outcome =
                bed.run("sh -c '(setsid sleep 27.1901 &); sleep 2; pgrep -fx \"sleep 27.1901\" > alive'");
            (outcome, !bed.bytes("alive").is_empty())
        });
        let quick: Vec<_> = (0..4)
            .map(|n| {
                scope.spawn(move || {
                    let sleeper = format!("sleep 27.192{n}");
                    for _ in 0..5 {
                        let outcome = Bed::new().run(&format!("sh -c '(setsid {sleeper} &); sleep 0.05'"));
                        let found: Vec<_> = outcome.leftovers.iter().map(|l| l.command.clone()).collect();
                        assert_eq!(found, [sleeper.as_str()]);
                        assert_eq!(alive(&sleeper), Vec::<u32>::new());
                    }
                })
            })
            .collect();
        quick.into_iter().for_each(|t| t.join().unwrap());
        let (outcome, was_alive) = slow.join().unwrap();
        assert!(was_alive, "another test ended it");
        assert_eq!(outcome.exit.exit, Exit::Code { code: 0 });
        assert_eq!(outcome.leftovers.len(), 1);
        assert_eq!(alive("sleep 27.1901"), Vec::<u32>::new());
    });
}

#[test]
fn an_orphan_without_the_marker_is_found_by_its_folder() {
    let outcome = Bed::new().run("sh -c 'env -i setsid -f sleep 27.1804'");
    assert_eq!(outcome.leftovers.len(), 1, "{:?}", outcome.leftovers);
    assert_eq!(alive("sleep 27.1804"), Vec::<u32>::new());
}

#[test]
fn an_interrupt_ends_the_wait_at_once() {
    let mut bed = Bed::new();
    let interrupt = bed.interrupt.clone();
    let began = Instant::now();
    let raiser = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        interrupt.raise();
    });
    let outcome = bed.run("sh -c 'setsid sleep 31.4105 & sleep 31.4105' ; echo no");
    raiser.join().unwrap();
    assert_eq!(outcome.exit.exit, Exit::Interrupted);
    assert_eq!(outcome.stages.len(), 1);
    assert!(began.elapsed() < Duration::from_secs(30), "it waited for the sleepers");
    assert_eq!(alive("sleep 31.4105"), Vec::<u32>::new());
    assert_eq!(bed.run("echo no").exit.exit, Exit::Interrupted);
}

#[test]
fn floods_on_both_streams_and_bytes_that_are_no_text() {
    let mut bed = Bed::new();
    let outcome = bed.run("sh -c 'head -c 3000000 /dev/zero | tr \"\\0\" e >&2; printf \"\\233\\377\"'");
    assert_eq!(outcome.exit.exit, Exit::Code { code: 0 });
    assert_eq!(bed.bytes(".stderr").len(), 3_000_000);
    assert_eq!(bed.bytes(".stdout"), b"\x9b\xff");
}

/// Peak memory of this process, bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_hundred_mebibytes_pass_through_builtins_in_little_memory() {
    let before = peak();
    let mut bed = Bed::new();
    let outcome = bed.run("head -c 104857600 /dev/zero | cat | cat | wc -c");
    assert_eq!(outcome.exit.exit, Exit::Code { code: 0 });
    assert_eq!(bed.stdout().trim(), "104857600");
    assert!(peak() - before < 40 << 20, "{} bytes more", peak() - before);
}

#[test]
fn a_crash_leaves_no_core_file_and_limits_hold() {
    let mut bed = Bed::new();
    assert_eq!(
        bed.run("not --crash sh -c 'ulimit -c > lim; kill -SEGV $$'").exit.exit,
        Exit::Code { code: 0 }
    );
    assert_eq!(bed.text("lim"), "0\n");
    assert_eq!(
        bed.run("ulimit -f 1000 && not --crash head -c 5000 /dev/zero > big").exit.exit,
        Exit::Code { code: 0 }
    );
    assert_eq!(bed.bytes("big").len(), 1000);
}

#[test]
fn every_child_leads_its_own_group_and_has_no_stdin() {
    let mut bed = Bed::new();
    bed.run("sh -c 'cut -d \" \" -f 1,5,6 /proc/$$/stat; readlink /proc/self/fd/0'");
    let out = bed.stdout();
    let words: Vec<_> = out.split_ascii_whitespace().collect();
    assert_eq!(words[0], words[1], "{out}");
    assert_eq!(words[3], "/dev/null", "{out}");
}
