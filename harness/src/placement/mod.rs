//! What decides placement: from what probes said of one command to placed, not placed or inconclusive.
//!
//! Pure: no file, process, clock or device is touched here. The order is that of the specification: accepted
//! process, good records, `PLACED` lines, outer witness, signs that make the evidence inconclusive. Missing
//! information only ever lowers the outcome. What must not enter: tiers (the bundle's rule computes them from
//! the record), exit codes and output (placement is one of four facts, not all of them).
//!
//! Not defended, and said so wherever placement is explained: hostile native code inside the program that
//! carries the real probe library and speaks for it. Where a kind has an outer witness, such a program is
//! caught by it.

pub mod ane;
mod identity;
mod pattern;
mod process;
mod wildcard;
mod witness;
mod work;

#[cfg(test)]
mod tests;

pub use identity::{label, same_device};
pub use wildcard::{demangled, matches_name, matches_wildcard};

use crate::probe::Observation;
use process::Process;
use runproof_records::Digest;
use runproof_records::record::{CommandPlacement, PlacedLine, PlacedPattern};
use runproof_records::verdict::{Grade, PlacementOutcome};
use runproof_records::wire::{Device, DeviceClass, Message};
use work::Seen;

/// One command and what it was to do where.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Position of the command among the test's commands.
    pub command: u32,
    /// Nonce of the command.
    pub nonce: &'a str,
    /// Start and end of the command, `CLOCK_REALTIME` nanoseconds.
    pub window: (u64, u64),
    /// What the probes said.
    pub observation: &'a Observation,
    /// File in the bundle that holds it, and that file's digest.
    pub raw: (&'a str, Digest),
    /// Device kind.
    pub kind: &'a str,
    /// The test's devices in order: `from=0` is the first.
    pub devices: &'a [Device],
    /// Every device of the kind that the inventory found before the run.
    pub inventory: &'a [Device],
    /// The fleet declares the devices as software.
    pub software: bool,
    /// `PLACED` lines of the command.
    pub placed: &'a [Asserted],
    /// Whether the kind has an outer witness, which then has to agree.
    pub has_witness: bool,
    /// Why the outer witness could not be asked, when it could not.
    pub witness_failed: Option<&'a str>,
}

/// One `PLACED` line of the test file.
#[derive(Clone, Debug)]
pub struct Asserted {
    /// Line in the test file.
    pub line: u32,
    /// As written.
    pub text: String,
    /// Parsed.
    pub pattern: PlacedPattern,
}

/// Decides one command.
pub fn decide(question: &Question<'_>) -> CommandPlacement {
    let processes = process::accept(question);
    let accepted: Vec<&Process<'_>> = processes.iter().filter(|process| process.accepted()).collect();
    let seen = Seen::gather(question, &accepted);
    let placed: Vec<PlacedLine> =
        question.placed.iter().map(|asserted| pattern::hold(question, asserted, &seen)).collect();
    let witness = witness::ask(question, &accepted, &seen);

    let mut inconclusive: Vec<String> = process::signs(question, &processes);
    inconclusive.extend(seen.signs());
    inconclusive.extend(witness.signs.iter().cloned());

    let (outcome, mut reason) = conclude(question, &seen, &placed, &inconclusive);
    if outcome == PlacementOutcome::Placed {
        reason.extend(witness.weak.iter().flat_map(|why| ["; ", why]));
    }
    CommandPlacement {
        command: question.command,
        raw: question.raw.0.to_owned(),
        raw_digest: question.raw.1.clone(),
        lines: question.observation.lines.len() as u64,
        processes: processes.iter().map(|process| process.observed.clone()).collect(),
        work: seen.sums(),
        placed,
        witness: witness.word.to_owned(),
        inconclusive,
        outcome,
        reason,
    }
}

fn conclude(
    question: &Question<'_>,
    seen: &Seen,
    placed: &[PlacedLine],
    inconclusive: &[String],
) -> (PlacementOutcome, String) {
    if let Some(first) = inconclusive.first() {
        let more = match inconclusive.len() - 1 {
            0 => String::new(),
            n => format!(" (and {n} more)"),
        };
        let plan = |line: &&PlacedLine| line.pattern.record == "plan" && line.met && line.matched > 0;
        let planned =
            if placed.iter().any(|line| plan(&line)) { "planned, not known to have run there: " } else { "" };
        return (PlacementOutcome::Inconclusive, format!("{planned}{first}{more}"));
    }
    let applying: Vec<_> = placed.iter().filter(|line| line.applies).collect();
    if let Some(unmet) = applying.iter().find(|line| !line.met) {
        let reason = format!("`{}` matched {} records: {}", unmet.text, unmet.matched, seen.told(question));
        return (PlacementOutcome::NotPlaced, reason);
    }
    // Lines that hold because nothing happened place nothing.
    let Some(first) = applying.iter().find(|line| line.matched > 0 && line.grade >= Some(Grade::Event))
    else {
        let reason = format!("no PLACED line names work that was seen: {}", seen.told(question));
        return (PlacementOutcome::NotPlaced, reason);
    };
    let reason = format!("`{}` matched {} records: {}", first.text, first.matched, seen.told(question));
    if question.software || question.devices.iter().any(|device| computes_in_software(device.class)) {
        (PlacementOutcome::PlacedSoftware, reason)
    } else {
        (PlacementOutcome::Placed, reason)
    }
}

/// Whether all that speaks for a command is a plan: its `PLACED` lines on plans hold, and whether the work then ran
/// there is not known. What was watched and did not happen is not planned, it is not placed.
pub fn is_planned(entry: &CommandPlacement) -> bool {
    let plans = |line: &PlacedLine| line.pattern.record == "plan" && line.met && line.matched > 0;
    entry.outcome == PlacementOutcome::Inconclusive
        && entry.placed.iter().any(|line| line.applies && plans(line))
}

/// How many records of work there are, whoever sent them: for the control with the device hidden, where there
/// must be none.
pub fn work_records(observation: &Observation) -> u64 {
    let is_work = |message: &Message| {
        matches!(
            message,
            Message::Kernel(_)
                | Message::KernelAgg { .. }
                | Message::Memcpy { .. }
                | Message::PeerCopy { .. }
                | Message::Memset { .. }
        )
    };
    let lines = observation.lines.iter().filter_map(|stamped| stamped.line.as_ref());
    lines.filter(|line| is_work(&line.msg)).count() as u64
}

/// Whether a device of this class is a CPU or a simulation, and so never above T1.
pub fn computes_in_software(class: DeviceClass) -> bool {
    matches!(class, DeviceClass::Cpu | DeviceClass::Sim)
}
