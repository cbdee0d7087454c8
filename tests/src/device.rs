//! What the programs ask of a device, whatever its interface is.

use crate::arguments::Place;
use crate::sys::cuda::{self, Cuda};
use crate::sys::opencl::{self, OpenCl};
use runproof_records::wire;

/// A kernel in the languages of both interfaces.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its name, the same in both. Its arguments are the inputs, the output, and the position where the output
    /// begins.
    pub name: &'static str,
    /// OpenCL C: one work item for each element of the output.
    pub opencl: &'static str,
    /// CUDA C++ without headers, compiled at run time.
    pub cuda: &'static str,
    /// Blocks of the CUDA grid, and threads of each.
    pub grid: (u32, u32),
}

impl Kernel {
    /// What CUDA needs of it.
    pub fn on_cuda(&self) -> cuda::Source {
        cuda::Source { name: self.name, text: self.cuda, grid: self.grid }
    }
}

/// One computation.
pub struct Job<'a> {
    /// What computes.
    pub kernel: Kernel,
    /// How often it does.
    pub repeat: u32,
    /// Inputs.
    pub inputs: &'a [Vec<f32>],
    /// The output as it is before.
    pub output: Vec<f32>,
    /// Where the kernel begins to write in it.
    pub base: u32,
    /// How many elements it writes.
    pub elements: usize,
}

/// An open device: it has a context.
pub trait Device {
    /// Copies the inputs to the device, runs the kernel, copies the output back.
    ///
    /// # Errors
    /// The call that failed.
    fn compute(&self, job: &Job<'_>) -> Result<Vec<f32>, String>;

    /// Runs a kernel without arguments in one work item, and waits for it.
    ///
    /// # Errors
    /// The call that failed.
    fn run(&self, kernel: &Kernel) -> Result<(), String>;

    /// Copies numbers to the device and back, without any kernel.
    ///
    /// # Errors
    /// The call that failed.
    fn round_trip(&self, numbers: &[f32]) -> Result<Vec<f32>, String>;
}

const HOST: &str = "the host is no device: give --device opencl or --device cuda";

/// What a forger has to know of the device at a place. Lists devices, and makes no context.
///
/// # Errors
/// What its interface refused; the host is no device.
pub fn facts(place: Place) -> Result<wire::Device, String> {
    match place {
        Place::Host => Err(HOST.to_owned()),
        Place::OpenCl(index) => opencl::facts(index),
        Place::Cuda(index) => cuda::facts(index),
    }
}

/// Opens the device at a place.
///
/// # Errors
/// What its interface refused; the host is no device.
pub fn open(place: Place) -> Result<Box<dyn Device>, String> {
    match place {
        Place::Host => Err(HOST.to_owned()),
        Place::OpenCl(index) => Ok(Box::new(OpenCl::open(index)?)),
        Place::Cuda(index) => Ok(Box::new(Cuda::open(index)?)),
    }
}
