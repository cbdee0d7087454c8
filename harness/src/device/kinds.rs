//! The kinds that a run knows: the table's and those that the fleet declares, with their inventories (asked for
//! once, before the first test) and their probes.

use super::fleet::FleetFile;
use super::survey::Survey;
use super::{DeviceKind, Inventory, KINDS, declared, inventory, kind, observer};
use crate::probe::{
    Arming, Library, LibraryMissing, Observation, Outer, Recorder, Session, Watch, find_library,
};
use runproof_records::fleet::{Fleet, ProbeDecl};
use runproof_records::record::ProbeUse;
use runproof_records::verdict::Grade;
use runproof_records::wire::{Device, Line, Message, Role};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The kinds of a run.
pub struct Kinds {
    probe_dir: Option<PathBuf>,
    declared: Vec<ProbeDecl>,
    inventories: Mutex<BTreeMap<String, Arc<Inventory>>>,
}

/// The outer probes of one command.
pub struct Witness {
    outer: Vec<Outer>,
    watch: Option<Watch>,
    failed: Option<String>,
}

impl Witness {
    /// Ends them; why they are no witness, if they are none.
    pub fn stop(self) -> Option<String> {
        // All are stopped, whatever became of the first.
        let ended: Vec<_> = self.outer.into_iter().map(Outer::stop).collect();
        let watched = self.watch.map_or(Ok(()), Watch::stop).err();
        let ended = || ended.into_iter().find_map(Result::err).map(|error| error.to_string());
        self.failed.or(watched).or_else(ended)
    }
}

impl Kinds {
    /// The table's kinds and those that `fleet` declares. Injected probes are looked up in `probe_dir`, or
    /// where [`find_library`] says.
    pub fn new(probe_dir: Option<&Path>, fleet: &Fleet) -> Self {
        Self {
            probe_dir: probe_dir.map(Path::to_path_buf),
            declared: fleet.probe.clone(),
            inventories: Mutex::default(),
        }
    }

    /// Every kind that `DEVICES` may name.
    pub fn names(&self) -> Vec<String> {
        let table = KINDS.iter().map(|kind| kind.name()).filter(|name| *name != "host");
        table.map(str::to_owned).chain(self.declared.iter().map(|probe| probe.kind.clone())).collect()
    }

    /// The probes that the fleet declares for a kind: one, or an inner and an outer one.
    fn declared<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a ProbeDecl> {
        self.declared.iter().filter(move |probe| probe.kind == name)
    }

    /// The inventory of a kind, asked for at the first call.
    pub fn inventory(&self, name: &str) -> Arc<Inventory> {
        let mut known = self.inventories.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = || match (self.declared(name).next(), kind(name)) {
            (Some(probe), _) => declared::inventory_of(probe),
            (None, Some(kind)) => inventory::read(kind, own_program().as_deref()),
            (None, None) => Inventory::Failed { why: format!("this build has no probe for kind {name}") },
        };
        Arc::clone(known.entry(name.to_owned()).or_insert_with(|| Arc::new(ask())))
    }

    /// Every inventory matched with the fleet.
    pub fn survey(&self, fleet: &FleetFile) -> Survey {
        let mut inventories = BTreeMap::new();
        let mut masks = BTreeMap::new();
        for name in self.names() {
            if let Some(kind) = kind(&name) {
                masks.insert(name.clone(), inventory::masks(kind, |name| std::env::var(name).ok()));
            } else if self.declared(&name).next().is_none() {
                continue;
            }
            inventories.insert(name.clone(), (*self.inventory(&name)).clone());
        }
        Survey::new(fleet.fleet.clone(), inventories, masks)
    }

    /// The probes to inject for a kind.
    ///
    /// # Errors
    /// A library is missing.
    pub fn arm(&self, name: &str) -> Result<Vec<Arming>, LibraryMissing> {
        let declared = self.declared(name).flat_map(|probe| {
            probe.env.iter().filter_map(|(variable, path)| {
                let library = library(probe, path)?;
                Some(Arming { probe: probe.kind.clone(), variable: variable.clone(), library })
            })
        });
        let mut armings: Vec<Arming> = declared.collect();
        if let Some(inner) = kind(name).and_then(DeviceKind::inner_probe) {
            let library = find_library(inner.stem, self.probe_dir.as_deref())?;
            armings.push(Arming { probe: inner.id.to_owned(), variable: inner.variable.to_owned(), library });
        }
        Ok(armings)
    }

    /// Environment that points a program at the devices of its test.
    pub fn point_at(&self, name: &str, devices: &[Device]) -> Vec<(String, String)> {
        let declared = self.declared(name).flat_map(|probe| {
            let plain = probe.env.iter().filter(|(_, value)| library(probe, value).is_none());
            plain.filter_map(|(variable, value)| {
                Some((variable.clone(), substituted(value, devices.first()?)))
            })
        });
        declared.chain(kind(name).map(|kind| kind.point_at(devices)).unwrap_or_default()).collect()
    }

    /// The index by which a program that was pointed at `devices` finds the first of them.
    pub fn index_for_program(&self, name: &str, device: &Device) -> u32 {
        if kind(name).is_some_and(DeviceKind::renumbers) { 0 } else { device.dev }
    }

    /// Environment that hides every device of a kind; `None` when they cannot be hidden. `empty` is an empty
    /// folder.
    pub fn hide(&self, name: &str, empty: &Path) -> Option<Vec<(String, String)>> {
        if let Some(kind) = kind(name) {
            return kind.hide(empty);
        }
        let declared = self.declared(name).flat_map(|probe| &probe.hide_env);
        let hide: Vec<_> = declared.map(|(variable, value)| (variable.clone(), value.clone())).collect();
        (!hide.is_empty()).then_some(hide)
    }

    /// Whether a kind has an outer witness beside its inner probe, which then has to agree. An outer probe alone
    /// is the observer itself.
    pub fn has_witness(&self, name: &str) -> bool {
        let has = |role| self.declared(name).any(|probe| probe.role == role);
        kind(name).and_then(DeviceKind::witness).is_some() || (has(Role::Inner) && has(Role::Outer))
    }

    /// How the names of the files end that a program loads on a kind, where its observer has to know them.
    pub fn artifact(&self, name: &str) -> Option<&'static str> {
        kind(name).and_then(DeviceKind::artifact)
    }

    /// Starts the outer probes of a kind for a command on `devices` that loads `artifacts`.
    pub fn start_outer(
        &self,
        name: &str,
        devices: &[Device],
        artifacts: &[PathBuf],
        session: &Session,
    ) -> Witness {
        let mut witness = Witness { outer: Vec::new(), watch: None, failed: None };
        if let Some(kind) = kind(name)
            && let Some(id) = kind.witness()
        {
            if let Some(ending) = kind.artifact() {
                let started = observer::arguments(own_program(), kind.name(), ending, artifacts)
                    .and_then(|argv| Outer::observer(session, id, &argv).map_err(|e| e.to_string()));
                match started {
                    Ok(outer) => witness.outer.push(outer),
                    Err(why) => witness.failed = Some(why),
                }
            } else {
                match kind.watch(devices, Recorder::new(session, id)) {
                    Ok(watch) => witness.watch = Some(watch),
                    Err(why) => witness.failed = Some(why),
                }
            }
        }
        let outer = self.declared(name).filter(|probe| probe.role == Role::Outer);
        for (position, probe) in (0..).zip(outer) {
            match Outer::start(session, &probe.kind, &probe.start, position) {
                Ok(outer) => witness.outer.push(outer),
                Err(error) => witness.failed = Some(error.to_string()),
            }
        }
        witness
    }

    /// The probes of a kind for the record; versions are those that were said.
    pub fn probes_used(&self, name: &str, observation: &Observation) -> Vec<ProbeUse> {
        let said = observation.lines.iter().find_map(|stamped| match &stamped.line {
            Some(Line { msg: Message::Hello(hello), .. }) => Some(hello.version.clone()),
            _ => None,
        });
        let version = said.unwrap_or_else(|| "unknown".to_owned());
        let mut probes: Vec<ProbeUse> = self
            .arm(name)
            .unwrap_or_default()
            .into_iter()
            .map(|arming| ProbeUse {
                id: arming.probe,
                version: version.clone(),
                role: Role::Inner,
                grade: Grade::Event,
                library: Some(arming.library.digest),
            })
            .collect();
        probes.extend(self.declared(name).filter(|probe| probe.role == Role::Outer).map(|probe| ProbeUse {
            id: probe.kind.clone(),
            version: version.clone(),
            role: Role::Outer,
            grade: Grade::Event,
            library: None,
        }));
        probes.extend(kind(name).and_then(DeviceKind::witness).map(|id| ProbeUse {
            id: id.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            role: Role::Outer,
            grade: Grade::Event,
            library: None,
        }));
        probes
    }
}

/// The library that a declared inner probe names in its environment: an absolute path to a file.
fn library(probe: &ProbeDecl, value: &str) -> Option<Library> {
    let path = Path::new(value);
    if probe.role != Role::Inner || !path.is_absolute() {
        return None;
    }
    Library::read(path)
}

fn substituted(value: &str, device: &Device) -> String {
    value
        .replace("%{device.uuid}", device.uuid.as_deref().unwrap_or_default())
        .replace("%{device.index}", &device.dev.to_string())
}

/// This executable, when it is the `runproof` program and so can be asked for an inventory in a child.
fn own_program() -> Option<PathBuf> {
    std::env::current_exe().ok().filter(|path| path.file_stem().is_some_and(|stem| stem == "runproof"))
}
