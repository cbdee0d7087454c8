//! The kind `cuda`: NVIDIA devices.
//!
//! Three sources describe them: the driver interface, NVML and the kernel module's files. They have to agree, and a
//! program is pointed at a device by its UUID alone.

mod agree;
mod kernel;
mod nvml;
mod watch;

use super::sys::cuda as driver;
use super::{Absence, DeviceKind, InnerProbe, Inventory};
use crate::probe::{Recorder, Watch};
use runproof_records::wire::Device;
use std::path::Path;

/// Hides, chooses and renumbers devices for the driver interface.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// NVIDIA devices in the order of the driver interface.
pub struct Cuda;

impl DeviceKind for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn inventory(&self) -> Inventory {
        let told = match driver::ask() {
            Ok(driver::Answer::NoLibrary) => {
                let detail = "no driver: libcuda.so.1 is not installed".to_owned();
                return Inventory::Absent { why: Absence::NoDriver, detail };
            }
            Ok(driver::Answer::NoDevice) => {
                let detail = "the driver lists no device".to_owned();
                return Inventory::Absent { why: Absence::NoDevice, detail };
            }
            Ok(driver::Answer::Devices(version, devices)) => (version, devices),
            Err(why) => return Inventory::Failed { why },
        };
        // After the driver was initialised: before that the kernel module does not know the UUIDs.
        let masked = std::env::var_os(VISIBLE).is_some();
        let devices = nvml::list().and_then(|listed| agree::devices(told, &listed, &kernel::read(), masked));
        devices.map_or_else(|why| Inventory::Failed { why }, Inventory::Found)
    }

    fn masks(&self) -> &'static [&'static str] {
        &[
            VISIBLE,
            "CUDA_DEVICE_ORDER",
            "NVIDIA_VISIBLE_DEVICES",
            "CUDA_MPS_PIPE_DIRECTORY",
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
            "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
        ]
    }

    fn point_at(&self, devices: &[Device]) -> Vec<(String, String)> {
        let uuids: Vec<_> = devices.iter().filter_map(|device| device.uuid.clone()).collect();
        vec![(VISIBLE.to_owned(), uuids.join(","))]
    }

    fn renumbers(&self) -> bool {
        true
    }

    fn hide(&self, _empty: &Path) -> Option<Vec<(String, String)>> {
        Some(vec![(VISIBLE.to_owned(), String::new())])
    }

    fn inner_probe(&self) -> Option<InnerProbe> {
        Some(InnerProbe { id: "cuda.cupti", variable: "CUDA_INJECTION64_PATH", stem: "runproof_probe_cuda" })
    }

    fn witness(&self) -> Option<&'static str> {
        Some("cuda.nvml")
    }

    fn watch(&self, devices: &[Device], recorder: Recorder) -> Result<Watch, String> {
        watch::start(devices, recorder)
    }
}
