//! The kind `ane`: the Neural Engine of Apple's chips, found and observed through Core ML on macOS.
//!
//! It has been type-checked and has not run on a Mac yet. What an observer's lines mean is decided in
//! [`crate::placement::ane`], on every system.

mod tree;

#[cfg(target_os = "macos")]
mod watch;

use super::observer::Speaker;
use super::{DeviceKind, Inventory};
use std::path::Path;

/// The Neural Engine of this machine.
pub struct Ane;

impl DeviceKind for Ane {
    fn name(&self) -> &'static str {
        "ane"
    }

    #[cfg(target_os = "macos")]
    fn inventory(&self) -> Inventory {
        watch::inventory()
    }

    #[cfg(not(target_os = "macos"))]
    fn inventory(&self) -> Inventory {
        let detail = "the Neural Engine is reached through Core ML, and this host is not macOS".to_owned();
        Inventory::Absent { why: super::Absence::NoDevice, detail }
    }

    fn witness(&self) -> Option<&'static str> {
        Some("ane.observer")
    }

    /// A compiled model: the form in which programs load one.
    fn artifact(&self) -> Option<&'static str> {
        Some(".mlmodelc")
    }

    #[cfg(target_os = "macos")]
    fn observe(&self, model: &Path, speaker: &mut Speaker) -> Result<(), String> {
        watch::observe(model, speaker)
    }

    #[cfg(not(target_os = "macos"))]
    fn observe(&self, _model: &Path, _speaker: &mut Speaker) -> Result<(), String> {
        Err("Core ML is on macOS only".to_owned())
    }
}
