//! `ctrf.json`: the Common Test Report Format, specification 0.0.0. Fields outside `extra` are its own; the state of
//! ours that it has no word for is in `rawStatus`.

use super::{file, line, target, title, transcript};
use crate::read::{Bundle, Test};
use runproof_records::record::Record;
use runproof_records::verdict::{State, Tier};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    report_format: &'static str,
    spec_version: &'static str,
    run_id: String,
    generated_by: String,
    results: Results,
}

#[derive(Serialize)]
struct Results {
    tool: Tool,
    summary: Summary,
    tests: Vec<Case>,
    environment: Environment,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: String,
}

#[derive(Default, Serialize)]
struct Summary {
    tests: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
    pending: u64,
    other: u64,
    flaky: u64,
    start: u64,
    stop: u64,
    extra: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    name: String,
    status: &'static str,
    duration: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<u64>,
    suite: [String; 1],
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    trace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    raw_status: &'static str,
    file_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    retries: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retry_attempts: Vec<Attempt>,
    flaky: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    extra: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct Attempt {
    attempt: u32,
    status: &'static str,
    duration: u64,
    message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Environment {
    commit: String,
    os_platform: String,
    os_release: String,
    test_environment: String,
}

/// The bundle as CTRF JSON.
///
/// # Errors
/// The JSON writer failed.
pub fn ctrf(bundle: &Bundle) -> Result<String, serde_json::Error> {
    let run = &bundle.run;
    let tests: Vec<Case> = bundle.tests.iter().map(|t| case(bundle, t)).collect();
    let count = |status: &str| tests.iter().filter(|t| t.status == status).count() as u64;
    let stop = bundle.tests.iter().flat_map(|t| &t.attempts).map(|r| r.ended.utc).max();
    let mut extra = BTreeMap::new();
    for tier in Tier::ALL {
        let n = bundle.tests.iter().filter(|t| t.state() == State::Passed && t.tier() == Some(*tier)).count();
        extra.insert(tier.as_str(), n as u64);
    }
    let summary = Summary {
        tests: tests.len() as u64,
        passed: count("passed"),
        failed: count("failed"),
        skipped: count("skipped"),
        pending: count("pending"),
        other: count("other"),
        flaky: tests.iter().filter(|t| t.flaky).count() as u64,
        start: millis(run.started.utc),
        stop: millis(run.end.as_ref().map(|e| e.at.utc).or(stop).unwrap_or(run.started.utc)),
        extra,
    };
    let document = Document {
        report_format: "CTRF",
        spec_version: "0.0.0",
        run_id: run.id.clone(),
        generated_by: format!("runproof {}", run.harness),
        results: Results {
            tool: Tool { name: "runproof", version: run.harness.clone() },
            summary,
            tests,
            environment: Environment {
                commit: run.source.commit.clone(),
                os_platform: run.host.os.clone(),
                os_release: run.host.kernel.clone(),
                test_environment: run.host.id.clone(),
            },
        },
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn case(bundle: &Bundle, test: &Test) -> Case {
    let state = test.state();
    let record = test.last();
    let failed = state.is_failure();
    let verdict = record.map(|r| &r.verdict);
    let mut extra = BTreeMap::from([
        ("target", target(&test.key.target).to_owned()),
        ("tier", test.tier().map_or("none", Tier::as_str).to_owned()),
        ("source", test.source.to_string()),
    ]);
    if let Some(verdict) = verdict {
        extra.insert("goal", verdict.goal.to_string());
        if let Some(skip) = verdict.skip {
            extra.insert("skip", skip.to_string());
        }
    }
    Case {
        name: title(test),
        status: status(state),
        duration: record.map_or(0, duration),
        start: record.map(|r| millis(r.started.utc)),
        stop: record.map(|r| millis(r.ended.utc)),
        suite: [test.key.suite.clone()],
        message: test.reason(),
        trace: record.filter(|_| failed).map(|r| transcript(&bundle.path, r)).unwrap_or_default(),
        line: record.filter(|_| failed).map(line),
        raw_status: state.as_str(),
        file_path: file(test).to_owned(),
        retries: test.attempts.len().checked_sub(1).filter(|n| *n > 0),
        retry_attempts: if test.attempts.len() > 1 {
            test.attempts.iter().map(attempt).collect()
        } else {
            Vec::new()
        },
        flaky: state == State::Flaky,
        device: record.and_then(|r| r.device.as_ref()).map(|d| d.name.clone()),
        extra,
    }
}

fn attempt(record: &Record) -> Attempt {
    Attempt {
        attempt: record.attempt,
        status: status(record.verdict.state),
        duration: duration(record),
        message: record.verdict.reason.clone(),
    }
}

/// An expected failure is neither passed nor failed: `other`. A lost test is a failure.
fn status(state: State) -> &'static str {
    match state {
        State::Passed | State::Flaky => "passed",
        State::Xfailed => "other",
        State::Skipped => "skipped",
        _ => "failed",
    }
}

fn duration(record: &Record) -> u64 {
    millis(record.ended.mono.saturating_sub(record.started.mono))
}

fn millis(ns: u64) -> u64 {
    ns / 1_000_000
}
