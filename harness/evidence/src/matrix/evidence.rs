//! Which bundles may fill cells, and the index of runs with several participants.

use super::Source;
use super::model::{LeftOut, RunEntry};
use crate::read::Bundle;
use jiff::civil::Date;
use jiff::{Timestamp, tz::Offset};
use runproof_records::fleet::Fleet;
use runproof_records::verdict::State;

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

/// Tests with `PEERS`.
pub(super) fn runs(sources: &[&Source]) -> Vec<RunEntry> {
    let mut out = Vec::new();
    for source in sources {
        for test in &source.bundle.tests {
            let Some(record) = test.last().filter(|r| !r.declaration.peers.is_empty()) else { continue };
            out.push(RunEntry {
                run: source.bundle.run.id.clone(),
                link: source.link.clone(),
                test: test.key.test.clone(),
                participants: record.declaration.peers.clone(),
                state: test.state().as_str(),
                tier: test.tier(),
            });
        }
    }
    out
}
