//! OpenCL devices through the ICD loader, which is opened at run time and may be missing.
//!
//! Values are those of the Khronos headers `CL/cl.h` and `CL/cl_ext.h`.

use crate::device::{Absence, Inventory};
use runproof_records::wire::{Device, DeviceClass};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

#[cfg(target_os = "macos")]
const LOADER: &CStr = c"/System/Library/Frameworks/OpenCL.framework/OpenCL";
#[cfg(not(target_os = "macos"))]
const LOADER: &CStr = c"libOpenCL.so.1";

const DEVICE_NOT_FOUND: i32 = -1;
/// From `cl_khr_icd`: the loader knows no driver.
const PLATFORM_NOT_FOUND: i32 = -1001;
const TYPE_CPU: u64 = 1 << 1;
const TYPE_GPU: u64 = 1 << 2;
const TYPE_ALL: u64 = 0xFFFF_FFFF;

const PLATFORM_NAME: u32 = 0x0902;
const DEVICE_TYPE: u32 = 0x1000;
const MAX_COMPUTE_UNITS: u32 = 0x1002;
const GLOBAL_MEM_SIZE: u32 = 0x101F;
const DEVICE_NAME: u32 = 0x102B;
const DEVICE_VENDOR: u32 = 0x102C;
const DRIVER_VERSION: u32 = 0x102D;
const DEVICE_UUID: u32 = 0x106A;
const DEVICE_PCI: u32 = 0x410F;

type Handle = *mut c_void;
type GetPlatforms = unsafe extern "C" fn(u32, *mut Handle, *mut u32) -> i32;
type GetDevices = unsafe extern "C" fn(Handle, u64, u32, *mut Handle, *mut u32) -> i32;
type GetInfo = unsafe extern "C" fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;

struct Api {
    platforms: GetPlatforms,
    platform_info: GetInfo,
    devices: GetDevices,
    device_info: GetInfo,
}

/// Drivers are initialised by the first question, and not all of them stand two at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Every device of every platform.
pub fn inventory() -> Inventory {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let api = match Api::load() {
        Ok(api) => api,
        Err(detail) => return Inventory::Absent { why: Absence::NoDriver, detail },
    };
    match api.all_devices() {
        Ok(inventory) => inventory,
        Err(why) => Inventory::Failed { why },
    }
}

impl Api {
    fn load() -> Result<Self, String> {
        // SAFETY: a library name that ends with 0; the loader's initialisers are those that any OpenCL
        // program runs. It stays open: drivers do not survive being unloaded.
        let library = unsafe { libc::dlopen(LOADER.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(format!("the OpenCL loader {} is not installed", LOADER.to_string_lossy()));
        }
        let symbol = |name: &CStr| {
            // SAFETY: an open library and a name that ends with 0.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            if address.is_null() {
                Err(format!("{} has no {}", LOADER.to_string_lossy(), name.to_string_lossy()))
            } else {
                Ok(address)
            }
        };
        let (platforms, platform_info) = (symbol(c"clGetPlatformIDs")?, symbol(c"clGetPlatformInfo")?);
        let (devices, device_info) = (symbol(c"clGetDeviceIDs")?, symbol(c"clGetDeviceInfo")?);
        // SAFETY: each symbol is the OpenCL function of that name, whose type is the one it is given here.
        unsafe {
            Ok(Self {
                platforms: std::mem::transmute::<*mut c_void, GetPlatforms>(platforms),
                platform_info: std::mem::transmute::<*mut c_void, GetInfo>(platform_info),
                devices: std::mem::transmute::<*mut c_void, GetDevices>(devices),
                device_info: std::mem::transmute::<*mut c_void, GetInfo>(device_info),
            })
        }
    }

    fn all_devices(&self) -> Result<Inventory, String> {
        let mut n = 0;
        // SAFETY: a query for the number.
        let code = unsafe { (self.platforms)(0, null_mut(), &raw mut n) };
        if code == PLATFORM_NOT_FOUND || (code == 0 && n == 0) {
            let detail = "the OpenCL loader knows no driver".to_owned();
            return Ok(Inventory::Absent { why: Absence::NoDriver, detail });
        }
        good("clGetPlatformIDs", code)?;
        let mut platforms = vec![null_mut(); n as usize];
        // SAFETY: memory for `n` handles.
        good("clGetPlatformIDs", unsafe { (self.platforms)(n, platforms.as_mut_ptr(), null_mut()) })?;
        let mut found = Vec::new();
        for platform in platforms {
            let name = text(self.platform_info, platform, PLATFORM_NAME);
            for device in self.devices_of(platform).map_err(|why| format!("platform {name}: {why}"))? {
                let position = u32::try_from(found.len()).unwrap_or(u32::MAX);
                found.push(self.describe(device, position, &name)?);
            }
        }
        if found.is_empty() {
            let detail = "the OpenCL drivers list no device".to_owned();
            return Ok(Inventory::Absent { why: Absence::NoDevice, detail });
        }
        Ok(Inventory::Found(found))
    }

    fn devices_of(&self, platform: Handle) -> Result<Vec<Handle>, String> {
        let mut n = 0;
        // SAFETY: a query for the number, on a platform that was just listed.
        match unsafe { (self.devices)(platform, TYPE_ALL, 0, null_mut(), &raw mut n) } {
            DEVICE_NOT_FOUND => return Ok(Vec::new()),
            code => good("clGetDeviceIDs", code)?,
        }
        let mut devices = vec![null_mut(); n as usize];
        // SAFETY: memory for `n` handles.
        let code = unsafe { (self.devices)(platform, TYPE_ALL, n, devices.as_mut_ptr(), null_mut()) };
        good("clGetDeviceIDs", code)?;
        Ok(devices)
    }

    fn describe(&self, device: Handle, dev: u32, platform: &str) -> Result<Device, String> {
        let get = |parameter| text(self.device_info, device, parameter);
        let kind: u64 = value(self.device_info, device, DEVICE_TYPE).ok_or("clGetDeviceInfo failed")?;
        let units: u32 = value(self.device_info, device, MAX_COMPUTE_UNITS).unwrap_or(0);
        // Both are extensions: a device without them answers with an error.
        let uuid: Option<[u8; 16]> = value(self.device_info, device, DEVICE_UUID);
        let pci: Option<[u32; 4]> = value(self.device_info, device, DEVICE_PCI);
        Ok(Device {
            dev,
            uuid: uuid.filter(|bytes| bytes.iter().any(|byte| *byte != 0)).map(uuid_text),
            name: get(DEVICE_NAME),
            vendor: get(DEVICE_VENDOR),
            class: match kind {
                // A device that says it is both is taken for the weaker claim.
                kind if kind & TYPE_CPU != 0 => DeviceClass::Cpu,
                kind if kind & TYPE_GPU != 0 => DeviceClass::Gpu,
                _ => DeviceClass::Accelerator,
            },
            capability: None,
            units: u64::from(units),
            memory: value(self.device_info, device, GLOBAL_MEM_SIZE).unwrap_or(0),
            pci: pci.map(|[domain, bus, slot, function]| {
                format!("{domain:04x}:{bus:02x}:{slot:02x}.{function:x}")
            }),
            platform: Some(platform.to_owned()),
            driver: get(DRIVER_VERSION),
            visible: true,
            mig: None,
            facts: std::collections::BTreeMap::new(),
        })
    }
}

fn good(call: &str, code: i32) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("driver answered error {code} to {call}")) }
}

/// Plain data of exactly the size of `T`.
fn value<T: Copy + Default>(call: GetInfo, object: Handle, parameter: u32) -> Option<T> {
    let mut value = T::default();
    // SAFETY: a live object; memory for `size_of::<T>()` bytes; every `T` used here is plain integers, for
    // which any bytes are a value.
    let code = unsafe { call(object, parameter, size_of::<T>(), (&raw mut value).cast(), null_mut()) };
    (code == 0).then_some(value)
}

/// A text without its terminating zero; empty when the query fails.
fn text(call: GetInfo, object: Handle, parameter: u32) -> String {
    let mut size = 0;
    // SAFETY: a query for the size.
    if unsafe { call(object, parameter, 0, null_mut(), &raw mut size) } != 0 {
        return String::new();
    }
    let mut bytes = vec![0_u8; size];
    // SAFETY: memory for `size` bytes.
    if unsafe { call(object, parameter, size, bytes.as_mut_ptr().cast(), null_mut()) } != 0 {
        return String::new();
    }
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).trim().to_owned()
}

fn uuid_text(bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
