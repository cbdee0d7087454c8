//! The work that accepted processes reported: which of it counts, and its sums.

use super::ane::{
    self, Plans,
    energy::{self, Energy},
};
use super::identity::{contradictions, label, same_device};
use super::process::Process;
use super::{Question, computes_in_software};
use runproof_records::record::Work;
use runproof_records::verdict::Grade;
use runproof_records::wire::{Device, Direction, Message, Role};
use std::collections::{BTreeMap, BTreeSet};

/// What the times of a kernel contain beside work of its groups, nanoseconds, rounded up. Measured on an H200: an
/// empty kernel lasts 700 ns, in which no unit is busy; a hundred kernels of 900 ns each lasted 2.2 times as long as
/// they kept the device busy.
const KERNEL_OVERHEAD_NS: u64 = 1_000;

/// One record of work, or one sum of equal records.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// `kernel`, `memcpy`, …
    pub record: &'static str,
    /// Kernel name, direction of a copy, operator of a plan, rail of an energy window.
    pub name: String,
    /// Device, as its label.
    pub device: String,
    /// Position among the test's devices.
    pub position: Option<usize>,
    /// The other end of a peer copy, as position and label.
    pub source: Option<(Option<usize>, String)>,
    /// Records summed here.
    pub count: u64,
    /// Duration of all of them, nanoseconds.
    pub ns: u64,
    /// Nanoseconds that all of them kept the device's units busy at least, averaged over the units.
    pub busy_ns: u64,
    /// Bytes of each of them.
    pub bytes: u64,
    /// Strength of the record.
    pub grade: Grade,
    /// More that a `PLACED` line may ask for, by the names of the grammar.
    pub texts: Vec<(&'static str, String)>,
    /// The same, numbers.
    pub numbers: Vec<(&'static str, u64)>,
    /// Why it does not count.
    pub flaw: Option<String>,
}

impl Item {
    pub fn text(&self, field: &str) -> Option<&str> {
        self.texts.iter().find(|(name, _)| *name == field).map(|(_, text)| text.as_str())
    }

    pub fn number(&self, field: &str) -> Option<u64> {
        self.numbers.iter().find(|(name, _)| *name == field).map(|(_, number)| *number)
    }
}

/// Everything that accepted processes and outer probes reported.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub items: Vec<Item>,
    contexts: BTreeSet<String>,
    signs: Vec<String>,
}

/// A device as one process numbers it.
struct Local {
    label: String,
    position: Option<usize>,
    units: u64,
    flaw: Option<String>,
    context: bool,
}

impl Seen {
    pub fn gather(question: &Question<'_>, accepted: &[&Process<'_>]) -> Self {
        let mut seen = Self::default();
        for process in accepted {
            seen.gather_process(question, process);
        }
        seen
    }

    fn gather_process(&mut self, question: &Question<'_>, process: &Process<'_>) {
        let mut locals: BTreeMap<u32, Local> = BTreeMap::new();
        let mut kernels = 0;
        let mut launches = None;
        let plans = Plans::of(process.lines.iter().copied());
        for stamped in &process.lines {
            let Some(line) = &stamped.line else { continue };
            let arrived = stamped.arr;
            match &line.msg {
                Message::Device(device) => {
                    let local = self.introduce(question, device);
                    locals.insert(device.dev, local);
                }
                Message::Context { dev, .. } => {
                    if let Some(local) = locals.get_mut(dev) {
                        local.context = true;
                        self.contexts.insert(local.label.clone());
                    }
                }
                Message::Bye { launches: counted, .. } => launches = Some(*counted),
                message => {
                    let Some(work) = Reported::of(message) else {
                        // A plan and the machine's energy are not the program's to tell.
                        if stamped.role == Role::Outer {
                            self.items.extend(plan_or_energy(question, &plans, message));
                        }
                        continue;
                    };
                    if work.record == "kernel" {
                        kernels += 1;
                        if locals.get(&work.dev).is_some_and(|local| !local.context) {
                            let pid = process.peer.pid;
                            self.signs.push(format!("process {pid}: a kernel on a device without a context"));
                        }
                    }
                    self.items.push(work.item(question, &locals, arrived));
                }
            }
        }
        if kernels > 0 && launches == Some(0) {
            self.signs.push(format!("process {}: {kernels} kernels and no launch call", process.peer.pid));
        }
    }

    fn introduce(&mut self, question: &Question<'_>, device: &Device) -> Local {
        let label = label(device);
        let matching: Vec<_> = question.inventory.iter().filter(|known| same_device(known, device)).collect();
        let flaw = match matching.as_slice() {
            [] => Some("it is not in the inventory taken before the run".to_owned()),
            [known] => {
                let found = contradictions(device, known);
                self.signs.extend(found.iter().map(|fact| format!("{label}: {fact}")));
                None
            }
            several => {
                self.signs.push(format!("{label}: weak identity, {} devices look the same", several.len()));
                None
            }
        };
        let position = question.devices.iter().position(|asked| same_device(asked, device));
        Local { label, position, units: device.units, flaw, context: false }
    }

    /// Signs of inconclusive evidence among the records.
    pub fn signs(&self) -> BTreeSet<String> {
        self.signs.iter().cloned().collect()
    }

    /// Sums by kind of record, name and device; what does not count is left out.
    pub fn sums(&self) -> Vec<Work> {
        let mut sums: BTreeMap<(&str, &str, &str), (u64, u64, u64)> = BTreeMap::new();
        for item in self.items.iter().filter(|item| item.flaw.is_none()) {
            let sum = sums.entry((item.record, &item.name, &item.device)).or_default();
            *sum = (sum.0 + item.count, sum.1 + item.ns, sum.2 + item.bytes * item.count);
        }
        sums.into_iter()
            .map(|((record, name, device), (count, ns, bytes))| Work {
                record: record.to_owned(),
                name: name.to_owned(),
                device: device.to_owned(),
                count,
                ns,
                bytes,
            })
            .collect()
    }

    /// Whether good kernels ran on the device with this label.
    pub fn has_kernels(&self, device: &str) -> bool {
        self.items.iter().any(|item| item.record == "kernel" && item.device == device && item.flaw.is_none())
    }

    /// Nanoseconds that good kernels claim to have kept the units of the device with this label busy.
    pub fn claimed_busy_ns(&self, device: &str) -> u64 {
        self.items
            .iter()
            .filter(|item| item.record == "kernel" && item.device == device && item.flaw.is_none())
            .map(|item| item.busy_ns)
            .sum()
    }

    /// What was seen, in one line: `context on GPU-5c0f, 0 kernels`.
    pub fn told(&self, question: &Question<'_>) -> String {
        if ane::decides(question.kind) {
            return ane::told(question.observation, question.window);
        }
        let kernels: Vec<_> = self.items.iter().filter(|item| item.record == "kernel").collect();
        let good = kernels.iter().filter(|item| item.flaw.is_none());
        let mut elsewhere: BTreeSet<&str> = BTreeSet::new();
        let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for item in good {
            *sums.entry((&item.device, &item.name)).or_default() += item.count;
            if item.position.is_none() {
                elsewhere.insert(&item.device);
            }
        }
        let mut parts = Vec::new();
        if !elsewhere.is_empty() {
            let asked: Vec<_> = question.devices.iter().map(full_label).collect();
            let proof: Vec<_> = elsewhere.iter().map(|name| inventory_label(question, name)).collect();
            parts.push(format!("asked for {}, proof says {}", asked.join(", "), proof.join(", ")));
        }
        if sums.is_empty() {
            let places: Vec<_> = self.contexts.iter().map(|name| format!("context on {name}")).collect();
            let places = if places.is_empty() { "no context".to_owned() } else { places.join(", ") };
            parts.push(format!("{places}, 0 kernels"));
        }
        for ((device, name), count) in sums.iter().take(4) {
            parts.push(format!("kernel {name} ×{count} on {device}"));
        }
        if sums.len() > 4 {
            parts.push(format!("{} other kernels", sums.len() - 4));
        }
        let flawed: BTreeSet<_> = kernels
            .iter()
            .filter_map(|item| {
                item.flaw.as_ref().map(|flaw| format!("kernel {} does not count: {flaw}", item.name))
            })
            .collect();
        parts.extend(flawed.into_iter().take(2));
        parts.join("; ")
    }
}

fn full_label(device: &Device) -> String {
    match (&device.uuid, &device.pci) {
        (Some(uuid), Some(bus)) => format!("{uuid} (bus {bus})"),
        _ if computes_in_software(device.class) => format!("{} (software)", label(device)),
        _ => label(device),
    }
}

fn inventory_label(question: &Question<'_>, name: &str) -> String {
    question.inventory.iter().find(|known| label(known) == name).map_or_else(|| name.to_owned(), full_label)
}

/// Work on a device as a line reports it.
struct Reported {
    record: &'static str,
    name: String,
    dev: u32,
    source: Option<u32>,
    count: u64,
    ns: u64,
    /// Groups of a kernel, which work on one unit each.
    groups: u64,
    bytes: u64,
    start: u64,
    end: u64,
}

impl Reported {
    fn of(message: &Message) -> Option<Self> {
        let one = |record, name: &str, dev, bytes, start: u64, end: u64| Self {
            record,
            name: name.to_owned(),
            dev,
            source: None,
            count: 1,
            ns: end.saturating_sub(start),
            groups: 1,
            bytes,
            start,
            end,
        };
        Some(match message {
            Message::Kernel(kernel) => Self {
                groups: kernel.grid.iter().fold(1, |groups, extent| groups.saturating_mul(*extent)),
                ..one("kernel", &kernel.name, kernel.dev, 0, kernel.start, kernel.end)
            },
            // A sum does not say how many groups each of its kernels had: at least one.
            Message::KernelAgg { name, dev, n, ns, first, last } => {
                Self { count: *n, ns: *ns, ..one("kernel", name, *dev, 0, *first, *last) }
            }
            Message::Memcpy { dir, bytes, start, end, dev } => {
                let name = match dir {
                    Direction::H2D => "H2D",
                    Direction::D2H => "D2H",
                    Direction::D2D => "D2D",
                    Direction::H2H => "H2H",
                };
                one("memcpy", name, *dev, *bytes, *start, *end)
            }
            Message::PeerCopy { src, dst, bytes, start, end } => {
                Self { source: Some(*src), ..one("peer_copy", "", *dst, *bytes, *start, *end) }
            }
            Message::Memset { dev, bytes, start, end } => one("memset", "", *dev, *bytes, *start, *end),
            _ => return None,
        })
    }

    fn item(self, question: &Question<'_>, locals: &BTreeMap<u32, Local>, arrived: u64) -> Item {
        let local = locals.get(&self.dev);
        let source = self.source.map(|dev| {
            let local = locals.get(&dev);
            (local.and_then(|l| l.position), local.map_or_else(|| "unknown".into(), |l| l.label.clone()))
        });
        let unknown_source = self.source.is_some_and(|dev| !locals.contains_key(&dev));
        let flaw = match local {
            None => Some("its device was never described".to_owned()),
            Some(local) => local.flaw.clone(),
        };
        let flaw = flaw
            .or_else(|| unknown_source.then(|| "its source was never described".to_owned()))
            .or_else(|| self.flaw_in_time(question.window, arrived));
        Item {
            record: self.record,
            name: self.name,
            device: local.map_or_else(|| "unknown".to_owned(), |local| local.label.clone()),
            position: local.and_then(|local| local.position),
            source,
            count: self.count,
            ns: self.ns,
            busy_ns: share(
                self.ns.saturating_sub(self.count.saturating_mul(KERNEL_OVERHEAD_NS)),
                self.groups,
                local.map_or(1, |local| local.units),
            ),
            bytes: self.bytes,
            grade: Grade::Event,
            texts: Vec::new(),
            numbers: Vec::new(),
            flaw,
        }
    }

    fn flaw_in_time(&self, (started, ended): (u64, u64), arrived: u64) -> Option<String> {
        let flaw = if self.end == 0 {
            "it never finished"
        } else if self.start == 0 || self.end <= self.start {
            "its times are no interval"
        } else if self.start < started {
            "it began before the command"
        } else if self.end > ended {
            "it ended after the command"
        } else if arrived < self.end {
            "it was reported before it ended"
        } else {
            return None;
        };
        Some(flaw.to_owned())
    }
}

/// The part of `ns` that `groups` keep `units` busy on average, when each takes one.
fn share(ns: u64, groups: u64, units: u64) -> u64 {
    let units = units.max(1);
    let busy = u128::from(ns) * u128::from(groups.clamp(1, units)) / u128::from(units);
    u64::try_from(busy).unwrap_or(ns)
}

/// Plans and energy windows are about the test's first device, whoever reports them.
fn plan_or_energy(question: &Question<'_>, plans: &Plans<'_>, message: &Message) -> Option<Item> {
    let device = question.devices.first().map(label).unwrap_or_default();
    let item = Item {
        record: "plan",
        name: String::new(),
        device,
        position: Some(0),
        source: None,
        count: 1,
        ns: 0,
        busy_ns: 0,
        bytes: 0,
        grade: Grade::Plan,
        texts: Vec::new(),
        numbers: Vec::new(),
        flaw: None,
    };
    match message {
        Message::Plan { model, units, op, preferred, weight_ppm, .. } => {
            let device = if preferred == question.kind { item.device.clone() } else { preferred.clone() };
            let text = |name, value: &String| (name, value.clone());
            Some(Item {
                name: op.clone(),
                device,
                texts: vec![
                    text("op", op),
                    text("model", model),
                    text("units", units),
                    text("preferred", preferred),
                ],
                numbers: vec![("weight_ppm", *weight_ppm), ("ane", plans.share_ppm(model))],
                ..item
            })
        }
        Message::EnergyDelta { rail, uj, baseline_uj, sigma_uj, start, end, .. } => {
            let (from, to) = question.window;
            let overlaps = *start < to && *end > from;
            overlaps.then(|| Item {
                record: "energy_delta",
                name: rail.clone(),
                ns: end.saturating_sub(*start),
                grade: Grade::Event,
                texts: vec![("rail", rail.clone())],
                numbers: vec![("uj", *uj)],
                // The readings inside of the command's window have to say so, too.
                flaw: (energy::flat(*uj, *baseline_uj, *sigma_uj)
                    || matches!(
                        energy::judge(question.observation.lines.iter(), question.window),
                        Energy::Flat(_)
                    ))
                .then(|| {
                    format!("{uj} µJ are no rise above the idle engine's {baseline_uj} ± {sigma_uj} µJ")
                }),
                ..item
            })
        }
        _ => None,
    }
}
