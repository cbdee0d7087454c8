//! Commands, their exits, and the facts that stand on them.

use super::Sink;
use crate::load::Bundle;
use crate::rule::{comparisons_hold, declared, ended, exit_fits};
use runproof_records::record::{Command, CommandRole, Exit, Record};
use runproof_records::verdict::{Fact, State};
use std::collections::BTreeSet;

pub(super) fn complete(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        if r.commands.iter().enumerate().any(|(i, c)| c.index as usize != i) {
            sink.record(line, "commands are not numbered from 0".into());
        }
        // A test that ran nothing (skipped, refused, errored before its first command) lists nothing.
        let state = r.verdict.state;
        let ran_nothing = !state.was_executed() || state == State::Errored;
        if r.commands.is_empty() && ran_nothing || stopped(r) {
            continue;
        }
        for (role, keyword) in [(CommandRole::Run, "RUN"), (CommandRole::Exec, "EXEC_RUN")] {
            let have = r.commands.iter().filter(|c| c.role == role).count();
            let want = declared(r, keyword);
            if have < want {
                sink.record(line, format!("{have} {keyword} commands, the file declares {want}"));
            }
        }
    }
}

/// Whether the test did not go on, and says what failed: it stops at the first command that fails it.
fn stopped(r: &Record) -> bool {
    let facts = &r.verdict.facts;
    let failed = [facts.exit, facts.placement, facts.readback, facts.oracle].contains(&Fact::Failed);
    let passed = matches!(r.verdict.state, State::Passed | State::Flaky | State::Xpassed);
    !r.commands.is_empty() && !passed && (failed || asked(&r.commands).any(|c| !c.exit_held))
}

pub(super) fn exits(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        for c in asked(&r.commands).filter(|c| c.exit_held != exit_fits(c)) {
            let held = if c.exit_held { "held" } else { "failed" };
            sink.record(
                line,
                format!("command {}: recorded as {held}, {:?} against `{}`", c.index, c.exit, c.expected),
            );
        }
    }
}

/// Commands whose exit the test asks for: a control is there to fail.
fn asked(commands: &[Command]) -> impl Iterator<Item = &Command> {
    commands.iter().filter(|c| matches!(c.role, CommandRole::Run | CommandRole::Exec))
}

pub(super) fn stages(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        for c in &r.commands {
            // `!` and `not` turn an exit round, a list has several; what is left has one program and its exit.
            let turned = c.stages.iter().flat_map(|s| &s.argv).any(|w| matches!(w.as_str(), "!" | "not"));
            let turned = turned || c.script.split_whitespace().any(|w| w == "!");
            let plain = !turned && !c.script.contains(['|', ';', '&']);
            if let ([stage], true, Exit::Code { .. } | Exit::Signal { .. }) = (&c.stages[..], plain, &c.exit)
                && stage.exit != c.exit
            {
                sink.record(
                    line,
                    format!(
                        "command {}: its program ended {:?}, the command {:?}",
                        c.index, stage.exit, c.exit
                    ),
                );
            }
        }
    }
}

pub(super) fn fact_exit(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        let held = asked(&r.commands).next().is_some() && asked(&r.commands).all(|c| c.exit_held);
        if r.verdict.facts.exit == Fact::Held && !held {
            sink.record(line, "the fact `exit` is held and not every command ended as asked".into());
        }
        let executes = r.commands.iter().any(|c| c.role == CommandRole::Exec);
        if r.verdict.facts.exit == Fact::Failed && held && executes {
            sink.record(line, "the fact `exit` failed and every command ended as asked".into());
        }
    }
}

pub(super) fn fact_readback(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        let mut execs = r.commands.iter().filter(|c| c.role == CommandRole::Exec);
        if r.verdict.facts.readback == Fact::Held && !execs.any(ended) {
            sink.record(line, "the fact `readback` is held and no EXEC_RUN came to its end".into());
        }
    }
}

pub(super) fn fact_oracle(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        if r.verdict.facts.oracle == Fact::Held && !comparisons_hold(r) {
            sink.record(line, "the fact `oracle` is held and the checks do not give it".into());
        }
    }
}

pub(super) fn nonces(b: &Bundle<'_>, sink: &mut Sink) {
    let mut seen = BTreeSet::from([b.run.nonce.as_str()]);
    for (line, r) in b.records() {
        for c in &r.commands {
            if !seen.insert(&c.nonce) {
                sink.record(line, format!("command {}: its nonce is not its own", c.index));
            }
        }
    }
}
