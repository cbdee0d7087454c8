//! When two descriptions are of one device. An index is never part of it: indices are per process.

use runproof_records::wire::{Device, DeviceClass};

/// How a device is called in records and messages: its UUID, else its PCI address, else `platform/name`.
pub fn label(device: &Device) -> String {
    match (&device.uuid, &device.pci, &device.platform) {
        (Some(uuid), _, _) => uuid.clone(),
        (None, Some(pci), _) => pci.clone(),
        (None, None, Some(platform)) => format!("{platform}/{}", device.name),
        (None, None, None) => device.name.clone(),
    }
}

/// Whether both descriptions are of one physical device. With a UUID on both sides it decides alone; without
/// one everything that stays the same from process to process has to agree: that is a weak identity.
pub fn same_device(a: &Device, b: &Device) -> bool {
    if let (Some(a), Some(b)) = (&a.uuid, &b.uuid) {
        return a.eq_ignore_ascii_case(b);
    }
    a.uuid == b.uuid
        && a.pci == b.pci
        && a.platform == b.platform
        && a.name == b.name
        && a.vendor == b.vendor
        && a.driver == b.driver
        && a.class == b.class
}

/// Facts in which a process's description of a device contradicts the inventory's.
pub(super) fn contradictions(observed: &Device, inventory: &Device) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |fact: &str, a: &dyn std::fmt::Display, b: &dyn std::fmt::Display, differs: bool| {
        if differs {
            found.push(format!("{fact} {a} in the program, {b} in the inventory"));
        }
    };
    let none = String::from("none");
    let (a, b) = (observed, inventory);
    differ("units", &a.units, &b.units, a.units != b.units);
    differ("MIG instance", a.mig.as_ref().unwrap_or(&none), b.mig.as_ref().unwrap_or(&none), a.mig != b.mig);
    differ(
        "capability",
        a.capability.as_ref().unwrap_or(&none),
        b.capability.as_ref().unwrap_or(&none),
        a.capability.is_some() && b.capability.is_some() && a.capability != b.capability,
    );
    // A CPU device's memory is what the system has free at the moment; interfaces to one driver differ in what
    // they count as theirs.
    let apart = a.memory.abs_diff(b.memory).saturating_mul(100) > b.memory;
    differ("memory", &a.memory, &b.memory, a.class != DeviceClass::Cpu && apart);
    // A stand-in for the driver library has another version, or none.
    differ("driver", &a.driver, &b.driver, a.driver != b.driver);
    for (fact, own) in &a.facts {
        if let Some(known) = b.facts.get(fact) {
            differ(fact, own, known, own != known);
        }
    }
    if a.class != b.class {
        found.push("another class of device than in the inventory".to_owned());
    }
    found
}
