//! The few OpenCL calls that the programs make, each answer checked.

use crate::sys::{Api, Handle};
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
    platform: Handle,
    device: Handle,
    context: Handle,
    queue: Handle,
}

/// Numbers in device memory.
pub struct Buffer {
    memory: Handle,
    elements: usize,
}

/// An argument of a kernel.
pub enum Argument<'a> {
    /// A buffer.
    Buffer(&'a Buffer),
    /// A number.
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

impl OpenCl {
    /// Opens the device at `index`, counted over all platforms in their order.
    ///
    /// # Errors
    /// The call that failed, or that there are fewer devices.
    pub fn open(index: usize) -> Result<Self, String> {
        let api = Api::load()?;
        let mut devices = Vec::new();
        // SAFETY: `list` passes the length of the memory that `out` points to, or none.
        let platforms = |n, out, count| unsafe { (api.get_platform_ids)(n, out, count) };
        for platform in list(platforms, "clGetPlatformIDs")? {
            // SAFETY: as above, on a platform that was just listed.
            let call =
                |n, out, count| unsafe { (api.get_device_ids)(platform, DEVICE_TYPE_ALL, n, out, count) };
            devices.extend(list(call, "clGetDeviceIDs")?.into_iter().map(|device| (platform, device)));
        }
        let Some(&(platform, device)) = devices.get(index) else {
            return Err(format!("there are {} devices", devices.len()));
        };
        let mut code = 0;
        // SAFETY: one device, no properties, no callback.
        let context =
            unsafe { (api.create_context)(null(), 1, &raw const device, None, null_mut(), &raw mut code) };
        let context = made("clCreateContext", context, code)?;
        // SAFETY: as above.
        let queue = unsafe { (api.create_command_queue)(context, device, 0, &raw mut code) };
        let queue = made("clCreateCommandQueue", queue, code)?;
        Ok(Self { api, platform, device, context, queue })
    }

    /// Name, vendor, driver version and platform name: what a forger has to know.
    pub fn facts(&self) -> [String; 4] {
        let text = |call: crate::sys::Info, object, parameter| {
            let mut bytes = [0_u8; 1024];
            // SAFETY: a live object and memory of the given size.
            unsafe { call(object, parameter, bytes.len(), bytes.as_mut_ptr().cast(), null_mut()) };
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).trim().to_owned()
        };
        let device = |parameter| text(self.api.get_device_info, self.device, parameter);
        let platform = text(self.api.get_platform_info, self.platform, PLATFORM_NAME);
        [device(DEVICE_NAME), device(DEVICE_VENDOR), device(DRIVER_VERSION), platform]
    }

    /// A buffer with these numbers.
    ///
    /// # Errors
    /// The call that failed.
    pub fn buffer(&self, data: &[f32]) -> Result<Buffer, String> {
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

    /// Builds `source` and enqueues one run of `kernel` over `global` work items.
    ///
    /// # Errors
    /// The call that failed.
    pub fn run(
        &self,
        source: &str,
        kernel: &str,
        arguments: &[Argument<'_>],
        global: usize,
    ) -> Result<(), String> {
        let mut code = 0;
        let text = source.as_ptr().cast();
        let length = source.len();
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
        let name = CString::new(kernel).map_err(|_| "a kernel name with a zero".to_owned())?;
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
        // SAFETY: one dimension, no offset, the runtime chooses the group size, no events.
        let code = unsafe {
            let global = &raw const global;
            (self.api.enqueue_kernel)(self.queue, kernel, 1, null(), global, null(), 0, null(), null_mut())
        };
        good("clEnqueueNDRangeKernel", code)
    }

    /// Waits for everything that was enqueued.
    ///
    /// # Errors
    /// The call that failed.
    pub fn finish(&self) -> Result<(), String> {
        // SAFETY: a live queue.
        good("clFinish", unsafe { (self.api.finish)(self.queue) })
    }

    /// The numbers in `buffer`, once everything before is done.
    ///
    /// # Errors
    /// The call that failed.
    pub fn read(&self, buffer: &Buffer) -> Result<Vec<f32>, String> {
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
