//! NVML: the second source of the inventory, and the eyes of the outer witness. Read-only calls.

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use std::sync::OnceLock;

/// What NVML says of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// `GPU-…`.
    pub uuid: String,
    /// Product name.
    pub name: String,
    /// PCI address as NVML spells it.
    pub bus: String,
    /// Bytes.
    pub memory: u64,
    /// It is cut into instances.
    pub mig: bool,
}

/// Everything that NVML says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Version of the driver.
    pub driver: String,
    /// Devices in its order.
    pub devices: Vec<Listed>,
}

/// The library, opened once: it stays for the life of this process.
///
/// # Errors
/// Why it is not usable.
pub fn library() -> Result<&'static Nvml, String> {
    static LIBRARY: OnceLock<Result<Nvml, String>> = OnceLock::new();
    let opened = LIBRARY.get_or_init(|| Nvml::init().map_err(|error| format!("NVML is not usable: {error}")));
    opened.as_ref().map_err(Clone::clone)
}

/// Asks for every device.
///
/// # Errors
/// What NVML said instead.
pub fn list() -> Result<Listing, String> {
    let nvml = library()?;
    let listing = || -> Result<Listing, NvmlError> {
        let devices = (0..nvml.device_count()?)
            .map(|index| {
                let device = nvml.device_by_index(index)?;
                Ok(Listed {
                    uuid: device.uuid()?,
                    name: device.name()?,
                    bus: device.pci_info()?.bus_id,
                    memory: device.memory_info()?.total,
                    // Devices without the feature do not support the question.
                    mig: device.mig_mode().is_ok_and(|mode| mode.current != 0),
                })
            })
            .collect::<Result<_, NvmlError>>()?;
        Ok(Listing { driver: nvml.sys_driver_version()?, devices })
    };
    listing().map_err(|error| format!("NVML answered: {error}"))
}
