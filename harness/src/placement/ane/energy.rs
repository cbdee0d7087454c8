//! Energy readings of a rail, phase by phase: did the engine work while the command ran, did it not, or can nobody say?
//!
//! Numbers and their sources: five standard deviations and two seconds are the specification's; the floor of a
//! deviation and the least number of readings are ours, and no Mac has confirmed them yet.

use runproof_records::wire::{Line, Message, Phase, Reading, Role, Sample, Stamped};

/// A rise has to exceed the idle engine's power by this many standard deviations.
const SIGMAS: f64 = 5.0;
/// A deviation is never taken for less than this, milliwatts: a counter that stands at 0 while idle would make
/// any noise an event.
const SIGMA_FLOOR_MW: f64 = 1.0;
/// The command has to be watched for at least this long, nanoseconds: a shorter burst is within one reading.
const RUN_FLOOR_NS: u64 = 2_000_000_000;
/// A phase has to have at least this many readings, for there to be a deviation.
const READINGS_FLOOR: usize = 5;
/// The idle engine may take at most this part of what the known model takes.
const IDLE_SHARE: f64 = 0.5;

/// The rail of the Neural Engine.
pub const RAIL: &str = "ane";
/// The rail of the processors: it cannot stand still while a program runs.
pub const CPU_RAIL: &str = "cpu";

/// What the readings say.
#[derive(Clone, Debug, PartialEq)]
pub enum Energy {
    /// It worked while the command ran.
    Rose(Numbers),
    /// It did not, although the counter was seen to rise just before.
    Flat(Numbers),
    /// Nobody can say.
    Unknown(Vec<Doubt>),
}

/// Mean powers, milliwatts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// Of the command.
    pub run: f64,
    /// Of the idle engine.
    pub idle: f64,
    /// Standard deviation of the idle engine's readings.
    pub sigma: f64,
    /// Of the known model.
    pub known: f64,
}

/// Why nobody can say.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// Nothing was read.
    NoReadings,
    /// A phase has too few readings.
    FewReadings(Phase, usize),
    /// The counter gave no value.
    Unreadable(Phase),
    /// Every reading is 0, also while the known model ran.
    ZeroThroughout,
    /// The processors' counter was not seen to move while a program ran.
    Frozen(Phase),
    /// The known model did not raise the counter.
    KnownModelFlat {
        /// Its power.
        known: f64,
        /// What it had to exceed.
        threshold: f64,
    },
    /// The command's model, permitted to the CPU alone, raised it.
    CpuOnlyRose {
        /// Its power.
        cpu_only: f64,
        /// What it had to stay below.
        threshold: f64,
    },
    /// The idle engine took too much power, or not the same before and after.
    Busy {
        /// Power before.
        before: f64,
        /// Power after.
        after: f64,
    },
    /// The command was watched for too short a time, nanoseconds.
    Short(u64),
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoReadings => f.write_str("no energy was read: a plan alone is no event"),
            Self::FewReadings(phase, n) => {
                write!(f, "{n} energy readings {}, fewer than {READINGS_FLOOR}", during(*phase))
            }
            Self::Unreadable(phase) => write!(f, "the energy counter gave no value {}", during(*phase)),
            Self::ZeroThroughout => f.write_str(
                "every energy reading is 0 W, also while a model ran that the engine is known to run: 0 means unknown here",
            ),
            Self::Frozen(phase) => write!(
                f,
                "the energy counters stand still: no power of the processors was read {}",
                during(*phase)
            ),
            Self::KnownModelFlat { known, threshold } => write!(
                f,
                "a model that the engine is known to run took {known:.0} mW just before, no more than {threshold:.0} mW: the counter \
                 does not show this engine's work"
            ),
            Self::CpuOnlyRose { cpu_only, threshold } => write!(
                f,
                "the engine took {cpu_only:.0} mW while the model ran on the CPU alone, more than {threshold:.0} mW: somebody else uses it"
            ),
            Self::Busy { before, after } => write!(
                f,
                "the engine was not idle beside the command ({before:.0} mW before, {after:.0} mW after): somebody else uses it"
            ),
            Self::Short(ns) => write!(
                f,
                "the command was watched for {:.1} s, less than {:.0} s: repeat its work",
                seconds(*ns),
                seconds(RUN_FLOOR_NS)
            ),
        }
    }
}

fn during(phase: Phase) -> &'static str {
    match phase {
        Phase::IdleBefore => "before the command",
        Phase::KnownModel => "while the known model ran",
        Phase::Run => "while the command ran",
        Phase::IdleAfter => "after the command",
        Phase::CpuOnly => "while the model ran on the CPU alone",
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

const PHASES: [Phase; 5] =
    [Phase::KnownModel, Phase::IdleBefore, Phase::Run, Phase::IdleAfter, Phase::CpuOnly];

/// Whether an energy record is no rise. Its deviation is the idle engine's over an equal window.
pub fn flat(uj: u64, baseline_uj: u64, sigma_uj: u64) -> bool {
    uj as f64 <= baseline_uj as f64 + SIGMAS * sigma_uj as f64
}

/// What an observer says of a run: microjoules over the run, of the idle engine over an equal window, and the
/// deviation of the latter. `None` when a reading is missing.
pub fn delta<'a>(samples: impl Iterator<Item = &'a Sample>) -> Option<(u64, u64, u64)> {
    let readings: Vec<&Sample> = samples.filter(|sample| sample.uuid == RAIL).collect();
    let idle = Series::of(&readings, |phase| matches!(phase, Phase::IdleBefore | Phase::IdleAfter));
    let run = Series::of(&readings, |phase| phase == Phase::Run);
    if !idle.is_whole() || !run.is_whole() {
        return None;
    }
    let window = seconds(run.ns());
    // Milliwatts times seconds are millijoules.
    let uj = |mw: f64| (mw * window * 1e3).round() as u64;
    Some((run.uj(), uj(idle.mean()), uj(idle.deviation())))
}

/// What the readings of an observation say of a command; `window` is its start and end.
pub fn judge<'a>(lines: impl Iterator<Item = &'a Stamped>, window: (u64, u64)) -> Energy {
    let beside = |sample: &Sample| {
        let of_run = sample.energy.is_some_and(|reading| reading.phase == Phase::Run);
        of_run && (sample.end <= window.0 || sample.start >= window.1)
    };
    let samples: Vec<&Sample> = lines
        .filter(|line| line.role == Role::Outer)
        .filter_map(|line| match &line.line {
            Some(Line { msg: Message::Sample(sample), .. }) if sample.energy.is_some() && !beside(sample) => {
                Some(sample)
            }
            _ => None,
        })
        .collect();
    let of = |rail: &str| -> Vec<&Sample> { samples.iter().copied().filter(|s| s.uuid == rail).collect() };
    let (engine, processors) = (of(RAIL), of(CPU_RAIL));
    if engine.is_empty() {
        return Energy::Unknown(vec![Doubt::NoReadings]);
    }
    let phase = |wanted: Phase| Series::of(&engine, |phase| phase == wanted);
    let mut doubts = Vec::new();
    for wanted in PHASES {
        let series = phase(wanted);
        if series.0.len() < READINGS_FLOOR {
            doubts.push(Doubt::FewReadings(wanted, series.0.len()));
        } else if !series.is_whole() {
            doubts.push(Doubt::Unreadable(wanted));
        }
        let cpu = Series::of(&processors, |phase| phase == wanted);
        let busy = !matches!(wanted, Phase::IdleBefore | Phase::IdleAfter);
        if busy && (cpu.0.len() < READINGS_FLOOR || !cpu.is_whole() || cpu.uj() == 0) {
            doubts.push(Doubt::Frozen(wanted));
        }
    }
    let run = phase(Phase::Run);
    if run.ns() < RUN_FLOOR_NS {
        doubts.push(Doubt::Short(run.ns()));
    }
    if !doubts.is_empty() {
        return Energy::Unknown(doubts);
    }
    compare(&phase, &run)
}

/// The comparisons, once every phase has its readings.
fn compare<'a>(phase: &dyn Fn(Phase) -> Series<'a>, run: &Series<'a>) -> Energy {
    let (before, after) = (phase(Phase::IdleBefore), phase(Phase::IdleAfter));
    let (known, cpu_only) = (phase(Phase::KnownModel).mean(), phase(Phase::CpuOnly).mean());
    let all_zero = PHASES.iter().all(|p| phase(*p).uj() == 0);
    if all_zero {
        return Energy::Unknown(vec![Doubt::ZeroThroughout]);
    }
    let idle = Series(before.0.iter().chain(&after.0).copied().collect());
    let threshold = idle.mean() + SIGMAS * idle.deviation();
    let apart = (before.mean() - after.mean()).abs();
    let mut doubts = Vec::new();
    if apart > SIGMAS * before.deviation().min(after.deviation()) || idle.mean() > IDLE_SHARE * known {
        doubts.push(Doubt::Busy { before: before.mean(), after: after.mean() });
    }
    if known <= threshold {
        doubts.push(Doubt::KnownModelFlat { known, threshold });
    }
    if cpu_only > threshold {
        doubts.push(Doubt::CpuOnlyRose { cpu_only, threshold });
    }
    if !doubts.is_empty() {
        return Energy::Unknown(doubts);
    }
    let numbers = Numbers { run: run.mean(), idle: idle.mean(), sigma: idle.deviation(), known };
    if run.mean() > threshold { Energy::Rose(numbers) } else { Energy::Flat(numbers) }
}

/// The readings of some phases of one rail.
struct Series<'a>(Vec<&'a Sample>);

impl<'a> Series<'a> {
    fn of(samples: &[&'a Sample], wanted: impl Fn(Phase) -> bool) -> Self {
        let holds = |sample: &&&Sample| sample.energy.is_some_and(|reading| wanted(reading.phase));
        Self(samples.iter().filter(holds).copied().collect())
    }

    /// Whether there are readings, and each has a value and a window.
    fn is_whole(&self) -> bool {
        let whole = |sample: &&Sample| {
            sample.end > sample.start && matches!(sample.energy, Some(Reading { uj: Some(_), .. }))
        };
        !self.0.is_empty() && self.0.iter().all(whole)
    }

    fn uj(&self) -> u64 {
        self.0.iter().filter_map(|sample| sample.energy?.uj).sum()
    }

    fn ns(&self) -> u64 {
        self.0.iter().map(|sample| sample.end.saturating_sub(sample.start)).sum()
    }

    /// Mean power, milliwatts.
    fn mean(&self) -> f64 {
        milliwatts(self.uj(), self.ns())
    }

    /// Standard deviation of the readings' power, milliwatts; not below its floor.
    fn deviation(&self) -> f64 {
        let power =
            |sample: &&Sample| Some(milliwatts(sample.energy?.uj?, sample.end.saturating_sub(sample.start)));
        let powers: Vec<f64> = self.0.iter().filter_map(power).collect();
        if powers.len() < 2 {
            return SIGMA_FLOOR_MW;
        }
        let n = powers.len() as f64;
        let mean = powers.iter().sum::<f64>() / n;
        let variance = powers.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / (n - 1.0);
        variance.sqrt().max(SIGMA_FLOOR_MW)
    }
}

fn milliwatts(uj: u64, ns: u64) -> f64 {
    if ns == 0 { 0.0 } else { uj as f64 * 1e6 / ns as f64 }
}
