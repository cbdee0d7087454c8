//! Placement: the raw probe streams against what the record makes of them.

use super::Sink;
use crate::load::Bundle;
use crate::rule::{names_position, number_fits, place_of};
use crate::stream::{self, Answer, Stream};
use runproof_records::PROBE_SCHEMA;
use runproof_records::record::{Command, CommandPlacement, CommandRole, Device, Exit, PlacedPattern, Record};
use runproof_records::verdict::{Fact, PlacementOutcome};
use runproof_records::wire::{DeviceClass, Message, Role};
use std::collections::{BTreeMap, BTreeSet};

/// An observed command with everything around it.
struct Seen<'a> {
    line: usize,
    record: &'a Record,
    entry: &'a CommandPlacement,
    command: &'a Command,
    stream: Stream<'a>,
}

impl Seen<'_> {
    fn at(&self, sink: &mut Sink, message: &str) {
        sink.record(self.line, format!("command {}: {message}", self.entry.command));
    }
}

fn seen<'a>(b: &'a Bundle<'_>) -> Vec<Seen<'a>> {
    let mut out = Vec::new();
    for (line, record) in b.records() {
        for entry in record.placement.iter().flat_map(|p| &p.commands) {
            let Some(command) = record.commands.iter().find(|c| c.index == entry.command) else { continue };
            let raw = b.raw.get(&entry.raw).map_or(&[][..], Vec::as_slice);
            out.push(Seen { line, record, entry, command, stream: Stream::new(raw, entry, command) });
        }
    }
    out
}

pub(super) fn hello(b: &Bundle<'_>, sink: &mut Sink) {
    for s in seen(b) {
        for process in s.entry.processes.iter().filter(|p| p.accepted) {
            let first = s.stream.lines(process.conn).min_by_key(|(_, l)| l.seq);
            let why = match first.map(|(_, l)| (&l.msg, l.seq)) {
                Some((Message::Hello(h), 0)) if h.nonce != s.command.nonce => "said another command's nonce",
                Some((Message::Hello(h), 0)) if h.v != PROBE_SCHEMA => {
                    "speaks another version of the protocol"
                }
                Some((Message::Hello(h), 0)) if h.rc.values().any(|rc| *rc != 0) && conclusive(s.entry) => {
                    "has a probe that could not subscribe, and nothing says inconclusive"
                }
                Some((Message::Hello(_), 0)) => continue,
                _ => "did not begin with hello",
            };
            s.at(sink, &format!("connection {} {why}", process.conn));
        }
    }
}

fn conclusive(entry: &CommandPlacement) -> bool {
    entry.inconclusive.is_empty() && entry.outcome != PlacementOutcome::Inconclusive
}

pub(super) fn sequence(b: &Bundle<'_>, sink: &mut Sink) {
    for s in seen(b) {
        for process in s.entry.processes.iter().filter(|p| p.accepted) {
            let numbers: Vec<u64> = s.stream.lines(process.conn).map(|(_, l)| l.seq).collect();
            let distinct: BTreeSet<u64> = numbers.iter().copied().collect();
            let gapless = distinct.len() == numbers.len()
                && distinct.last().is_none_or(|last| last + 1 == numbers.len() as u64);
            if !gapless && conclusive(s.entry) {
                s.at(sink, &format!("connection {} has gaps, and nothing says inconclusive", process.conn));
            }
            let lost = s.stream.lines(process.conn).any(|(_, l)| match &l.msg {
                Message::Bye { dropped, .. } => *dropped > 0,
                Message::Error { .. } => true,
                _ => false,
            });
            if lost && conclusive(s.entry) {
                s.at(
                    sink,
                    &format!("connection {} lost records, and nothing says inconclusive", process.conn),
                );
            }
        }
    }
}

pub(super) fn processes(b: &Bundle<'_>, sink: &mut Sink) {
    for s in seen(b) {
        let listed: BTreeSet<u32> = s.entry.processes.iter().map(|p| p.conn).collect();
        for conn in s.stream.inner_connections().filter(|c| !listed.contains(c)) {
            s.at(sink, &format!("connection {conn} is in the raw file and not among the processes"));
        }
        for p in s.entry.processes.iter().filter(|p| p.accepted) {
            let inner = s.stream.inner_connections().any(|c| c == p.conn);
            if inner && !p.descends {
                s.at(
                    sink,
                    &format!("connection {} is accepted and does not descend from the command", p.conn),
                );
            }
            if inner && s.stream.stamps(p.conn).any(|l| l.peer != p.peer) {
                s.at(sink, &format!("connection {} has lines of another process", p.conn));
            }
        }
    }
}

pub(super) fn device(b: &Bundle<'_>, sink: &mut Sink) {
    for s in seen(b) {
        if s.entry.outcome != PlacementOutcome::Placed && s.entry.outcome != PlacementOutcome::PlacedSoftware
        {
            continue;
        }
        let Some(wanted) = &s.record.device else {
            s.at(sink, "is placed, and the record has no device");
            continue;
        };
        if s.entry.placed.iter().any(names_position) {
            continue; // Several devices: the record describes the first.
        }
        let worked: BTreeSet<(u32, u32)> = s.stream.kernels().collect();
        for (conn, dev) in worked {
            let why = match s.stream.device(conn, dev) {
                None => "ran kernels on a device that it never described".to_owned(),
                Some(d) => match differs(wanted, d) {
                    Some(why) => why,
                    None => continue,
                },
            };
            s.at(sink, &format!("connection {conn} {why}"));
        }
    }
}

/// How the device that the process saw differs from the one that was asked for.
fn differs(wanted: &Device, seen: &runproof_records::wire::Device) -> Option<String> {
    if stream::place(seen) != place_of(wanted) {
        let place = stream::place(seen).unwrap_or_default();
        return Some(format!("ran on {place}, not on {}", place_of(wanted).unwrap_or_default()));
    }
    if seen.capability.as_ref().is_some_and(|c| *c != wanted.capability) {
        return Some(format!("ran on capability {:?}, not on {}", seen.capability, wanted.capability));
    }
    if !wanted.software && matches!(seen.class, DeviceClass::Cpu | DeviceClass::Sim) {
        return Some("ran on a device that computes on a CPU".into());
    }
    if seen.mig.is_some() {
        return Some("ran on a slice of the device".into());
    }
    None
}

pub(super) fn work(b: &Bundle<'_>, sink: &mut Sink) {
    for s in seen(b) {
        let found = s.stream.kernel_sums();
        let mut recorded: BTreeMap<(String, String), u64> = BTreeMap::new();
        for w in s.entry.work.iter().filter(|w| w.record == "kernel") {
            *recorded.entry((w.name.clone(), w.device.clone())).or_default() += w.count;
        }
        for (key @ (name, place), n) in &recorded {
            let there = found.get(key).map_or(0, |f| f.1);
            if *n > there {
                s.at(
                    sink,
                    &format!("{n} kernels `{name}` on {place} are recorded, the raw file has {there}"),
                );
            }
        }
        for (key @ (name, place), (good, _)) in &found {
            let n = recorded.get(key).copied().unwrap_or_default();
            // A device that was not asked for may be one that the inventory does not know.
            if n < *good && s.record.device.as_ref().and_then(place_of).as_ref() == Some(place) {
                s.at(sink, &format!("the raw file has {good} kernels `{name}` on {place}, {n} are recorded"));
            }
        }
    }
}

pub(super) fn placed(b: &Bundle<'_>, sink: &mut Sink) {
    for s in seen(b) {
        let kind = s.record.device.as_ref().map(|d| d.kind.as_str());
        for l in &s.entry.placed {
            let applies = l.pattern.kind.as_deref().is_none_or(|k| Some(k) == kind);
            if applies != l.applies {
                s.at(sink, &format!("line {}: whether it applies here is recorded wrongly", l.line));
            }
            if !l.applies {
                continue;
            }
            let Answer { surely, perhaps } = s.stream.count(&l.pattern, s.record.device.as_ref());
            if l.matched < surely || l.matched > surely + perhaps {
                s.at(sink, &format!("line {}: {} records match, {} were counted", l.line, surely, l.matched));
            }
            if l.met != number_fits(l) {
                s.at(sink, &format!("line {}: `met` does not follow from the count", l.line));
            }
            let best = s.record.placement.iter().flat_map(|p| &p.probes).map(|p| p.grade).max();
            if l.grade > best {
                s.at(sink, &format!("line {}: no probe has records of that grade", l.line));
            }
        }
    }
}

pub(super) fn witness(b: &Bundle<'_>, sink: &mut Sink) {
    for s in seen(b).into_iter().filter(|s| s.entry.witness == "agrees") {
        let place = s.record.device.as_ref().and_then(place_of);
        let kind = s.record.device.as_ref().map(|d| d.kind.clone());
        // Energy is the whole device's: it is a claim only with a plan, and between controls.
        for w in s.entry.work.iter().filter(|w| w.record == "energy_delta" && w.count > 0) {
            if let Some(why) = s.stream.energy_objection(&w.name) {
                s.at(sink, &format!("energy is claimed, and the raw readings do not bear it: {why}"));
            }
            if !s.entry.placed.iter().any(|line| asks_for_a_share(&line.pattern, &w.name)) {
                s.at(sink, "energy is claimed, and no PLACED line asks for a share of the plan");
            }
            if !s.stream.is_planned_for(&w.name) {
                s.at(sink, "energy is claimed, and no operation in the raw file is planned for that rail");
            }
        }
        // No claim is nothing to witness.
        if s.entry.work.iter().all(|w| w.record != "kernel") {
            continue;
        }
        let there = s.stream.all().any(|st| {
            let Some(l) = st.line.as_ref().filter(|_| st.role == Role::Outer) else { return false };
            let (who, start, end) = match &l.msg {
                Message::Sample(x) => (&x.uuid, x.start, x.end),
                Message::EnergyDelta { rail, start, end, .. } => (rail, *start, *end),
                _ => return false,
            };
            let of_device = Some(who) == place.as_ref() || Some(who) == kind.as_ref();
            of_device && start <= s.command.ended.utc && end >= s.command.started.utc
        });
        if !there {
            s.at(
                sink,
                "the witness is said to agree, and no outer observation of the device is in the raw file",
            );
        }
    }
}

/// `PLACED: plan ane>=0.9`: a share that a plan without one does not reach.
fn asks_for_a_share(pattern: &PlacedPattern, unit: &str) -> bool {
    let positive = |value: &str| value.parse::<f64>().is_ok_and(|share| share > 0.0);
    pattern.record == "plan"
        && !(pattern.count.op == "=" && pattern.count.value == "0")
        && pattern
            .fields
            .iter()
            .any(|f| f.field == unit && f.condition.op == ">=" && positive(&f.condition.value))
}

pub(super) fn outcome(b: &Bundle<'_>, sink: &mut Sink) {
    use PlacementOutcome::{Inconclusive, Placed, PlacedSoftware};
    for s in seen(b) {
        let positive = matches!(s.entry.outcome, Placed | PlacedSoftware);
        if positive && s.entry.placed.iter().any(|l| l.applies && !l.met) {
            s.at(sink, "is placed with a PLACED line that is not met");
        }
        if positive && !s.entry.inconclusive.is_empty() {
            s.at(sink, "is placed with a sign that makes it inconclusive");
        }
        if positive && matches!(s.entry.witness.as_str(), "contradicts" | "missing") {
            s.at(sink, "is placed without its witness");
        }
    }
    for (line, r) in b.records() {
        let Some(p) = &r.placement else {
            if r.verdict.facts.placement == Fact::Held || r.verdict.placement.is_some() {
                sink.record(line, "has a placement outcome and no placement".into());
            }
            continue;
        };
        if r.verdict.placement != Some(p.outcome) {
            sink.record(line, "the verdict's placement is not the placement's outcome".into());
        }
        let positive = matches!(p.outcome, Placed | PlacedSoftware);
        if (r.verdict.facts.placement == Fact::Held) != positive {
            sink.record(line, format!("the fact `placement` does not follow from `{}`", p.outcome));
        }
        let exec = |e: &&CommandPlacement| {
            r.commands.iter().any(|c| c.index == e.command && c.role == CommandRole::Exec)
                && e.placed.iter().any(|l| l.applies)
        };
        let worse = p.commands.iter().filter(exec).any(|e| e.outcome != p.outcome);
        if positive && (worse || !p.commands.iter().any(|e| exec(&e))) {
            sink.record(line, "is placed, and not each of its commands is".into());
        }
        if p.outcome != Inconclusive && p.commands.iter().filter(exec).any(|e| e.outcome == Inconclusive) {
            sink.record(line, "a command is inconclusive and the whole is not".into());
        }
    }
}

pub(super) fn control(b: &Bundle<'_>, sink: &mut Sink) {
    let seen = seen(b);
    for (line, r) in b.records() {
        let control = r.placement.as_ref().and_then(|p| p.control.as_ref());
        let placed = [PlacementOutcome::Placed, PlacementOutcome::PlacedSoftware];
        let bearing = r.placement.as_ref().is_some_and(|p| placed.contains(&p.outcome));
        // A known liar has a fallback by intention, and some kinds of device cannot be hidden: the record says so.
        let excused = r.declaration.xfail.as_ref().is_some_and(|x| x.expects == "placement")
            || r.not_recorded.iter().any(|n| n.field == "placement.control")
            || r.commands
                .iter()
                .any(|c| matches!(c.role, CommandRole::Run | CommandRole::Exec) && !c.exit_held)
            || r.result.checks.iter().any(|c| !c.held);
        if b.run.selection.controls && bearing && control.is_none() && !excused {
            sink.record(
                line,
                "controls were asked for, and the run with the device hidden is missing".into(),
            );
        }
        let Some(control) = control else { continue };
        if control.held != (control.records == 0 && !control.accepted) {
            sink.record(line, "whether the control held does not follow from what it saw".into());
        }
        for index in &control.commands {
            let hidden = |c: &&Command| c.index == *index && c.role == CommandRole::HiddenDevice;
            match r.commands.iter().find(hidden) {
                Some(c) if c.exit != Exit::NotReached => {}
                _ => sink.record(line, format!("command {index} is no run with the device hidden")),
            }
        }
        let hidden = seen.iter().filter(|s| s.line == line && control.commands.contains(&s.entry.command));
        let records: u64 = hidden.map(|s| s.stream.any_kernel()).sum();
        if control.records < records {
            sink.record(
                line,
                format!("the control shows {records} kernels, {} are recorded", control.records),
            );
        }
    }
}
