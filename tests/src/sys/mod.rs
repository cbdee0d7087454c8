//! Everything unsafe that the programs need from outside: OpenCL, CUDA, and ways to end badly.

pub mod cuda;
pub mod opencl;

use std::ffi::{CStr, c_char, c_void};

/// Any OpenCL object.
pub type Handle = *mut c_void;
/// `clGet…Info`.
pub type Info = unsafe extern "C" fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
type Notify = Option<unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>;
type Built = Option<unsafe extern "C" fn(Handle, *mut c_void)>;

macro_rules! api {
    ($($field:ident = $symbol:literal : fn($($argument:ty),*) -> $result:ty;)+) => {
        /// Entry points of the OpenCL loader, opened at run time.
        #[allow(missing_docs, reason = "each field is the OpenCL function of that name")]
        pub struct Api { $(pub $field: unsafe extern "C" fn($($argument),*) -> $result,)+ }

        impl Api {
            /// Opens `libOpenCL.so.1`; it stays open until the program ends.
            ///
            /// # Errors
            /// The loader or one of its symbols is missing.
            pub fn load() -> Result<Self, String> {
                // SAFETY: a plain library name; the loader's initialisers are those of any OpenCL program.
                let library = unsafe { libc::dlopen(c"libOpenCL.so.1".as_ptr(), libc::RTLD_NOW) };
                if library.is_null() {
                    return Err("no libOpenCL.so.1".to_owned());
                }
                $(
                    let address = symbol(library, $symbol)?;
                    // SAFETY: the symbol is the OpenCL function of this name, whose type is written above.
                    let $field = unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $result>(address)
                    };
                )+
                Ok(Self { $($field),+ })
            }
        }
    };
}

api! {
    get_platform_ids = c"clGetPlatformIDs": fn(u32, *mut Handle, *mut u32) -> i32;
    get_platform_info = c"clGetPlatformInfo": fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    get_device_ids = c"clGetDeviceIDs": fn(Handle, u64, u32, *mut Handle, *mut u32) -> i32;
    get_device_info = c"clGetDeviceInfo": fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    create_context = c"clCreateContext": fn(*const isize, u32, *const Handle, Notify, *mut c_void, *mut i32) -> Handle;
    create_command_queue = c"clCreateCommandQueue": fn(Handle, Handle, u64, *mut i32) -> Handle;
    create_buffer = c"clCreateBuffer": fn(Handle, u64, usize, *mut c_void, *mut i32) -> Handle;
    create_program = c"clCreateProgramWithSource":
        fn(Handle, u32, *const *const c_char, *const usize, *mut i32) -> Handle;
    build_program = c"clBuildProgram": fn(Handle, u32, *const Handle, *const c_char, Built, *mut c_void) -> i32;
    create_kernel = c"clCreateKernel": fn(Handle, *const c_char, *mut i32) -> Handle;
    set_kernel_arg = c"clSetKernelArg": fn(Handle, u32, usize, *const c_void) -> i32;
    enqueue_kernel = c"clEnqueueNDRangeKernel":
        fn(Handle, Handle, u32, *const usize, *const usize, *const usize, u32, *const Handle, *mut Handle) -> i32;
    enqueue_read = c"clEnqueueReadBuffer":
        fn(Handle, Handle, u32, usize, usize, *mut c_void, u32, *const Handle, *mut Handle) -> i32;
    finish = c"clFinish": fn(Handle) -> i32;
}

fn symbol(library: *mut c_void, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: an open library and a name that ends with 0.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    if address.is_null() {
        Err(format!("libOpenCL.so.1 has no {}", name.to_string_lossy()))
    } else {
        Ok(address)
    }
}

/// Dies by `signal`.
pub fn die_by(signal: i32) -> ! {
    // SAFETY: restoring the default action and raising a signal touch no memory.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        libc::_exit(99)
    }
}

/// Ends at once, past every exit handler.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(code) }
}

/// Removes a variable from this program's environment. Call it before the first thread is started.
pub fn unset(name: &str) {
    // SAFETY: the programs call this first of all, with one thread alive.
    unsafe { std::env::remove_var(name) };
}

/// Start time in clock ticks since boot, field 22 of `/proc/self/stat`.
pub fn start_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_whitespace().nth(19).and_then(|field| field.parse().ok()).unwrap_or(0)
}
