//! Suites in lit's dialect that need no Python: a `runproof.toml`, lit's verdicts, baselines, and `migrate` where lit is installed.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;
#[path = "bed/lit_rows.rs"]
mod lit_rows;

use bed::Bed;
use lit_rows::TESTS;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

const CONFIG: &str = r#"
[suite]
name = "S"
dialect = "lit"

[lit.config]
suffixes = [".t"]
excludes = ["Inputs"]
timeout = 5

[[lit.folder]]
paths = ["off"]
unsupported = true

[[lit.folder]]
paths = ["more"]
more_features = ["here"]
last_substitutions = [["%here", "true"]]

[features]
asserts = true

[tools]
lister = "/bin/ls"

[substitutions]
"%greet" = "echo hello"
"%greeter" = "echo never reached: a longer name goes first"
"#;

fn read(bed: &Bed, name: &str) -> String {
    std::fs::read_to_string(bed.root.join(name)).unwrap()
}

fn suite() -> Bed {
    let bed = Bed::empty();
    bed.write("runproof.toml", CONFIG.as_bytes());
    for (name, text, _) in TESTS {
        bed.write(name, text.as_bytes());
    }
    bed
}

fn expected() -> BTreeMap<String, String> {
    let found = TESTS.iter().filter(|(.., code)| !code.is_empty());
    found.map(|(name, _, code)| (format!("S :: {name}"), (*code).to_owned())).collect()
}

fn codes(report: &str) -> BTreeMap<String, String> {
    let report: Value = serde_json::from_str(report).unwrap();
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    report["tests"].as_array().unwrap().iter().map(|t| (text(&t["name"]), text(&t["code"]))).collect()
}

#[test]
fn every_rule_gives_lits_verdict() {
    let bed = suite();
    let out = bed.run(&["lit", "-q", "-o", "out.json", "."]);
    assert_eq!(out.status, Some(1), "{}", out.stderr);
    assert_eq!(codes(&read(&bed, "out.json")), expected());
}

/// What lit's results are called in a record.
fn state(code: &str) -> &'static str {
    match code {
        "PASS" => "passed",
        "FLAKYPASS" => "flaky",
        "XFAIL" => "xfailed",
        "XPASS" => "xpassed",
        "UNSUPPORTED" => "skipped",
        "TIMEOUT" => "timed-out",
        "UNRESOLVED" => "errored",
        _ => "failed",
    }
}

#[test]
fn the_same_verdicts_stand_in_a_bundle_that_holds() {
    let bed = suite();
    let out = bed.run(&["test", "--run-id", "r"]);
    let notes = out.stdout.clone();
    assert_eq!(out.status, Some(1), "{}", out.stderr);
    let records = read(&bed, "runproof-out/r/records.jsonl");
    let mut states: BTreeMap<String, String> = BTreeMap::new();
    for line in records.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if let (Some(test), Some(state)) =
            (record["key"]["test"].as_str(), record["verdict"]["state"].as_str())
        {
            states.insert(format!("S :: {test}"), state.to_owned());
        }
    }
    let expected: BTreeMap<String, String> =
        expected().into_iter().map(|(name, code)| (name, state(&code).to_owned())).collect();
    assert_eq!(states, expected);
    for hidden in ["`cd` into a folder", "could not be started - S/xfail-missing.t", "before `;`"] {
        assert!(notes.contains(hidden), "{hidden}: {notes}");
    }
    let audit = bed.run(&["audit", "runproof-out/r"]);
    assert_eq!(audit.status, Some(0), "{}", audit.stdout);
}

#[test]
fn a_folder_that_is_named_is_all_that_is_read() {
    let bed = suite();
    bed.write("broken.t", b"RUN: true\n\xff RUN: \xff\n");
    let out = bed.run(&["test", "more", "--run-id", "r"]);
    assert_eq!(out.status, Some(0), "{}", out.text());
    assert!(out.stdout.contains("1 passed of 1 announced"), "{}", out.stdout);
    assert!(
        read(&bed, "runproof-out/r/run.json").contains("\"partial\":true"),
        "a part says nothing about the whole"
    );
    let out = bed.run(&["test", "none"]);
    assert_eq!(out.status, Some(2), "{}", out.text());
}

#[test]
fn a_known_finding_is_listed_a_new_one_refused_and_a_gone_one_told() {
    let bed = Bed::empty();
    let config = "[suite]\nname = \"S\"\ndialect = \"lit\"\nstrict = true\nbaseline = \"b.tsv\"\n[lit.config]\nsuffixes = [\".t\"]\n";
    bed.write("runproof.toml", config.as_bytes());
    bed.write("a.t", b"# RUN: echo x | FileCheck %s\n# CHECK: x\n# CHECK-NXT: y\n");
    let known = "a.t\tunknown-suffix\tCHECK-NXT\t1\told\t2020-01-01\n";
    bed.write("b.tsv", known.as_bytes());
    let out = bed.run(&["test"]);
    let text = out.stdout.clone();
    assert_eq!(out.status, Some(0), "{text}");
    assert!(
        text.contains("1 findings (unknown-suffix 1)") && text.contains("past their review date"),
        "{text}"
    );

    bed.write("a.t", b"# RUN: echo x | FileCheck %s\n# CHECK: x\n# CHECK-NXT: y\n# CHECK-NXT: z\n");
    let out = bed.run(&["test"]);
    assert_eq!(out.status, Some(2));
    assert!(out.stdout.contains("refused"), "{}", out.stdout);

    bed.write("a.t", b"# RUN: echo x | FileCheck %s\n# CHECK: x\n");
    let out = bed.run(&["test"]);
    let text = out.stderr.clone();
    assert_eq!(out.status, Some(2), "{text}");
    assert!(text.contains("no longer found") && text.contains("take the line out"), "{text}");
}

#[test]
fn a_folders_own_file_in_such_a_suite_is_refused() {
    let bed = suite();
    bed.write("more/runproof.toml", b"[features]\nlost = true\n");
    let out = bed.run(&["lit", "."]);
    assert_eq!(out.status, Some(2));
    assert!(out.stderr.contains("[[lit.folder]]"));
}

#[test]
fn a_suite_that_is_not_there_cannot_move() {
    let bed = Bed::empty();
    let out = bed.run(&["migrate", "nowhere"]);
    assert_eq!(out.status, Some(2));
    assert!(
        out.stderr.contains("`nowhere` cannot be found") && out.stderr.contains("lit.cfg"),
        "{}",
        out.stderr
    );
}

#[test]
fn a_suite_moves_over() {
    let lit = Command::new("python3").args(["-c", "import lit"]).output();
    if !lit.is_ok_and(|o| o.status.success()) {
        eprintln!(
            "NOT RUN: `migrate` against an installed lit; this machine's python3 has no lit (pip install lit)"
        );
        return;
    }
    let bed = Bed::empty();
    let config = "import lit.formats\nconfig.name = 'Old'\nconfig.suffixes = ['.t']\nconfig.test_format = lit.formats.ShTest()\n\
                  config.available_features.add('x')\nconfig.substitutions.append(('%say', 'echo'))\n";
    bed.write("lit.cfg.py", config.as_bytes());
    bed.write("a.t", b"# RUN: %say hello | grep hello\n# REQIRES: x\n");
    bed.write("b.t", b"# RUN: false\n# REQUIRES: y\n");
    bed.write("sub/lit.local.cfg", b"config.available_features.add('y')\n");
    bed.write("sub/c.t", b"# RUN: true\n# REQUIRES: y\n");
    let out = bed.run(&["migrate", "."]);
    let text = out.stdout.clone();
    assert_eq!(out.status, Some(0), "{text}{}", out.stderr);
    assert!(text.contains("3 tests, 2 configurations of folders, 1 known findings"), "{text}");
    assert!(text.contains("3 of 3 tests agree"), "{text}");
    assert!(read(&bed, "baseline.tsv").contains("a.t\tnear-miss\tREQIRES\t1\t"));
    let out = bed.run(&["test"]);
    assert_eq!(out.status, Some(0), "{}", out.stdout);

    bed.write("runproof.toml", b"[suite]\nname = \"mine\"\nfiles = [\"*.t\"]\n");
    let out = bed.run(&["migrate", "."]);
    assert_eq!(out.status, Some(2));
    assert!(out.stderr.contains("is there already"));
}
