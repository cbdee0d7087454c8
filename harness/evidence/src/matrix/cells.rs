//! What fills a cell: results by host and device, the headline, age and conflicts.

use super::Source;
use super::evidence::{day, days};
use super::model::{Cell, CellState, Evidence, Executed, Head, Headline, Problem, ProblemKind};
use crate::read::Test;
use jiff::ToSpan as _;
use jiff::civil::Date;
use runproof_records::fleet::{Access, DeviceDecl, Fleet, HostDecl};
use runproof_records::reasons::NO_DEVICE;
use runproof_records::record::{Record, Target, TestKey};
use runproof_records::verdict::{State, Tier};
use std::collections::{BTreeMap, BTreeSet};

/// One result that belongs to a cell.
struct Hit<'a> {
    source: &'a Source,
    test: &'a Test,
    record: &'a Record,
    made: Date,
}

impl Hit<'_> {
    fn passed(&self) -> bool {
        self.record.verdict.state == State::Passed
    }
}

/// Columns: without a device, then the fleet's.
pub(super) fn columns(fleet: &Fleet) -> Vec<Head> {
    let none = Head { id: NO_DEVICE.into(), name: NO_DEVICE.into(), owner: String::new() };
    let declared =
        fleet.device.iter().map(|d| Head { id: d.id.clone(), name: d.name.clone(), owner: d.owner.clone() });
    [none].into_iter().chain(declared).collect()
}

/// Every cell, row by row.
pub(super) fn all(
    sources: &[&Source],
    fleet: &Fleet,
    as_of: Date,
    floor: u64,
    problems: &mut Vec<Problem>,
) -> Vec<Cell> {
    let mut cells = Vec::new();
    for host in &fleet.host {
        for device in [None].into_iter().chain(fleet.device.iter().map(Some)) {
            cells.push(cell(sources, fleet, host, device, as_of, floor, problems));
        }
    }
    cells
}

/// Device cells by tier, never summed over tiers.
pub(super) fn executed(cells: &[Cell]) -> Executed {
    let mut out = Executed::default();
    for cell in cells.iter().filter(|c| c.device != NO_DEVICE && c.state != CellState::NotApplicable) {
        match cell.headline.map(|h| h.tier) {
            Some(Tier::T2 | Tier::T2x) => out.on_device += 1,
            Some(Tier::T1) => out.on_shim_or_software += 1,
            Some(Tier::T0) | None => out.without += 1,
        }
    }
    out
}

/// Whether a result belongs into a column: on the device itself; on the host or shim into every column of a kind
/// that the test declares; and into the first column whatever ran on the host.
fn belongs(record: &Record, device: Option<&DeviceDecl>) -> bool {
    match (&record.key.target, device) {
        (Target::Device { id }, Some(device)) => {
            *id == device.id && record.device.as_ref().is_none_or(|d| d.undeclared_overrides.is_empty())
        }
        (Target::Device { .. }, None) => false,
        (Target::Host | Target::Shim, Some(device)) => record.declaration.kinds.contains(&device.kind),
        (Target::Host | Target::Shim, None) => true,
    }
}

/// The rule that makes the cell `n/a`, in words.
fn not_applicable(fleet: &Fleet, host: &HostDecl, device: &DeviceDecl) -> Option<String> {
    fleet.not_applicable.iter().filter(|rule| rule.kind == device.kind).find_map(|rule| {
        rule.needs.iter().find_map(|(field, value)| {
            let has = match field.as_str() {
                "os" => &host.os,
                "arch" => &host.arch,
                // A field that hosts do not have makes nothing impossible.
                _ => return None,
            };
            (has != value).then(|| format!("{} needs {field}={value}", rule.kind))
        })
    })
}

fn cell(
    sources: &[&Source],
    fleet: &Fleet,
    host: &HostDecl,
    device: Option<&DeviceDecl>,
    as_of: Date,
    floor: u64,
    problems: &mut Vec<Problem>,
) -> Cell {
    let name = device.map_or(NO_DEVICE, |d| d.id.as_str());
    let mut cell = blank(&host.id, name);
    let mut hits = hits(sources, host, device);
    if let Some(rule) = device.and_then(|d| not_applicable(fleet, host, d)) {
        if hits.iter().any(|h| matches!(h.record.key.target, Target::Device { .. })) {
            let message = format!("{} × {name}: there is evidence, and the fleet says `{rule}`", host.id);
            problems.push(Problem { kind: ProblemKind::NotApplicable, message });
        }
        cell.state = CellState::NotApplicable;
        cell.rule = rule;
        return cell;
    }
    let ttl = i64::from(device.map_or(host.ttl_days, |d| d.ttl_days));
    cell.conflicts = conflicts(&hits);
    let had = !hits.is_empty();
    newest(&mut hits);
    hits.retain(|h| days(h.made, as_of) <= ttl);
    let expired = had && hits.is_empty();
    count(&mut cell, &hits, host.access == Access::Ci && device.is_none_or(|d| d.access == Access::Ci));
    cell.headline = headline(&hits, floor);
    if let Some(headline) = cell.headline {
        let of_it = hits.iter().filter(|h| h.passed() && h.record.verdict.tier == Some(headline.tier));
        if let Some(oldest) = of_it.map(|h| h.made).min() {
            cell.age_days = Some(days(oldest, as_of));
            cell.expires = oldest.checked_add(ttl.days()).ok().map(|d| d.to_string());
        }
    }
    cell.state = match cell.age_days {
        _ if !cell.conflicts.is_empty() => CellState::Conflict,
        _ if expired => CellState::Expired,
        None => CellState::Empty,
        Some(age) if age * 5 > ttl * 4 => CellState::Stale,
        Some(age) if age * 2 > ttl => CellState::Ageing,
        Some(_) => CellState::Filled,
    };
    for (state, kind, what) in [
        (CellState::Expired, ProblemKind::Expired, "all of its evidence is too old: run the tests again"),
        (
            CellState::Conflict,
            ProblemKind::Conflict,
            "evidences of one commit disagree: find out which is right",
        ),
    ] {
        if cell.state == state {
            problems.push(Problem { kind, message: format!("{} × {name}: {what}", host.id) });
        }
    }
    cell
}

fn blank(host: &str, device: &str) -> Cell {
    Cell {
        host: host.to_owned(),
        device: device.to_owned(),
        state: CellState::Empty,
        headline: None,
        tiers: BTreeMap::new(),
        placement_bearing: 0,
        failed: BTreeMap::new(),
        flaky: 0,
        xfailed: 0,
        skipped: BTreeMap::new(),
        scope: BTreeMap::new(),
        drivers: BTreeSet::new(),
        evidence: Vec::new(),
        age_days: None,
        expires: None,
        conflicts: Vec::new(),
        tier_missing: None,
        reason: None,
        rule: String::new(),
    }
}

fn hits<'a>(sources: &[&'a Source], host: &HostDecl, device: Option<&DeviceDecl>) -> Vec<Hit<'a>> {
    let mut out = Vec::new();
    for source in sources.iter().filter(|s| s.bundle.run.host.id == host.id) {
        for test in &source.bundle.tests {
            if let Some(record) = test.last().filter(|r| belongs(r, device)) {
                out.push(Hit { source, test, record, made: day(source.bundle.run.started.utc) });
            }
        }
    }
    out
}

/// Of each test the newest result: sources come oldest first.
fn newest(hits: &mut Vec<Hit<'_>>) {
    let mut last: BTreeMap<TestKey, usize> = BTreeMap::new();
    for (i, hit) in hits.iter().enumerate() {
        last.insert(hit.record.key.clone(), i);
    }
    let keep: BTreeSet<usize> = last.into_values().collect();
    let mut i = 0;
    hits.retain(|_| {
        i += 1;
        keep.contains(&(i - 1))
    });
}

/// Results of one test file and one clean commit that differ in pass and failure.
fn conflicts(hits: &[Hit<'_>]) -> Vec<String> {
    let mut seen: BTreeMap<(&TestKey, &str, &str), Vec<&Hit<'_>>> = BTreeMap::new();
    for hit in hits {
        let source = &hit.source.bundle.run.source;
        if !source.dirty && source.commit != "unknown" {
            seen.entry((&hit.record.key, &source.commit, hit.test.source.as_str())).or_default().push(hit);
        }
    }
    let mut out = Vec::new();
    for ((key, commit, _), hits) in seen {
        let passes = hits.iter().any(|h| h.passed());
        if passes && hits.iter().any(|h| h.record.verdict.state.is_failure()) {
            let said: Vec<_> = hits
                .iter()
                .map(|h| format!("{} in {}", h.record.verdict.state, h.source.bundle.run.id))
                .collect();
            out.push(format!("{} at {commit}: {}", key.test, said.join(", ")));
        }
    }
    out
}

fn count(cell: &mut Cell, hits: &[Hit<'_>], continuous: bool) {
    for hit in hits {
        let v = &hit.record.verdict;
        match v.state {
            State::Skipped => {
                let kind = v.skip.map_or("unknown", runproof_records::verdict::SkipKind::as_str);
                *cell.skipped.entry(kind).or_default() += 1;
                continue;
            }
            State::Flaky => cell.flaky += 1,
            State::Xfailed => cell.xfailed += 1,
            state if state.is_failure() => *cell.failed.entry(v.goal).or_default() += 1,
            _ => {}
        }
        if let Some(tier) = v.tier {
            let counts = cell.tiers.entry(tier).or_default();
            counts.executed += 1;
            counts.passed += u64::from(hit.passed());
            cell.placement_bearing += u64::from(tier == Tier::T1 && !hit.record.declaration.kinds.is_empty());
        }
        if hit.passed() {
            for (key, value) in &hit.record.declaration.scope {
                cell.scope.entry(key.clone()).or_default().insert(value.clone());
            }
        }
        if let Some(device) = &hit.record.device {
            cell.drivers.insert(format!("driver {}, runtime {}", device.driver, device.runtime));
        }
        let bundle = &hit.source.bundle;
        if let Some(digest) = &bundle.digest {
            let evidence = Evidence {
                run: bundle.run.id.clone(),
                link: hit.source.link.clone(),
                digest: digest.clone(),
                commit: bundle.run.source.commit.clone()
                    + if bundle.run.source.dirty { " (dirty)" } else { "" },
                date: hit.made.to_string(),
                kind: if continuous { "continuous" } else { "one-off" },
            };
            if !cell.evidence.contains(&evidence) {
                cell.evidence.push(evidence);
            }
        }
    }
}

/// The highest tier with enough passed tests and no failed test of that goal.
fn headline(hits: &[Hit<'_>], floor: u64) -> Option<Headline> {
    Tier::ALL.iter().rev().copied().find_map(|tier| {
        let of_it: Vec<&Hit<'_>> =
            hits.iter().filter(|h| h.passed() && h.record.verdict.tier == Some(tier)).collect();
        let failed =
            hits.iter().any(|h| h.record.verdict.state.is_failure() && h.record.verdict.goal == tier);
        if failed || (of_it.len() as u64) < floor {
            return None;
        }
        Some(Headline {
            tier,
            grade: of_it.iter().filter_map(|h| h.record.verdict.grade).min(),
            control: of_it.iter().all(|h| h.record.verdict.control),
            shim: of_it.iter().all(|h| h.record.key.target == Target::Shim),
        })
    })
}
