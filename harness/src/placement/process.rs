//! Which processes' records count, and what about the connections makes the evidence inconclusive.

use super::Question;
use crate::probe::Peer;
use runproof_records::record::ObservedProcess;
use runproof_records::wire::{Hello, Line, Message, Role, Stamped};
use std::collections::BTreeSet;

/// A connection with everything that came through it.
pub(super) struct Process<'a> {
    pub peer: &'a Peer,
    pub hello: Option<&'a Hello>,
    pub lines: Vec<&'a Stamped>,
    pub observed: ObservedProcess,
}

impl Process<'_> {
    pub fn accepted(&self) -> bool {
        self.observed.accepted
    }

    fn messages(&self) -> impl Iterator<Item = &Message> {
        self.lines.iter().filter_map(|stamped| stamped.line.as_ref()).map(|line| &line.msg)
    }
}

/// Every connection, judged.
pub(super) fn accept<'a>(question: &Question<'a>) -> Vec<Process<'a>> {
    question
        .observation
        .peers
        .iter()
        .map(|peer| {
            let lines: Vec<_> = question
                .observation
                .lines
                .iter()
                .filter(|line| line.role == peer.role && line.conn == peer.conn)
                .collect();
            let hello = lines.iter().find_map(|stamped| match &stamped.line {
                Some(Line { seq: 0, msg: Message::Hello(hello), .. }) => Some(hello),
                _ => None,
            });
            let why = refusal(question, peer, hello);
            let observed = ObservedProcess {
                conn: peer.conn,
                peer: peer.pid,
                descends: peer.descends,
                start_ticks: peer.start_ticks,
                exe: peer.exe.clone(),
                accepted: why.is_none(),
                why: why.unwrap_or_default(),
            };
            Process { peer, hello, lines, observed }
        })
        .collect()
}

/// Why a connection's records do not count.
fn refusal(question: &Question<'_>, peer: &Peer, hello: Option<&Hello>) -> Option<String> {
    let Some(hello) = hello else { return Some("it never said hello".into()) };
    if hello.nonce != question.nonce {
        return Some("it said the nonce of another command".into());
    }
    if hello.v != runproof_records::PROBE_SCHEMA {
        return Some(format!(
            "it speaks version {} of the protocol, this harness {}",
            hello.v,
            runproof_records::PROBE_SCHEMA
        ));
    }
    // The harness started an outer probe itself: nobody else can speak for it.
    if peer.role == Role::Outer {
        return None;
    }
    if peer.pid == 0 {
        return Some("the system did not say which process it is".into());
    }
    if !peer.descends {
        return Some(format!("process {} does not descend from the command", peer.pid));
    }
    if peer.has_library != Some(true) {
        return Some(format!("the probe library is not loaded in process {}", peer.pid));
    }
    if peer.start_ticks != hello.start_ticks {
        return Some(format!(
            "process {} started at tick {}, its hello says {}",
            peer.pid, peer.start_ticks, hello.start_ticks
        ));
    }
    None
}

/// Signs that what the probes said cannot be relied upon, whatever it is.
pub(super) fn signs(question: &Question<'_>, processes: &[Process<'_>]) -> Vec<String> {
    let mut signs = Vec::new();
    if question.observation.overflow > 0 {
        signs.push(format!("{} lines beyond the cap were not kept", question.observation.overflow));
    }
    let accepted: Vec<_> = processes.iter().filter(|process| process.accepted()).collect();
    if accepted.is_empty() {
        signs.push(unobserved(processes));
    }
    for process in &accepted {
        let who = format!("process {}", process.peer.pid);
        signs.extend(failed_codes(process).map(|code| format!("{who}: {code}")));
        signs.extend(sequence_fault(process).map(|fault| format!("{who}: {fault}")));
        for message in process.messages() {
            match message {
                Message::Error { what } => signs.push(format!("{who}: the probe says: {what}")),
                Message::Bye { dropped: dropped @ 1.., .. } => {
                    signs.push(format!("{who}: the probe lost {dropped} records"));
                }
                _ => {}
            }
        }
        let garbled = process.lines.iter().filter(|line| line.garbled.is_some()).count();
        // The last line of a process that was killed while it wrote is no sign of anything else.
        let cut = process.lines.last().is_some_and(|line| line.garbled.is_some());
        if garbled > usize::from(cut && !process.messages().any(|m| matches!(m, Message::Bye { .. }))) {
            signs.push(format!("{who}: {garbled} lines could not be read"));
        }
    }
    signs.extend(doubled(processes));
    signs
}

/// No accepted process: nobody watched, which is not the same as nothing happened.
fn unobserved(processes: &[Process<'_>]) -> String {
    let inner = || processes.iter().filter(|process| process.peer.role == Role::Inner);
    match inner().next() {
        None => "unobserved: no process of this command said hello; either it never used the device's \
                 interface or the probe was switched off"
            .to_owned(),
        Some(first) => {
            format!("unobserved: {} connected and none is accepted: {}", inner().count(), first.observed.why)
        }
    }
}

fn failed_codes(process: &Process<'_>) -> Option<String> {
    let codes: Vec<_> = process
        .hello?
        .rc
        .iter()
        .filter(|(_, code)| **code != 0)
        .map(|(name, code)| format!("{name} returned {code}"))
        .collect();
    (!codes.is_empty()).then(|| {
        format!(
            "the probe could not arm itself ({}): a profiler or sanitizer may hold the interface",
            codes.join(", ")
        )
    })
}

/// Judged on the whole set: threads may write out of order.
fn sequence_fault(process: &Process<'_>) -> Option<String> {
    let mut seen = BTreeSet::new();
    for line in process.lines.iter().filter_map(|stamped| stamped.line.as_ref()) {
        if !seen.insert(line.seq) {
            return Some(format!("two lines have number {}", line.seq));
        }
    }
    let expected = seen.last().map_or(0, |last| last + 1);
    let missing = (0..expected).find(|number| !seen.contains(number))?;
    Some(format!("line {missing} is missing"))
}

/// One process holds one connection at a time: a second one, open beside the first, is somebody who speaks
/// for the probe.
fn doubled(processes: &[Process<'_>]) -> Option<String> {
    for (position, a) in processes.iter().enumerate() {
        for b in &processes[position + 1..] {
            let same = a.peer.pid == b.peer.pid && a.peer.start_ticks == b.peer.start_ticks;
            let overlap = a.peer.closed.is_none_or(|closed| closed > b.peer.opened);
            if same && overlap && (a.accepted() || b.accepted()) {
                return Some(format!(
                    "process {} held two connections at once: something in it speaks beside the probe",
                    a.peer.pid
                ));
            }
        }
    }
    None
}
