//! The Neural Engine on a machine that has none: what is refused, what a build that fails comes to, and that nothing
//! which was recorded elsewhere earns a tier here.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;

use bed::{Bed, Outcome};
use serde_json::Value;
use std::path::Path;

/// What an observer left of a placed run, shortened: a nonce and times of long ago.
const RECORDING: &str = r#"{"seq":0,"pid":7,"msg":{"k":"hello","v":1,"nonce":"00112233445566778899aabbccddeeff","probe":"ane.observer","version":"1","api":"Core ML","api_version":"macOS 15.1","rc":{},"ppid":0,"start_ticks":0,"pidns":"","exe":"","boot_id":"","rt":1,"mono":0}}
{"seq":1,"pid":7,"msg":{"k":"plan","model":"sha256:00","units":"cpu-and-ane","op":"ios17.matmul","preferred":"ane","supported":["cpu","ane"],"weight_ppm":1000000}}
{"seq":2,"pid":7,"msg":{"k":"sample","uuid":"ane","start":1000000000,"end":4000000000,"procs":[],"energy":{"phase":"run","uj":3300000},"source":"macmon.ioreport"}}
{"seq":3,"pid":7,"msg":{"k":"energy_delta","rail":"ane","uj":3300000,"baseline_uj":6000,"sigma_uj":3000,"start":1000000000,"end":4000000000,"source":"macmon.ioreport"}}
"#;

/// A test on a device of a kind that the fleet declares, with this program as its observer.
fn observed_by(kind: &str, start: &str) -> Bed {
    let bed = Bed::suite(&[(
        "t.vx",
        &format!(
            "// DEVICES: {kind}\n// EXEC_RUN: sleep 0.2 && echo done\n// EXPECT: done\n// PLACED: plan ane>=0.9\n\
             // PLACED: energy_delta rail=ane\n"
        ),
    )]);
    let device = r#"{"seq":0,"pid":0,"msg":{"k":"device","dev":0,"uuid":"E-1","name":"Neural Engine","vendor":"Apple","class":"npu","units":16,"memory":0,"driver":"1","visible":true}}"#;
    bed.write("device.json", format!("{device}\n").as_bytes());
    bed.write("recording.jsonl", RECORDING.as_bytes());
    let config = "[suite]\nname = \"case\"\nfiles = [\"*.vx\"]\nexclude = [\"*.json\", \"*.jsonl\"]\n[devices]\nfleet = \"fleet.toml\"\n";
    bed.write("runproof.toml", config.as_bytes());
    let fleet = format!(
        "[[host]]\nid = \"here\"\nname = \"H\"\nowner = \"me\"\nos = \"linux\"\narch = \"{}\"\naccess = \"owned\"\n\
         [[probe]]\nkind = \"{kind}\"\nrole = \"outer\"\ninventory = [\"cat\", \"device.json\"]\n\
         start = [\"sh\", \"-c\", '''{start}; cat >/dev/null''']\n\
         [[device]]\nid = \"engine\"\nkind = \"{kind}\"\nname = \"E\"\nowner = \"me\"\nvendor = \"Apple\"\n\
         capability = \"any\"\nidentity = {{ model = \"*Neural Engine*\" }}\naccess = \"owned\"\n",
        std::env::consts::ARCH
    );
    bed.write("fleet.toml", fleet.as_bytes());
    bed
}

fn verdict(outcome: &Outcome, test: &str) -> Value {
    outcome.tests()[test].clone().unwrap()["verdict"].clone()
}

#[test]
fn a_host_without_one_says_so() {
    let bed = Bed::suite(&[("t.vx", "// RUN: true\n")]);
    let outcome = bed.run(&["test", "--device", "ane"]);
    outcome.check(3, &["absent: no device of class ane on this host", "this host is not macOS"]);
    assert!(outcome.bundle.is_none(), "nothing was run");
    bed.run(&["devices"]).check(0, &["ane: absent: the Neural Engine is reached through Core ML"]);
    // What an observer says where there is nothing to observe.
    let said = bed.run(&["__observe", "ane", "m.mlmodelc"]);
    said.check(1, &["\"k\":\"hello\"", "\"k\":\"error\"", "Core ML is on macOS only"]);
}

#[test]
fn nobody_else_observes_the_engine() {
    observed_by("ane", "cat recording.jsonl")
        .run(&["test", "--device", "engine"])
        .check(2, &["the kind `ane` has a probe already"]);
}

#[test]
fn a_recording_that_is_replayed_earns_no_tier_on_the_device() {
    let fresh = "sed \"s/00112233445566778899aabbccddeeff/$RUNPROOF_NONCE/\" recording.jsonl";
    for (start, outcome) in [("cat recording.jsonl", "inconclusive"), (fresh, "not placed")] {
        let bed = observed_by("engine0", start);
        let run = bed.run(&["test", "--device", "engine"]);
        run.check(1, &["own words are no proof of placement"]);
        let verdict = verdict(&run, "t.vx @ engine");
        assert_eq!(verdict["placement"], outcome, "{verdict}");
        assert_ne!(verdict["tier"], "T2", "{verdict}");
        let bundle = run.bundle.unwrap();
        bed.run(&["audit", bundle.to_str().unwrap()]).check(0, &[" 0 findings"]);
        let matrix = bed.run(&["matrix", bundle.to_str().unwrap(), "--fleet", "fleet.toml"]);
        matrix.check(1, &["here × engine MISSING T2"]);
    }
}

const BUILD: &str =
    "// RUN(build): sh -c \"echo no converter here >&2; exit 3\"\n// EXEC_RUN: echo 24\n// EXPECT: 24\n";

#[test]
fn a_build_that_fails_is_a_degraded_build_with_its_log() {
    let bed = Bed::suite(&[("t.vx", BUILD), ("u.vx", "// EXEC_RUN: echo 1\n// EXPECT: 1\n")]);
    let run = bed.run(&["test"]);
    run.check(0, &["degraded-build: the RUN(build) of line 1 failed: no converter here", "case/t.vx"]);
    let verdict = verdict(&run, "t.vx");
    assert_eq!(
        (verdict["state"].as_str(), verdict["skip"].as_str(), verdict["evidence"].as_str()),
        (Some("skipped"), Some("degraded-build"), Some("degraded-build"))
    );
    assert_eq!(verdict.get("tier"), None, "{verdict}");
    let bundle = run.bundle.clone().unwrap();
    assert!(logs(&bundle).contains("no converter here"));
    bed.run(&["audit", bundle.to_str().unwrap()]).check(0, &[" 0 findings"]);
    // A skip is never a pass.
    bed.run(&["test", "t.vx"]).check(2, &["degraded-build"]);
}

#[test]
fn only_a_build_that_ended_by_itself_is_degraded() {
    let state = |text: &str| {
        let bed = Bed::suite(&[("t.vx", text)]);
        let run = bed.run(&["test"]);
        verdict(&run, "t.vx")["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(&BUILD.replace("exit 3", "exit 0")), "passed");
    assert_eq!(state(&BUILD.replace("RUN(build): sh", "RUN(build): no-such-program")), "errored");
    assert_eq!(state(&BUILD.replace("RUN(build)", "RUN")), "failed");
    assert_eq!(state(&BUILD.replace("exit 3", "kill -SEGV 0")), "skipped");
}

fn logs(bundle: &Path) -> String {
    let files = std::fs::read_dir(bundle.join("logs")).unwrap();
    files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}
