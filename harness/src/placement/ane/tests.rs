//! Each way in which a claim about the Neural Engine is known to go wrong, as lines that an observer would leave.
//!
//! No Mac was there to record them: plans and powers are written after the reports that the decision page names. They
//! are decided here and have no way to a bundle.

use super::super::{Asserted, Question, decide, is_planned};
use crate::probe::{Observation, Peer};
use runproof_records::Digest;
use runproof_records::record::{CommandPlacement, Condition, PlacedField, PlacedPattern};
use runproof_records::verdict::PlacementOutcome::{self, Inconclusive, NotPlaced, Placed};
use runproof_records::wire::{
    Device, DeviceClass, Hello, Line, Message, Phase, Reading, Role, Sample, Stamped,
};
use std::collections::BTreeMap;

const NONCE: &str = "00112233445566778899aabbccddeeff";
const MS: u64 = 1_000_000;
/// Between two readings.
const STEP: u64 = 200 * MS;
const CONN: u32 = 1 << 31;

/// Milliwatts of each reading; `None` is a counter that gave no value.
type Powers = Vec<Option<u64>>;

/// What an observer left: an honest matrix product, changed in one place by each test.
struct Recording {
    /// Operation, unit that it prefers, share of the cost in millionths.
    plan: Vec<(&'static str, &'static str, u64)>,
    engine: BTreeMap<Phase, Powers>,
    processors: BTreeMap<Phase, Powers>,
    nonce: String,
    /// Nanoseconds by which all its times are moved.
    moved: u64,
    complaint: Option<&'static str>,
    /// Lines that the program wrote to the probe's socket itself.
    forged: Vec<Message>,
    /// How many of the first readings of the command's phase were taken before it began.
    early: u64,
}

const PHASES: [Phase; 5] =
    [Phase::KnownModel, Phase::IdleBefore, Phase::Run, Phase::IdleAfter, Phase::CpuOnly];

/// Fifteen readings around a power.
fn around(mw: u64) -> Powers {
    (0..15).map(|n| Some(mw + n % 3)).collect()
}

fn all(value: Option<u64>) -> BTreeMap<Phase, Powers> {
    PHASES.into_iter().map(|phase| (phase, vec![value; 15])).collect()
}

fn honest() -> Recording {
    Recording {
        plan: vec![("const", "none", 0), ("ios17.matmul", "ane", 980_000), ("ios17.cast", "cpu", 20_000)],
        engine: [
            (Phase::IdleBefore, around(2)),
            (Phase::KnownModel, around(1_800)),
            (Phase::Run, around(1_100)),
            (Phase::IdleAfter, around(2)),
            (Phase::CpuOnly, around(2)),
        ]
        .into(),
        processors: PHASES.into_iter().map(|phase| (phase, around(900))).collect(),
        nonce: NONCE.to_owned(),
        moved: 0,
        complaint: None,
        forged: Vec::new(),
        early: 0,
    }
}

/// The tiny product of the reports: f32, and every operation prefers the CPU.
fn tiny(r: &mut Recording) {
    r.plan = vec![("ios17.matmul", "cpu", 1_000_000)];
    r.engine.insert(Phase::Run, around(2));
}

fn condition(op: &str, value: &str) -> Condition {
    Condition { op: op.into(), value: value.into() }
}

fn line(text: &str, record: &str, field: (&str, &str, &str)) -> Asserted {
    let fields = vec![PlacedField { field: field.0.into(), condition: condition(field.1, field.2) }];
    let pattern = PlacedPattern { record: record.into(), kind: None, fields, count: condition(">=", "1") };
    Asserted { line: 1, text: text.into(), pattern }
}

fn engine() -> Device {
    Device {
        dev: 0,
        uuid: None,
        name: "Apple Neural Engine".into(),
        vendor: "Apple".into(),
        class: DeviceClass::Npu,
        capability: None,
        units: 16,
        memory: 0,
        pci: None,
        platform: Some("Core ML".into()),
        driver: "macOS 15.1".into(),
        visible: true,
        mig: None,
        facts: BTreeMap::new(),
    }
}

impl Recording {
    /// Its lines, and the command's window.
    fn lines(&self) -> (Vec<Stamped>, (u64, u64)) {
        let mut messages = vec![Message::Hello(Hello {
            v: runproof_records::PROBE_SCHEMA,
            nonce: self.nonce.clone(),
            probe: "ane.observer".into(),
            version: "1".into(),
            api: "Core ML".into(),
            api_version: "15.1".into(),
            rc: BTreeMap::new(),
            ppid: 1,
            start_ticks: 0,
            pidns: String::new(),
            exe: String::new(),
            boot_id: String::new(),
            rt: 1,
            mono: 1,
        })];
        messages.extend(self.plan.iter().map(|(op, preferred, weight_ppm)| Message::Plan {
            model: "sha256:00".into(),
            units: "cpu-and-ane".into(),
            op: (*op).into(),
            preferred: (*preferred).into(),
            supported: vec!["cpu".into(), "ane".into()],
            weight_ppm: *weight_ppm,
        }));
        let mut now = 1_000 * STEP + self.moved;
        let mut window = (now, now);
        let mut samples = Vec::new();
        for phase in PHASES {
            let begun = now;
            let (none, engine) = (Vec::new(), self.engine.get(&phase));
            for (n, mw) in (0..).zip(engine.unwrap_or(&none)) {
                let sample = |uuid: &str, mw: &Option<u64>| Sample {
                    uuid: uuid.into(),
                    start: begun + n * STEP,
                    end: begun + (n + 1) * STEP,
                    procs: vec![],
                    of_run: vec![],
                    busy_ns: None,
                    energy: Some(Reading { phase, uj: mw.map(|mw| mw * STEP / 1_000_000) }),
                    source: "macmon".into(),
                };
                samples.push(sample("ane", mw));
                if let Some(cpu) = self.processors.get(&phase).and_then(|p| p.get(n as usize)) {
                    samples.push(sample("cpu", cpu));
                }
            }
            now += engine.map_or(0, |powers| powers.len() as u64 * STEP);
            if phase == Phase::Run {
                window = (begun + self.early * STEP + 1, now - 1);
            }
        }
        messages.extend(samples.iter().cloned().map(Message::Sample));
        messages.extend(super::energy::delta(samples.iter()).map(|(uj, baseline_uj, sigma_uj)| {
            Message::EnergyDelta {
                rail: "ane".into(),
                uj,
                baseline_uj,
                sigma_uj,
                start: window.0 - 1,
                end: window.1 + 1,
                source: "macmon".into(),
            }
        }));
        messages.extend(self.complaint.map(|what| Message::Error { what: what.into() }));
        let records = messages.len() as u64;
        messages.push(Message::Bye { t: now, launches: 0, kernels: 0, records, dropped: 0 });
        let stamped = (0..).zip(messages).map(|(seq, msg)| Stamped {
            probe: "ane.observer".into(),
            role: Role::Outer,
            conn: CONN,
            peer: 0,
            arr: now,
            line: Some(Line { seq, pid: 7, msg }),
            garbled: None,
        });
        let forged = (0..).zip(&self.forged).map(|(seq, msg)| Stamped {
            probe: "ane.observer".into(),
            role: Role::Inner,
            conn: 0,
            peer: 8,
            arr: window.0 + 2,
            line: Some(Line { seq, pid: 8, msg: msg.clone() }),
            garbled: None,
        });
        (forged.chain(stamped).collect(), window)
    }

    fn decide(&self) -> CommandPlacement {
        let (lines, (mut start, mut end)) = self.lines();
        (start, end) = (start - self.moved, end - self.moved);
        let peer = Peer {
            role: Role::Outer,
            conn: CONN,
            pid: 7,
            descends: true,
            start_ticks: 0,
            exe: "runproof".into(),
            has_library: None,
            opened: start,
            closed: None,
        };
        let observation = Observation { lines, peers: vec![peer], overflow: 0 };
        let placed = [
            line("plan ane>=0.9", "plan", ("ane", ">=", "0.9")),
            line("energy_delta rail=ane", "energy_delta", ("rail", "=", "ane")),
        ];
        decide(&Question {
            command: 0,
            nonce: NONCE,
            window: (start, end),
            observation: &observation,
            raw: ("placement/0", Digest::from_bytes(&[0; 32])),
            kind: "ane",
            devices: &[engine()],
            inventory: &[engine()],
            software: false,
            placed: &placed,
            has_witness: true,
            witness_failed: None,
        })
    }
}

#[track_caller]
fn check(change: impl FnOnce(&mut Recording), outcome: PlacementOutcome, says: &str) -> CommandPlacement {
    let mut recording = honest();
    change(&mut recording);
    let decided = recording.decide();
    let reasons = format!("{} | {}", decided.reason, decided.inconclusive.join(" | "));
    assert_eq!(decided.outcome, outcome, "{reasons}");
    assert!(reasons.contains(says), "{reasons:?} does not say {says:?}");
    assert!(outcome != Placed || decided.witness == "agrees" && decided.placed.iter().all(|l| l.met));
    decided
}

#[test]
fn a_model_that_is_planned_and_draws_power_between_controls_is_placed() {
    let decided = check(|_| {}, Placed, "1 of 3 operations");
    assert!(decided.reason.contains("98.0 % of the cost"), "{}", decided.reason);
    assert!(
        decided.work.iter().any(|w| w.record == "energy_delta" && w.device == "Core ML/Apple Neural Engine")
    );
}

#[test]
fn the_tiny_f32_product_prefers_the_cpu_whatever_the_program_prints() {
    check(tiny, NotPlaced, "0 of 1 operations");
    let beside_a_busy_app = |r: &mut Recording| {
        tiny(r);
        r.engine.insert(Phase::Run, around(1_500));
    };
    check(
        beside_a_busy_app,
        Inconclusive,
        "no operation of any cost of the command's model is planned for it",
    );
}

#[test]
fn an_f16_product_of_384_is_below_the_engines_threshold() {
    let below = |r: &mut Recording| {
        r.plan = vec![("ios17.matmul", "cpu", 700_000), ("ios17.add", "ane", 300_000)];
        r.engine.insert(Phase::Run, around(3));
    };
    check(below, NotPlaced, "30.0 % of the cost");
    // A share that is reached exactly is reached; one that is missed by a millionth is not.
    let share = |ppm: u64| {
        move |r: &mut Recording| {
            r.plan = vec![("a", "ane", ppm), ("b", "cpu", 1_000_000 - ppm)];
        }
    };
    check(share(900_000), Placed, "90.0 %");
    check(share(899_999), NotPlaced, "`plan ane>=0.9` matched 0 records");
    // Without any cost there is no share to speak of.
    check(|r| r.plan = vec![("a", "ane", 0)], Inconclusive, "no operation of any cost");
}

#[test]
fn a_plan_without_a_run_is_not_placed() {
    let decided =
        check(|r| drop(r.engine.insert(Phase::Run, around(2))), NotPlaced, "no more than when idle");
    assert!(!is_planned(&decided) && decided.witness == "contradicts");
}

#[test]
fn a_plan_without_energy_is_planned_in_words() {
    let decided = check(|r| r.engine.clear(), Inconclusive, "planned, not known to have run there");
    assert!(decided.reason.contains("no energy was read"), "{}", decided.reason);
    assert!(is_planned(&decided));
    assert!(!is_planned(&honest().decide()));
}

#[test]
fn counters_that_stand_still_are_no_answer() {
    check(|r| r.engine = all(Some(0)), Inconclusive, "0 means unknown here");
    check(|r| r.engine = all(None), Inconclusive, "gave no value before the command");
    check(|r| r.processors = all(Some(0)), Inconclusive, "the energy counters stand still");
    let during = |r: &mut Recording| {
        r.processors.insert(Phase::Run, vec![Some(0); 15]);
        r.engine.insert(Phase::Run, vec![Some(0); 15]);
    };
    check(
        |r| drop(r.processors.remove(&Phase::KnownModel)),
        Inconclusive,
        "was read while the known model ran",
    );
    check(during, Inconclusive, "no power of the processors was read while the command ran");
}

#[test]
fn without_the_known_model_nothing_is_known() {
    let flat = |r: &mut Recording| drop(r.engine.insert(Phase::KnownModel, around(3)));
    let decided = check(flat, Inconclusive, "a model that the engine is known to run");
    assert!(is_planned(&decided));
    check(
        |r| drop(r.engine.remove(&Phase::KnownModel)),
        Inconclusive,
        "0 energy readings while the known model",
    );
}

/// What the program says of plans and energy counts for nothing, neither as a claim nor beside the observer's.
#[test]
fn a_programs_own_plan_is_no_plan() {
    let row = |preferred: &str| Message::Plan {
        model: "sha256:01".into(),
        units: "cpu-and-ane".into(),
        op: "ios17.matmul".into(),
        preferred: preferred.into(),
        supported: vec!["ane".into()],
        weight_ppm: 1_000_000,
    };
    let forges = |r: &mut Recording| {
        r.plan = vec![("ios17.matmul", "cpu", 1_000_000)];
        r.forged = vec![row("ane")];
    };
    check(forges, Inconclusive, "no operation of any cost");
    check(|r| r.forged = vec![row("cpu")], Placed, "1 of 3 operations");
}

/// Energy from before the command, in a reading that reaches into its phase, is none of it.
#[test]
fn what_was_taken_before_the_command_is_not_its_own() {
    let tail_of_the_control = |r: &mut Recording| {
        r.early = 1;
        r.engine.insert(Phase::Run, [vec![Some(1_800)], around(2)].concat());
    };
    let decided = check(tail_of_the_control, NotPlaced, "no more than when idle");
    assert_eq!(decided.witness, "contradicts");
}

#[test]
fn another_app_on_the_engine_is_inconclusive() {
    let meanwhile = |phase: Phase, mw: u64| move |r: &mut Recording| drop(r.engine.insert(phase, around(mw)));
    check(meanwhile(Phase::CpuOnly, 1_100), Inconclusive, "while the model ran on the CPU alone");
    check(meanwhile(Phase::IdleBefore, 1_100), Inconclusive, "somebody else uses it");
    check(meanwhile(Phase::IdleAfter, 40), Inconclusive, "somebody else uses it");
    let throughout = |r: &mut Recording| {
        for phase in PHASES {
            r.engine.insert(phase, around(1_500));
        }
    };
    check(throughout, Inconclusive, "was not idle");
}

#[test]
fn noise_is_no_rise() {
    let noisy: Powers = (0..15).map(|n| Some(n % 2 * 60)).collect();
    let noise = |run: u64| {
        let noisy = noisy.clone();
        move |r: &mut Recording| {
            for phase in [Phase::IdleBefore, Phase::IdleAfter, Phase::CpuOnly] {
                r.engine.insert(phase, noisy.clone());
            }
            r.engine.insert(Phase::Run, around(run));
        }
    };
    check(noise(150), NotPlaced, "no more than when idle");
    check(noise(200), Placed, "201 mW");
}

#[test]
fn too_short_and_too_few() {
    let shorten = |n: usize| move |r: &mut Recording| r.engine.get_mut(&Phase::Run).unwrap().truncate(n);
    check(shorten(9), Inconclusive, "watched for 1.8 s, less than 2 s");
    check(shorten(3), Inconclusive, "3 energy readings while the command ran");
    check(shorten(10), Placed, "mW");
}

#[test]
fn an_observer_that_complains_is_no_witness() {
    let changed = |r: &mut Recording| r.complaint = Some("the compiled model changed while the command ran");
    check(changed, Inconclusive, "the compiled model changed");
}

/// Replayed lines carry another command's nonce and another time: they cannot place anything.
#[test]
fn a_replayed_recording_places_nothing() {
    check(|r| r.nonce = "ff".repeat(16), Inconclusive, "unobserved");
    check(|r| r.moved = 3_600_000 * MS, Inconclusive, "0 energy readings while the command ran");
}
