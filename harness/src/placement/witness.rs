//! What the outer witness says to the inner probe's claim.
//!
//! Numbers are those of the measurements behind the specification: a listed process has a context and need not
//! have computed; busy time of the device is a lower bound, and a claim below 3 µs is below what it can see.

use super::ane;
use super::process::Process;
use super::work::Seen;
use super::{Question, label};
use runproof_records::wire::{Device, Message, Role, Sample};
use std::collections::BTreeSet;

/// Claims below this are below the witness.
const CLAIM_FLOOR_NS: u64 = 3_000;

pub(super) struct Witness {
    /// `agrees`, `contradicts`, `missing`, `none`.
    pub word: &'static str,
    /// Why the evidence is inconclusive because of it.
    pub signs: Vec<String>,
    /// Why an agreement is worth less than it could be.
    pub weak: Option<String>,
}

impl Witness {
    fn signed(word: &'static str, sign: String) -> Self {
        Self { word, signs: vec![sign], weak: None }
    }

    fn missing(why: &str) -> Self {
        Self::signed("missing", format!("no outer witness: {why}"))
    }
}

pub(super) fn ask(question: &Question<'_>, accepted: &[&Process<'_>], seen: &Seen) -> Witness {
    if !question.has_witness {
        return Witness { word: "none", signs: vec![], weak: None };
    }
    if let Some(why) = question.witness_failed {
        return Witness::missing(why);
    }
    if ane::decides(question.kind) {
        let (word, signs) = ane::witness(question.observation, question.window);
        return Witness { word, signs, weak: None };
    }
    let inner = accepted.iter().filter(|process| process.peer.role == Role::Inner);
    let pids: BTreeSet<i32> = inner.map(|process| process.peer.pid).collect();
    let mut weak = None;
    for device in question.devices {
        let name = label(device);
        let samples = samples(question, device);
        if let Some(pid) = unobserved(&samples, &pids) {
            return Witness::signed(
                "contradicts",
                format!(
                    "touched, unobserved: the driver lists process {pid} of this command on {name}, and no \
                     accepted probe speaks from it"
                ),
            );
        }
        let claim = seen.claimed_busy_ns(&name);
        // No claim on a device is nothing to contradict.
        if !seen.has_kernels(&name) {
            continue;
        }
        if samples.is_empty() {
            return Witness::missing(&format!("nothing was sampled of {name} during the command"));
        }
        match held_against(&samples, &pids, &name, claim) {
            Ok(found) => weak = weak.or(found),
            Err(contradiction) => return Witness::signed("contradicts", contradiction),
        }
    }
    Witness { word: "agrees", signs: vec![], weak }
}

/// What was sampled of `device` while the command ran.
fn samples<'a>(question: &Question<'a>, device: &Device) -> Vec<&'a Sample> {
    question
        .observation
        .lines
        .iter()
        .filter(|line| line.role == Role::Outer)
        .filter_map(|stamped| match stamped.line.as_ref().map(|line| &line.msg) {
            Some(Message::Sample(sample)) => Some(sample),
            _ => None,
        })
        .filter(|sample| sample.start < question.window.1 && sample.end > question.window.0)
        .filter(|sample| device.uuid.as_ref() == Some(&sample.uuid))
        .collect()
}

/// A process of the command that holds a context and whose probe nobody heard.
fn unobserved(samples: &[&Sample], pids: &BTreeSet<i32>) -> Option<i32> {
    samples.iter().flat_map(|sample| &sample.of_run).copied().find(|pid| !pids.contains(pid))
}

/// A weakness of the agreement, or the contradiction.
fn held_against(
    samples: &[&Sample],
    pids: &BTreeSet<i32>,
    name: &str,
    claim: u64,
) -> Result<Option<String>, String> {
    let listed = || samples.iter().flat_map(|sample| &sample.procs).map(|(pid, _)| *pid);
    if let Some(foreign) = listed().find(|pid| !pids.contains(pid)) {
        return Err(format!("process {foreign}, which is not of this command, was on {name} meanwhile"));
    }
    if listed().next().is_none() {
        return Err(format!(
            "the probe claims kernels on {name}, where the driver lists no process of the command"
        ));
    }
    let busy: Vec<u64> = samples.iter().filter_map(|sample| sample.busy_ns).collect();
    let total: u64 = busy.iter().sum();
    if busy.is_empty() {
        return Ok(Some(format!("{name} has no busy counter: its witness is the process list alone")));
    }
    if claim < CLAIM_FLOOR_NS {
        return Ok(Some(format!(
            "{claim} ns of busy time are too little for the counter of {name}: its witness is the process list alone"
        )));
    }
    if total < claim / 2 {
        return Err(format!(
            "the probe claims that kernels kept {name} busy for {claim} ns, and it was for {total} ns"
        ));
    }
    Ok(None)
}
