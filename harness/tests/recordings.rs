//! What programs and liars left behind on an NVIDIA H200, judged again: `recordings/*.jsonl`.
//!
//! The first line of a file says which row it is and what has to come out; the others are probe lines. Files whose
//! row begins with `real:` are whole runs, shortened, with paths and boot id replaced; the others are such a run
//! changed in the one thing that their row names. Nothing here can write a bundle, so no recording earns a tier.
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

use runproof::placement::{Asserted, Question, decide};
use runproof::probe::{Observation, Peer};
use runproof_records::Digest;
use runproof_records::record::{Condition, PlacedField, PlacedPattern};
use runproof_records::wire::{Device, Role, Stamped};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    row: String,
    /// Outcome.
    expect: String,
    /// Part of the reason.
    says: String,
    window: (u64, u64),
    nonce: String,
    /// Pattern for the name of the kernel that the test names, at least once.
    kernel: String,
    peers: Vec<Connected>,
    inventory: Vec<Device>,
    devices: Asked,
    /// Another kind of record that has to be there too.
    placed: Option<String>,
}

/// The test's devices: the first of the inventory, or those at these places.
#[derive(Deserialize)]
#[serde(untagged)]
enum Asked {
    First(usize),
    At(Vec<usize>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Connected {
    conn: u32,
    pid: i32,
    descends: bool,
    start_ticks: u64,
    has_library: bool,
    opened: u64,
    closed: u64,
}

fn asserted(record: &str, name: Option<&str>) -> Asserted {
    let condition = |op: &str, value: &str| Condition { op: op.into(), value: value.into() };
    let field = |name: &str| PlacedField { field: "name".into(), condition: condition("=", name) };
    Asserted {
        line: 1,
        text: record.to_owned(),
        pattern: PlacedPattern {
            record: record.to_owned(),
            kind: None,
            fields: name.map(field).into_iter().collect(),
            count: condition(">=", "1"),
        },
    }
}

#[track_caller]
fn judge(name: &str, text: &str) -> String {
    let (first, lines) = text.split_once('\n').unwrap();
    let row: Row = serde_json::from_str(first).unwrap_or_else(|e| panic!("{name}: {e}"));
    let lines: Vec<Stamped> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let peer = |c: &Connected| Peer {
        role: Role::Inner,
        conn: c.conn,
        pid: c.pid,
        descends: c.descends,
        start_ticks: c.start_ticks,
        exe: "/bin/prog".into(),
        has_library: Some(c.has_library),
        opened: c.opened,
        closed: Some(c.closed),
    };
    let observation = Observation { lines, peers: row.peers.iter().map(peer).collect(), overflow: 0 };
    let devices: Vec<Device> = match &row.devices {
        Asked::First(n) => row.inventory[..*n].to_vec(),
        Asked::At(places) => places.iter().map(|n| row.inventory[*n].clone()).collect(),
    };
    let mut placed = vec![asserted("kernel", Some(&row.kernel))];
    placed.extend(row.placed.as_deref().map(|record| asserted(record, None)));
    let decided = decide(&Question {
        command: 0,
        nonce: &row.nonce,
        window: row.window,
        observation: &observation,
        raw: ("placement/0", Digest::from_bytes(&[0; 32])),
        kind: "cuda",
        devices: &devices,
        inventory: &row.inventory,
        software: false,
        placed: &placed,
        has_witness: true,
        witness_failed: None,
    });
    let outcome = decided.outcome.to_string();
    let reasons = format!("{} | {}", decided.reason, decided.inconclusive.join(" | "));
    assert_eq!(outcome, row.expect, "{name} ({}): {reasons}", row.row);
    assert!(reasons.contains(&row.says), "{name} ({}): {reasons:?} does not say {:?}", row.row, row.says);
    outcome
}

#[test]
fn every_recording_comes_out_as_its_row_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut outcomes: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            judge(&path.file_stem().unwrap().to_string_lossy(), &std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    outcomes.sort_unstable();
    outcomes.dedup();
    assert_eq!(outcomes, ["inconclusive", "not placed", "placed"]);
}
