//! The devices of one run: who is here, what each is called, how a program is pointed at it and how it is
//! watched. The only door through which plan and run see devices; the questions are asked at most once.

use super::survey::{DeviceProblem, Present, Resolved as Asked, Survey};
use super::{Absence, Inventory, KINDS, WITHOUT_PROBE, inventory, inventory_of, kind};
use crate::probe::{Arming, Observation, Outer, Session, find_library};
use crate::suite::features::KindState;
use runproof_records::fleet::{Fleet, ProbeDecl};
use runproof_records::record::{Device as DeviceRecord, ProbeUse};
use runproof_records::verdict::Grade;
use runproof_records::wire::{Device, Message, Role};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A device that was asked for and is usable.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Declared id, or `KIND:N`.
    pub id: String,
    /// Device kind.
    pub kind: String,
    /// The physical devices that answer to it, in the order of the inventory; at least one.
    pub devices: Vec<Resolved>,
}

impl Placement {
    /// Whether the fleet declares it as software.
    pub fn is_declared_software(&self) -> bool {
        self.devices.iter().all(|d| d.declared_software)
    }
}

/// One physical device of a placement.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// As it goes into records.
    pub record: DeviceRecord,
    /// As the inventory found it.
    pub wire: Device,
    /// Whether the fleet declares it as software.
    pub declared_software: bool,
}

/// Why a device cannot be used: what is wrong, and ways out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// What is wrong; begins with `absent`, `unknown`, `probe missing` or `probe … failed`.
    pub what: String,
    /// Ways out.
    pub help: Vec<String>,
}

/// See the module.
pub struct Roster {
    fleet: Fleet,
    probe_dir: Option<PathBuf>,
    survey: OnceLock<Survey>,
}

impl Roster {
    /// Devices under the declarations of a fleet; probe libraries are looked for in `probe_dir` first.
    pub fn new(fleet: Fleet, probe_dir: Option<&Path>) -> Self {
        Self { fleet, probe_dir: probe_dir.map(Path::to_path_buf), survey: OnceLock::new() }
    }

    /// Every device kind by name, sorted: built-in ones, those without a probe, those that the fleet declares.
    pub fn kinds(&self) -> Vec<String> {
        let built_in =
            KINDS.iter().map(|k| k.name()).filter(|n| *n != "host").chain(WITHOUT_PROBE.iter().copied());
        let declared = self.fleet.probe.iter().map(|p| p.kind.as_str());
        built_in.chain(declared).map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What is here against what is declared.
    pub fn survey(&self) -> &Survey {
        self.survey.get_or_init(|| {
            let program = asking_program();
            let mut inventories: BTreeMap<String, Inventory> = KINDS
                .iter()
                .map(|k| (k.name().to_owned(), inventory::read(*k, program.as_deref())))
                .collect();
            inventories.extend(self.fleet.probe.iter().map(|p| (p.kind.clone(), inventory_of(p))));
            let masks =
                KINDS.iter().flat_map(|k| inventory::masks(*k, |name| std::env::var(name).ok())).collect();
            Survey::new(self.fleet.clone(), inventories, masks)
        })
    }

    /// Whether a device of the kind is here, as a feature of the host.
    pub fn presence(&self, kind: &str) -> KindState {
        let survey = self.survey();
        if let Some(why) = survey.present().iter().filter(|p| p.kind == kind).find_map(|p| p.unlisted.clone())
        {
            return KindState::Broken { why };
        }
        match (survey.kinds().get(kind), survey.has(kind)) {
            (Some(Inventory::Absent { why, detail }), _) => {
                KindState::Absent { why: detail.clone(), no_driver: *why == Absence::NoDriver }
            }
            (_, Ok(true)) => KindState::Present,
            (_, Ok(false)) => KindState::Absent { why: "none was found".to_owned(), no_driver: false },
            // A kind that this build cannot look for is no device of it that could be used.
            (None, Err(problem)) => KindState::Absent { why: problem.to_string(), no_driver: false },
            (Some(_), Err(problem)) => KindState::Broken { why: problem.to_string() },
        }
    }

    /// What `--device NAME` stands for: every physical device that answers to one declaration is one placement.
    ///
    /// # Errors
    /// The device is absent or unknown, its inventory failed, or nothing here can witness it.
    pub fn resolve(&self, name: &str) -> Result<Vec<Placement>, Unusable> {
        let survey = self.survey();
        let asked = survey.resolve(name).map_err(|p| unusable(&p))?;
        let ids: BTreeSet<&str> = asked
            .iter()
            .filter_map(|a| match a {
                Asked::Host => None,
                Asked::Device(at) => Some(base(&survey.present()[*at])),
            })
            .collect();
        let mut placements = Vec::new();
        for id in ids {
            let devices: Vec<&Present> = survey.present().iter().filter(|p| base(p) == id).collect();
            let Some(kind) = devices.first().map(|p| p.kind.clone()) else { continue };
            self.arm(&kind)?;
            placements.push(Placement {
                id: id.to_owned(),
                kind,
                devices: devices
                    .into_iter()
                    .map(|p| Resolved {
                        record: survey.record(p),
                        wire: p.device.clone(),
                        declared_software: p.declaration.as_ref().is_some_and(|d| d.software),
                    })
                    .collect(),
            });
        }
        Ok(placements)
    }

    fn declared(&self, kind: &str) -> Option<&ProbeDecl> {
        self.fleet.probe.iter().find(|p| p.kind == kind)
    }

    /// Probes to inject for a kind.
    ///
    /// # Errors
    /// The library is not there: without it nothing can be witnessed.
    pub fn arm(&self, name: &str) -> Result<Vec<Arming>, Unusable> {
        let Some(inner) = kind(name).and_then(super::DeviceKind::inner_probe) else { return Ok(Vec::new()) };
        let library = find_library(inner.stem, self.probe_dir.as_deref()).map_err(|missing| Unusable {
            what: format!("probe missing: {missing}"),
            help: vec![
                "name its folder with `--probe-dir`, or put it beside the program; `cargo xtask dist` makes such a folder".to_owned(),
            ],
        })?;
        Ok(vec![Arming { probe: inner.id.to_owned(), variable: inner.variable.to_owned(), library }])
    }

    /// Environment that points a program at a device.
    pub fn point_at(&self, name: &str, device: &Device) -> Vec<(String, String)> {
        if let Some(declared) = self.declared(name) {
            let fill = |text: &String| {
                text.replace("%{device.uuid}", device.uuid.as_deref().unwrap_or_default())
                    .replace("%{device.index}", &device.dev.to_string())
            };
            return declared.env.iter().map(|(k, v)| (k.clone(), fill(v))).collect();
        }
        kind(name).map(|k| k.point_at(device)).unwrap_or_default()
    }

    /// Environment that hides every device of a kind; `None` when they cannot be hidden.
    pub fn hide(&self, name: &str, empty: &Path) -> Option<Vec<(String, String)>> {
        if let Some(declared) = self.declared(name) {
            let all: Vec<_> = declared.hide_env.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
            return Some(all).filter(|a| !a.is_empty());
        }
        kind(name).and_then(|k| k.hide(empty))
    }

    /// Devices of a kind that were here before the run.
    pub fn inventory(&self, kind: &str) -> &[Device] {
        self.survey().kinds().get(kind).map_or(&[], Inventory::devices)
    }

    /// Whether the kind has an outer witness that has to agree.
    pub fn has_witness(&self, name: &str) -> bool {
        self.declared(name).is_some_and(|p| p.role == Role::Outer)
            || kind(name).is_some_and(super::DeviceKind::has_witness)
    }

    /// Starts the declared outer probe of a kind, when there is one.
    pub fn start_outer(&self, kind: &str, session: &Session) -> Witness {
        match self.declared(kind) {
            Some(declared) if declared.role == Role::Outer => {
                match Outer::start(session, &format!("declared.{kind}"), &declared.start, 0) {
                    Ok(outer) => Witness::Running(outer),
                    Err(e) => Witness::Failed(e.to_string()),
                }
            }
            _ => Witness::None,
        }
    }

    /// Probes as the record names them: what was armed, and what said hello.
    pub fn probes_used(&self, name: &str, observation: &Observation) -> Vec<ProbeUse> {
        let mut used: Vec<ProbeUse> = self
            .arm(name)
            .unwrap_or_default()
            .into_iter()
            .map(|a| ProbeUse {
                version: version_of(observation, &a.probe),
                id: a.probe,
                role: Role::Inner,
                grade: Grade::Event,
                library: Some(a.library.digest),
            })
            .collect();
        if let Some(declared) = self.declared(name) {
            used.push(ProbeUse {
                id: format!("declared.{name}"),
                version: version_of(observation, &format!("declared.{name}")),
                role: declared.role,
                grade: Grade::Event,
                library: None,
            });
        }
        used
    }
}

/// An outer probe beside a command.
pub enum Witness {
    /// The kind has none.
    None,
    /// It runs.
    Running(Outer),
    /// It could not be started.
    Failed(String),
}

impl Witness {
    /// Ends it; what went wrong, if anything did.
    pub fn stop(self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Running(outer) => outer.stop().err().map(|e| e.to_string()),
            Self::Failed(why) => Some(why),
        }
    }
}

fn version_of(observation: &Observation, probe: &str) -> String {
    observation
        .lines
        .iter()
        .find_map(|l| match l.line.as_ref().map(|l| &l.msg) {
            Some(Message::Hello(hello)) if l.probe == probe || hello.probe == probe => {
                Some(hello.version.clone())
            }
            _ => None,
        })
        .unwrap_or_else(|| "did not say hello".to_owned())
}

/// The declared id without the number of the physical device.
fn base(present: &Present) -> &str {
    present.id.split_once('#').map_or(present.id.as_str(), |(id, _)| id)
}

fn unusable(problem: &DeviceProblem) -> Unusable {
    Unusable { what: problem.to_string(), help: vec![problem.way_out()] }
}

/// The program that asks drivers in a child of its own; absent when this process is not `runproof` itself.
fn asking_program() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    (exe.file_stem()? == "runproof").then_some(exe)
}
