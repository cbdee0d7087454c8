//! One attempt of a test in lit's dialect: run by lit's rules, written down as every other test.

use super::attempt::{Done, Stopped, blank, failure, of_devices, output};
use super::{Run, clock};
use crate::lit::cases;
use crate::lit::execute::retries;
use crate::lit::{Code, LineRan, Outcome, Test, execute};
use crate::plan::{Item, LoadedFile};
use crate::probe::command_nonce;
use crate::report::failure::Point;
use runproof_directives::{Source, Span};
use runproof_evidence::bundle::{BundleError, Stream};
use runproof_records::record::{
    Check, Command, CommandRole, Declaration, Exit, Facts, NotRecorded, Output, Record, Stage, Xfail,
};
use runproof_records::verdict::{EvidenceState, Fact, SkipKind, State};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::PoisonError;

/// How often a test is run again when it fails.
pub(super) fn retries_of(file: &LoadedFile, test: &Test) -> u32 {
    if test.of_program.is_some() {
        return 0;
    }
    test.scan(&file.source.bytes).map_or(0, |scanned| retries(&scanned, test))
}

/// How far lit's part of a test has come.
pub(super) enum Lit {
    /// To the end of the test.
    Done(Box<Done>),
    /// To its `EXEC_RUN` lines.
    GoesOn(Before),
}

/// What lit's part leaves to the part that is ours.
pub(super) struct Before {
    /// Its command lines, which have held.
    pub commands: Vec<Command>,
    /// The test is expected to fail.
    pub xfail: bool,
}

/// Runs lit's part of one attempt.
///
/// # Errors
/// Interrupt, or a bundle that cannot be written; everything else is a verdict.
pub(super) fn run(run: &Run<'_>, item: &Item, test: &Test, number: u32) -> Result<Lit, Stopped> {
    let file = run.plan.file(item);
    let started = clock::now();
    let index = run.plan.items.binary_search_by(|i| i.key.cmp(&item.key)).unwrap_or_default();
    let mut outcome = execute::execute(test, index, &run.lit).ok_or(Stopped::Interrupted)?;
    if !outcome.traps.is_empty() {
        let mut traps = run.traps.lock().unwrap_or_else(PoisonError::into_inner);
        for trap in &outcome.traps {
            traps.entry(*trap).or_default().insert(crate::report::id(&item.key));
        }
    }
    let mut record = blank(run, item, number, started);
    record.ended = clock::now();
    if outcome.code == Code::Unsupported && !outcome.lines.is_empty() {
        // It was asked, and has left the case out itself: nothing of the test was run.
        outcome.lines.clear();
        let reason = "the program was started and skipped the case by itself".to_owned();
        record.not_recorded.push(NotRecorded { field: "commands".to_owned(), reason });
    }
    let Kept { commands, last } = keep(run, item, number, &outcome)?;
    if file.executes() && matches!(outcome.code, Code::Pass | Code::Xpass) {
        return Ok(Lit::GoesOn(Before { commands, xfail: outcome.code == Code::Xpass }));
    }
    record.commands = commands;
    record.result.checks = test.of_program.iter().filter_map(|_| reported(&outcome)).collect();
    settle(&mut record, retries_of(file, test), &outcome, number);
    let failing = record.verdict.state.is_failure();
    let failure = failing.then(|| {
        let point = Point {
            span: place_of(&file.source, &outcome),
            message: record.verdict.reason.clone(),
            label: format!("lit's result is {}", outcome.code.name()),
            detail: if outcome.lines.is_empty() { outcome.output.clone() } else { String::new() },
        };
        failure(run, item, file, &[(super::judge::Trouble::Failed, point)], last.as_ref(), &[], &record)
    });
    Ok(Lit::Done(Box::new(Done { record, failure })))
}

/// Turns the verdict on a test of which lit's `XFAIL` holds: to lit any failure is the expected one.
pub(super) fn expect_failure(done: &mut Done) {
    let verdict = &mut done.record.verdict;
    let failed =
        verdict.state.is_failure() && verdict.state != State::Errored && verdict.state != State::TimedOut;
    if verdict.state == State::Passed {
        verdict.state = State::Xpassed;
        "XFAIL declares a failure, and the test passed".clone_into(&mut verdict.reason);
    } else if failed {
        verdict.state = State::Xfailed;
        done.failure = None;
    } else {
        return;
    }
    let crashed = done.record.commands.last().is_some_and(|c| matches!(c.exit, Exit::Signal { .. }));
    done.record.declaration.xfail = Some(expected(crashed));
}

/// To lit a crash is a failure like any other.
fn expected(crashed: bool) -> Xfail {
    let expects = if crashed { "crash" } else { "fail" }.to_owned();
    Xfail { expects, reason: String::new(), review: String::new() }
}

/// What a test declares: its `RUN` lines with those that the suite puts before them, and its conditions.
pub(super) fn declaration(file: &LoadedFile, test: &Test) -> Declaration {
    use runproof_directives::lit::Directive;
    let frozen = &test.config.frozen;
    if test.of_program.is_some() {
        return Declaration {
            gates: vec!["SKIPPED: by the program".to_owned()],
            directives: BTreeMap::from([("RUN".to_owned(), 1)]),
            ..Declaration::default()
        };
    }
    let scanned = test.scan(&file.source.bytes).unwrap_or_default();
    let before = match &frozen.format {
        crate::lit::Format::Shell { preamble, .. } => preamble.len(),
        _ => 0,
    };
    let runs = scanned.script.iter().filter(|d| matches!(d, Directive::Run { .. })).count() + before;
    let mut directives = file.test.counts.clone();
    directives.insert("RUN".to_owned(), u32::try_from(runs).unwrap_or(u32::MAX));
    let mut gates: Vec<String> = scanned.requires.iter().map(|g| format!("REQUIRES: {g}")).collect();
    gates.extend(scanned.unsupported.iter().map(|g| format!("UNSUPPORTED: {g}")));
    if frozen.unsupported {
        gates.push("UNSUPPORTED: the folder's configuration".to_owned());
    }
    if !frozen.limit_to_features.is_empty() {
        gates.push(format!(
            "LIMITED TO: {}",
            frozen.limit_to_features.iter().cloned().collect::<Vec<_>>().join(", ")
        ));
    }
    Declaration { gates, directives, ..of_devices(&file.test) }
}

/// That a case which was listed was reported once, and as passed: a check like those of a file, so that none without a result can
/// count as passed.
fn reported(outcome: &Outcome) -> Option<Check> {
    let held = matches!(outcome.code, Code::Pass | Code::Xpass);
    let looked = held || matches!(outcome.code, Code::Fail | Code::Xfail | Code::Unresolved);
    looked.then(|| Check { line: 1, keyword: "REPORTED(passed)".to_owned(), executed: 1, held })
}

/// Line of a directive, from `RUN: at line 3`.
fn line_of(place: &str) -> u32 {
    place.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Where a failure is shown: the line that was run last.
fn place_of(source: &Source, outcome: &Outcome) -> Span {
    let line = outcome.lines.last().map_or(1, |l| line_of(&l.place)).max(1) as usize;
    let start = source.bytes.split_inclusive(|b| *b == b'\n').take(line - 1).map(<[u8]>::len).sum::<usize>();
    let length = source.bytes[start..].iter().take_while(|b| **b != b'\n').count();
    Span::new(start, start + length)
}

/// What is kept of an attempt.
struct Kept {
    commands: Vec<Command>,
    last: Option<(String, PathBuf, PathBuf)>,
}

fn keep(run: &Run<'_>, item: &Item, number: u32, outcome: &Outcome) -> Result<Kept, Stopped> {
    let mut kept = Kept { commands: Vec::new(), last: None };
    let count = outcome.lines.len();
    for (at, line) in outcome.lines.iter().enumerate() {
        let index = u32::try_from(at).unwrap_or(u32::MAX);
        let write = |stream, bytes: &[u8]| -> Result<(Output, PathBuf), Stopped> {
            let place = run
                .with_writer(|w| w.log_path(&item.key, number, index, stream))
                .ok_or(Stopped::Interrupted)?;
            let failed = |e| Stopped::Bundle(BundleError::io(&place.path, "keeping a command's output", e));
            if !bytes.is_empty() {
                std::fs::write(&place.path, bytes).map_err(failed)?;
            }
            Ok((output(&place.path, &place.name).map_err(failed)?, place.path))
        };
        let all = |of: fn(&crate::lit::Ran) -> &Vec<u8>| {
            line.commands.iter().flat_map(of).copied().collect::<Vec<u8>>()
        };
        let (stdout, out_path) = write(Stream::Stdout, &all(|r| &r.stdout))?;
        let (stderr, err_path) = write(Stream::Stderr, &all(|r| &r.stderr))?;
        let exit = exit_of(line, outcome, at + 1 == count);
        let held = exit == Exit::Code { code: 0 };
        kept.commands.push(Command {
            index,
            role: CommandRole::Run,
            line: line_of(&line.place),
            script: run.masks.mask(&line.script),
            nonce: command_nonce(&run.nonce, &item.key, number, index),
            cwd: run.masks.mask(&run.plan.lit_folder(item)),
            env: BTreeMap::new(),
            stages: line.commands.iter().map(|ran| stage(run, ran)).collect(),
            exit,
            expected: "exit 0".to_owned(),
            exit_held: held,
            started: line.started,
            ended: line.ended,
            stdout,
            stderr,
            leftovers: Vec::new(),
        });
        kept.last = Some((line.script.clone(), out_path, err_path));
    }
    Ok(kept)
}

fn stage(run: &Run<'_>, ran: &crate::lit::Ran) -> Stage {
    let (program, executable, machine) = match &ran.program {
        None => ("builtin".to_owned(), None, None),
        Some(path) => {
            let facts = run.executables.facts(path);
            (run.masks.mask(&path.to_string_lossy()), facts.digest, facts.machine)
        }
    };
    Stage {
        argv: ran.words.iter().map(|w| run.masks.mask(w)).collect(),
        program,
        executable,
        machine,
        exit: numbered(ran.status),
    }
}

/// An end as lit numbers it.
fn numbered(status: i32) -> Exit {
    if status < 0 {
        let number = -status;
        return Exit::Signal { number, name: crate::process::status::signal_name(number) };
    }
    Exit::Code { code: status }
}

/// How a line ended: its lines before the last one have ended well, else there would be none behind them.
fn exit_of(line: &LineRan, outcome: &Outcome, last: bool) -> Exit {
    let failed = matches!(outcome.code, Code::Fail | Code::Xfail | Code::Timeout | Code::Unresolved);
    if !last || !failed {
        return Exit::Code { code: 0 };
    }
    match outcome.code {
        Code::Timeout => Exit::TimedOut { limit_ms: outcome.limit.saturating_mul(1000) },
        // A program that has come to an end and said nothing of its case ended as it did.
        Code::Unresolved if line.place == cases::PLACE => numbered(outcome.status),
        Code::Unresolved => Exit::NotStarted { why: first_words(&outcome.output) },
        _ => {
            let failing = line.commands.iter().rev().find(|r| r.code != 0);
            numbered(failing.map_or(outcome.status, |r| r.code))
        }
    }
}

/// Puts lit's result into the record.
fn settle(record: &mut Record, retries: u32, outcome: &Outcome, number: u32) {
    let again = number <= retries;
    let crashed = record.commands.last().is_some_and(|c| matches!(c.exit, Exit::Signal { .. }));
    let (state, reason) = match outcome.code {
        Code::Pass | Code::FlakyPass => (State::Passed, String::new()),
        // A pass after a retry is no unexpected pass to lit.
        Code::Xpass if number > 1 => (State::Passed, String::new()),
        Code::Xpass => (State::Xpassed, "XFAIL declares a failure, and the test passed".to_owned()),
        Code::Xfail if !again => (State::Xfailed, why(record, outcome)),
        Code::Xfail | Code::Fail => (State::Failed, why(record, outcome)),
        Code::Timeout => (State::TimedOut, why(record, outcome)),
        Code::Unresolved => (State::Errored, why(record, outcome)),
        Code::Unsupported | Code::Excluded | Code::Skipped => (State::Skipped, outcome.output.clone()),
    };
    record.declaration.xfail = matches!(state, State::Xfailed | State::Xpassed).then(|| expected(crashed));
    let verdict = &mut record.verdict;
    let failed = state.is_failure() || state == State::Xfailed;
    verdict.facts = Facts {
        exit: if failed && !record.commands.is_empty() { Fact::Failed } else { Fact::Absent },
        placement: Fact::Absent,
        readback: Fact::Absent,
        oracle: Fact::Absent,
    };
    verdict.skip = (state == State::Skipped).then_some(SkipKind::Requires);
    verdict.evidence = EvidenceState::Complete;
    verdict.state = state;
    verdict.reason = reason;
}

fn why(record: &Record, outcome: &Outcome) -> String {
    match record.commands.last() {
        Some(command) if command.line > 0 && command.exit != (Exit::Code { code: 0 }) => {
            format!("line {}: {}", command.line, crate::process::status::describe(&command.exit))
        }
        _ => first_words(&outcome.output),
    }
}

/// What lit's account says first, behind its frame.
fn first_words(account: &str) -> String {
    let frame = |line: &&str| {
        line.is_empty()
            || *line == "--"
            || line.starts_with("Exit Code:")
            || line.starts_with("Command Output")
    };
    let skipped = ["Exception during", "Traceback"];
    let mut lines =
        account.lines().map(str::trim).filter(|l| !frame(l) && !skipped.iter().any(|s| l.starts_with(s)));
    lines.next().unwrap_or("no account").trim_start_matches("# ").to_owned()
}
