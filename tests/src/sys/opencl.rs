//! The few OpenCL calls that the programs make, each answer checked.

use crate::device::{Device, Job, Kernel};
use crate::sys::{Api, Handle};
use runproof_records::wire;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

const DEVICE_TYPE_ALL: u64 = 0xFFFF_FFFF;
const DEVICE_NAME: u32 = 0x102B;
const DEVICE_VENDOR: u32 = 0x102C;
const DRIVER_VERSION: u32 = 0x102D;
const PLATFORM_NAME: u32 = 0x0902;
const MEM_READ_WRITE_COPY: u64 = (1 << 0) | (1 << 5);

/// A device with a context and a queue.
pub struct OpenCl {
    api: Api,
    device: Handle,
    context: Handle,
    queue: Handle,
}

/// Numbers in device memory.
struct Buffer {
    memory: Handle,
    elements: usize,
}

/// An argument of a kernel.
enum Argument<'a> {
    Buffer(&'a Buffer),
    U32(u32),
}

fn good(call: &str, code: i32) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("{call} answered {code}")) }
}

fn made(call: &str, handle: Handle, code: i32) -> Result<Handle, String> {
    good(call, code)?;
    if handle.is_null() { Err(format!("{call} answered nothing")) } else { Ok(handle) }
}

/// Lists platforms or devices: asks for the number, then for the handles.
fn list(call: impl Fn(u32, *mut Handle, *mut u32) -> i32, name: &str) -> Result<Vec<Handle>, String> {
    let mut n = 0;
    match call(0, null_mut(), &raw mut n) {
        // CL_DEVICE_NOT_FOUND
        -1 => return Ok(Vec::new()),
        code => good(name, code)?,
    }
    let mut handles = vec![null_mut(); n as usize];
    good(name, call(n, handles.as_mut_ptr(), null_mut()))?;
    Ok(handles)
}

/// The loader, and the device at `index` with its platform, counted over all platforms in their order.
fn find(index: usize) -> Result<(Api, Handle, Handle), String> {
    let api = Api::load()?;
    let mut devices = Vec::new();
    // SAFETY: `list` passes the length of the memory that `out` points to, or none.
    let platforms = |n, out, count| unsafe { (api.get_platform_ids)(n, out, count) };
    for platform in list(platforms, "clGetPlatformIDs")? {
        // SAFETY: as above, on a platform that was just listed.
        let call = |n, out, count| unsafe { (api.get_device_ids)(platform, DEVICE_TYPE_ALL, n, out, count) };
        devices.extend(list(call, "clGetDeviceIDs")?.into_iter().map(|device| (platform, device)));
    }
    match devices.get(index) {
        Some(&(platform, device)) => Ok((api, platform, device)),
        None => Err(format!("no device {index}: there are {}", devices.len())),
    }
}

/// What a forger has to know of the device at `index`. Makes no context.
///
/// # Errors
/// The call that failed.
pub fn facts(index: usize) -> Result<wire::Device, String> {
    let (api, platform, device) = find(index)?;
    let text = |call: crate::sys::Info, object, parameter| {
        let mut bytes = [0_u8; 1024];
        // SAFETY: a live object and memory of the given size.
        unsafe { call(object, parameter, bytes.len(), bytes.as_mut_ptr().cast(), null_mut()) };
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).trim().to_owned()
    };
    Ok(wire::Device {
        facts: std::collections::BTreeMap::new(),
        dev: 0,
        uuid: None,
        name: text(api.get_device_info, device, DEVICE_NAME),
        vendor: text(api.get_device_info, device, DEVICE_VENDOR),
        class: wire::DeviceClass::Cpu,
        capability: None,
        units: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
        memory: 1 << 32,
        pci: None,
        platform: Some(text(api.get_platform_info, platform, PLATFORM_NAME)),
        driver: text(api.get_device_info, device, DRIVER_VERSION),
        visible: true,
        mig: None,
    })
}

impl OpenCl {
    /// Opens the device at `index`, counted over all platforms in their order.
    ///
    /// # Errors
    /// The call that failed, or that there are fewer devices.
    pub fn open(index: usize) -> Result<Self, String> {
        let (api, _, device) = find(index)?;
        let mut code = 0;
        // SAFETY: one device, no properties, no callback.
        let context =
            unsafe { (api.create_context)(null(), 1, &raw const device, None, null_mut(), &raw mut code) };
        let context = made("clCreateContext", context, code)?;
        // SAFETY: as above.
        let queue = unsafe { (api.create_command_queue)(context, device, 0, &raw mut code) };
        let queue = made("clCreateCommandQueue", queue, code)?;
        Ok(Self { api, device, context, queue })
    }

    fn buffer(&self, data: &[f32]) -> Result<Buffer, String> {
        let mut code = 0;
        // SAFETY: the memory is copied during the call, `size_of_val` bytes of it.
        let memory = unsafe {
            let host = data.as_ptr().cast::<c_void>().cast_mut();
            (self.api.create_buffer)(
                self.context,
                MEM_READ_WRITE_COPY,
                size_of_val(data),
                host,
                &raw mut code,
            )
        };
        Ok(Buffer { memory: made("clCreateBuffer", memory, code)?, elements: data.len() })
    }

    /// Builds a kernel and enqueues it `repeat` times over `global` work items.
    fn launch(
        &self,
        kernel: &Kernel,
        arguments: &[Argument<'_>],
        global: usize,
        repeat: u32,
    ) -> Result<(), String> {
        let mut code = 0;
        let text = kernel.opencl.as_ptr().cast();
        let length = kernel.opencl.len();
        // SAFETY: one string with its length.
        let program = unsafe {
            (self.api.create_program)(self.context, 1, &raw const text, &raw const length, &raw mut code)
        };
        let program = made("clCreateProgramWithSource", program, code)?;
        // SAFETY: one device, options that end with 0, no callback.
        let built = unsafe {
            (self.api.build_program)(program, 1, &raw const self.device, c"".as_ptr(), None, null_mut())
        };
        good("clBuildProgram", built)?;
        let name = CString::new(kernel.name).map_err(|_| "a kernel name with a zero".to_owned())?;
        // SAFETY: a built program and a name that ends with 0.
        let kernel = unsafe { (self.api.create_kernel)(program, name.as_ptr(), &raw mut code) };
        let kernel = made("clCreateKernel", kernel, code)?;
        for (position, argument) in (0..).zip(arguments) {
            let (size, value) = match argument {
                Argument::Buffer(buffer) => {
                    (size_of::<Handle>(), (&raw const buffer.memory).cast::<c_void>())
                }
                Argument::U32(number) => (size_of::<u32>(), std::ptr::from_ref(number).cast()),
            };
            // SAFETY: the value is copied during the call, `size` bytes of it.
            good("clSetKernelArg", unsafe { (self.api.set_kernel_arg)(kernel, position, size, value) })?;
        }
        for _ in 0..repeat {
            let global = &raw const global;
            // SAFETY: one dimension, no offset, the runtime chooses the group size, no events.
            good("clEnqueueNDRangeKernel", unsafe {
                let enqueue = self.api.enqueue_kernel;
                enqueue(self.queue, kernel, 1, null(), global, null(), 0, null(), null_mut())
            })?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), String> {
        // SAFETY: a live queue.
        good("clFinish", unsafe { (self.api.finish)(self.queue) })
    }

    /// The numbers in `buffer`, once everything before is done.
    fn read(&self, buffer: &Buffer) -> Result<Vec<f32>, String> {
        let mut data = vec![f32::NAN; buffer.elements];
        // SAFETY: blocking, into memory of exactly this size.
        let code = unsafe {
            let host = data.as_mut_ptr().cast();
            let size = size_of_val(data.as_slice());
            (self.api.enqueue_read)(self.queue, buffer.memory, 1, 0, size, host, 0, null(), null_mut())
        };
        good("clEnqueueReadBuffer", code)?;
        Ok(data)
    }
}

impl Device for OpenCl {
    fn compute(&self, job: &Job<'_>) -> Result<Vec<f32>, String> {
        let inputs: Vec<_> = job.inputs.iter().map(|input| self.buffer(input)).collect::<Result<_, _>>()?;
        let output = self.buffer(&job.output)?;
        let mut arguments: Vec<_> = inputs.iter().map(Argument::Buffer).collect();
        arguments.extend([Argument::Buffer(&output), Argument::U32(job.base)]);
        self.launch(&job.kernel, &arguments, job.elements, job.repeat)?;
        self.read(&output)
    }

    fn run(&self, kernel: &Kernel) -> Result<(), String> {
        self.launch(kernel, &[], 1, 1)?;
        self.finish()
    }

    fn round_trip(&self, numbers: &[f32]) -> Result<Vec<f32>, String> {
        self.read(&self.buffer(numbers)?)
    }
}
