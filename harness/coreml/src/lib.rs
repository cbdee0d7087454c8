//! What runproof needs of Core ML and of a Mac's energy counters, and nothing else of them. On other systems the
//! crate is empty but for [`halves`].
//!
//! It has been type-checked for macOS and has not run there yet. What must not enter: what follows from a plan or a
//! reading, which is the harness's placement room.

pub mod halves;

#[cfg(target_os = "macos")]
mod meter;
#[cfg(target_os = "macos")]
mod sys;

#[cfg(target_os = "macos")]
pub use meter::{Meter, Power};
#[cfg(target_os = "macos")]
pub use sys::{Model, compile, engine_cores, plan};

/// What a model is permitted to use. Core ML chooses among these when it runs: a permission pins nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// The CPU alone.
    Cpu,
    /// The CPU and the Neural Engine, not the GPU.
    CpuAndEngine,
}

impl Units {
    /// The word for records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::CpuAndEngine => "cpu-and-ane",
        }
    }
}

/// What Core ML anticipates for one operation of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Operator, `ios17.matmul`.
    pub operator: String,
    /// Unit that it prefers: `ane`, `gpu`, `cpu`; `none` where Core ML says nothing, as of constants.
    pub preferred: &'static str,
    /// Units that could run it.
    pub supported: Vec<&'static str>,
    /// Its part of the model's cost, 0 to 1; 0 where Core ML says nothing.
    pub weight: f64,
}

/// The model that the engine is known to run, as the files of a package: path inside it, bytes. `known-ane.py` makes it.
pub const KNOWN_MODEL: [(&str, &[u8]); 2] = [
    ("Manifest.json", include_bytes!("../known-ane.mlpackage/Manifest.json")),
    (
        "Data/com.apple.CoreML/model.mlmodel",
        include_bytes!("../known-ane.mlpackage/Data/com.apple.CoreML/model.mlmodel"),
    ),
];
