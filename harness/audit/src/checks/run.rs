//! The run as a whole: the chain, the census, attempts, totals.

use super::Sink;
use crate::load::{Bundle, sha256};
use runproof_records::bundle::{CENSUS, RUN};
use runproof_records::record::{Line, Record, TestKey};
use runproof_records::verdict::{SkipKind, State, Tier};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn chain(b: &Bundle<'_>, sink: &mut Sink) {
    let mut want = sha256(b.run.nonce.as_bytes());
    for (i, row) in b.lines.iter().enumerate() {
        let (seq, prev) = match &row.line {
            Line::Started(s) => (s.seq, &s.prev),
            Line::Finished(r) => (r.seq, &r.prev),
        };
        if seq != i as u64 {
            sink.record(row.number, format!("seq is {seq}, its place is {i}"));
        }
        if *prev != want {
            sink.record(row.number, format!("prev is {prev}, the line before has {want}"));
        }
        want = row.digest.clone();
    }
}

pub(super) fn head(b: &Bundle<'_>, sink: &mut Sink) {
    let Some(end) = &b.run.end else { return };
    let head = b.lines.last().map_or_else(|| sha256(b.run.nonce.as_bytes()), |l| l.digest.clone());
    if end.lines != b.lines.len() as u64 || end.head != head {
        let what = format!(
            "says {} lines up to {}, the records have {} up to {head}",
            end.lines,
            end.head,
            b.lines.len()
        );
        sink.at(RUN, None, what);
    }
}

pub(super) fn identity(b: &Bundle<'_>, sink: &mut Sink) {
    let run = b.run;
    if b.loaded.root.file_name().is_some_and(|n| n.to_str() != Some(&run.id)) {
        sink.at(RUN, None, format!("is of run `{}`, the folder has another name", run.id));
    }
    if b.census.run != run.id || b.census.nonce != run.nonce {
        sink.at(CENSUS, None, format!("is of run `{}`, not `{}`", b.census.run, run.id));
    }
    if run.nonce.len() != 32 || !run.nonce.bytes().all(|c| c.is_ascii_hexdigit()) {
        sink.at(RUN, None, "the nonce is not 32 hexadecimal digits".into());
    }
    for (line, r) in b.records() {
        if r.run != run.id || r.nonce != run.nonce {
            sink.record(line, format!("is of run `{}`, not `{}`", r.run, run.id));
        }
    }
}

pub(super) fn host(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        if r.host != b.run.host {
            sink.record(
                line,
                format!("was made on `{}` ({}), the run on `{}`", r.host.id, r.host.machine, b.run.host.id),
            );
        }
    }
}

pub(super) fn announced(b: &Bundle<'_>, sink: &mut Sink) {
    let mut sources = BTreeMap::new();
    for test in &b.census.tests {
        if sources.insert(&test.key, &test.source).is_some() {
            sink.at(CENSUS, None, format!("announces `{}` twice", test.key.test));
        }
    }
    for row in b.lines {
        let (key, source) = match &row.line {
            Line::Started(s) => (&s.key, None),
            Line::Finished(r) => (&r.key, Some(&r.source)),
        };
        match sources.get(key) {
            None => sink.record(row.number, format!("`{}` was never announced", key.test)),
            Some(announced) if source.is_some_and(|s| s != *announced) => {
                sink.record(row.number, format!("`{}` is of another file than announced", key.test));
            }
            Some(_) => {}
        }
    }
}

pub(super) fn census(b: &Bundle<'_>, sink: &mut Sink) {
    let interrupted = b.run.end.as_ref().is_some_and(|e| e.interrupted);
    let last = last(b);
    for test in &b.census.tests {
        if last.get(&test.key).is_none_or(Option::is_none) && !interrupted {
            sink.at(CENSUS, None, format!("`{}` was announced and has no terminal state", test.key.test));
        }
    }
}

/// The deciding record of each test that was started: `None` when the last attempt did not end.
fn last<'a>(b: &'a Bundle<'_>) -> BTreeMap<&'a TestKey, Option<&'a Record>> {
    let mut last = BTreeMap::new();
    for row in b.lines {
        match &row.line {
            Line::Started(s) => last.insert(&s.key, None),
            Line::Finished(r) => last.insert(&r.key, Some(&**r)),
        };
    }
    last
}

pub(super) fn attempts(b: &Bundle<'_>, sink: &mut Sink) {
    #[derive(Default)]
    struct Seen {
        finished: u32,
        open: Option<u32>,
    }
    let mut seen: BTreeMap<&TestKey, Seen> = BTreeMap::new();
    for row in b.lines {
        match &row.line {
            Line::Started(s) => {
                let test = seen.entry(&s.key).or_default();
                if test.open.is_some() || s.attempt != test.finished + 1 {
                    sink.record(
                        row.number,
                        format!("attempt {} of `{}` does not follow the one before", s.attempt, s.key.test),
                    );
                }
                test.open = Some(s.attempt);
            }
            Line::Finished(r) => {
                let test = seen.entry(&r.key).or_default();
                let settled = test.finished == 0 && test.open.is_none() && settled(r);
                if test.open != Some(r.attempt) && !settled {
                    sink.record(
                        row.number,
                        format!("attempt {} of `{}` ended and never started", r.attempt, r.key.test),
                    );
                }
                test.open = None;
                test.finished = r.attempt;
            }
        }
    }
}

/// A test that reached its state without being run announces no start.
fn settled(record: &Record) -> bool {
    record.attempt == 1
        && record.commands.is_empty()
        && matches!(record.verdict.state, State::Refused | State::Skipped | State::Errored)
}

pub(super) fn totals(b: &Bundle<'_>, sink: &mut Sink) {
    let Some(end) = &b.run.end else { return };
    let last = last(b);
    let mut states: BTreeMap<String, u64> = BTreeMap::new();
    let mut tiers: BTreeMap<String, u64> = BTreeMap::new();
    for key in b.census.tests.iter().map(|t| &t.key).collect::<BTreeSet<_>>() {
        let verdict = last.get(key).copied().flatten().map(|r| &r.verdict);
        *states.entry(verdict.map_or(State::NotRun, |v| v.state).as_str().into()).or_default() += 1;
        *tiers.entry(verdict.and_then(|v| v.tier).map_or("none", Tier::as_str).into()).or_default() += 1;
    }
    for (name, said, found) in [("states", &end.states, &states), ("tiers", &end.tiers, &tiers)] {
        if said != found {
            sink.at(RUN, None, format!("{name} are {said:?}, the records give {found:?}"));
        }
    }
}

pub(super) fn partial(b: &Bundle<'_>, sink: &mut Sink) {
    let s = &b.run.selection;
    let interrupted = b.run.end.as_ref().is_some_and(|e| e.interrupted);
    let filtered = b.records().any(|(_, r)| r.verdict.skip == Some(SkipKind::Filtered));
    for (is, why) in [
        (interrupted, "interrupted"),
        (!s.filters.is_empty(), "filtered"),
        (!s.shard.is_empty(), "sharded"),
        (filtered, "filtered"),
    ] {
        if is && !s.partial {
            sink.at(RUN, None, format!("the run was {why} and is not marked partial"));
        }
    }
}
