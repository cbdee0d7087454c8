//! A program that says what it likes in the probe's name, while the witness outside sees nobody on the device: it is
//! never placed. The witness's lines are those of a real run whose program never touched the device.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runproof::placement::{Asserted, Question, decide};
use runproof::probe::{Observation, Peer};
use runproof_records::Digest;
use runproof_records::record::{Condition, PlacedPattern};
use runproof_records::verdict::PlacementOutcome;
use runproof_records::wire::{Device, Line, Role, Stamped};
use serde_json::Value;
use std::sync::LazyLock;

const RECORDING: &str = include_str!("../../harness/tests/recordings/banner.jsonl");

struct Base {
    nonce: String,
    window: (u64, u64),
    inventory: Vec<Device>,
    witness: Vec<Stamped>,
}

static BASE: LazyLock<Base> = LazyLock::new(|| {
    let (row, lines) = RECORDING.split_once('\n').expect("a row, then lines");
    let row: Value = serde_json::from_str(row).expect("the row is JSON");
    Base {
        nonce: row["nonce"].as_str().expect("a text").to_owned(),
        window: serde_json::from_value(row["window"].clone()).expect("two times"),
        inventory: serde_json::from_value(row["inventory"].clone()).expect("devices"),
        witness: lines.lines().map(|line| serde_json::from_str(line).expect("a line")).collect(),
    }
});

fuzz_target!(|text: &str| {
    let base = &*BASE;
    // The time inside of the window makes a line good without the fuzzer's finding it; so does the nonce.
    let text = text.replace("NONCE", &base.nonce).replace("11111", &(base.window.0 + 1_000).to_string());
    let said = text.lines().map(|line| {
        let line: Option<Line> = serde_json::from_str(line).ok();
        let garbled = line.is_none().then(|| "garbled".to_owned());
        Stamped {
            probe: "cuda.cupti".into(),
            role: Role::Inner,
            conn: 0,
            peer: 7,
            arr: base.window.0,
            line,
            garbled,
        }
    });
    let peer = Peer {
        role: Role::Inner,
        conn: 0,
        pid: 7,
        descends: true,
        start_ticks: 1,
        exe: "/bin/prog".into(),
        has_library: Some(true),
        opened: base.window.0,
        closed: Some(base.window.1),
    };
    let lines = said.chain(base.witness.iter().cloned()).collect();
    let observation = Observation { lines, peers: vec![peer], overflow: 0 };
    let pattern = PlacedPattern {
        record: "kernel".into(),
        kind: None,
        fields: Vec::new(),
        count: Condition { op: ">=".into(), value: "1".into() },
    };
    let decided = decide(&Question {
        command: 0,
        nonce: &base.nonce,
        window: base.window,
        observation: &observation,
        raw: ("placement/0", Digest::from_bytes(&[0; 32])),
        kind: "cuda",
        devices: &base.inventory,
        inventory: &base.inventory,
        software: false,
        placed: &[Asserted { line: 1, text: "kernel".into(), pattern }],
        has_witness: true,
        witness_failed: None,
    });
    assert_ne!(decided.outcome, PlacementOutcome::Placed, "{}", decided.reason);
});
