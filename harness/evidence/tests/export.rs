//! Exports: every announced test is in every one of them, and every one of them can be read.

#![allow(clippy::unwrap_used, reason = "test code")]

mod good;

use good::*;
use runproof_evidence::bundle::Stream;
use runproof_evidence::{Bundle, digest, export};
use runproof_records::record::{CommandRole, Exit, Output, Target};
use runproof_records::verdict::State;

/// The good bundle, an output full of control bytes, a time-out, and a test that was lost.
fn bad_bundle(parent: &std::path::Path) -> Bundle {
    let keys = [
        key("a.vx", Target::Host),
        key("alpha/run.vx", Target::Host),
        key("b.vx", Target::Host),
        key("beta/run.vx", Target::Host),
        key("c.vx", Target::Host),
    ];
    let mut m = begin(parent, run("r"), &keys);
    for k in &keys[..4] {
        let source = digest::of_bytes(k.test.as_bytes());
        let code = i32::from(k.test == "alpha/run.vx" || k.test == "b.vx");
        let mut r = executed(&mut m, k, 1, &source, code);
        if k.test == "alpha/run.vx" {
            let bytes = b"\x1b[31mred\x1b[0m \x00 \x08 \xef\xbf\xbe ]]> <&\" only in alpha\n";
            let place = m.writer.log_path(k, 1, 1, Stream::Stdout);
            std::fs::write(&place.path, bytes).unwrap();
            r.commands[1].stdout =
                Output { bytes: bytes.len() as u64, digest: digest::of_bytes(bytes), log: Some(place.name) };
            r.verdict.reason = "line 3: expected 42\n\x1b[1mgot\x1b[0m red, 100%".into();
        }
        if k.test == "b.vx" {
            let limit = Exit::TimedOut { limit_ms: 2000 };
            let command = r.commands.iter_mut().find(|c| c.role == CommandRole::Exec).unwrap();
            command.stages[0].exit = limit.clone();
            command.exit = limit;
            r.verdict.state = State::TimedOut;
            r.verdict.reason = "timed out after 2 s".into();
        }
        m.append(r);
    }
    let now = m.tick();
    m.writer.started(&keys[4], 1, now).unwrap();
    Bundle::open(m.writer.root()).unwrap()
}

#[test]
fn junit_parses_and_has_every_test_whatever_the_program_printed() {
    let folder = tempfile::tempdir().unwrap();
    let xml = export::junit(&bad_bundle(folder.path())).unwrap();
    let bad = xml
        .chars()
        .find(|c| c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{fffe}' | '\u{ffff}'));
    assert_eq!(bad, None, "{xml}");
    let report = quick_junit::Report::deserialize_from_str(&xml).unwrap();
    assert_eq!((report.tests, report.failures, report.errors), (5, 1, 2));
    let names: Vec<_> = report.test_suites[0].test_cases.iter().map(|c| c.name.as_str().to_owned()).collect();
    assert_eq!(names, ["a.vx", "alpha/run.vx", "b.vx", "beta/run.vx", "c.vx"]);
    for part in [
        "\\x1b[31mred\\x1b[0m \\x00 \\x08 \\u{fffe} ]]&gt;",
        "only in alpha",
        "type=\"timeout\"",
        "it was running when the run ended",
        "name=\"tier\" value=\"T1\"",
    ] {
        assert!(xml.contains(part), "{part}: {xml}");
    }
}

#[test]
fn junit_keeps_skips_and_first_attempts() {
    let folder = tempfile::tempdir().unwrap();
    let done = bundle(folder.path(), "r", None);
    let xml = export::junit(&Bundle::open(&done.path).unwrap()).unwrap();
    for part in [
        "<skipped message=\"requires: big_memory is not there\"",
        "attempt 1: exit 29",
        "flakyFailure",
        "kernel.vx on h200",
    ] {
        assert!(xml.contains(part), "{part}: {xml}");
    }
}

#[test]
fn ctrf_has_the_fields_of_its_specification_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let done = bundle(folder.path(), "r", None);
    let value: serde_json::Value =
        serde_json::from_str(&export::ctrf(&Bundle::open(&done.path).unwrap()).unwrap()).unwrap();
    assert_eq!(
        (value["reportFormat"].as_str(), value["specVersion"].as_str()),
        (Some("CTRF"), Some("0.0.0"))
    );
    let summary = &value["results"]["summary"];
    let of = |name: &str| summary[name].as_u64().unwrap();
    assert_eq!(
        (of("tests"), of("passed"), of("failed"), of("skipped"), of("pending"), of("other"), of("flaky")),
        (9, 6, 1, 1, 0, 1, 1)
    );
    let known = [
        "name",
        "status",
        "duration",
        "start",
        "stop",
        "suite",
        "message",
        "trace",
        "line",
        "rawStatus",
        "filePath",
        "retries",
        "retryAttempts",
        "flaky",
        "device",
        "extra",
    ];
    for test in value["results"]["tests"].as_array().unwrap() {
        for field in test.as_object().unwrap().keys() {
            assert!(known.contains(&field.as_str()), "{field}");
        }
        assert_eq!(test["suite"].as_array().unwrap().len(), 1);
        assert!(
            ["passed", "failed", "skipped", "pending", "other"].contains(&test["status"].as_str().unwrap())
        );
    }
    let flaky = &value["results"]["tests"][1];
    assert_eq!(flaky["retryAttempts"].as_array().unwrap().len(), 2);
    assert_eq!(flaky["retryAttempts"][0]["message"], "exit 29");
    let lost = serde_json::from_str::<serde_json::Value>(
        &export::ctrf(&bad_bundle(folder.path().join("b").as_path())).unwrap(),
    )
    .unwrap();
    assert_eq!(lost["results"]["tests"][4]["rawStatus"], "not-run");
    assert_eq!(lost["results"]["summary"]["failed"], 3);
}

#[test]
fn github_points_at_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = export::github(&bad_bundle(folder.path()), &|suite| format!("tests/{suite}"));
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(
        lines[0],
        "::error file=tests/s/alpha/run.vx,line=3,title=alpha/run.vx failed::line 3: expected 42%0A\\x1b[1mgot\\x1b[0m red, 100%25"
    );
    assert!(lines[1].contains("b.vx timed-out::timed out after 2 s"));
    assert!(lines[2].contains("c.vx not-run::it was running"));
}

#[test]
fn the_test_result_statement_is_about_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let done = bundle(folder.path(), "r", None);
    let value = export::test_result(&Bundle::open(&done.path).unwrap()).unwrap();
    assert_eq!(value["subject"][0]["digest"]["sha256"], done.digest.hex());
    assert_eq!(value["predicate"]["result"], "FAILED");
    assert_eq!(value["predicate"]["failedTests"][0], "wrong.vx");
    assert!(export::test_result(&bad_bundle(folder.path().join("b").as_path())).is_none());
}
