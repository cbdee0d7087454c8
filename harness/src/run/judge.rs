//! From what happened to a verdict. Pure: no files, no clocks, no processes. The tier is not decided here.

use runproof_records::record::{Exit, Facts, Xfail};
use runproof_records::verdict::{EvidenceState, Fact, PlacementOutcome, State};

/// What went wrong, in the order in which one hides the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// A check, an exit status or a placement does not hold.
    Failed,
    /// A program died by a signal that nobody expected.
    Crashed,
    /// The limit was reached.
    TimedOut,
    /// Something could not be started, or the harness broke.
    Errored,
}

/// Everything that the verdict of an attempt depends on.
#[derive(Clone, Debug, Default)]
pub struct Happened {
    /// What went wrong, each with one line, in order.
    pub troubles: Vec<(Trouble, String)>,
    /// Number of `EXEC_RUN` commands that the test has.
    pub executions: usize,
    /// Whether each of them ended as it had to.
    pub exits_held: bool,
    /// Whether all declared outputs came back; `None` when the test looks at no output.
    pub read_back: Option<bool>,
    /// Whether all comparisons held; `None` when nothing was compared.
    pub compared: Option<bool>,
    /// Placement, on a device with a probe: outcome and reason.
    pub placement: Option<(PlacementOutcome, String)>,
    /// Whether a plan is all that speaks for the placement.
    pub planned: bool,
    /// Whether the target is a device.
    pub on_device: bool,
    /// Expected failure that applies.
    pub xfail: Option<Xfail>,
    /// The host shows signs of emulation.
    pub emulated: bool,
    /// An undeclared override of a declared fact was set.
    pub tainted: bool,
}

/// The verdict without what the rule computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// State.
    pub state: State,
    /// Why.
    pub reason: String,
    /// The four facts.
    pub facts: Facts,
    /// What they carry.
    pub evidence: EvidenceState,
}

/// Judges an attempt.
pub fn judge(happened: &Happened) -> Judged {
    let facts = facts(happened);
    let (state, reason) = state(happened);
    Judged { state, reason, facts, evidence: evidence(happened, facts) }
}

fn facts(h: &Happened) -> Facts {
    let fact = |value: Option<bool>| match value {
        Some(true) => Fact::Held,
        Some(false) => Fact::Failed,
        None => Fact::Absent,
    };
    let executed = h.executions > 0;
    Facts {
        exit: fact(executed.then_some(h.exits_held)),
        placement: match h.placement.as_ref().map(|(o, _)| *o) {
            Some(PlacementOutcome::Placed | PlacementOutcome::PlacedSoftware) => Fact::Held,
            Some(PlacementOutcome::NotPlaced) => Fact::Failed,
            Some(PlacementOutcome::Inconclusive) | None => Fact::Absent,
        },
        readback: fact(if executed { h.read_back } else { None }),
        oracle: fact(if executed { h.compared } else { None }),
    }
}

fn state(h: &Happened) -> (State, String) {
    let placement_trouble = match &h.placement {
        Some((outcome @ (PlacementOutcome::NotPlaced | PlacementOutcome::Inconclusive), why)) => {
            let words = if h.compared == Some(true) {
                " (the expected lines were printed; a program's own words are no proof of placement)"
            } else {
                ""
            };
            Some(format!("{outcome}: {why}{words}"))
        }
        _ => None,
    };
    let worst = h.troubles.iter().map(|(t, _)| *t).max();
    let expects = h.xfail.as_ref().map(|x| x.expects.as_str());
    if expects == Some("placement") {
        return match (worst, placement_trouble) {
            (None, Some(why)) => (State::Xfailed, why),
            (None, None) => {
                (State::Xpassed, "XFAIL(placement) declares a liar, and the probe saw the work".to_owned())
            }
            (Some(_), _) => plain(h, worst, None),
        };
    }
    let (state, reason) = plain(h, worst, placement_trouble);
    match (expects, state) {
        (None, _) => (state, reason),
        (Some("fail"), State::Failed)
        | (Some("crash"), State::Crashed)
        | (Some("timeout"), State::TimedOut) => (State::Xfailed, reason),
        (Some(kind), State::Passed) => {
            (State::Xpassed, format!("XFAIL declares a failure ({kind}), and the test passed"))
        }
        (Some(kind), _) => (state, format!("{reason}; an expected failure ({kind}) does not cover this")),
    }
}

fn plain(h: &Happened, worst: Option<Trouble>, placement: Option<String>) -> (State, String) {
    let reason = |t: Trouble| {
        let mut of = h.troubles.iter().filter(|(k, _)| *k == t).map(|(_, r)| r.as_str());
        let first = of.next().unwrap_or_default().to_owned();
        match of.count() {
            0 => first,
            n => format!("{first} (and {n} more)"),
        }
    };
    match worst {
        Some(Trouble::Errored) => (State::Errored, reason(Trouble::Errored)),
        Some(Trouble::TimedOut) => (State::TimedOut, reason(Trouble::TimedOut)),
        Some(Trouble::Crashed) => (State::Crashed, reason(Trouble::Crashed)),
        Some(Trouble::Failed) => (State::Failed, reason(Trouble::Failed)),
        None => match placement {
            Some(why) => (State::Failed, why),
            None => (State::Passed, String::new()),
        },
    }
}

fn evidence(h: &Happened, facts: Facts) -> EvidenceState {
    if h.emulated {
        return EvidenceState::Emulated;
    }
    if h.tainted {
        return EvidenceState::OverrideTainted;
    }
    if !h.on_device {
        return EvidenceState::Complete;
    }
    match h.placement.as_ref().map(|(o, _)| *o) {
        Some(PlacementOutcome::Inconclusive) if h.planned => EvidenceState::Planned,
        Some(PlacementOutcome::Inconclusive) | None => EvidenceState::Inconclusive,
        Some(PlacementOutcome::NotPlaced) => EvidenceState::Unplaced,
        Some(PlacementOutcome::Placed | PlacementOutcome::PlacedSoftware) => {
            if facts.readback == Fact::Held && facts.oracle == Fact::Held {
                EvidenceState::Complete
            } else {
                EvidenceState::DispatchedUnverified
            }
        }
    }
}

/// Whether a program ended so that an expectation of `code` or a signal name can be asked at all: by itself.
pub fn ended_by_itself(exit: &Exit) -> bool {
    matches!(exit, Exit::Code { .. } | Exit::Signal { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn happened() -> Happened {
        Happened {
            executions: 1,
            exits_held: true,
            read_back: Some(true),
            compared: Some(true),
            ..Happened::default()
        }
    }

    fn xfail(expects: &str) -> Option<Xfail> {
        Some(Xfail { expects: expects.into(), reason: "known".into(), review: String::new() })
    }

    fn check(h: &Happened, state: State, contains: &str) {
        let judged = judge(h);
        assert_eq!(judged.state, state, "{judged:?}");
        assert!(judged.reason.contains(contains), "{judged:?}");
    }

    #[test]
    fn a_crash_is_not_the_failure_that_was_expected() {
        let mut h = happened();
        h.troubles = vec![(Trouble::Crashed, "died by SIGSEGV".into())];
        check(&h, State::Crashed, "SIGSEGV");
        h.xfail = xfail("fail");
        check(&h, State::Crashed, "does not cover this");
        h.xfail = xfail("crash");
        check(&h, State::Xfailed, "SIGSEGV");
    }

    #[test]
    fn expected_failures() {
        let mut h = happened();
        h.xfail = xfail("fail");
        check(&h, State::Xpassed, "the test passed");
        h.troubles = vec![(Trouble::Failed, "exit 1".into()), (Trouble::Failed, "exit 2".into())];
        check(&h, State::Xfailed, "exit 1 (and 1 more)");
        h.troubles = vec![(Trouble::Errored, "could not be started".into())];
        check(&h, State::Errored, "does not cover this");
    }

    #[test]
    fn the_programs_own_words_are_no_proof() {
        let mut h = happened();
        h.on_device = true;
        h.placement = Some((PlacementOutcome::NotPlaced, "0 kernels".into()));
        check(&h, State::Failed, "own words are no proof");
        assert_eq!(judge(&h).evidence, EvidenceState::Unplaced);
        h.xfail = xfail("placement");
        check(&h, State::Xfailed, "0 kernels");
        h.placement = Some((PlacementOutcome::PlacedSoftware, String::new()));
        check(&h, State::Xpassed, "liar");
        h.troubles = vec![(Trouble::Crashed, "SIGABRT".into())];
        check(&h, State::Crashed, "SIGABRT");
    }

    #[test]
    fn what_the_facts_carry() {
        let mut h = happened();
        h.on_device = true;
        h.placement = Some((PlacementOutcome::Placed, String::new()));
        assert_eq!(judge(&h).evidence, EvidenceState::Complete);
        h.compared = None;
        assert_eq!(judge(&h).evidence, EvidenceState::DispatchedUnverified);
        h.placement = Some((PlacementOutcome::Inconclusive, String::new()));
        h.planned = true;
        assert_eq!(judge(&h).evidence, EvidenceState::Planned);
        check(&h, State::Failed, "inconclusive");
        h.placement = None;
        assert_eq!(judge(&h).evidence, EvidenceState::Inconclusive);
        h.tainted = true;
        assert_eq!(judge(&h).evidence, EvidenceState::OverrideTainted);
        h.emulated = true;
        assert_eq!(judge(&h).evidence, EvidenceState::Emulated);
    }
}
