//! The verdict: goal, tier, state, and what each of them stands on.

use super::Sink;
use crate::load::{Bundle, sha256};
use crate::rule::{self, declared};
use runproof_records::record::{Command, CommandRole, Exit, Record, Target};
use runproof_records::verdict::{SkipKind, State, Tier};

pub(super) fn rule(b: &Bundle<'_>, sink: &mut Sink) {
    let digest = sha256(rule::RULE_TEXT.as_bytes());
    for (line, r) in b.records() {
        let used = &r.verdict.rule;
        if used.version != rule::RULE_VERSION || used.digest != digest {
            sink.record(
                line,
                format!(
                    "was graded by rule {} ({}), not {} ({digest})",
                    used.version,
                    used.digest,
                    rule::RULE_VERSION
                ),
            );
        }
    }
}

pub(super) fn goal(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        let executes = r.commands.iter().any(|c| c.role == CommandRole::Exec) || declared(r, "EXEC_RUN") > 0;
        // A test that ran nothing may have a command that only the suite's configuration gives.
        if r.commands.is_empty() && !executes && r.verdict.tier.is_none() {
            continue;
        }
        let software = match &r.key.target {
            Target::Device { id } => b.fleet.device.iter().any(|d| d.id == *id && d.software),
            Target::Host | Target::Shim => true,
        };
        let goal = match (executes, r.declaration.peers.is_empty(), software) {
            (false, _, _) => Tier::T0,
            (true, false, _) => Tier::T2x,
            (true, true, true) => Tier::T1,
            (true, true, false) => Tier::T2,
        };
        if r.verdict.goal != goal {
            sink.record(line, format!("the goal is {goal}, recorded is {}", r.verdict.goal));
        }
    }
}

pub(super) fn tier(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        let got = rule::tier(r);
        let v = &r.verdict;
        if (v.tier, v.grade, v.control) != (got.tier, got.grade, got.control) {
            let text = |t: Option<Tier>| t.map_or("none", Tier::as_str);
            sink.record(
                line,
                format!(
                    "the rule gives {} ({:?}, control {}), recorded is {} ({:?}, control {})",
                    text(got.tier),
                    got.grade,
                    got.control,
                    text(v.tier),
                    v.grade,
                    v.control
                ),
            );
        }
    }
}

/// Commands whose exit the test asks for.
fn asked(r: &Record) -> impl Iterator<Item = &Command> {
    r.commands.iter().filter(|c| matches!(c.role, CommandRole::Run | CommandRole::Exec))
}

fn everything_held(r: &Record) -> bool {
    asked(r).all(|c| c.exit_held) && r.result.checks.iter().all(|c| c.held || c.executed == 0)
}

pub(super) fn state(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        let reaches = rule::tier(r).tier >= Some(r.verdict.goal);
        let ran = |exit: fn(&Exit) -> bool| r.commands.iter().any(|c| exit(&c.exit));
        let why = match r.verdict.state {
            State::Passed | State::Flaky | State::Xpassed if !reaches => "is below its goal",
            State::Passed | State::Flaky | State::Xpassed if !everything_held(r) => {
                "has a check or an exit that failed"
            }
            State::TimedOut if !ran(|e| matches!(e, Exit::TimedOut { .. })) => {
                "has no command that timed out"
            }
            State::Crashed if !ran(|e| matches!(e, Exit::Signal { .. })) => {
                "has no command that died by a signal"
            }
            State::Refused if ran(|e| *e != Exit::NotReached) => "was refused and ran commands",
            _ => continue,
        };
        sink.record(line, format!("is {} and {why}", r.verdict.state));
    }
}

pub(super) fn skip(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        let skipped = r.verdict.state == State::Skipped;
        if skipped != r.verdict.skip.is_some() {
            sink.record(line, "a kind of skip stands exactly at a skip".into());
        }
        let ran = r.commands.iter().any(|c| c.exit != Exit::NotReached);
        if r.verdict.skip == Some(SkipKind::DegradedBuild) {
            let failed = r.commands.last().is_some_and(|c| c.role == CommandRole::Run && !c.exit_held);
            let declared = r.declaration.directives.contains_key("RUN(build)");
            if !(failed && declared) {
                sink.record(
                    line,
                    "is skipped for a lesser build, and its last command is no build that failed".into(),
                );
            }
        } else if skipped && ran {
            sink.record(line, "is skipped and ran commands".into());
        }
        if r.verdict.skip == Some(SkipKind::Requires) && r.declaration.gates.is_empty() {
            sink.record(line, "is skipped for a requirement that it does not declare".into());
        }
    }
}

pub(super) fn xfail(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        let Some(xfail) = &r.declaration.xfail else {
            if matches!(r.verdict.state, State::Xfailed | State::Xpassed) {
                sink.record(line, format!("is {} and declares no XFAIL", r.verdict.state));
            }
            continue;
        };
        if matches!(r.verdict.state, State::Passed | State::Flaky) {
            sink.record(line, "passed where XFAIL declares a failure".into());
        }
        if r.verdict.state != State::Xfailed {
            continue;
        }
        let timed_out = asked(r).any(|c| matches!(c.exit, Exit::TimedOut { .. }));
        let not_started = asked(r).any(|c| matches!(c.exit, Exit::NotStarted { .. }));
        let crashed = asked(r).any(|c| matches!(c.exit, Exit::Signal { .. }) && !c.exit_held);
        let fits = match xfail.expects.as_str() {
            "fail" => !timed_out && !not_started && !crashed,
            "crash" => crashed,
            "timeout" => timed_out,
            "placement" => r.verdict.placement.is_some_and(|p| {
                use runproof_records::verdict::PlacementOutcome::{Inconclusive, NotPlaced};
                matches!(p, NotPlaced | Inconclusive)
            }),
            _ => false,
        };
        // On a software device an honest program and a liar are both T1 at most: there the outcome alone decides.
        let passes =
            xfail.expects != "placement" && everything_held(r) && rule::tier(r).tier >= Some(r.verdict.goal);
        if !fits || passes {
            sink.record(
                line,
                format!("is xfailed, and this is not the failure `{}` that it declares", xfail.expects),
            );
        }
    }
}

pub(super) fn flaky(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        match r.verdict.state {
            State::Passed if r.attempt > 1 => {
                sink.record(line, "passed after a retry and is not flaky".into());
            }
            State::Flaky if r.attempt <= 1 => sink.record(line, "is flaky at its first attempt".into()),
            _ => {}
        }
    }
}
