//! What is here against what is declared, and what `--device NAME` means. Pure.

use super::{Absence, Inventory, Resolved, Unusable, class_word, facts};
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
    masks: BTreeMap<String, BTreeMap<String, String>>,
    present: Vec<Present>,
}

/// A device that is here.
#[derive(Clone, Debug)]
pub struct Present {
    /// Declared id, the same for all devices that one declaration describes; `KIND:N` without one.
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

impl Survey {
    /// Matches `inventories` (by kind) with the fleet. `masks` are the visibility variables that are set, by the
    /// kind whose devices they hide or choose.
    pub fn new(
        fleet: Fleet,
        inventories: BTreeMap<String, Inventory>,
        masks: BTreeMap<String, BTreeMap<String, String>>,
    ) -> Self {
        let present = inventories
            .iter()
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

    /// Whether a usable device of `kind` is here: the built-in feature of that name.
    ///
    /// # Errors
    /// There is none, the inventory failed, this build cannot look, or what is here is unusable.
    pub fn presence(&self, kind: &str) -> Result<(), Unusable> {
        self.answer(kind, kind)?;
        self.usable(|present| present.kind == kind).map(drop)
    }

    /// What `asked` stands for: `all` (every device that is here), a kind, a declared id, or `KIND:N`. Devices
    /// that answer to one id come together, in the order of the inventory.
    ///
    /// # Errors
    /// [`Unusable`]: never a quiet nothing, save for `all` where there is no device at all.
    pub fn resolve(&self, asked: &str) -> Result<BTreeMap<String, Vec<Resolved>>, Unusable> {
        if asked == "all" {
            for (kind, inventory) in &self.kinds {
                if let Inventory::Failed { why } = inventory {
                    return Err(Unusable::ProbeFailed { kind: kind.clone(), why: why.clone() });
                }
            }
            return self.usable(|_| true);
        }
        if self.present.iter().any(|present| present.id == asked) {
            return self.usable(|present| present.id == asked);
        }
        if self.kinds.contains_key(asked) {
            self.answer(asked, asked)?;
            return self.usable(|present| present.kind == asked);
        }
        if let Some(declared) = self.fleet.device.iter().find(|device| device.id == asked) {
            self.answer(asked, &declared.kind)?;
            // What is here may be the device, with a capability that its declaration does not list.
            self.usable(|present| present.kind == declared.kind && present.declaration.is_none())?;
            let here = self.present.iter().filter(|present| present.kind == declared.kind);
            let here: Vec<_> = here.map(|present| present.device.name.as_str()).collect();
            return Err(Unusable::Absent {
                asked: asked.to_owned(),
                kind: declared.kind.clone(),
                why: format!("here are: {}", here.join(", ")),
                no_driver: false,
            });
        }
        Err(self.unknown(asked))
    }

    /// Nothing when the kind was looked for and devices were found.
    fn answer(&self, asked: &str, kind: &str) -> Result<(), Unusable> {
        match self.kinds.get(kind) {
            Some(Inventory::Found(_)) => Ok(()),
            Some(Inventory::Absent { why, detail }) => Err(Unusable::Absent {
                asked: asked.to_owned(),
                kind: kind.to_owned(),
                why: detail.clone(),
                no_driver: *why == Absence::NoDriver,
            }),
            Some(Inventory::Failed { why }) => {
                Err(Unusable::ProbeFailed { kind: kind.to_owned(), why: why.clone() })
            }
            None => Err(Unusable::ProbeMissing {
                asked: asked.to_owned(),
                kind: kind.to_owned(),
                why: format!("this build has no probe for kind {kind}"),
            }),
        }
    }

    fn usable(&self, wanted: impl Fn(&Present) -> bool) -> Result<BTreeMap<String, Vec<Resolved>>, Unusable> {
        let mut resolved: BTreeMap<String, Vec<Resolved>> = BTreeMap::new();
        for present in self.present.iter().filter(|present| wanted(present)) {
            if let Some(why) = &present.unlisted {
                return Err(Unusable::Unlisted { id: present.id.clone(), why: why.clone() });
            }
            let record = self.record(present);
            if let Some(fact) = record.agreement.iter().find(|fact| !fact.agrees) {
                return Err(Unusable::Disagrees { id: present.id.clone(), fact: fact.clone() });
            }
            resolved.entry(present.id.clone()).or_default().push(Resolved {
                wire: present.device.clone(),
                record,
                declared_software: present.declaration.as_ref().is_some_and(|d| d.software),
            });
        }
        Ok(resolved)
    }

    fn unknown(&self, asked: &str) -> Unusable {
        let mut known: Vec<String> = vec!["host".into(), "all".into()];
        known.extend(self.kinds.keys().cloned());
        known.extend(self.fleet.device.iter().map(|device| device.id.clone()));
        known.extend(self.present.iter().map(|present| present.id.clone()));
        known.sort_unstable();
        known.dedup();
        let nearest = nearest(asked, known.iter().map(String::as_str)).map(str::to_owned);
        Unusable::Unknown { asked: asked.to_owned(), nearest, known }
    }

    /// The record of a device that is here.
    pub fn record(&self, present: &Present) -> DeviceRecord {
        let device = &present.device;
        let masks = self.masks.get(&present.kind).cloned().unwrap_or_default();
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
            undeclared_overrides: masks.keys().filter(|name| !allowed.contains(name)).cloned().collect(),
            masks,
        }
    }
}

/// Every device of one kind with its declaration.
fn present(fleet: &Fleet, kind: &str, devices: &[Device]) -> Vec<Present> {
    let declared: Vec<&DeviceDecl> = fleet.device.iter().filter(|device| device.kind == kind).collect();
    let mut found = Vec::new();
    for device in devices {
        let probed = format!("{kind}:{}", device.dev);
        let matching: Vec<_> = declared.iter().filter(|declaration| describes(declaration, device)).collect();
        let fitting = matching.iter().filter(|declaration| capability_fits(declaration, device));
        // A UUID or bus address is a better description than a model.
        let best = fitting.min_by_key(|declaration| matches!(declaration.identity, IdentityDecl::Model(_)));
        let declaration = best.map(|declaration| (**declaration).clone());
        let id = declaration.as_ref().map_or_else(|| probed.clone(), |declaration| declaration.id.clone());
        let unlisted = declaration.is_none().then(|| unlisted(&probed, &declared, device)).flatten();
        found.push(Present { id, kind: kind.to_owned(), device: device.clone(), declaration, unlisted });
    }
    found
}

fn describes(declaration: &DeviceDecl, device: &Device) -> bool {
    match &declaration.identity {
        IdentityDecl::Uuid(uuid) => device.uuid.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(uuid)),
        IdentityDecl::Bus(bus) => device.pci.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(bus)),
        IdentityDecl::Model(model) => model.split('|').any(|model| matches_wildcard(model, &device.name)),
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
    let own = present.device.capability.as_deref().unwrap_or("not reported");
    // The tier rule asks for it by this name.
    let capability = Agreement {
        fact: "capability".to_owned(),
        declared: declaration.capability.clone(),
        observed: own.to_owned(),
        agrees: declaration.capability == "any" || declaration.capability == own,
    };
    let mut all: Vec<Agreement> = declaration
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
        .collect();
    if !all.iter().any(|fact| fact.fact == capability.fact) {
        all.push(capability);
    }
    all
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
