//! The few CUDA calls that the programs make, each answer checked. The driver and NVRTC are opened at run time.
//!
//! Memory comes from the plain allocator, not from a pool: peer access does not reach into pools.

use crate::device::{Device, Job, Kernel};
use cudarc::driver::result::{self, DriverError, ctx, device, module, primary_ctx};
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUdevice_attribute as Attribute, CUdeviceptr};
use cudarc::nvrtc::{self, CompileError, CompileOptions};
use runproof_records::wire;
use std::ffi::{CString, c_void};
use std::ptr::{from_mut, null_mut};

/// A device with its primary context, which stays retained until the program ends.
pub struct Cuda {
    device: CUdevice,
    context: CUcontext,
    architecture: String,
}

/// Numbers in the memory of one device.
pub struct Memory {
    pointer: CUdeviceptr,
    elements: usize,
}

/// A kernel and how it is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Its name: it is `extern "C"`.
    pub name: &'static str,
    /// CUDA C++ without headers.
    pub text: &'static str,
    /// Blocks, and threads of each.
    pub grid: (u32, u32),
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// A place in device memory.
    Pointer(CUdeviceptr),
    /// A number.
    Number(u32),
}

impl Memory {
    /// The place of an element, as an argument.
    pub fn at(&self, element: usize) -> Argument {
        Argument::Pointer(self.pointer + (element * size_of::<f32>()) as CUdeviceptr)
    }
}

trait Good<T> {
    fn good(self, call: &str) -> Result<T, String>;
}

impl<T> Good<T> for Result<T, DriverError> {
    fn good(self, call: &str) -> Result<T, String> {
        self.map_err(|error| format!("{call}: {error}"))
    }
}

/// Starts the driver.
///
/// # Errors
/// There is no driver, or it refuses.
fn init() -> Result<(), String> {
    // SAFETY: opens the driver's library by its name, which any CUDA program does.
    if !unsafe { sys::is_culib_present() } {
        return Err("no CUDA driver (libcuda) on this machine".to_owned());
    }
    result::init().good("cuInit")
}

/// The device at `index` among those that are visible.
fn at(index: usize) -> Result<CUdevice, String> {
    init()?;
    let count = device::get_count().good("cuDeviceGetCount")?;
    match i32::try_from(index) {
        Ok(index) if index < count => device::get(index).good("cuDeviceGet"),
        _ => Err(format!("no device {index}: there are {count}")),
    }
}

fn attribute(device: CUdevice, attribute: Attribute) -> Result<i32, String> {
    // SAFETY: the device was listed by the driver.
    unsafe { device::get_attribute(device, attribute) }.good("cuDeviceGetAttribute")
}

fn capability(device: CUdevice) -> Result<(i32, i32), String> {
    Ok((
        attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    ))
}

/// What a forger has to know of the device at `index`. Makes no context.
///
/// # Errors
/// The call that failed.
pub fn facts(index: usize) -> Result<wire::Device, String> {
    let device = at(index)?;
    let (major, minor) = capability(device)?;
    let uuid = device::get_uuid(device).good("cuDeviceGetUuid")?.bytes;
    let hex: String = uuid.iter().map(|byte| format!("{:02x}", byte.cast_unsigned())).collect();
    let mut driver = 0;
    // SAFETY: writes one number.
    unsafe { sys::cuDriverGetVersion(&raw mut driver) }.result().good("cuDriverGetVersion")?;
    // SAFETY: the device was listed by the driver.
    let memory = unsafe { device::total_mem(device) }.good("cuDeviceTotalMem")?;
    Ok(wire::Device {
        facts: std::collections::BTreeMap::new(),
        dev: u32::try_from(index).unwrap_or(0),
        uuid: Some(format!(
            "GPU-{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        )),
        name: device::get_name(device).good("cuDeviceGetName")?,
        vendor: "NVIDIA".to_owned(),
        class: wire::DeviceClass::Gpu,
        capability: Some(format!("sm_{major}{minor}")),
        units: u64::try_from(attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?)
            .unwrap_or(0),
        memory: memory as u64,
        pci: None,
        platform: None,
        driver: driver.to_string(),
        visible: true,
        mig: None,
    })
}

impl Cuda {
    /// Opens the device at `index` among those that are visible, and makes its primary context current.
    ///
    /// # Errors
    /// The call that failed, or that there are fewer devices.
    pub fn open(index: usize) -> Result<Self, String> {
        let device = at(index)?;
        let (major, minor) = capability(device)?;
        // SAFETY: the device was listed by the driver; the context is never released.
        let context = unsafe { primary_ctx::retain(device) }.good("cuDevicePrimaryCtxRetain")?;
        let cuda = Self { device, context, architecture: format!("compute_{major}{minor}") };
        cuda.enter()?;
        Ok(cuda)
    }

    /// Makes this device's context the current one: every call below does it first.
    fn enter(&self) -> Result<(), String> {
        // SAFETY: the context is retained as long as the program lives.
        unsafe { ctx::set_current(self.context) }.good("cuCtxSetCurrent")
    }

    /// Copies numbers to new memory of this device. It is freed when the program ends.
    ///
    /// # Errors
    /// The call that failed.
    pub fn upload(&self, numbers: &[f32]) -> Result<Memory, String> {
        self.enter()?;
        // SAFETY: a context is current.
        let pointer = unsafe { result::malloc_sync(size_of_val(numbers)) }.good("cuMemAlloc")?;
        // SAFETY: the memory was just made with this size; the call ends when the copy has.
        unsafe { result::memcpy_htod_sync(pointer, numbers) }.good("cuMemcpyHtoD")?;
        Ok(Memory { pointer, elements: numbers.len() })
    }

    /// The numbers in `memory`, once everything before is done.
    ///
    /// # Errors
    /// The call that failed.
    pub fn download(&self, memory: &Memory) -> Result<Vec<f32>, String> {
        self.enter()?;
        let mut numbers = vec![f32::NAN; memory.elements];
        // SAFETY: both sides have this many elements; the call ends when the copy has.
        unsafe { result::memcpy_dtoh_sync(&mut numbers, memory.pointer) }.good("cuMemcpyDtoH")?;
        Ok(numbers)
    }

    /// Compiles a kernel and launches it `repeat` times.
    ///
    /// # Errors
    /// What the compiler said, or the call that failed.
    pub fn launch(&self, source: &Source, arguments: &[Argument], repeat: u32) -> Result<(), String> {
        self.enter()?;
        let ptx = self.compile(source)?;
        let name = CString::new(source.name).map_err(|_| "a kernel name with a zero".to_owned())?;
        // SAFETY: PTX as the compiler wrote it, which ends with 0.
        let module = unsafe { module::load_data(ptx.as_ptr().cast()) }.good("cuModuleLoadData")?;
        // SAFETY: a loaded module, which is never unloaded.
        let function = unsafe { module::get_function(module, name) }.good("cuModuleGetFunction")?;
        let mut arguments = arguments.to_vec();
        let mut places: Vec<*mut c_void> = arguments
            .iter_mut()
            .map(|argument| match argument {
                Argument::Pointer(pointer) => from_mut(pointer).cast(),
                Argument::Number(number) => from_mut(number).cast(),
            })
            .collect();
        let (blocks, threads) = source.grid;
        for _ in 0..repeat {
            let grid = ((blocks, 1, 1), (threads, 1, 1));
            // SAFETY: the places point to the arguments, which live longer than this call, and their number and
            // types are those of the kernel; it writes only where its source says.
            unsafe { result::launch_kernel(function, grid.0, grid.1, 0, null_mut(), &mut places) }
                .good("cuLaunchKernel")?;
        }
        Ok(())
    }

    fn compile(&self, source: &Source) -> Result<Vec<u8>, String> {
        // SAFETY: opens the compiler's library by its name.
        if !unsafe { nvrtc::sys::is_culib_present() } {
            return Err("no NVRTC (libnvrtc) on this machine".to_owned());
        }
        let options = vec![format!("--gpu-architecture={}", self.architecture)];
        let options = CompileOptions { options, ..CompileOptions::default() };
        let ptx = nvrtc::compile_ptx_with_opts(source.text, options).map_err(|error| match error {
            CompileError::CompileError { log, .. } => {
                format!("`{}` does not compile: {}", source.name, log.to_string_lossy())
            }
            other => format!("`{}` does not compile: {other:?}", source.name),
        })?;
        ptx.as_bytes().map(<[u8]>::to_vec).ok_or_else(|| "the compiler left no PTX".to_owned())
    }

    /// Waits for everything that was launched.
    ///
    /// # Errors
    /// The call that failed, or the fault of a kernel before.
    pub fn finish(&self) -> Result<(), String> {
        self.enter()?;
        ctx::synchronize().good("cuCtxSynchronize")
    }

    /// Lets this device reach the memory of another one directly.
    ///
    /// # Errors
    /// The two do not reach each other, or the call that failed.
    pub fn reach(&self, other: &Self) -> Result<(), String> {
        let mut can = 0;
        // SAFETY: both devices were listed by the driver.
        unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, self.device, other.device) }
            .result()
            .good("cuDeviceCanAccessPeer")?;
        if can == 0 {
            return Err("the two devices have no peer access".to_owned());
        }
        self.enter()?;
        // SAFETY: both contexts are retained; the flags must be 0.
        unsafe { sys::cuCtxEnablePeerAccess(other.context, 0) }.result().good("cuCtxEnablePeerAccess")
    }

    /// Copies all of `from`, which is this device's, to `to`, which is `other`'s, and waits.
    ///
    /// # Errors
    /// The sizes differ, or the call that failed.
    pub fn copy_to(&self, from: &Memory, other: &Self, to: &Memory) -> Result<(), String> {
        if from.elements != to.elements {
            return Err(format!("{} elements do not fit {}", from.elements, to.elements));
        }
        // A copy from the host may still be on its way when its call returns, and the two devices' streams do not
        // wait for each other.
        other.finish()?;
        self.enter()?;
        let bytes = from.elements * size_of::<f32>();
        // SAFETY: each memory belongs to the context beside it and has this size; both are waited for below,
        // before either is used again.
        unsafe {
            result::memcpy_peer_async(
                other.context,
                to.pointer,
                self.context,
                from.pointer,
                bytes,
                null_mut(),
            )
        }
        .good("cuMemcpyPeerAsync")?;
        self.finish()?;
        other.finish()
    }
}

impl Device for Cuda {
    fn compute(&self, job: &Job<'_>) -> Result<Vec<f32>, String> {
        let inputs: Vec<_> = job.inputs.iter().map(|input| self.upload(input)).collect::<Result<_, _>>()?;
        let output = self.upload(&job.output)?;
        let mut arguments: Vec<_> = inputs.iter().map(|input| input.at(0)).collect();
        arguments.extend([output.at(0), Argument::Number(job.base)]);
        self.launch(&job.kernel.on_cuda(), &arguments, job.repeat)?;
        self.finish()?;
        self.download(&output)
    }

    fn run(&self, kernel: &Kernel) -> Result<(), String> {
        self.launch(&kernel.on_cuda(), &[], 1)?;
        self.finish()
    }

    fn round_trip(&self, numbers: &[f32]) -> Result<Vec<f32>, String> {
        let memory = self.upload(numbers)?;
        let back = self.download(&memory)?;
        // Filling runs on the multiprocessors too, and is no kernel.
        // SAFETY: the memory has this size and was copied back already.
        unsafe { result::memset_d8_sync(memory.pointer, 0, size_of_val(numbers)) }.good("cuMemsetD8")?;
        self.finish()?;
        Ok(back)
    }
}
