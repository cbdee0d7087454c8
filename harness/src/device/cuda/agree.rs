//! Three descriptions of the devices to one, or to the fact in which they contradict each other. Pure.

use super::driver::Told;
use super::kernel::Module;
use super::nvml::{Listed, Listing};
use runproof_records::wire::{Device, DeviceClass};

/// NVML counts memory that the driver keeps for itself.
const MEMORY_SLACK_PERCENT: u64 = 1;

/// The devices that the driver interface offers, once NVML and the kernel module have confirmed them. `masked`:
/// a mask was set, so NVML may know more of them.
///
/// # Errors
/// What contradicts what, or why such a device cannot be witnessed.
pub fn devices(
    (version, told): (u64, Vec<Told>),
    listing: &Listing,
    module: &Module,
    masked: bool,
) -> Result<Vec<Device>, String> {
    if let Some(own) = module.version.as_ref().filter(|own| **own != listing.driver) {
        return Err(format!(
            "the kernel module is of version {own}, NVML's library of {}: reload the module or restart",
            listing.driver
        ));
    }
    if let Some(cut) = listing.devices.iter().find(|device| device.mig) {
        return Err(format!(
            "MIG is on for {}: work on a slice cannot be told from work on the whole device; switch MIG off",
            cut.uuid
        ));
    }
    let devices = (0..)
        .zip(&told)
        .map(|(dev, told)| confirmed(dev, version, told, listing, module))
        .collect::<Result<Vec<_>, String>>()?;
    let missing = |listed: &&Listed| !devices.iter().any(|own| own.uuid.as_ref() == Some(&listed.uuid));
    match listing.devices.iter().find(missing) {
        Some(more) if !masked => Err(format!(
            "NVML lists {} ({}), the driver interface does not: {} against {} devices",
            more.uuid,
            more.name,
            listing.devices.len(),
            devices.len()
        )),
        _ => Ok(devices),
    }
}

fn confirmed(
    dev: u32,
    version: u64,
    told: &Told,
    listing: &Listing,
    module: &Module,
) -> Result<Device, String> {
    let uuid = uuid(told.uuid);
    if told.mps {
        return Err(format!(
            "MPS is on for {uuid}: its server does the work, which cannot be tied to a program; stop it"
        ));
    }
    let Some(listed) = listing.devices.iter().find(|listed| listed.uuid == uuid) else {
        return Err(format!("the driver interface lists {uuid} ({}), NVML does not", told.name));
    };
    let bus = address(&told.bus);
    let differ = |fact: &str, own: &str, other: &str, who: &str| {
        Err(format!("{uuid}: {fact} is {own} for the driver interface and {other} for {who}"))
    };
    if listed.name != told.name {
        return differ("name", &told.name, &listed.name, "NVML");
    }
    if address(&listed.bus) != bus {
        return differ("PCI address", &bus, &address(&listed.bus), "NVML");
    }
    if told.memory.abs_diff(listed.memory) * 100 > listed.memory * MEMORY_SLACK_PERCENT {
        return differ("memory", &told.memory.to_string(), &listed.memory.to_string(), "NVML");
    }
    if !module.devices.is_empty() {
        match module.devices.iter().find(|(own, _)| address(own) == bus) {
            None => return Err(format!("{uuid}: the kernel module has no device at {bus}")),
            Some((_, Some(own))) if *own != uuid => return differ("UUID", &uuid, own, "the kernel module"),
            Some(_) => {}
        }
    }
    let (major, minor) = told.capability;
    Ok(Device {
        dev,
        uuid: Some(uuid),
        name: told.name.clone(),
        vendor: "NVIDIA".to_owned(),
        class: DeviceClass::Gpu,
        capability: Some(format!("sm_{major}{minor}")),
        units: told.units,
        memory: told.memory,
        pci: Some(bus),
        platform: Some(format!("CUDA {}.{}", version / 1000, version % 1000 / 10)),
        driver: listing.driver.clone(),
        visible: true,
        mig: None,
        facts: told.facts.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
    })
}

/// `GPU-8-4-4-4-12`, as NVML spells it.
fn uuid(bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A PCI address in one spelling: four digits of domain, small letters.
fn address(text: &str) -> String {
    let text = text.to_ascii_lowercase();
    match text.split_once(':') {
        Some((domain, rest)) if domain.len() > 4 && domain.starts_with("0000") => {
            format!("{}:{rest}", &domain[domain.len() - 4..])
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct World {
        told: Vec<Told>,
        listing: Listing,
        module: Module,
        masked: bool,
    }

    fn told(n: u8) -> Told {
        Told {
            uuid: [n; 16],
            name: "NVIDIA H200".into(),
            capability: (9, 0),
            memory: 150_109_880_320,
            units: 132,
            bus: format!("0000:0{n}:06.0"),
            mps: false,
            facts: vec![("l2_bytes", 62_914_560)],
        }
    }

    fn listed(n: u8) -> Listed {
        Listed {
            uuid: uuid([n; 16]),
            name: "NVIDIA H200".into(),
            bus: format!("00000000:0{n}:06.0"),
            memory: 150_754_820_096,
            mig: false,
        }
    }

    fn two() -> World {
        World {
            told: vec![told(1), told(2)],
            listing: Listing { driver: "580.159.04".into(), devices: vec![listed(2), listed(1)] },
            module: Module {
                version: Some("580.159.04".into()),
                devices: vec![("0000:01:06.0".into(), Some(uuid([1; 16]))), ("0000:02:06.0".into(), None)],
            },
            masked: false,
        }
    }

    fn ask(change: impl FnOnce(&mut World)) -> Result<Vec<Device>, String> {
        let mut world = two();
        change(&mut world);
        devices((13_000, world.told), &world.listing, &world.module, world.masked)
    }

    #[track_caller]
    fn refuses(change: impl FnOnce(&mut World), says: &str) {
        let why = ask(change).unwrap_err();
        assert!(why.contains(says), "{why:?} does not say {says:?}");
    }

    #[test]
    fn what_all_three_say_is_found_in_the_order_of_the_driver() {
        let devices = ask(|_| {}).unwrap();
        let first = &devices[0];
        assert_eq!((devices.len(), first.dev), (2, 0));
        assert_eq!(first.uuid.as_deref(), Some("GPU-01010101-0101-0101-0101-010101010101"));
        assert_eq!(first.capability.as_deref(), Some("sm_90"));
        assert_eq!(first.pci.as_deref(), Some("0000:01:06.0"));
        assert_eq!(first.platform.as_deref(), Some("CUDA 13.0"));
        assert_eq!((first.driver.as_str(), first.facts["l2_bytes"]), ("580.159.04", 62_914_560));
        assert_eq!(devices[1].dev, 1);
    }

    #[test]
    fn a_sandbox_may_hide_the_files_of_the_kernel_module() {
        assert_eq!(ask(|w| w.module = Module::default()).unwrap().len(), 2);
    }

    #[test]
    fn masks_hide_devices_from_the_driver_alone() {
        let hidden = |w: &mut World| drop(w.told.remove(0));
        refuses(hidden, "NVML lists GPU-01010101");
        let masked = |w: &mut World| {
            hidden(w);
            w.masked = true;
        };
        assert_eq!(ask(masked).unwrap().len(), 1);
    }

    #[test]
    fn each_contradiction_is_named() {
        refuses(|w| w.listing.driver = "570.1".into(), "kernel module is of version 580.159.04");
        refuses(|w| drop(w.listing.devices.remove(1)), "GPU-01010101");
        refuses(|w| w.listing.devices[0].name = "NVIDIA H100".into(), "name is NVIDIA H200");
        refuses(|w| w.listing.devices[0].bus = "00000000:09:06.0".into(), "PCI address is 0000:02:06.0");
        refuses(|w| w.listing.devices[0].memory /= 2, "memory is 150109880320");
        refuses(|w| drop(w.module.devices.remove(0)), "no device at 0000:01:06.0");
        refuses(|w| w.module.devices[0].1 = Some("GPU-x".into()), "GPU-x for the kernel module");
    }

    #[test]
    fn parts_and_shared_devices_are_refused() {
        refuses(|w| w.listing.devices[0].mig = true, "MIG is on for GPU-02020202");
        refuses(|w| w.told[0].mps = true, "MPS is on for GPU-01010101");
    }
}
