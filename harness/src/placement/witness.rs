//! What the outer witness says to the inner probe's claim.
//!
//! Numbers are those of the measurements behind the specification: busy time of the device is a lower
//! bound, and a claim below 3 µs is below what it can see.

use super::process::Process;
use super::work::Seen;
use super::{Question, label};
use runproof_records::wire::{Message, Role, Sample};

/// Claims below this are below the witness.
const CLAIM_FLOOR_NS: u64 = 3_000;

pub(super) struct Witness {
    /// `agrees`, `contradicts`, `missing`, `none`.
    pub word: &'static str,
    /// Why the evidence is inconclusive because of it.
    pub sign: Option<String>,
}

pub(super) fn ask(question: &Question<'_>, accepted: &[&Process<'_>], seen: &Seen) -> Witness {
    if !question.has_witness {
        return Witness { word: "none", sign: None };
    }
    let missing = |why: String| Witness { word: "missing", sign: Some(format!("no outer witness: {why}")) };
    if let Some(why) = question.witness_failed {
        return missing(why.to_owned());
    }
    let samples: Vec<&Sample> = question
        .observation
        .lines
        .iter()
        .filter(|line| line.role == Role::Outer)
        .filter_map(|stamped| match stamped.line.as_ref().map(|line| &line.msg) {
            Some(Message::Sample(sample)) => Some(sample),
            _ => None,
        })
        .filter(|sample| sample.start < question.window.1 && sample.end > question.window.0)
        .collect();
    let inner = accepted.iter().filter(|process| process.peer.role == Role::Inner);
    let pids: Vec<i32> = inner.map(|process| process.peer.pid).collect();
    for device in question.devices {
        let name = label(device);
        let claim = seen.kernel_ns(&name);
        // No claim on a device is nothing to contradict.
        if claim == 0 {
            continue;
        }
        let of_device: Vec<_> =
            samples.iter().filter(|sample| device.uuid.as_ref() == Some(&sample.uuid)).collect();
        if of_device.is_empty() {
            return missing(format!("nothing was sampled of {name} during the command"));
        }
        if let Some(contradiction) = contradiction(&of_device, &pids, &name, claim) {
            return Witness { word: "contradicts", sign: Some(contradiction) };
        }
    }
    Witness { word: "agrees", sign: None }
}

fn contradiction(samples: &[&&Sample], pids: &[i32], name: &str, claim: u64) -> Option<String> {
    let listed = || samples.iter().flat_map(|sample| &sample.procs).map(|(pid, _)| *pid);
    if let Some(foreign) = listed().find(|pid| !pids.contains(pid)) {
        return Some(format!("process {foreign}, which is not of this command, was on {name} meanwhile"));
    }
    if listed().next().is_none() {
        return Some(format!(
            "the probe claims kernels on {name}, where the driver lists no process of the command"
        ));
    }
    let busy: Vec<u64> = samples.iter().filter_map(|sample| sample.busy_ns).collect();
    let total: u64 = busy.iter().sum();
    if !busy.is_empty() && claim >= CLAIM_FLOOR_NS && total < claim / 2 {
        return Some(format!(
            "the probe claims {claim} ns of kernels on {name}, which was busy for {total} ns"
        ));
    }
    None
}
