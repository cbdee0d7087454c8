//! Devices: what kinds there are, what is here, what the fleet declares, and what `--device` means.
//!
//! One table entry per kind ([`KINDS`]); a new kind is a new entry and touches nothing else. Finding devices
//! is at the edge ([`inventory`]); matching them with the fleet and resolving names is pure ([`survey`]).
//! What must not enter: records of work (see [`crate::probe`]) and judgements about them
//! (see [`crate::placement`]).

pub mod executable;
pub mod fleet;
pub mod host;
pub mod inventory;
pub mod observer;
pub mod survey;

mod ane;
mod cuda;
mod declared;
mod kinds;
mod opencl;
mod sys;
mod unusable;

pub use kinds::{Kinds, Witness};
pub use unusable::Unusable;

use crate::plan::Placement;
use crate::probe::{Recorder, Watch};
use fleet::FleetFile;
use runproof_records::fleet::FactValue;
use runproof_records::wire::{Device, DeviceClass};
use std::collections::BTreeMap;
use std::path::Path;

/// What an inventory found. "No device" and "the question could not be answered" are different answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inventory {
    /// At least one device, in the order of the interface; [`Device::dev`] is the position.
    Found(Vec<Device>),
    /// The question was answered: there is none.
    Absent {
        /// Which of the two.
        why: Absence,
        /// In words.
        detail: String,
    },
    /// The question could not be answered.
    Failed {
        /// What the driver or the probe said.
        why: String,
    },
}

impl Inventory {
    /// The devices found.
    pub fn devices(&self) -> &[Device] {
        match self {
            Self::Found(devices) => devices,
            Self::Absent { .. } | Self::Failed { .. } => &[],
        }
    }
}

/// Why there is no device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// The interface or its driver is not installed.
    NoDriver,
    /// The driver is there and lists no device.
    NoDevice,
}

/// A probe to inject for a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerProbe {
    /// Probe id, `opencl.layer`.
    pub id: &'static str,
    /// Environment variable that makes the interface load it.
    pub variable: &'static str,
    /// File name of the library without prefix and suffix.
    pub stem: &'static str,
}

/// What the harness has to know of a kind of device.
pub trait DeviceKind: Sync {
    /// Name, as `DEVICES` and the fleet spell it.
    fn name(&self) -> &'static str;

    /// Looks for devices, in this process: a driver that crashes takes the process with it, so the harness
    /// calls it in a child ([`inventory::read`]).
    fn inventory(&self) -> Inventory;

    /// Environment variables that hide, choose or renumber devices of this kind.
    fn masks(&self) -> &'static [&'static str] {
        &[]
    }

    /// Environment that points a program at `devices`, in this order, beside an index on its command line.
    fn point_at(&self, _devices: &[Device]) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Whether [`Self::point_at`] hides all other devices, so that the program counts its own from 0.
    fn renumbers(&self) -> bool {
        false
    }

    /// Environment that hides every device of this kind, for the negative control. `empty` is a folder with
    /// nothing in it. `None` when the kind cannot be hidden.
    fn hide(&self, _empty: &Path) -> Option<Vec<(String, String)>> {
        None
    }

    /// The probe that is injected into programs.
    fn inner_probe(&self) -> Option<InnerProbe> {
        None
    }

    /// Id of the outer witness that watches devices of this kind and has to agree, `cuda.nvml`.
    fn witness(&self) -> Option<&'static str> {
        None
    }

    /// How the file name of what a program loads on this kind ends. The command line names it; without one there is
    /// nothing to observe.
    fn artifact(&self) -> Option<&'static str> {
        None
    }

    /// Observes a command that loads `artifact`, in a child of the harness ([`observer`]): says that it is ready
    /// once the command may start, and goes on until standard input ends. Asked only where there are artifacts; such
    /// a kind is not watched.
    ///
    /// # Errors
    /// Why it cannot look.
    fn observe(&self, _artifact: &Path, _speaker: &mut observer::Speaker) -> Result<(), String> {
        Err("this kind has no observer".to_owned())
    }

    /// Starts that witness for one command on `devices`. Asked only where there is one.
    ///
    /// # Errors
    /// Why it cannot look.
    fn watch(&self, _devices: &[Device], _recorder: Recorder) -> Result<Watch, String> {
        Err("this kind has no witness".to_owned())
    }
}

/// Every kind that this build can find and witness.
pub static KINDS: &[&dyn DeviceKind] = &[&host::Host, &opencl::OpenCl, &cuda::Cuda, &ane::Ane];

/// The table entry of `name`.
pub fn kind(name: &str) -> Option<&'static dyn DeviceKind> {
    KINDS.iter().copied().find(|kind| kind.name() == name)
}

/// A device that is here and usable.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// As the inventory describes it; [`Device::dev`] is the index for command lines.
    pub wire: Device,
    /// Its entry for the record.
    pub record: runproof_records::record::Device,
    /// The fleet declares it as software.
    pub declared_software: bool,
}

/// Whether a usable device of `kind` is here.
///
/// # Errors
/// Why not: [`Unusable::Absent`] is an answer, everything else is none.
pub fn presence(kind: &str, fleet: &FleetFile, kinds: &Kinds) -> Result<(), Unusable> {
    kinds.survey(fleet).presence(kind)
}

/// What `--device NAME` stands for: a kind, a declared id, `KIND:N` or `all`.
///
/// # Errors
/// Why a device that was asked for is not usable; a kind whose probe library is missing is none either.
pub fn resolve(name: &str, fleet: &FleetFile, kinds: &Kinds) -> Result<Vec<Placement>, Unusable> {
    let found = kinds.survey(fleet).resolve(name)?;
    for device in found.values().flatten() {
        let kind = &device.record.kind;
        kinds.arm(kind).map_err(|missing| Unusable::ProbeMissing {
            asked: name.to_owned(),
            kind: kind.clone(),
            why: missing.to_string(),
        })?;
    }
    Ok(found.into_iter().map(|(id, devices)| Placement { id, devices }).collect())
}

/// The facts of a device by name, for corroboration with the fleet's declarations.
pub fn facts(device: &Device) -> BTreeMap<&str, FactValue> {
    let number = |value: u64| FactValue::Integer(i64::try_from(value).unwrap_or(i64::MAX));
    let text = |value: &str| FactValue::Text(value.to_owned());
    let mut facts = BTreeMap::from([
        ("name", text(&device.name)),
        ("vendor", text(&device.vendor)),
        ("class", text(class_word(device.class))),
        ("units", number(device.units)),
        ("memory_bytes", number(device.memory)),
        ("driver", text(&device.driver)),
    ]);
    let optional = [
        ("capability", &device.capability),
        ("platform", &device.platform),
        ("uuid", &device.uuid),
        ("bus", &device.pci),
        ("mig", &device.mig),
    ];
    facts.extend(device.facts.iter().map(|(name, value)| (name.as_str(), number(*value))));
    facts.extend(optional.into_iter().filter_map(|(name, value)| Some((name, text(value.as_ref()?)))));
    facts
}

/// The word for a class of device in records and messages.
pub fn class_word(class: DeviceClass) -> &'static str {
    match class {
        DeviceClass::Gpu => "gpu",
        DeviceClass::Cpu => "cpu",
        DeviceClass::Npu => "npu",
        DeviceClass::Accelerator => "accelerator",
        DeviceClass::Sim => "sim",
    }
}
