//! Which bundles may fill cells, and the index of runs with several participants.

use super::Source;
use super::model::{Cell, LeftOut, RunEntry};
use crate::read::{Bundle, Test};
use jiff::civil::Date;
use jiff::{Timestamp, tz::Offset};
use runproof_records::fleet::Fleet;
use runproof_records::record::Record;
use runproof_records::verdict::{State, Tier};
use std::collections::{BTreeMap, BTreeSet};

/// Day of a moment, UTC.
pub(super) fn day(utc_ns: u64) -> Date {
    let moment = Timestamp::from_nanosecond(i128::from(utc_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
    Offset::UTC.to_datetime(moment).date()
}

/// Days from one date to a later one.
pub(super) fn days(from: Date, to: Date) -> i64 {
    (to - from).get_days().into()
}

/// Parts the bundles into those that may fill cells and those that fill nothing.
pub(super) fn eligible<'a>(
    sources: &[&'a Source],
    fleet: &Fleet,
    as_of: Date,
) -> (Vec<&'a Source>, Vec<LeftOut>) {
    let mut good = Vec::new();
    let mut left_out = Vec::new();
    for source in sources {
        match refusal(&source.bundle, fleet, as_of) {
            None => good.push(*source),
            Some(why) => {
                left_out.push(LeftOut { run: source.bundle.run.id.clone(), link: source.link.clone(), why });
            }
        }
    }
    (good, left_out)
}

fn refusal(bundle: &Bundle, fleet: &Fleet, as_of: Date) -> Option<String> {
    let run = &bundle.run;
    if let Some(missing) = bundle.missing.first() {
        return Some(format!("partial: {missing}"));
    }
    if run.selection.partial || !run.selection.filters.is_empty() || !run.selection.shard.is_empty() {
        return Some("partial: filtered, sharded or interrupted".into());
    }
    if let Some(lost) = bundle.tests.iter().find(|t| t.state() == State::NotRun) {
        return Some(format!("partial: `{}` was announced and not run", lost.key.test));
    }
    if !bundle.tests.iter().any(|t| t.state().was_executed()) {
        return Some(format!("none of its {} tests was executed", bundle.tests.len()));
    }
    if !fleet.host.iter().any(|h| h.id == run.host.id) {
        return Some(format!("its host `{}` is not declared in the fleet", run.host.id));
    }
    let made = day(run.started.utc);
    (made > as_of).then(|| format!("made on {made}, after the date of the table"))
}

/// Bundles that could fill cells and do not. `sources` are ordered by time.
pub(super) fn unlinked(sources: &[&Source], cells: &[Cell]) -> Vec<LeftOut> {
    let linked = |run: &str| cells.iter().flat_map(|c| &c.evidence).any(|e| e.run == run);
    let mut out = Vec::new();
    for (index, source) in sources.iter().enumerate().filter(|(_, s)| !linked(&s.bundle.run.id)) {
        let run = &source.bundle.run;
        let newer: BTreeSet<_> = sources[index + 1..]
            .iter()
            .filter(|later| later.bundle.run.host.id == run.host.id)
            .flat_map(|later| later.bundle.tests.iter().filter(|t| t.state().was_executed()).map(|t| &t.key))
            .collect();
        let mut executed = source.bundle.tests.iter().filter(|t| t.state().was_executed());
        let why = if executed.all(|test| newer.contains(&test.key)) {
            "newer bundles hold its results again"
        } else {
            "its results belong to no cell, or are too old"
        };
        let why = format!("{why}; by itself it has {}", tiers(&source.bundle));
        out.push(LeftOut { run: run.id.clone(), link: source.link.clone(), why });
    }
    out
}

/// `T1 3, T2 18 passed`.
fn tiers(bundle: &Bundle) -> String {
    let mut counts: BTreeMap<Tier, u64> = BTreeMap::new();
    for tier in bundle.tests.iter().filter(|t| t.state() == State::Passed).filter_map(Test::tier) {
        *counts.entry(tier).or_default() += 1;
    }
    let counts: Vec<_> = counts.iter().map(|(tier, n)| format!("{} {n}", tier.as_str())).collect();
    if counts.is_empty() { "no tier".into() } else { format!("{} passed", counts.join(", ")) }
}

/// Executed tests with `PEERS`, and those whose kernels the probe saw on several devices.
pub(super) fn runs(sources: &[&Source]) -> Vec<RunEntry> {
    let mut out = Vec::new();
    for source in sources {
        for test in source.bundle.tests.iter().filter(|t| t.state().was_executed()) {
            let Some(record) = test.last() else { continue };
            let mut participants = record.declaration.peers.clone();
            if participants.is_empty() {
                participants = devices(record);
            }
            if participants.len() < 2 {
                continue;
            }
            out.push(RunEntry {
                run: source.bundle.run.id.clone(),
                link: source.link.clone(),
                test: test.key.test.clone(),
                participants,
                state: test.state().as_str(),
                tier: test.tier(),
            });
        }
    }
    out
}

/// Devices on which kernels were seen, each with its part: `GPU-5c0f: prefill`.
fn devices(record: &Record) -> Vec<String> {
    let mut parts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let commands = record.placement.iter().flat_map(|p| &p.commands);
    for work in commands.flat_map(|c| &c.work).filter(|w| w.record == "kernel") {
        parts.entry(&work.device).or_default().insert(&work.name);
    }
    parts
        .into_iter()
        .map(|(device, names)| format!("{device}: {}", names.into_iter().collect::<Vec<_>>().join(", ")))
        .collect()
}
