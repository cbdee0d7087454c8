//! Devices as this process meets them: an index each, a `device` line at first sight, and the offset of
//! each device's clock.

use crate::sys::{self, Handle, at};
use runproof_probe_sink::Sink;
use runproof_records::wire::{Device, DeviceClass, Message};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
struct Known {
    index: HashMap<usize, u32>,
    /// `CLOCK_REALTIME` minus the device's clock, by device index.
    offset: HashMap<u32, i128>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

/// Forgets everything: a forked child introduces its devices on its own connection.
pub fn forget() {
    // The parent's lock may have been held at the fork; a child that cannot take it keeps the old indices.
    if let Ok(mut known) = KNOWN.try_lock() {
        *known = None;
    }
}

/// Index of `device` in this process; the first call for a device writes its `device` line.
pub fn index(sink: &Sink, device: Handle) -> u32 {
    let facts = {
        let mut guard = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = guard.get_or_insert_default();
        if let Some(index) = known.index.get(&device.addr()) {
            return *index;
        }
        let index = u32::try_from(known.index.len()).unwrap_or(u32::MAX);
        known.index.insert(device.addr(), index);
        index
    };
    sink.emit(Message::Device(describe(facts, device)));
    facts
}

/// Notes that the device's clock read `device_time` no earlier than the host's read `realtime`. The largest
/// such difference is the best estimate from below, so a converted time never lies in the future.
pub fn calibrate(index: u32, device_time: u64, realtime: u64) {
    let offset = i128::from(realtime) - i128::from(device_time);
    let mut guard = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = guard.get_or_insert_default().offset.entry(index).or_insert(offset);
    *entry = (*entry).max(offset);
}

/// `device_time` as `CLOCK_REALTIME`; `None` before the first calibration and for the time 0, which devices
/// give for what has not happened.
pub fn realtime(index: u32, device_time: u64) -> Option<u64> {
    if device_time == 0 {
        return None;
    }
    let guard = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let offset = *guard.as_ref()?.offset.get(&index)?;
    u64::try_from(i128::from(device_time) + offset).ok()
}

fn describe(dev: u32, device: Handle) -> Device {
    // SAFETY: for every query here: `device` came from the program's own successful call, devices live as
    // long as their platform, and each parameter has the type that `cl.h` documents.
    let text = |parameter| unsafe { sys::info_text(at::GET_DEVICE_INFO, device, parameter) };
    // SAFETY: as above.
    let kind: u64 = unsafe { sys::info(at::GET_DEVICE_INFO, device, sys::DEVICE_TYPE) }.unwrap_or(0);
    // SAFETY: as above.
    let units: u32 =
        unsafe { sys::info(at::GET_DEVICE_INFO, device, sys::DEVICE_MAX_COMPUTE_UNITS) }.unwrap_or(0);
    // SAFETY: as above.
    let memory: u64 =
        unsafe { sys::info(at::GET_DEVICE_INFO, device, sys::DEVICE_GLOBAL_MEM_SIZE) }.unwrap_or(0);
    // SAFETY: as above; a platform id is a pointer.
    let platform: Option<usize> =
        unsafe { sys::info(at::GET_DEVICE_INFO, device, sys::DEVICE_PLATFORM) }.filter(|p| *p != 0);
    // SAFETY: the platform handle was just reported by the device.
    let platform = platform.map(|platform| unsafe {
        sys::info_text(
            at::GET_PLATFORM_INFO,
            std::ptr::with_exposed_provenance_mut(platform),
            sys::PLATFORM_NAME,
        )
    });
    // SAFETY: as above; 16 bytes, asked for by size, an error without the extension.
    let uuid: Option<[u8; 16]> = unsafe { sys::info(at::GET_DEVICE_INFO, device, sys::DEVICE_UUID) };
    // SAFETY: as above; four `cl_uint`, an error without the extension.
    let pci: Option<[u32; 4]> = unsafe { sys::info(at::GET_DEVICE_INFO, device, sys::DEVICE_PCI_BUS_INFO) };
    Device {
        dev,
        uuid: uuid.filter(|bytes| bytes.iter().any(|b| *b != 0)).map(|bytes| uuid_text(&bytes)),
        name: text(sys::DEVICE_NAME),
        vendor: text(sys::DEVICE_VENDOR),
        class: class(kind),
        capability: None,
        units: u64::from(units),
        memory,
        pci: pci
            .map(|[domain, bus, slot, function]| format!("{domain:04x}:{bus:02x}:{slot:02x}.{function:x}")),
        platform,
        driver: text(sys::DRIVER_VERSION),
        visible: true,
        mig: None,
        facts: std::collections::BTreeMap::new(),
    }
}

fn class(kind: u64) -> DeviceClass {
    // A device that says it is both is taken for the weaker claim.
    if kind & sys::TYPE_CPU != 0 {
        DeviceClass::Cpu
    } else if kind & sys::TYPE_GPU != 0 {
        DeviceClass::Gpu
    } else {
        DeviceClass::Accelerator
    }
}

fn uuid_text(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
