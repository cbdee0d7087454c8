//! The raw stream of one command's probes, and what can be counted in it without the runner's code.
//!
//! Where the audit cannot decide (a mangled name against a pattern on the demangled one, a device by position) it
//! gives bounds and not a guess: [`Answer::surely`] records match, [`Answer::perhaps`] more may.

use crate::energy;
use runproof_records::record::{Command, CommandPlacement, Condition, Device, PlacedPattern};
use runproof_records::wire::{self, Direction, Line, Message, Role, Stamped};
use std::collections::{BTreeMap, BTreeSet};

/// How many records match a pattern.
pub(crate) struct Answer {
    pub(crate) surely: u64,
    pub(crate) perhaps: u64,
}

pub(crate) struct Stream<'a> {
    raw: &'a [Stamped],
    accepted: BTreeSet<u32>,
    window: (u64, u64),
    devices: BTreeMap<(u32, u32), &'a wire::Device>,
}

/// How a device is written in the records: by UUID, else by PCI address, else by platform and name.
pub(crate) fn place(device: &wire::Device) -> Option<String> {
    let by_name = || device.platform.as_ref().map(|p| format!("{p}/{}", device.name));
    device.uuid.clone().or_else(|| device.pci.clone()).or_else(by_name)
}

#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Sure {
    No,
    Perhaps,
    Yes,
}

/// A record that can count: what it is, how often, and what it says.
struct Item<'a> {
    kind: &'static str,
    n: u64,
    conn: u32,
    dev: Option<u32>,
    good: bool,
    texts: Vec<(&'static str, &'a str)>,
    numbers: Vec<(&'static str, u64)>,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(raw: &'a [Stamped], entry: &CommandPlacement, command: &Command) -> Self {
        let accepted = entry.processes.iter().filter(|p| p.accepted).map(|p| p.conn).collect();
        let mut devices = BTreeMap::new();
        for stamped in raw {
            if let Some(Line { msg: Message::Device(d), .. }) = &stamped.line {
                devices.insert((stamped.conn, d.dev), d);
            }
        }
        Self { raw, accepted, window: (command.started.utc, command.ended.utc), devices }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &'a Stamped> {
        self.raw.iter()
    }

    pub(crate) fn stamps(&self, conn: u32) -> impl Iterator<Item = &'a Stamped> {
        self.raw.iter().filter(move |s| s.conn == conn)
    }

    pub(crate) fn lines(&self, conn: u32) -> impl Iterator<Item = (usize, &'a Line)> {
        let numbered = self.raw.iter().enumerate().filter(move |(_, s)| s.conn == conn);
        numbered.filter_map(|(i, s)| s.line.as_ref().map(|l| (i + 1, l)))
    }

    /// Connections of probes inside the program.
    pub(crate) fn inner_connections(&self) -> impl Iterator<Item = u32> {
        let inner: BTreeSet<u32> =
            self.raw.iter().filter(|s| s.role == Role::Inner).map(|s| s.conn).collect();
        inner.into_iter()
    }

    pub(crate) fn device(&self, conn: u32, dev: u32) -> Option<&'a wire::Device> {
        self.devices.get(&(conn, dev)).copied()
    }

    /// Connection and device of every good kernel.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = (u32, u32)> {
        let good = self.items().filter(|i| i.kind == "kernel" && i.good);
        good.filter_map(|i| i.dev.map(|dev| (i.conn, dev))).collect::<Vec<_>>().into_iter()
    }

    /// Every kernel of every process, accepted or not.
    pub(crate) fn any_kernel(&self) -> u64 {
        let count = |s: &Stamped| match s.line.as_ref().map(|l| &l.msg) {
            Some(Message::Kernel(_)) => 1,
            Some(Message::KernelAgg { n, .. }) => *n,
            _ => 0,
        };
        self.raw.iter().map(count).sum()
    }

    /// Kernels by name and place: (good ones, all of accepted processes).
    pub(crate) fn kernel_sums(&self) -> BTreeMap<(String, String), (u64, u64)> {
        let mut sums: BTreeMap<_, (u64, u64)> = BTreeMap::new();
        for item in self.items().filter(|i| i.kind == "kernel") {
            let name = item.texts.iter().find(|t| t.0 == "name").map_or("", |t| t.1);
            let place = item.dev.and_then(|d| self.device(item.conn, d)).and_then(place).unwrap_or_default();
            let sum = sums.entry((name.to_owned(), place)).or_default();
            sum.0 += if item.good { item.n } else { 0 };
            sum.1 += item.n;
        }
        sums
    }

    pub(crate) fn count(&self, pattern: &PlacedPattern, device: Option<&Device>) -> Answer {
        let mut answer = Answer { surely: 0, perhaps: 0 };
        let wanted = device.and_then(crate::rule::place_of);
        for item in self.items().filter(|i| i.kind == pattern.record && i.good) {
            let here = match item.dev.map(|d| self.device(item.conn, d).and_then(place)) {
                None => Sure::Yes,
                Some(found) if found.is_some() && found == wanted => Sure::Yes,
                // Another device of a test that has several is not known to the record.
                Some(_) => Sure::Perhaps,
            };
            let sure = pattern.fields.iter().fold(here, |sure, f| {
                let field = match (f.field.as_str(), item.texts.iter().find(|t| t.0 == "model")) {
                    ("ane", Some((_, model))) => self.plan_share(model, &f.condition),
                    _ => item.field(&f.field, &f.condition),
                };
                if field < sure { field } else { sure }
            });
            match sure {
                Sure::Yes => answer.surely += item.n,
                Sure::Perhaps => answer.perhaps += item.n,
                Sure::No => {}
            }
        }
        answer
    }

    /// Whether the part of a model's cost that is planned for the Neural Engine is as asked: both sides times the
    /// whole cost, so that nothing is rounded.
    fn plan_share(&self, wanted: &str, condition: &Condition) -> Sure {
        let (mut there, mut whole) = (0_u128, 0_u128);
        for line in self.counted().filter_map(|s| s.line.as_ref()) {
            if let Message::Plan { model, preferred, weight_ppm, .. } = &line.msg
                && model == wanted
            {
                whole += u128::from(*weight_ppm);
                there += if preferred == "ane" { u128::from(*weight_ppm) } else { 0 };
            }
        }
        let Some(asked) = millionths(&condition.value) else { return Sure::Perhaps };
        // A plan without any cost has no share.
        let (own, asked) = (there * 1_000_000, asked * whole.max(1));
        // The runner rounds the share down to whole millionths, which decides neither of these two.
        let fits = match condition.op.as_str() {
            ">=" => own >= asked,
            "<" => own < asked,
            _ => return Sure::Perhaps,
        };
        if fits { Sure::Yes } else { Sure::No }
    }

    /// What the raw readings say against a claim on an energy rail.
    pub(crate) fn energy_objection(&self, rail: &str) -> Option<String> {
        let mut samples = Vec::new();
        let mut claimed = Vec::new();
        for line in self.counted().filter(|s| s.role == Role::Outer).filter_map(|s| s.line.as_ref()) {
            match &line.msg {
                Message::Sample(sample) => samples.push(sample),
                Message::EnergyDelta { rail: of, uj, .. } if of == rail => claimed.push(*uj),
                _ => {}
            }
        }
        let of_run = |sample: &&&wire::Sample| {
            sample.uuid == rail && sample.energy.is_some_and(|reading| reading.phase == wire::Phase::Run)
        };
        let sum: u64 = samples.iter().filter(of_run).filter_map(|sample| sample.energy?.uj).sum();
        if claimed.iter().any(|uj| *uj != sum) {
            return Some(format!("the energy record is not the sum of its readings, {sum} µJ"));
        }
        energy::objection(&samples, rail, self.window)
    }

    /// Whether some operation of a planned model prefers `unit` and costs something.
    pub(crate) fn is_planned_for(&self, unit: &str) -> bool {
        self.counted().filter_map(|s| s.line.as_ref()).any(|line| {
            matches!(&line.msg, Message::Plan { preferred, weight_ppm, .. } if preferred == unit && *weight_ppm > 0)
        })
    }

    fn items(&self) -> impl Iterator<Item = Item<'a>> {
        self.counted().filter_map(|s| Item::of(s, s.line.as_ref()?, self.window))
    }

    /// Lines of accepted processes, observers beside the program among them. A witness that is no process of its own
    /// reports no work.
    fn counted(&self) -> impl Iterator<Item = &'a Stamped> {
        self.raw.iter().filter(|s| self.accepted.contains(&s.conn))
    }
}

impl<'a> Item<'a> {
    fn of(stamped: &Stamped, line: &'a Line, window: (u64, u64)) -> Option<Self> {
        // Nothing is reported before it has ended.
        let arrived = stamped.arr;
        let inside =
            |start: u64, end: u64| end > start && start >= window.0 && end <= window.1 && arrived >= end;
        let mut item = Self {
            kind: "",
            n: 1,
            conn: stamped.conn,
            dev: None,
            good: true,
            texts: Vec::new(),
            numbers: Vec::new(),
        };
        match &line.msg {
            Message::Kernel(k) => {
                item.kind = "kernel";
                item.dev = Some(k.dev);
                item.good = inside(k.start, k.end);
                item.texts.push(("name", &k.name));
                item.numbers.push(("ns", k.end.saturating_sub(k.start)));
            }
            Message::KernelAgg { name, dev, n, first, last, .. } => {
                item.kind = "kernel";
                item.n = *n;
                item.dev = Some(*dev);
                item.good = inside(*first, *last);
                item.texts.push(("name", name));
            }
            Message::Memcpy { dir, bytes, start, end, dev } => {
                item.kind = "memcpy";
                item.dev = Some(*dev);
                item.good = inside(*start, *end);
                let dir = match dir {
                    Direction::H2D => "H2D",
                    Direction::D2H => "D2H",
                    Direction::D2D => "D2D",
                    Direction::H2H => "H2H",
                };
                item.texts.push(("dir", dir));
                item.numbers.push(("bytes", *bytes));
            }
            Message::PeerCopy { bytes, start, end, .. } => {
                item.kind = "peer_copy";
                item.good = inside(*start, *end);
                item.numbers.push(("bytes", *bytes));
            }
            Message::Memset { dev, bytes, start, end } => {
                item.kind = "memset";
                item.dev = Some(*dev);
                item.good = inside(*start, *end);
                item.numbers.push(("bytes", *bytes));
            }
            // The share of its model that a line may ask for is in `plan_share`.
            Message::Plan { model, op, preferred, units, weight_ppm, .. } => {
                item.kind = "plan";
                item.texts.extend([("op", op.as_str()), ("preferred", preferred)]);
                item.texts.extend([("units", units.as_str()), ("model", model)]);
                item.numbers.push(("weight_ppm", *weight_ppm));
            }
            Message::EnergyDelta { rail, uj, baseline_uj, sigma_uj, start, end, .. } => {
                item.kind = "energy_delta";
                item.good = *start < window.1 && *end > window.0 && rises(*uj, *baseline_uj, *sigma_uj);
                item.texts.push(("rail", rail));
                item.numbers.push(("uj", *uj));
            }
            _ => return None,
        }
        Some(item)
    }

    fn field(&self, name: &str, condition: &Condition) -> Sure {
        if let Some((_, text)) = self.texts.iter().find(|t| t.0 == name) {
            return match condition.op.as_str() {
                "=" if glob(&condition.value, text) => Sure::Yes,
                "=" if mangled(text) && words_in_order(&condition.value, text) => Sure::Perhaps,
                "=" => Sure::No,
                _ => Sure::Perhaps,
            };
        }
        let number = self.numbers.iter().find(|n| n.0 == name);
        let (Some((_, n)), Ok(value)) = (number, condition.value.parse::<u64>()) else {
            return Sure::Perhaps;
        };
        let fits = match condition.op.as_str() {
            "=" => *n == value,
            ">=" => *n >= value,
            "<=" => *n <= value,
            ">" => *n > value,
            "<" => *n < value,
            _ => return Sure::Perhaps,
        };
        if fits { Sure::Yes } else { Sure::No }
    }
}

/// Whether an energy record is above the idle engine by five standard deviations.
fn rises(uj: u64, baseline_uj: u64, sigma_uj: u64) -> bool {
    u128::from(uj) > u128::from(baseline_uj) + 5 * u128::from(sigma_uj)
}

/// A decimal share in millionths.
fn millionths(text: &str) -> Option<u128> {
    let share: f64 = text.parse().ok()?;
    (0.0..=1.0).contains(&share).then(|| (share * 1e6).round() as u128)
}

/// C++ or Rust mangling.
fn mangled(name: &str) -> bool {
    ["_Z", "__Z", "_R", "?"].iter().any(|p| name.starts_with(p))
}

/// Whether the identifiers of a pattern occur in a name in this order: necessary for a match after demangling.
fn words_in_order(pattern: &str, name: &str) -> bool {
    let mut rest = name;
    for word in pattern.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty()) {
        match rest.find(word) {
            Some(at) => rest = &rest[at + word.len()..],
            None => return false,
        }
    }
    true
}

/// `*` stands for any text.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, text, expect) in [
            ("matmul*", "matmul_f32", true),
            ("matmul", "matmul_f32", false),
            ("*", "", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("", "", true),
        ] {
            assert_eq!(glob(pattern, text), expect, "{pattern} {text}");
        }
    }

    #[test]
    fn a_mangled_name_is_a_perhaps() {
        for (pattern, name, expect) in [
            ("matmul*", "_Z6matmulPf", true),
            ("ns::matmul*", "_ZN2ns6matmulEPf", true),
            ("vadd*", "_Z6matmulPf", false),
        ] {
            assert_eq!(words_in_order(pattern, name), expect, "{pattern} {name}");
        }
    }

    fn stamped(seq: u64, conn: u32, msg: Message) -> Stamped {
        let line = Some(Line { seq, pid: 0, msg });
        Stamped { probe: "p".into(), role: Role::Outer, conn, peer: 0, arr: 9, line, garbled: None }
    }

    fn plan(op: &str, preferred: &str, weight_ppm: u64) -> Message {
        let model = "m".to_owned();
        let (op, preferred, units) = (op.to_owned(), preferred.to_owned(), "cpu-and-ane".to_owned());
        Message::Plan { model, units, op, preferred, supported: vec![], weight_ppm }
    }

    #[test]
    fn the_share_of_a_plan_and_what_energy_needs_beside_it() {
        let energy = |uj| Message::EnergyDelta {
            rail: "ane".into(),
            uj,
            baseline_uj: 10,
            sigma_uj: 2,
            start: 1,
            end: 5,
            source: "s".into(),
        };
        let raw = [
            stamped(0, 1, plan("matmul", "ane", 900_000)),
            stamped(1, 1, plan("cast", "cpu", 100_000)),
            stamped(2, 1, energy(21)),
            stamped(3, 1, energy(20)),
            // Nobody accepted this one.
            stamped(0, 2, plan("matmul", "ane", 9_000_000)),
        ];
        let stream = Stream { raw: &raw, accepted: [1].into(), window: (2, 4), devices: BTreeMap::new() };
        let count = |record: &str, fields: &[(&str, &str, &str)]| {
            let field = |(name, op, value): &(&str, &str, &str)| runproof_records::record::PlacedField {
                field: (*name).into(),
                condition: Condition { op: (*op).into(), value: (*value).into() },
            };
            let pattern = PlacedPattern {
                record: record.into(),
                kind: None,
                fields: fields.iter().map(field).collect(),
                count: Condition { op: ">=".into(), value: "1".into() },
            };
            let answer = stream.count(&pattern, None);
            (answer.surely, answer.perhaps)
        };
        assert_eq!(count("plan", &[("ane", ">=", "0.9")]), (2, 0));
        assert_eq!(count("plan", &[("ane", ">=", "0.900001")]), (0, 0));
        assert_eq!(count("plan", &[("ane", ">=", "0.9"), ("preferred", "=", "ane")]), (1, 0));
        assert_eq!(count("plan", &[("ane", "<", "0.9")]), (0, 0));
        assert_eq!(count("plan", &[("op", "=", "mat*")]), (1, 0));
        assert_eq!(count("energy_delta", &[("rail", "=", "ane")]), (1, 0));
        assert!(stream.is_planned_for("ane") && !stream.is_planned_for("gpu"));
        assert!(stream.energy_objection("ane").is_some_and(|why| why.contains("not the sum")));
    }
}
