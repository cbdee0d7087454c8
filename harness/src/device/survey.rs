//! What is here against what is declared, and what `--device NAME` means. Pure.

use super::{Absence, Inventory, WITHOUT_PROBE, class_word, facts};
use crate::placement::{computes_in_software, matches_wildcard};
use runproof_directives::nearest;
use runproof_records::fleet::{DeviceDecl, FactDecl, FactValue, Fleet, IdentityDecl};
use runproof_records::record::{Agreement, Device as DeviceRecord, Identity};
use runproof_records::wire::Device;
use std::collections::BTreeMap;

/// Every kind's inventory, matched with the fleet.
#[derive(Clone, Debug)]
pub struct Survey {
    fleet: Fleet,
    kinds: BTreeMap<String, Inventory>,
    masks: BTreeMap<String, String>,
    present: Vec<Present>,
}

/// A device that is here.
#[derive(Clone, Debug)]
pub struct Present {
    /// Declared id, `id#2` for the second device that one declaration describes, `KIND:N` without one.
    pub id: String,
    /// Device kind.
    pub kind: String,
    /// As the inventory describes it; [`Device::dev`] is the index for command lines.
    pub device: Device,
    /// Its declaration.
    pub declaration: Option<DeviceDecl>,
    /// Why nothing may be run on it: its capability is on no list.
    pub unlisted: Option<String>,
}

/// What a `--device` argument stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// The host itself.
    Host,
    /// The device at this position of [`Survey::present`].
    Device(usize),
}

/// Why a requested device is not usable. Each ends the run with status 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceProblem {
    /// Known, looked for, and not here.
    Absent {
        /// As asked.
        asked: String,
        /// Kind that was looked for.
        kind: String,
        /// Driver or device.
        why: Absence,
        /// In words.
        detail: String,
    },
    /// No declared device, kind or probed id has this name.
    Unknown {
        /// As asked.
        asked: String,
        /// What was probably meant.
        nearest: Option<String>,
        /// Everything that would be understood.
        known: Vec<String>,
    },
    /// The inventory of the kind broke, so nobody can say what is here.
    ProbeFailed {
        /// Kind.
        kind: String,
        /// What it said.
        why: String,
    },
    /// This build cannot look for the kind.
    ProbeMissing {
        /// As asked.
        asked: String,
        /// Kind.
        kind: String,
    },
    /// It is here and its capability is on no list.
    Unlisted {
        /// Id of the device.
        id: String,
        /// In words.
        why: String,
    },
}

impl std::fmt::Display for DeviceProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent { asked, kind, detail, .. } if asked == kind => {
                write!(f, "absent: no device of class {kind} on this host: {detail}")
            }
            Self::Absent { asked, kind, detail, .. } => {
                write!(f, "absent: {asked}, a device of class {kind}, is not on this host: {detail}")
            }
            Self::Unknown { asked, nearest, known } => {
                write!(f, "unknown: no device or kind `{asked}`")?;
                if let Some(nearest) = nearest {
                    write!(f, ", did you mean `{nearest}`?")?;
                }
                write!(f, " known: {}", known.join(", "))
            }
            Self::ProbeFailed { kind, why } => write!(f, "probe of {kind} failed: {why}"),
            Self::ProbeMissing { asked, kind } => write!(
                f,
                "probe missing: this build has no probe for kind {kind}, so it can neither find {asked} nor see work on it"
            ),
            Self::Unlisted { why, .. } => f.write_str(why),
        }
    }
}

impl std::error::Error for DeviceProblem {}

impl DeviceProblem {
    /// What would have to be done.
    pub fn way_out(&self) -> String {
        match self {
            Self::Absent { kind, why: Absence::NoDriver, .. } => format!("install the driver of {kind}"),
            Self::Absent { kind, why: Absence::NoDevice, .. } => {
                format!(
                    "run on a machine with such a device; `runproof devices` lists what {kind} finds here"
                )
            }
            Self::Unknown { .. } => "declare it in fleet.toml, or use a known name".to_owned(),
            Self::ProbeFailed { .. } => "repair the driver, or unset what hides the devices".to_owned(),
            Self::ProbeMissing { kind, .. } => {
                format!(
                    "use a build with the {kind} probe, or declare a [[probe]] of that kind in fleet.toml"
                )
            }
            Self::Unlisted { .. } => "declare the device with this capability in fleet.toml".to_owned(),
        }
    }
}

impl Survey {
    /// Matches `inventories` (by kind) with the fleet. `masks` are the visibility variables that are set.
    pub fn new(
        fleet: Fleet,
        inventories: BTreeMap<String, Inventory>,
        masks: BTreeMap<String, String>,
    ) -> Self {
        let present = inventories
            .iter()
            .filter(|(kind, _)| kind.as_str() != "host")
            .flat_map(|(kind, inventory)| present(&fleet, kind, inventory.devices()))
            .collect();
        Self { fleet, kinds: inventories, masks, present }
    }

    /// Every device that is here, by kind.
    pub fn present(&self) -> &[Present] {
        &self.present
    }

    /// Every kind that was looked for, with the answer.
    pub fn kinds(&self) -> &BTreeMap<String, Inventory> {
        &self.kinds
    }

    /// The declarations.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Whether a device of `kind` is here: the built-in feature of that name.
    ///
    /// # Errors
    /// The inventory failed, or this build cannot look: then the question has no answer.
    pub fn has(&self, kind: &str) -> Result<bool, DeviceProblem> {
        match self.kinds.get(kind) {
            Some(Inventory::Found(_)) => Ok(true),
            Some(Inventory::Absent { .. }) => Ok(false),
            Some(Inventory::Failed { why }) => {
                Err(DeviceProblem::ProbeFailed { kind: kind.to_owned(), why: why.clone() })
            }
            None => Err(DeviceProblem::ProbeMissing { asked: kind.to_owned(), kind: kind.to_owned() }),
        }
    }

    /// What `asked` stands for: `host`, `all` (every device that is here), a kind, a declared id, or `KIND:N`.
    ///
    /// # Errors
    /// [`DeviceProblem`]: never a quiet nothing, save for `all` where there is no device at all.
    pub fn resolve(&self, asked: &str) -> Result<Vec<Resolved>, DeviceProblem> {
        if asked == "host" {
            return Ok(vec![Resolved::Host]);
        }
        if asked == "all" {
            for kind in self.kinds.keys() {
                self.has(kind)?;
            }
            return self.usable(|_| true);
        }
        if let Some(position) = self.present.iter().position(|present| present.id == asked) {
            return self.usable(|p| p.id == self.present[position].id);
        }
        if self.kinds.contains_key(asked) || WITHOUT_PROBE.contains(&asked) {
            self.answer(asked, asked)?;
            return self.usable(|present| present.kind == asked);
        }
        if let Some(declared) = self.fleet.device.iter().find(|device| device.id == asked) {
            self.answer(asked, &declared.kind)?;
            let here: Vec<_> = self.kinds[&declared.kind].devices().iter().map(|d| d.name.as_str()).collect();
            return Err(DeviceProblem::Absent {
                asked: asked.to_owned(),
                kind: declared.kind.clone(),
                why: Absence::NoDevice,
                detail: format!("here are: {}", here.join(", ")),
            });
        }
        Err(self.unknown(asked))
    }

    /// The kind was looked for and devices were found, or the problem that stands against `asked`.
    fn answer(&self, asked: &str, kind: &str) -> Result<(), DeviceProblem> {
        match self.kinds.get(kind) {
            Some(Inventory::Found(_)) => Ok(()),
            Some(Inventory::Absent { why, detail }) => Err(DeviceProblem::Absent {
                asked: asked.to_owned(),
                kind: kind.to_owned(),
                why: *why,
                detail: detail.clone(),
            }),
            Some(Inventory::Failed { why }) => {
                Err(DeviceProblem::ProbeFailed { kind: kind.to_owned(), why: why.clone() })
            }
            None => Err(DeviceProblem::ProbeMissing { asked: asked.to_owned(), kind: kind.to_owned() }),
        }
    }

    fn usable(&self, wanted: impl Fn(&Present) -> bool) -> Result<Vec<Resolved>, DeviceProblem> {
        let mut resolved = Vec::new();
        for (position, present) in self.present.iter().enumerate().filter(|(_, present)| wanted(present)) {
            if let Some(why) = &present.unlisted {
                return Err(DeviceProblem::Unlisted { id: present.id.clone(), why: why.clone() });
            }
            resolved.push(Resolved::Device(position));
        }
        Ok(resolved)
    }

    fn unknown(&self, asked: &str) -> DeviceProblem {
        let mut known: Vec<String> = vec!["host".into(), "all".into()];
        known.extend(self.kinds.keys().cloned());
        known.extend(WITHOUT_PROBE.iter().map(|kind| (*kind).to_owned()));
        known.extend(self.fleet.device.iter().map(|device| device.id.clone()));
        known.extend(self.present.iter().map(|present| present.id.clone()));
        known.sort_unstable();
        known.dedup();
        let nearest = nearest(asked, known.iter().map(String::as_str)).map(str::to_owned);
        DeviceProblem::Unknown { asked: asked.to_owned(), nearest, known }
    }

    /// The record of a device that is here.
    pub fn record(&self, present: &Present) -> DeviceRecord {
        let device = &present.device;
        let allowed =
            present.declaration.as_ref().map_or(&[][..], |declaration| &declaration.allowed_overrides);
        DeviceRecord {
            id: present.id.clone(),
            kind: present.kind.clone(),
            declared: present.declaration.is_some(),
            identity: Identity {
                uuid: device.uuid.clone(),
                bus: device.pci.clone(),
                platform: device.platform.clone(),
                strength: if device.uuid.is_some() { "strong" } else { "weak" }.to_owned(),
            },
            name: device.name.clone(),
            class: class_word(device.class).to_owned(),
            capability: device.capability.clone().unwrap_or_else(|| "unknown".to_owned()),
            memory: device.memory,
            driver: device.driver.clone(),
            runtime: device.platform.clone().unwrap_or_else(|| "unknown".to_owned()),
            software: computes_in_software(device.class),
            agreement: agreement(present),
            masks: self.masks.clone(),
            undeclared_overrides: self.masks.keys().filter(|name| !allowed.contains(name)).cloned().collect(),
        }
    }
}

/// Every device of one kind with its declaration.
fn present(fleet: &Fleet, kind: &str, devices: &[Device]) -> Vec<Present> {
    let declared: Vec<&DeviceDecl> = fleet.device.iter().filter(|device| device.kind == kind).collect();
    let mut used: BTreeMap<&str, u32> = BTreeMap::new();
    let mut found = Vec::new();
    for device in devices {
        let probed = format!("{kind}:{}", device.dev);
        let matching: Vec<_> = declared.iter().filter(|declaration| describes(declaration, device)).collect();
        let fitting = matching.iter().filter(|declaration| capability_fits(declaration, device));
        // A UUID or bus address is a better description than a model.
        let best = fitting.min_by_key(|declaration| matches!(declaration.identity, IdentityDecl::Model(_)));
        let (id, declaration) = match best {
            None => (probed.clone(), None),
            Some(declaration) => {
                let n = used.entry(&declaration.id).or_default();
                *n += 1;
                let id = if *n == 1 { declaration.id.clone() } else { format!("{}#{n}", declaration.id) };
                (id, Some((**declaration).clone()))
            }
        };
        let unlisted = declaration.is_none().then(|| unlisted(&probed, &declared, device)).flatten();
        found.push(Present { id, kind: kind.to_owned(), device: device.clone(), declaration, unlisted });
    }
    found
}

fn describes(declaration: &DeviceDecl, device: &Device) -> bool {
    match &declaration.identity {
        IdentityDecl::Uuid(uuid) => device.uuid.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(uuid)),
        IdentityDecl::Bus(bus) => device.pci.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(bus)),
        IdentityDecl::Model(model) => matches_wildcard(model, &device.name),
    }
}

fn capability_fits(declaration: &DeviceDecl, device: &Device) -> bool {
    declaration.capability == "any"
        || device.capability.as_ref().is_none_or(|own| *own == declaration.capability)
}

/// A device whose capability no declaration of its kind lists is here and must not be taken for absent.
fn unlisted(id: &str, declared: &[&DeviceDecl], device: &Device) -> Option<String> {
    let own = device.capability.as_ref()?;
    let mut known: Vec<&str> = declared.iter().map(|declaration| declaration.capability.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    if known.is_empty() || known.contains(&"any") || known.contains(&own.as_str()) {
        return None;
    }
    let known = known.join(", ");
    Some(format!(
        "{id} is present ({}), architecture {own} not on the list of known ones ({known})",
        device.name
    ))
}

/// Each declared fact against the device's own word.
fn agreement(present: &Present) -> Vec<Agreement> {
    let Some(declaration) = &present.declaration else { return Vec::new() };
    let observed = facts(&present.device);
    declaration
        .fact
        .iter()
        .map(|fact| {
            let own = observed.get(fact.fact.as_str());
            Agreement {
                fact: fact.fact.clone(),
                declared: text(&fact.expect),
                observed: own.map_or_else(|| "not reported".to_owned(), text),
                agrees: own.is_some_and(|own| agrees(fact, own)),
            }
        })
        .collect()
}

fn text(value: &FactValue) -> String {
    match value {
        FactValue::Integer(number) => number.to_string(),
        FactValue::Text(text) => text.clone(),
    }
}

fn agrees(fact: &FactDecl, own: &FactValue) -> bool {
    match (&fact.expect, own) {
        (FactValue::Integer(declared), FactValue::Integer(own)) => {
            let (declared, own) = (i128::from(*declared), i128::from(*own));
            (declared - own).abs() * 100 <= declared.abs() * i128::from(fact.tolerance_percent)
        }
        (FactValue::Text(declared), FactValue::Text(own)) => matches_wildcard(declared, own),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
