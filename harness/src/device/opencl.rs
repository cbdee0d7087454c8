//! The kind `opencl`.

use super::sys::opencl as api;
use super::{DeviceKind, InnerProbe, Inventory};
use std::path::Path;

/// OpenCL devices, over all platforms in their order: the order in which a program counts them that asks
/// each platform for all its devices.
pub struct OpenCl;

impl DeviceKind for OpenCl {
    fn name(&self) -> &'static str {
        "opencl"
    }

    fn inventory(&self) -> Inventory {
        api::inventory()
    }

    fn masks(&self) -> &'static [&'static str] {
        // The two ICD loaders' choice of drivers, PoCL's choice of devices, and the vendors' own masks.
        &[
            "OCL_ICD_VENDORS",
            "OCL_ICD_FILENAMES",
            "OPENCL_VENDOR_PATH",
            "POCL_DEVICES",
            "CUDA_VISIBLE_DEVICES",
            "ROCR_VISIBLE_DEVICES",
            "GPU_DEVICE_ORDINAL",
            "ONEAPI_DEVICE_SELECTOR",
        ]
    }

    /// An empty folder of drivers, in the spelling of both loaders.
    fn hide(&self, empty: &Path) -> Option<Vec<(String, String)>> {
        let empty = empty.to_string_lossy().into_owned();
        Some(vec![("OCL_ICD_VENDORS".into(), empty.clone()), ("OPENCL_VENDOR_PATH".into(), empty)])
    }

    fn inner_probe(&self) -> Option<InnerProbe> {
        Some(InnerProbe { id: "opencl.layer", variable: "OPENCL_LAYERS", stem: "runproof_probe_opencl" })
    }
}
