//! Whether a test may run here: `REQUIRES`, `UNSUPPORTED`, `XFAIL` against the features of the host.

use super::Fate;
use crate::suite::features::Features;
use runproof_directives::model::{ExpectedFailure, Gate, Xfail};
use runproof_directives::{Source, TestFile};
use runproof_records::record;
use runproof_records::verdict::SkipKind;

/// What the gates make of a test; `None` when it may run.
pub fn gate(test: &TestFile, features: &Features, source: &Source) -> Option<Fate> {
    for gate in test.requires.iter().chain(&test.unsupported) {
        if let Some(fate) = broken(gate, features, source) {
            return Some(fate);
        }
    }
    if let Some(unmet) = test.requires.iter().find(|g| !g.expr.holds(&features.present)) {
        return Some(skip(unmet, "REQUIRES", features, source, test));
    }
    if let Some(met) = test.unsupported.iter().find(|g| g.expr.holds(&features.present)) {
        return Some(skip(met, "UNSUPPORTED", features, source, test));
    }
    None
}

fn names(gate: &Gate) -> Vec<String> {
    gate.expr.features().into_iter().map(|m| m.text().to_owned()).collect()
}

/// A feature whose question could not be answered is an error, never a skip.
fn broken(gate: &Gate, features: &Features, source: &Source) -> Option<Fate> {
    let name = names(gate).into_iter().find(|n| features.broken.contains_key(n))?;
    let line = source.line(gate.span.start);
    Some(Fate::errored(format!(
        "feature `{name}` (line {line}) cannot be decided: {}",
        features.broken[&name]
    )))
}

fn skip(gate: &Gate, keyword: &str, features: &Features, source: &Source, test: &TestFile) -> Fate {
    let line = source.line(gate.span.start);
    let commands =
        test.steps.iter().filter(|s| matches!(s, runproof_directives::model::Step::Command(_))).count();
    let lost = match commands {
        1 => "1 command line not run".to_owned(),
        n => format!("{n} command lines not run"),
    };
    let absent = names(gate).into_iter().find_map(|n| features.absent_kinds.get(&n));
    match absent {
        Some((why, no_driver)) if keyword == "REQUIRES" => Fate::skip(
            if *no_driver { SkipKind::NoDriver } else { SkipKind::NoDevice },
            format!("{why} ({keyword}: {}, line {line}); {lost}", gate.text),
        ),
        _ => Fate::skip(SkipKind::Requires, format!("{keyword}: {} (line {line}); {lost}", gate.text)),
    }
}

/// The first expected failure that applies on this host.
pub fn xfail(test: &TestFile, features: &Features) -> Option<record::Xfail> {
    test.xfail.iter().find(|x| x.when.as_ref().is_none_or(|e| e.holds(&features.present))).map(|x| {
        record::Xfail {
            expects: word(x).to_owned(),
            reason: x.reason.clone().unwrap_or_default(),
            review: x.review.clone().unwrap_or_default(),
        }
    })
}

fn word(xfail: &Xfail) -> &'static str {
    match xfail.expects {
        ExpectedFailure::Fail => "fail",
        ExpectedFailure::Crash => "crash",
        ExpectedFailure::Timeout => "timeout",
        ExpectedFailure::Placement => "placement",
    }
}
