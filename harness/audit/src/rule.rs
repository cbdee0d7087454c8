//! The audit's own interpreter of the published tier rule. Written apart from the runner's and never to be merged
//! with it: two readings of one text are what makes a disagreement visible.

use runproof_records::record::{
    Command, CommandPlacement, CommandRole, Device, Exit, PlacedLine, Record, Target, Work,
};
use runproof_records::verdict::{Fact, Grade, PlacementOutcome, Tier};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The published file, byte for byte.
pub const RULE_TEXT: &str = include_str!("../../../docs/schema/tier-rule-1.toml");

/// Tier, grade and control of a record, as this crate computes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiered {
    /// Tier; `None` when no row holds.
    pub tier: Option<Tier>,
    /// Proof grade of a T2.
    pub grade: Option<Grade>,
    /// Whether a negative control held for a T2.
    pub control: bool,
}

struct Table {
    rows: Vec<(Tier, Vec<String>)>,
    schema: String,
    witnessed: Vec<String>,
    work: Vec<String>,
    hardware: Vec<String>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let root: toml::Table = RULE_TEXT.parse().expect("the embedded rule file is parsed by a test");
    let texts = |value: Option<&toml::Value>| -> Vec<String> {
        let items = value.and_then(|v| v.as_array()).map_or(&[][..], Vec::as_slice);
        items.iter().filter_map(|v| v.as_str()).map(str::to_owned).collect()
    };
    let rows = root.get("row").and_then(|v| v.as_array()).map_or(&[][..], Vec::as_slice);
    Table {
        rows: rows
            .iter()
            .filter_map(|row| Some((Tier::from_word(row.get("tier")?.as_str()?)?, texts(row.get("when")))))
            .collect(),
        schema: root.get("record_schema").and_then(|v| v.as_str()).unwrap_or("\0").to_owned(),
        witnessed: texts(root.get("witnessed_kinds")),
        work: texts(root.get("work_records")),
        hardware: texts(root.get("hardware_classes")),
    }
});

/// Version of the embedded rule.
pub(crate) const RULE_VERSION: u32 = 1;

/// Evaluates the published rule on a record.
pub fn tier(record: &Record) -> Tiered {
    let held = atoms(record, &TABLE);
    let tier = TABLE
        .rows
        .iter()
        .find(|(_, when)| !when.is_empty() && when.iter().all(|a| held.contains(a.as_str())))
        .map(|(tier, _)| *tier);
    let mut out = Tiered { tier, grade: None, control: false };
    if tier == Some(Tier::T2) {
        let lines = exec_entries(record).into_iter().flat_map(|e| &e.placed);
        out.grade = lines.filter(|l| is_event(l)).filter_map(|l| l.grade).min();
        out.control = record.placement.as_ref().is_some_and(|p| p.control.is_some());
    }
    out
}

/// Names of the atoms that hold. Everything starts absent and is put in when the record proves it.
fn atoms(r: &Record, table: &Table) -> BTreeSet<&'static str> {
    let mut held = BTreeSet::new();
    let mut put = |name: &'static str, proved: bool| {
        if proved {
            held.insert(name);
        }
    };
    let runs: Vec<&Command> = r.commands.iter().filter(|c| c.role == CommandRole::Run).collect();
    let execs: Vec<&Command> = r.commands.iter().filter(|c| c.role == CommandRole::Exec).collect();

    put("schema", r.schema.starts_with(&table.schema));
    put("reached", runs.iter().chain(&execs).any(|c| ended(c)));
    put("compiled", !runs.is_empty());
    put(
        "run_part",
        runs.len() >= declared(r, "RUN") && runs.iter().all(|c| as_asked(c)) && compile_checks_hold(r),
    );
    put(
        "executed",
        !execs.is_empty()
            && execs.len() >= declared(r, "EXEC_RUN")
            && execs.iter().all(|c| ended(c) && !c.stages.is_empty()),
    );
    put("exit", r.verdict.facts.exit == Fact::Held && execs.iter().all(|c| as_asked(c)));
    put("readback", r.verdict.facts.readback == Fact::Held);
    put("oracle", r.verdict.facts.oracle == Fact::Held && comparisons_hold(r));
    put("native", r.host.emulation.is_empty());
    put("window", execs.iter().all(|c| in_window(r, c)));

    let Some(device) = &r.device else { return held };
    put("on_device", r.key.target == Target::Device { id: device.id.clone() });
    put("hardware", !device.software && table.hardware.contains(&device.class));
    put(
        "as_declared",
        device.declared && {
            let names: BTreeSet<&str> = device.agreement.iter().map(|a| a.fact.as_str()).collect();
            names.contains("capability") && device.agreement.iter().all(|a| a.agrees)
        },
    );
    put("identity", place_of(device).is_some());
    put("untainted", device.undeclared_overrides.is_empty());

    let Some(placement) = &r.placement else {
        // Without a placement a control can only be absent; a hidden run without a result is none.
        put("control", !r.commands.iter().any(|c| c.role == CommandRole::HiddenDevice));
        return held;
    };
    let entries = exec_entries(r);
    let bearing: Vec<&CommandPlacement> =
        entries.iter().copied().filter(|e| e.placed.iter().any(|l| l.applies)).collect();
    let once = |c: &&Command| {
        let mine: Vec<_> = placement.commands.iter().filter(|e| e.command == c.index).collect();
        mine.len() == 1 && mine[0].lines > 0
    };
    put("observed", !placement.probes.is_empty() && execs.iter().all(once));
    put(
        "placement",
        r.verdict.facts.placement == Fact::Held
            && placement.outcome == PlacementOutcome::Placed
            && bearing.iter().all(|e| e.outcome == PlacementOutcome::Placed),
    );
    put("processes", bearing.iter().all(|e| e.processes.iter().any(|p| p.accepted && p.descends)));
    put("conclusive", entries.iter().all(|e| e.inconclusive.is_empty()));
    put(
        "witness",
        bearing.iter().all(|e| match e.witness.as_str() {
            "agrees" => true,
            "none" => !table.witnessed.contains(&device.kind),
            _ => false,
        }),
    );

    let lines: Vec<(&CommandPlacement, &PlacedLine)> =
        entries.iter().flat_map(|e| e.placed.iter().map(move |l| (*e, l))).collect();
    let applying: Vec<_> = lines.iter().copied().filter(|(_, l)| l.applies).collect();
    let shows_work = |l: &PlacedLine| l.matched > 0 && table.work.contains(&l.pattern.record);
    put(
        "placed_lines",
        lines.len() >= declared(r, "PLACED")
            && applying.iter().all(|(_, l)| l.met && number_fits(l))
            && applying.iter().any(|(_, l)| shows_work(l)),
    );
    let best = placement.probes.iter().map(|p| p.grade).max();
    put(
        "records_grade",
        applying.iter().filter(|(_, l)| is_event(l)).all(|(_, l)| {
            l.grade.is_some_and(|g| matches!(g, Grade::Event | Grade::Effect) && best.is_some_and(|b| g <= b))
        }),
    );
    let here = |w: &Work| w.count > 0 && on(device, w);
    put(
        "device_work",
        applying
            .iter()
            .filter(|(_, l)| shows_work(l) && !names_position(l))
            .all(|(e, l)| e.work.iter().any(|w| w.record == l.pattern.record && here(w)))
            && entries.iter().flat_map(|e| &e.work).any(|w| table.work.contains(&w.record) && here(w)),
    );
    put(
        "no_fallback",
        lines.iter().any(|(_, l)| names_position(l))
            || entries.iter().flat_map(|e| &e.work).filter(|w| w.record == "kernel").all(|w| on(device, w)),
    );
    put("control", control_is_fine(r));
    // `two_machines` is never put in: record schema 1.0 has no participants.
    held
}

fn exec_entries(r: &Record) -> Vec<&CommandPlacement> {
    let execs: BTreeSet<u32> =
        r.commands.iter().filter(|c| c.role == CommandRole::Exec).map(|c| c.index).collect();
    r.placement.iter().flat_map(|p| &p.commands).filter(|e| execs.contains(&e.command)).collect()
}

pub(crate) fn word(keyword: &str) -> &str {
    match keyword.find('(') {
        Some(at) => &keyword[..at],
        None => keyword,
    }
}

pub(crate) fn declared(r: &Record, keyword: &str) -> usize {
    let mut n = 0;
    for (name, count) in &r.declaration.directives {
        if word(name) == keyword {
            n += *count as usize;
        }
    }
    n
}

pub(crate) fn ended(c: &Command) -> bool {
    match c.exit {
        Exit::Code { .. } | Exit::Signal { .. } => true,
        Exit::NotStarted { .. } | Exit::TimedOut { .. } | Exit::Interrupted | Exit::NotReached => false,
    }
}

/// Whether the exit is the one that the sentence in `expected` asks for.
pub(crate) fn exit_fits(c: &Command) -> bool {
    let words: Vec<&str> = c.expected.split(' ').collect();
    match (words.as_slice(), &c.exit) {
        (["exit", "nonzero"], Exit::Code { code }) => *code != 0,
        (["exit", n], Exit::Code { code }) => *n == code.to_string(),
        (["signal", s], Exit::Signal { name, .. }) => s == name,
        _ => false,
    }
}

fn as_asked(c: &Command) -> bool {
    c.exit_held && exit_fits(c)
}

fn compile_checks_hold(r: &Record) -> bool {
    r.result.checks.iter().all(|c| {
        let about_execution =
            matches!(word(&c.keyword), "EXPECT" | "CONTROL_RUN") && c.keyword != "EXPECT(refused)";
        about_execution || c.executed == 0 || c.held
    })
}

pub(crate) fn comparisons_hold(r: &Record) -> bool {
    let of =
        |keyword: &str| r.result.checks.iter().filter(|c| word(&c.keyword) == keyword).collect::<Vec<_>>();
    let all = ["EXPECT", "CONTROL_RUN"].iter().all(|keyword| {
        let checks = of(keyword);
        checks.len() >= declared(r, keyword) && checks.iter().all(|c| c.executed > 0 && c.held)
    });
    let numbers = r.result.numeric.as_ref().is_none_or(|n| n.over == 0 && n.nan == 0);
    all && numbers && !r.result.checks.is_empty()
}

fn in_window(r: &Record, c: &Command) -> bool {
    let hex = c.nonce.chars().filter(char::is_ascii_hexdigit).count();
    let utc = r.started.utc <= c.started.utc && c.started.utc <= c.ended.utc && c.ended.utc <= r.ended.utc;
    let mono =
        r.started.mono <= c.started.mono && c.started.mono <= c.ended.mono && c.ended.mono <= r.ended.mono;
    hex == 32 && c.nonce.len() == 32 && utc && mono
}

fn is_event(l: &PlacedLine) -> bool {
    l.applies && l.matched > 0 && l.pattern.record != "plan"
}

pub(crate) fn number_fits(l: &PlacedLine) -> bool {
    let Ok(n) = l.pattern.count.value.parse::<u64>() else { return false };
    let order = l.matched.cmp(&n);
    match l.pattern.count.op.as_str() {
        "=" => order.is_eq(),
        ">" => order.is_gt(),
        "<" => order.is_lt(),
        ">=" => order.is_ge(),
        "<=" => order.is_le(),
        _ => false,
    }
}

pub(crate) fn names_position(l: &PlacedLine) -> bool {
    ["device", "from", "to"].iter().any(|name| l.pattern.fields.iter().any(|f| f.field == *name))
}

/// How work on the device is written in `work.device`.
pub(crate) fn place_of(d: &Device) -> Option<String> {
    if let Some(uuid) = &d.identity.uuid {
        return Some(uuid.clone());
    }
    if let Some(bus) = &d.identity.bus {
        return Some(bus.clone());
    }
    d.identity.platform.as_ref().map(|p| format!("{p}/{}", d.name))
}

pub(crate) fn on(d: &Device, w: &Work) -> bool {
    place_of(d).as_ref() == Some(&w.device) || (w.record == "energy_delta" && w.device == d.kind)
}

fn control_is_fine(r: &Record) -> bool {
    let hidden: Vec<&Command> = r.commands.iter().filter(|c| c.role == CommandRole::HiddenDevice).collect();
    let Some(control) = r.placement.as_ref().and_then(|p| p.control.as_ref()) else {
        return hidden.is_empty();
    };
    let reached = |i: &u32| hidden.iter().any(|c| c.index == *i && c.exit != Exit::NotReached);
    control.held
        && !control.accepted
        && control.records == 0
        && !control.commands.is_empty()
        && control.commands.iter().all(reached)
}
