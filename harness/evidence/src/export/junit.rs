//! `junit.xml`: every announced test, skips with their reason, lost tests as errors, attempts kept.

use super::{target, title, transcript, visible};
use crate::read::{Bundle, Test};
use quick_junit::{FlakyOrRerun, NonSuccessKind, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};
use runproof_records::record::Record;
use runproof_records::verdict::{State, Tier};
use std::collections::BTreeMap;
use std::time::Duration;

/// The bundle as JUnit XML. Always well-formed: every control byte is written out.
///
/// # Errors
/// The XML writer failed, which it does for lack of memory only.
pub fn junit(bundle: &Bundle) -> Result<String, std::io::Error> {
    let mut suites: BTreeMap<&str, TestSuite> = BTreeMap::new();
    for test in &bundle.tests {
        let name = test.key.suite.as_str();
        suites.entry(name).or_insert_with(|| TestSuite::new(text(name))).add_test_case(case(bundle, test));
    }
    let mut report = Report::new(text(&bundle.run.id));
    report.add_test_suites(suites.into_values());
    report.to_string().map_err(std::io::Error::other)
}

fn case(bundle: &Bundle, test: &Test) -> TestCase {
    let state = test.state();
    let reason = text(&test.reason());
    let mut status = match kind(state) {
        None if state == State::Skipped => TestCaseStatus::skipped(),
        None => TestCaseStatus::success(),
        Some((kind, _)) => TestCaseStatus::non_success(kind),
    };
    if let (State::Skipped, Some(record)) = (state, test.last()) {
        let skip = record.verdict.skip.map_or("", runproof_records::verdict::SkipKind::as_str);
        status.set_message(format!("{skip}: {reason}"));
    }
    if let Some((_, word)) = kind(state) {
        status.set_type(word).set_message(if reason.is_empty() { word.into() } else { reason.clone() });
        let log = test.last().map(|r| transcript(&bundle.path, r)).unwrap_or_default();
        status.set_description(format!("{reason}\n{log}"));
    }
    let earlier = if test.last().is_some() {
        test.attempts.split_last().map_or(&[][..], |(_, e)| e)
    } else {
        &test.attempts[..]
    };
    status.add_reruns(earlier.iter().map(|r| rerun(bundle, r)));
    if state == State::Flaky {
        status.set_rerun_kind(FlakyOrRerun::Flaky);
    }
    let mut case = TestCase::new(text(&title(test)), status);
    case.set_classname(text(&test.key.suite));
    if let Some(record) = test.last() {
        case.set_time(Duration::from_nanos(record.ended.mono.saturating_sub(record.started.mono)));
        case.add_property(("goal", record.verdict.goal.as_str()));
        case.add_property(("evidence_state", record.verdict.evidence.as_str()));
    }
    case.add_property(("state", state.as_str()));
    case.add_property(("tier", test.tier().map_or("none", Tier::as_str)));
    case.add_property(("target", text(target(&test.key.target)).as_str()));
    case.add_property(("source", test.source.as_str()));
    case
}

fn rerun(bundle: &Bundle, record: &Record) -> TestRerun {
    let (kind, word) = kind(record.verdict.state).unwrap_or((NonSuccessKind::Failure, "failed"));
    let mut rerun = TestRerun::new(kind);
    rerun.set_type(word).set_message(text(&format!("attempt {}: {}", record.attempt, record.verdict.reason)));
    rerun.set_description(transcript(&bundle.path, record));
    rerun
}

/// JUnit knows failures (the test's own) and errors (everything around it).
fn kind(state: State) -> Option<(NonSuccessKind, &'static str)> {
    match state {
        State::Passed | State::Xfailed | State::Flaky | State::Skipped => None,
        State::Failed => Some((NonSuccessKind::Failure, "failed")),
        State::Xpassed => Some((NonSuccessKind::Failure, "xpassed")),
        State::TimedOut => Some((NonSuccessKind::Error, "timeout")),
        State::Refused => Some((NonSuccessKind::Error, "refused")),
        State::Crashed => Some((NonSuccessKind::Error, "crashed")),
        State::Errored => Some((NonSuccessKind::Error, "errored")),
        State::NotRun => Some((NonSuccessKind::Error, "not-run")),
    }
}

fn text(raw: &str) -> String {
    visible(raw.as_bytes())
}
