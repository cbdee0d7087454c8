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

/// Between two readings, milliseconds.
const STEP_MS: u32 = 100;
/// How long each phase beside the command lasts: as long as the command has to run at least.
const PHASE: Duration = Duration::from_secs(2);
/// Between the command's end and the next reading: a counter may lag behind.
const SETTLE: Duration = Duration::from_millis(500);

/// The engine of this machine.
pub(super) fn inventory() -> Inventory {
    let system = match macos() {
        Ok((_, text)) => text,
        Err(why) => return Inventory::Failed { why },
    };
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
        driver: system,
        visible: true,
        mig: None,
        facts: BTreeMap::new(),
    }])
}

/// Observes a command that loads `model`.
pub(super) fn observe(model: &Path, speaker: &mut Speaker) -> Result<(), String> {
    let (major, system) = macos()?;
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
    let mut readings = Readings { meter: Meter::open(major)?, samples: Vec::new() };
    readings.take(Phase::IdleBefore, speaker);
    readings.beside(&known, Units::CpuAndEngine, Phase::KnownModel, speaker)?;

    let ended = input_ended()?;
    let begun = realtime();
    speaker.ready("ane.observer", "Core ML", &system);
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
}

impl Readings {
    /// One reading of both rails.
    fn one(&mut self, phase: Phase, speaker: &mut Speaker) {
        let start = realtime();
        // A counter that cannot be read is told from one that stands at 0.
        let power = self.meter.read(STEP_MS).ok();
        let end = realtime();
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
            ended.map_err(|why| format!("the control of {} did not run: {why}", model.display()))
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
            .map_err(|error| format!("`{}` cannot be written: {error}", path.display()))?;
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

/// Major version of macOS, and version and build in words.
fn macos() -> Result<(u32, String), String> {
    let version = tool("sw_vers", &["-productVersion"])?;
    let build = tool("sw_vers", &["-buildVersion"])?;
    let major = version.split('.').next().and_then(|major| major.parse().ok());
    let major = major.ok_or_else(|| format!("sw_vers says `{version}`, which is no version"))?;
    Ok((major, format!("macOS {version} ({build})")))
}

fn tool(name: &str, arguments: &[&str]) -> Result<String, String> {
    duct::cmd(name, arguments).stdin_null().read().map_err(|error| format!("`{name}`: {error}"))
}
