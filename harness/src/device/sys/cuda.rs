//! NVIDIA devices through the driver interface, which is opened at run time and may be missing.

use cudarc::driver::result::{self, DriverError, device};
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute_enum as Attribute, CUresult};
use std::ffi::{CStr, c_char};

/// What the driver interface says of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// 16 bytes.
    pub uuid: [u8; 16],
    /// Product name.
    pub name: String,
    /// Major and minor compute capability.
    pub capability: (u64, u64),
    /// Bytes.
    pub memory: u64,
    /// Multiprocessors.
    pub units: u64,
    /// `dddd:bb:dd.f`.
    pub bus: String,
    /// Its work is done by the server of MPS.
    pub mps: bool,
    /// More, by the names of fleet facts.
    pub facts: Vec<(&'static str, u64)>,
}

/// What the driver interface says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is no driver library.
    NoLibrary,
    /// The driver says that there is no device.
    NoDevice,
    /// The version of CUDA that the driver is for (13000 for 13.0), and the devices in its order.
    Devices(u64, Vec<Told>),
}

/// Facts asked for by attribute, with their names.
const FACTS: &[(&str, Attribute)] = &[
    ("l2_bytes", Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
    ("shared_memory_per_unit_bytes", Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    ("shared_memory_per_block_bytes", Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    ("registers_per_unit", Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
    ("threads_per_unit", Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
    ("warp_threads", Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE),
    ("memory_bus_bits", Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
    ("copy_engines", Attribute::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT),
    ("ecc", Attribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED),
];

/// Asks the driver.
///
/// # Errors
/// What it said instead of an answer.
pub fn ask() -> Result<Answer, String> {
    // SAFETY: opens the driver library, whose initialisers are those that any CUDA program runs.
    if !unsafe { sys::is_culib_present() } {
        return Ok(Answer::NoLibrary);
    }
    match result::init() {
        Ok(()) => {}
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => return Ok(Answer::NoDevice),
        Err(error) => return Err(said("cuInit", error)),
    }
    let mut version = 0;
    // SAFETY: a writable number.
    let code = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    code.result().map_err(|error| said("cuDriverGetVersion", error))?;
    let count = device::get_count().map_err(|error| said("cuDeviceGetCount", error))?;
    let devices = (0..count)
        .map(|ordinal| {
            let handle = device::get(ordinal).map_err(|error| said("cuDeviceGet", error))?;
            describe(handle)
        })
        .collect::<Result<Vec<_>, String>>()?;
    if devices.is_empty() {
        return Ok(Answer::NoDevice);
    }
    Ok(Answer::Devices(u64::try_from(version).unwrap_or(0), devices))
}

fn describe(handle: CUdevice) -> Result<Told, String> {
    let attribute = |which: Attribute| {
        // SAFETY: the device was just given by the driver.
        let value = unsafe { device::get_attribute(handle, which) };
        value
            .map(|value| u64::try_from(value).unwrap_or(0))
            .map_err(|error| said("cuDeviceGetAttribute", error))
    };
    let uuid = device::get_uuid(handle).map_err(|error| said("cuDeviceGetUuid", error))?;
    let mut bus = [0_u8; 32];
    let room = i32::try_from(bus.len()).unwrap_or(0);
    // SAFETY: memory for `room` bytes, which the driver ends with a 0.
    let code = unsafe { sys::cuDeviceGetPCIBusId(bus.as_mut_ptr().cast::<c_char>(), room, handle) };
    code.result().map_err(|error| said("cuDeviceGetPCIBusId", error))?;
    // SAFETY: the device was just given by the driver.
    let memory = unsafe { device::total_mem(handle) }.map_err(|error| said("cuDeviceTotalMem", error))?;
    Ok(Told {
        uuid: uuid.bytes.map(|byte| u8::from_ne_bytes(byte.to_ne_bytes())),
        name: device::get_name(handle).map_err(|error| said("cuDeviceGetName", error))?,
        capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        memory: memory as u64,
        units: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        bus: CStr::from_bytes_until_nul(&bus)
            .map(|bus| bus.to_string_lossy().into_owned())
            .unwrap_or_default(),
        // Drivers from before the attribute know nothing of it.
        mps: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MPS_ENABLED).is_ok_and(|mps| mps != 0),
        facts: FACTS.iter().filter_map(|(name, which)| Some((*name, attribute(*which).ok()?))).collect(),
    })
}

fn said(call: &str, error: DriverError) -> String {
    let name = error.error_name().map(CStr::to_string_lossy).unwrap_or_default();
    format!("driver answered error {} ({name}) to {call}", error.0 as u32)
}
