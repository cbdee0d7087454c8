//! A device kind that the harness has never heard of, with a probe that any shell can be.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

use runproof::device::{Inventory, Kinds, fleet, resolve};
use runproof::placement::{Asserted, Question, decide};
use runproof::probe::{Session, realtime};
use runproof_records::Digest;
use runproof_records::record::{CommandPlacement, Condition, PlacedField, PlacedPattern};
use runproof_records::verdict::PlacementOutcome::{self, Inconclusive, NotPlaced, Placed};
use std::collections::BTreeMap;
use std::process::Command;

const NONCE: &str = "00112233445566778899aabbccddeeff";

const DEVICE: &str = r#"{"k":"device","dev":0,"uuid":"NPU-1","name":"Npu One","vendor":"V","class":"npu","units":4,"memory":1024,"driver":"1","visible":true}"#;

/// A probe that says hello, names the device and a context, reports one kernel, and waits for the end. The
/// command waits for the probe: both know one file.
fn fleet_text(kernel: &str) -> String {
    let line = |seq: u32, msg: &str| format!(r#"{{"seq":{seq},"pid":1,"msg":{msg}}}"#);
    let hello = line(
        0,
        r#"{"k":"hello","v":1,"nonce":"'$RUNPROOF_NONCE'","probe":"npu.driver","version":"3","api":"n","api_version":"1","rc":{},"ppid":1,"start_ticks":1,"pidns":"","exe":"","boot_id":"","rt":1,"mono":1}"#,
    );
    let context = line(2, r#"{"k":"context","dev":0,"t":1}"#);
    let work = line(
        3,
        &format!(
            r#"{{"k":"kernel","name":"{kernel}","dev":0,"stream":0,"start":'$start',"end":'$end',"grid":[1],"block":[],"corr":1}}"#
        ),
    );
    let device = line(1, DEVICE);
    format!(
        "[[probe]]\nkind = \"npu\"\nrole = \"outer\"\n\
         inventory = [\"sh\", \"-c\", '''echo '{}' ''']\n\
         start = [\"sh\", \"-c\", '''echo '{hello}'; echo '{device}'; echo '{context}'; start=$(date +%s%N); \
         sleep 0.01; end=$(date +%s%N); echo '{work}'; : >DONE; cat >/dev/null''']\n\
         env = {{ NPU_VISIBLE = \"%{{device.uuid}}\" }}\nhide_env = {{ NPU_VISIBLE = \"\" }}\n",
        line(0, DEVICE)
    )
}

fn judged(text: &str) -> (CommandPlacement, Vec<runproof_records::record::ProbeUse>) {
    let folder = tempfile::tempdir().unwrap();
    let done = folder.path().join("done");
    let text = &text.replace("DONE", &done.to_string_lossy());
    let fleet = fleet::parse("fleet.toml", text).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let fleet = fleet::FleetFile { fleet, text: text.to_owned() };
    let kinds = Kinds::new(None, &fleet.fleet);
    let placements = resolve("npu", &fleet, &kinds).unwrap();
    assert_eq!(placements[0].id, "npu:0");
    let device = placements[0].devices[0].wire.clone();
    assert_eq!(
        kinds.point_at("npu", std::slice::from_ref(&device)),
        [("NPU_VISIBLE".to_owned(), "NPU-1".to_owned())]
    );
    assert!(kinds.hide("npu", "/".as_ref()).is_some() && !kinds.has_witness("npu"));

    let own = i32::try_from(std::process::id()).unwrap();
    let session = Session::open(NONCE, kinds.arm("npu").unwrap(), &BTreeMap::new(), own).unwrap();
    let started = realtime();
    let witness = kinds.start_outer("npu", &[], &[], &session);
    let wait = "while ! [ -e \"$0\" ]; do sleep 0.01; done";
    let command = Command::new("sh").args(["-c", wait]).arg(&done).envs(session.env()).status();
    assert!(command.unwrap().success());
    let ended = realtime();
    assert_eq!(witness.stop(), None);
    let observation = session.finish();
    let condition = |op: &str, value: &str| Condition { op: op.into(), value: value.into() };
    let asserted = Asserted {
        line: 1,
        text: "PLACED: kernel name=matmul".into(),
        pattern: PlacedPattern {
            record: "kernel".into(),
            kind: None,
            fields: vec![PlacedField { field: "name".into(), condition: condition("=", "matmul") }],
            count: condition(">=", "1"),
        },
    };
    let placement = decide(&Question {
        command: 0,
        nonce: NONCE,
        window: (started, ended),
        observation: &observation,
        raw: ("placement/0.jsonl", Digest::from_bytes(&[0; 32])),
        kind: "npu",
        devices: &[device],
        inventory: kinds.inventory("npu").devices(),
        software: false,
        placed: &[asserted],
        has_witness: kinds.has_witness("npu"),
        witness_failed: None,
    });
    (placement, kinds.probes_used("npu", &observation))
}

#[track_caller]
fn check(text: &str, outcome: PlacementOutcome, says: &str) {
    let (placement, probes) = judged(text);
    assert_eq!(placement.outcome, outcome, "{}", placement.reason);
    assert!(placement.reason.contains(says), "{}", placement.reason);
    assert_eq!(probes.len(), 1);
}

#[test]
fn a_declared_probe_places_work() {
    check(&fleet_text("matmul"), Placed, "kernel matmul ×1 on NPU-1");
    assert_eq!(judged(&fleet_text("matmul")).1[0].version, "3");
}

#[test]
fn a_declared_probe_that_saw_other_work_or_the_wrong_nonce_places_nothing() {
    check(&fleet_text("copy"), NotPlaced, "kernel copy ×1");
    check(&fleet_text("matmul").replace("'$RUNPROOF_NONCE'", "x"), Inconclusive, "unobserved");
}

#[test]
fn a_declared_inventory_that_fails_is_no_absent_device() {
    let text = fleet_text("matmul").replace("inventory = [\"sh\"", "inventory = [\"no-such-program\"");
    let fleet = fleet::parse("fleet.toml", &text).unwrap();
    let kinds = Kinds::new(None, &fleet);
    assert!(matches!(&*kinds.inventory("npu"), Inventory::Failed { .. }));
    let fleet = fleet::FleetFile { fleet, text };
    let problem = resolve("npu", &fleet, &kinds).unwrap_err();
    assert!(problem.to_string().starts_with("probe of npu failed"), "{problem}");
}
