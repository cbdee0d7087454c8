//! Inventory, and the observer of one command: the plan of its model, the engine's energy before, while and after it ran, and
//! the two controls.

use super::super::observer::Speaker;
use super::super::{Absence, Inventory};
use super::tree;
use crate::placement::ane::energy::{self, CPU_RAIL, RAIL};
use crate::probe::realtime;
use runproof_coreml::{KNOWN_MODEL, Meter, Model, Units, compile, engine_cores, plan};
use runproof_records::wire::{Device, DeviceClass, Message, Phase, Reading, Sample};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// The first system with a compute plan.
const OLDEST: (u32, u32) = (14, 4);
/// Between two readings, milliseconds.
const STEP_MS: u32 = 100;
/// How long each phase beside the command lasts: as long as the command has to run at least.
const PHASE: Duration = Duration::from_secs(2);
/// Between the command's end and the next reading: a counter may lag behind.
const SETTLE: Duration = Duration::from_millis(500);

/// The engine of this machine.
pub(super) fn inventory() -> Inventory {
    let system = match macos() {
        Ok(system) => system,
        Err(why) => return Inventory::Failed { why },
    };
    if system.version < OLDEST {
        let why = format!("{}: the compute plan needs macOS {}.{} or newer", system.text, OLDEST.0, OLDEST.1);
        return Inventory::Failed { why };
    }
    let Some(cores) = engine_cores() else {
        let detail = "Core ML lists no Neural Engine: virtual machines have none".to_owned();
        return Inventory::Absent { why: Absence::NoDevice, detail };
    };
    let chip =
        tool("sysctl", &["-n", "machdep.cpu.brand_string"]).unwrap_or_else(|_| "unknown chip".to_owned());
    Inventory::Found(vec![Device {
        dev: 0,
        uuid: None,
        name: format!("Neural Engine of {chip}"),
        vendor: "Apple".to_owned(),
        class: DeviceClass::Npu,
        capability: None,
        units: cores,
        memory: 0,
        pci: None,
        platform: Some("Core ML".to_owned()),
        driver: system.text,
        visible: true,
        mig: None,
        facts: BTreeMap::new(),
    }])
}

/// Observes a command that loads `model`.
pub(super) fn observe(model: &Path, speaker: &mut Speaker) -> Result<(), String> {
    let system = macos()?;
    let digest = tree::digest(model)?;
    for row in plan(model, Units::CpuAndEngine)? {
        speaker.say(Message::Plan {
            model: digest.to_string(),
            units: Units::CpuAndEngine.as_str().to_owned(),
            op: row.operator,
            preferred: row.preferred.to_owned(),
            supported: row.supported.into_iter().map(str::to_owned).collect(),
            weight_ppm: (row.weight.clamp(0.0, 1.0) * 1e6).round() as u64,
        });
    }
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let known = known_model(folder.path())?;
    // Said before anything is measured: the control with the CPU alone feeds them.
    Model::load(model, Units::Cpu)?.inputs()?;
    let mut readings =
        Readings { meter: Meter::open(system.version.0)?, samples: Vec::new(), complained: false };
    // Both idle phases come as long after work on the engine or the processors, so that they are alike.
    readings.beside(&known, Units::CpuAndEngine, Phase::KnownModel, speaker)?;
    std::thread::sleep(SETTLE);
    readings.take(Phase::IdleBefore, speaker);

    let ended = input_ended()?;
    readings.meter.restart(STEP_MS);
    let begun = realtime();
    speaker.ready("ane.observer", "Core ML", &system.text);
    while !ended.load(Ordering::Acquire) {
        readings.one(Phase::Run, speaker);
    }
    let finished = realtime();

    std::thread::sleep(SETTLE);
    readings.take(Phase::IdleAfter, speaker);
    readings.beside(model, Units::Cpu, Phase::CpuOnly, speaker)?;
    if let Some((uj, baseline_uj, sigma_uj)) = energy::delta(readings.samples.iter()) {
        speaker.say(Message::EnergyDelta {
            rail: RAIL.to_owned(),
            uj,
            baseline_uj,
            sigma_uj,
            start: begun,
            end: finished,
            source: readings.meter.source().to_owned(),
        });
    }
    if tree::digest(model)? != digest {
        return Err("the compiled model changed while the command ran: its plan is of another one".to_owned());
    }
    speaker.bye();
    Ok(())
}

struct Readings {
    meter: Meter,
    samples: Vec<Sample>,
    /// The first failure was told.
    complained: bool,
}

impl Readings {
    /// One reading of both rails.
    fn one(&mut self, phase: Phase, speaker: &mut Speaker) {
        let mut start = realtime();
        // Among a hundred readings one may fail for a reason that is gone at once.
        let power = self.meter.read(STEP_MS).or_else(|_| {
            start = realtime();
            self.meter.read(STEP_MS)
        });
        let end = realtime();
        if let (Err(why), false) = (&power, self.complained) {
            self.complained = true;
            speaker.say(Message::Error { what: why.clone() });
        }
        // A counter that cannot be read is told from one that stands at 0.
        let power = power.ok();
        let uj =
            |milliwatts: f64| (milliwatts.max(0.0) * end.saturating_sub(start) as f64 / 1e6).round() as u64;
        let rails = [(RAIL, power.map(|p| uj(p.engine))), (CPU_RAIL, power.map(|p| uj(p.processors)))];
        for (rail, uj) in rails {
            let sample = Sample {
                uuid: rail.to_owned(),
                start,
                end,
                procs: Vec::new(),
                of_run: Vec::new(),
                busy_ns: None,
                energy: Some(Reading { phase, uj }),
                source: self.meter.source().to_owned(),
            };
            speaker.say(Message::Sample(sample.clone()));
            self.samples.push(sample);
        }
    }

    /// Readings for as long as a phase lasts.
    fn take(&mut self, phase: Phase, speaker: &mut Speaker) {
        self.meter.restart(STEP_MS);
        let begun = Instant::now();
        while begun.elapsed() < PHASE {
            self.one(phase, speaker);
        }
    }

    /// The same while a model runs again and again.
    fn beside(
        &mut self,
        model: &Path,
        units: Units,
        phase: Phase,
        speaker: &mut Speaker,
    ) -> Result<(), String> {
        std::thread::scope(|scope| {
            let (warm, is_warm) = channel();
            // Longer than the phase, so that the last reading is of work too.
            let runner = scope.spawn(move || {
                run(model, units, PHASE + PHASE / 4, || {
                    let _ = warm.send(());
                })
            });
            // Without an answer the runner has ended, and says why below.
            if is_warm.recv().is_ok() {
                self.take(phase, speaker);
            }
            let ended = runner.join().unwrap_or_else(|_| Err("the thread of a control died".to_owned()));
            ended.map_err(|why| format!("a control did not run ({}): {why}", units.as_str()))
        })
    }
}

/// Loads a model, says that it is warm, and runs it for `time`. What computes on nothing but zeros may save energy, so
/// the inputs are other numbers.
fn run(model: &Path, units: Units, time: Duration, warm: impl FnOnce()) -> Result<(), String> {
    let model = Model::load(model, units)?;
    let inputs: Vec<_> = model
        .inputs()?
        .into_iter()
        .map(|(name, count)| (name, (0..count).map(|n| (n % 17) as f32 / 128.0 - 0.0625).collect()))
        .collect();
    let inputs = model.prepare(&inputs)?;
    model.repeat(&inputs, Duration::ZERO)?;
    warm();
    model.repeat(&inputs, time).map(drop)
}

fn known_model(folder: &Path) -> Result<std::path::PathBuf, String> {
    let package = folder.join("known-ane.mlpackage");
    for (name, bytes) in KNOWN_MODEL {
        let path = package.join(name);
        path.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, bytes))
            .map_err(|error| format!("`{name}` of the known model cannot be written: {error}"))?;
    }
    let compiled = folder.join("known-ane.mlmodelc");
    compile(&package, &compiled)?;
    Ok(compiled)
}

/// Becomes true when standard input has ended: the command has.
fn input_ended() -> Result<Arc<AtomicBool>, String> {
    let ended = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ended);
    std::thread::Builder::new()
        .name("input".into())
        .spawn(move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            flag.store(true, Ordering::Release);
        })
        .map_err(|error| format!("no thread: {error}"))?;
    Ok(ended)
}

/// The system.
struct System {
    /// Major and minor version.
    version: (u32, u32),
    /// Version and build in words.
    text: String,
}

fn macos() -> Result<System, String> {
    let version = tool("sw_vers", &["-productVersion"])?;
    let build = tool("sw_vers", &["-buildVersion"])?;
    let mut numbers = version.split('.').map(str::parse);
    let Some(Ok(major)) = numbers.next() else {
        return Err(format!("sw_vers says `{version}`, which is no version"));
    };
    let minor = numbers.next().and_then(Result::ok).unwrap_or(0);
    Ok(System { version: (major, minor), text: format!("macOS {version} ({build})") })
}

fn tool(name: &str, arguments: &[&str]) -> Result<String, String> {
    duct::cmd(name, arguments).stdin_null().read().map_err(|error| format!("`{name}`: {error}"))
}
