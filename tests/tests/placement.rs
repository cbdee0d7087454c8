//! Every program under the real probe on a real OpenCL runtime, judged by the real decision.
//!
//! Needs an OpenCL CPU device (`pocl-opencl-icd`): a machine without one fails here, and does not skip.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

use runproof::device::{Inventory, kind};
use runproof::placement::{Asserted, Question, decide};
use runproof::probe::{Arming, Observation, Session, find_library, realtime};
use runproof_records::Digest;
use runproof_records::record::{CommandPlacement, Condition, PlacedField, PlacedPattern};
use runproof_records::verdict::PlacementOutcome::{self, Inconclusive, NotPlaced, PlacedSoftware};
use runproof_records::wire::{Device, Message};
use std::collections::BTreeMap;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

const NONCE: &str = "0123456789abcdef0123456789abcdef";

/// Folder of the built programs.
fn programs() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_matmul")).parent().unwrap().to_path_buf()
}

/// The probe library, built once: Cargo does not build another package's library for a test.
fn arming() -> Arming {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = programs().parent().unwrap().to_path_buf();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "-p", "runproof-probe-opencl", "--target-dir"]).arg(target);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "the probe does not build");
    });
    let probe = kind("opencl").unwrap().inner_probe().unwrap();
    let library = find_library(probe.stem, Some(&programs())).unwrap();
    Arming { probe: probe.id.into(), variable: probe.variable.into(), library }
}

fn inventory() -> Vec<Device> {
    match kind("opencl").unwrap().inventory() {
        Inventory::Found(devices) => devices,
        other => panic!("these tests need an OpenCL device (install pocl-opencl-icd): {other:?}"),
    }
}

/// What became of one observed command.
struct Run {
    status: ExitStatus,
    stdout: String,
    placement: CommandPlacement,
    observation: Observation,
}

/// How a command is run.
struct Way {
    probe: bool,
    env: Vec<(String, String)>,
    /// Flush and kill once this text is on standard output.
    kill_at: Option<&'static str>,
}

fn plain() -> Way {
    Way { probe: true, env: vec![], kill_at: None }
}

fn run(argv: &[&str], kernel: &str, way: &Way) -> Run {
    use std::io::{BufRead as _, BufReader};
    let inventory = inventory();
    let probes = if way.probe { vec![arming()] } else { vec![] };
    let own = i32::try_from(std::process::id()).unwrap();
    let session = Session::open(NONCE, probes, &BTreeMap::new(), own).unwrap();
    let started = realtime();
    let mut child = Command::new(programs().join(argv[0]))
        .args(&argv[1..])
        .envs(session.env())
        .envs(way.env.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut stdout = String::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    while reader.read_line(&mut stdout).unwrap() > 0 {
        if way.kill_at.is_some_and(|text| stdout.contains(text)) {
            let flushed = session.flush(Duration::from_secs(5));
            assert_eq!(flushed.answered, flushed.asked);
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    let ended = realtime();
    let observation = session.finish();
    let equals = |value: &str, op: &str| Condition { op: op.into(), value: value.into() };
    let asserted = Asserted {
        line: 1,
        text: format!("PLACED: kernel name={kernel}"),
        pattern: PlacedPattern {
            record: "kernel".into(),
            kind: None,
            fields: vec![PlacedField { field: "name".into(), condition: equals(kernel, "=") }],
            count: equals("1", ">="),
        },
    };
    let placement = decide(&Question {
        command: 0,
        nonce: NONCE,
        window: (started, ended),
        observation: &observation,
        raw: ("placement/0.jsonl", Digest::from_bytes(&[0; 32])),
        kind: "opencl",
        devices: &inventory[..1],
        inventory: &inventory,
        software: true,
        placed: &[asserted],
        has_witness: false,
        witness_failed: None,
    });
    Run { status, stdout, placement, observation }
}

#[track_caller]
fn check(run: &Run, outcome: PlacementOutcome, says: &str) {
    let reason = &run.placement.reason;
    assert_eq!(run.placement.outcome, outcome, "{reason}\n{:#?}", run.observation.lines);
    assert!(reason.contains(says), "{reason:?} does not say {says:?}");
}

#[track_caller]
fn liar(mode: &str, outcome: PlacementOutcome, says: &str) -> Run {
    let run = run(&["liar", mode, "--device", "opencl"], "matmul*", &plain());
    check(&run, outcome, says);
    run
}

#[test]
fn honest_programs_are_placed() {
    for (program, kernel) in [
        ("matmul", "matmul_f32"),
        ("rope", "rope*"),
        ("attention_decode", "attention_decode_f32"),
        ("softmax", "softmax_f32"),
    ] {
        let run = run(&[program, "--device", "opencl", "--index", "0"], kernel, &plain());
        check(&run, PlacedSoftware, "×1");
        assert!(run.status.success() && run.stdout.contains(" wrong 0 guards intact\n"), "{}", run.stdout);
        let copies: Vec<_> = run.placement.work.iter().filter(|work| work.record == "memcpy").collect();
        assert!(copies.iter().any(|copy| copy.name == "D2H"), "{copies:?}");
        assert!(run.placement.processes[0].exe.ends_with(program));
    }
}

#[test]
fn the_same_programs_on_the_host_are_not() {
    check(&run(&["matmul"], "matmul_f32", &plain()), Inconclusive, "unobserved");
}

#[test]
fn with_the_probe_switched_off_nothing_is_placed() {
    let way = Way { probe: false, ..plain() };
    let run = run(&["matmul", "--device", "opencl"], "matmul_f32", &way);
    assert!(run.status.success());
    check(&run, Inconclusive, "unobserved");
}

#[test]
fn with_the_device_hidden_the_honest_program_fails() {
    let empty = tempfile::tempdir().unwrap();
    let env = kind("opencl").unwrap().hide(empty.path()).unwrap();
    let run = run(&["matmul", "--device", "opencl"], "matmul_f32", &Way { env, ..plain() });
    assert_eq!(run.status.code(), Some(3));
    assert_ne!(run.placement.outcome, PlacedSoftware);
    assert!(run.placement.work.is_empty());
}

#[test]
fn liars_print_the_right_answer_and_are_seen() {
    for (mode, outcome, says) in [
        ("banner", Inconclusive, "unobserved"),
        ("context", NotPlaced, "context on Portable Computing Language/"),
        ("enumerate", NotPlaced, "no context, 0 kernels"),
        ("noop", NotPlaced, "kernel noop ×1"),
        ("copies", NotPlaced, "0 kernels"),
        ("unset", Inconclusive, "unobserved"),
        ("forge", Inconclusive, "the probe library is not loaded"),
        ("forge-context", Inconclusive, "the probe library is not loaded"),
        ("forge-beside", Inconclusive, "two connections at once"),
        ("forge-nonce", Inconclusive, "nonce of another command"),
        ("flood", Inconclusive, "never said hello"),
        ("late", NotPlaced, "0 kernels"),
    ] {
        let run = liar(mode, outcome, says);
        assert!(run.status.success(), "{mode}: {}", run.status);
        assert!(run.stdout.contains("EXECUTING ON GPU\nmatmul"), "{mode}: {}", run.stdout);
        assert!(run.stdout.contains(" wrong 0 guards intact\n"), "{mode}: {}", run.stdout);
    }
}

#[test]
fn a_child_process_s_kernel_is_the_command_s() {
    let run = liar("child", PlacedSoftware, "matmul_f32 ×1");
    assert!(run.placement.processes.iter().any(|process| process.exe.ends_with("/matmul")));
}

#[test]
fn a_crash_keeps_the_finished_kernels() {
    for (mode, signal) in [("segv", libc::SIGSEGV), ("abort", libc::SIGABRT), ("kernel-crash", libc::SIGSEGV)]
    {
        let run = liar(mode, PlacedSoftware, "matmul_f32 ×1");
        assert_eq!(run.status.signal(), Some(signal), "{mode}");
    }
    let run = liar("exit", PlacedSoftware, "matmul_f32 ×1");
    assert!(run.status.success());
    let said_bye = |line: &runproof_records::wire::Stamped| {
        matches!(line.line.as_ref().map(|line| &line.msg), Some(Message::Bye { .. }))
    };
    assert!(!run.observation.lines.iter().any(said_bye), "it ended past its exit handlers");
}

#[test]
fn a_kill_keeps_what_a_flush_brought() {
    let killed = |mode| {
        run(&["liar", mode, "--device", "opencl"], "matmul*", &Way { kill_at: Some("values"), ..plain() })
    };
    let after = killed("hang-after");
    assert_eq!(after.status.signal(), Some(libc::SIGKILL));
    check(&after, PlacedSoftware, "matmul_f32 ×1");
    let before = killed("hang");
    check(&before, NotPlaced, "0 kernels");
    let forced = |line: &runproof_records::wire::Stamped| {
        matches!(line.line.as_ref().map(|line| &line.msg), Some(Message::Forced { .. }))
    };
    assert!(before.observation.lines.iter().any(forced));
}

#[test]
fn concurrent_commands_do_not_see_each_other() {
    std::thread::scope(|scope| {
        let honest = scope.spawn(|| run(&["matmul", "--device", "opencl"], "matmul_f32", &plain()));
        let lying = scope.spawn(|| run(&["liar", "context", "--device", "opencl"], "matmul_f32", &plain()));
        check(&honest.join().unwrap(), PlacedSoftware, "matmul_f32 ×1");
        check(&lying.join().unwrap(), NotPlaced, "0 kernels");
    });
}
