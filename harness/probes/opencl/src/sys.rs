//! The OpenCL interface as far as this probe touches it, written down by hand: types, constants, the
//! positions of entry points in the dispatch table, and the table of the layer below.
//!
//! Positions and values are those of the Khronos headers `CL/cl_icd.h`, `CL/cl_layer.h` and `CL/cl.h`
//! (OpenCL 3.0). The table only grows at its end, so a position is right or beyond `num_entries`.

use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

pub type Handle = *mut c_void;
pub type Code = i32;
pub type Uint = u32;
pub type Bool = u32;

pub const SUCCESS: Code = 0;
pub const INVALID_VALUE: Code = -30;
pub const COMPLETE: Code = 0;

pub const LAYER_API_VERSION: Uint = 0x4240;
pub const LAYER_NAME: Uint = 0x4241;
pub const LAYER_API_VERSION_100: Uint = 100;

pub const PLATFORM_NAME: Uint = 0x0902;
pub const DEVICE_TYPE: Uint = 0x1000;
pub const DEVICE_MAX_COMPUTE_UNITS: Uint = 0x1002;
pub const DEVICE_GLOBAL_MEM_SIZE: Uint = 0x101F;
pub const DEVICE_NAME: Uint = 0x102B;
pub const DEVICE_VENDOR: Uint = 0x102C;
pub const DRIVER_VERSION: Uint = 0x102D;
pub const DEVICE_PLATFORM: Uint = 0x1031;
/// `cl_khr_device_uuid`.
pub const DEVICE_UUID: Uint = 0x106A;
/// `cl_khr_pci_bus_info`.
pub const DEVICE_PCI_BUS_INFO: Uint = 0x410F;

pub const TYPE_CPU: u64 = 1 << 1;
pub const TYPE_GPU: u64 = 1 << 2;

pub const CONTEXT_DEVICES: Uint = 0x1081;
pub const QUEUE_DEVICE: Uint = 0x1091;
pub const QUEUE_PROPERTIES: Uint = 0x1093;
pub const QUEUE_PROFILING_ENABLE: u64 = 1 << 1;
pub const KERNEL_FUNCTION_NAME: Uint = 0x1190;
pub const MEM_SIZE: Uint = 0x1102;
pub const EVENT_REFERENCE_COUNT: Uint = 0x11D2;
pub const EVENT_COMMAND_EXECUTION_STATUS: Uint = 0x11D3;
pub const PROFILING_COMMAND_QUEUED: Uint = 0x1280;
pub const PROFILING_COMMAND_START: Uint = 0x1282;
pub const PROFILING_COMMAND_END: Uint = 0x1283;

/// Positions in the dispatch table.
pub mod at {
    pub const GET_PLATFORM_INFO: usize = 1;
    pub const GET_DEVICE_INFO: usize = 3;
    pub const CREATE_CONTEXT: usize = 4;
    pub const CREATE_CONTEXT_FROM_TYPE: usize = 5;
    pub const GET_CONTEXT_INFO: usize = 8;
    pub const CREATE_COMMAND_QUEUE: usize = 9;
    pub const GET_COMMAND_QUEUE_INFO: usize = 12;
    pub const GET_MEM_OBJECT_INFO: usize = 20;
    pub const GET_KERNEL_INFO: usize = 39;
    pub const WAIT_FOR_EVENTS: usize = 41;
    pub const GET_EVENT_INFO: usize = 42;
    pub const RETAIN_EVENT: usize = 43;
    pub const RELEASE_EVENT: usize = 44;
    pub const GET_EVENT_PROFILING_INFO: usize = 45;
    pub const FINISH: usize = 47;
    pub const ENQUEUE_READ_BUFFER: usize = 48;
    pub const ENQUEUE_WRITE_BUFFER: usize = 49;
    pub const ENQUEUE_COPY_BUFFER: usize = 50;
    pub const ENQUEUE_MAP_BUFFER: usize = 56;
    pub const ENQUEUE_UNMAP_MEM_OBJECT: usize = 58;
    pub const ENQUEUE_ND_RANGE_KERNEL: usize = 59;
    pub const ENQUEUE_TASK: usize = 60;
    pub const ENQUEUE_MARKER: usize = 62;
    pub const GET_EXTENSION_FUNCTION_ADDRESS: usize = 65;
    pub const SET_EVENT_CALLBACK: usize = 81;
    pub const ENQUEUE_READ_BUFFER_RECT: usize = 86;
    pub const ENQUEUE_WRITE_BUFFER_RECT: usize = 87;
    pub const ENQUEUE_COPY_BUFFER_RECT: usize = 88;
    pub const ENQUEUE_FILL_BUFFER: usize = 102;
    pub const GET_EXTENSION_FUNCTION_ADDRESS_FOR_PLATFORM: usize = 107;
    pub const CREATE_COMMAND_QUEUE_WITH_PROPERTIES: usize = 123;
    pub const ENQUEUE_SVM_MEMCPY: usize = 129;
}

pub type Info = unsafe extern "C" fn(Handle, Uint, usize, *mut c_void, *mut usize) -> Code;
pub type One = unsafe extern "C" fn(Handle) -> Code;
pub type WaitForEvents = unsafe extern "C" fn(Uint, *const Handle) -> Code;
pub type Notify = unsafe extern "C" fn(Handle, Code, *mut c_void);
pub type SetEventCallback = unsafe extern "C" fn(Handle, Code, Notify, *mut c_void) -> Code;
pub type ContextNotify = unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void);
pub type CreateContext = unsafe extern "C" fn(
    *const isize,
    Uint,
    *const Handle,
    Option<ContextNotify>,
    *mut c_void,
    *mut Code,
) -> Handle;
pub type CreateContextFromType =
    unsafe extern "C" fn(*const isize, u64, Option<ContextNotify>, *mut c_void, *mut Code) -> Handle;
pub type CreateQueue = unsafe extern "C" fn(Handle, Handle, u64, *mut Code) -> Handle;
pub type CreateQueueWithProperties = unsafe extern "C" fn(Handle, Handle, *const u64, *mut Code) -> Handle;
pub type FunctionAddress = unsafe extern "C" fn(*const c_char) -> *mut c_void;
pub type FunctionAddressForPlatform = unsafe extern "C" fn(Handle, *const c_char) -> *mut c_void;
pub type EnqueueMarker = unsafe extern "C" fn(Handle, *mut Handle) -> Code;
pub type EnqueueNdRange = unsafe extern "C" fn(
    Handle,
    Handle,
    Uint,
    *const usize,
    *const usize,
    *const usize,
    Uint,
    *const Handle,
    *mut Handle,
) -> Code;
pub type EnqueueTask = unsafe extern "C" fn(Handle, Handle, Uint, *const Handle, *mut Handle) -> Code;
pub type EnqueueRead = unsafe extern "C" fn(
    Handle,
    Handle,
    Bool,
    usize,
    usize,
    *mut c_void,
    Uint,
    *const Handle,
    *mut Handle,
) -> Code;
pub type EnqueueCopy = unsafe extern "C" fn(
    Handle,
    Handle,
    Handle,
    usize,
    usize,
    usize,
    Uint,
    *const Handle,
    *mut Handle,
) -> Code;
pub type EnqueueFill = unsafe extern "C" fn(
    Handle,
    Handle,
    *const c_void,
    usize,
    usize,
    usize,
    Uint,
    *const Handle,
    *mut Handle,
) -> Code;
pub type EnqueueMap = unsafe extern "C" fn(
    Handle,
    Handle,
    Bool,
    u64,
    usize,
    usize,
    Uint,
    *const Handle,
    *mut Handle,
    *mut Code,
) -> *mut c_void;
pub type EnqueueUnmap =
    unsafe extern "C" fn(Handle, Handle, *mut c_void, Uint, *const Handle, *mut Handle) -> Code;
pub type EnqueueReadRect = unsafe extern "C" fn(
    Handle,
    Handle,
    Bool,
    *const usize,
    *const usize,
    *const usize,
    usize,
    usize,
    usize,
    usize,
    *mut c_void,
    Uint,
    *const Handle,
    *mut Handle,
) -> Code;
pub type EnqueueCopyRect = unsafe extern "C" fn(
    Handle,
    Handle,
    Handle,
    *const usize,
    *const usize,
    *const usize,
    usize,
    usize,
    usize,
    usize,
    Uint,
    *const Handle,
    *mut Handle,
) -> Code;
pub type EnqueueSvmMemcpy = unsafe extern "C" fn(
    Handle,
    Bool,
    *mut c_void,
    *const c_void,
    usize,
    Uint,
    *const Handle,
    *mut Handle,
) -> Code;

/// The dispatch table of the layer below, copied when the layer was initialised.
static BELOW: OnceLock<Vec<usize>> = OnceLock::new();

/// Copies `entries` pointers from `table`; later calls keep the first table.
///
/// # Safety
/// `table` points to `entries` readable pointers.
pub unsafe fn keep_below(table: *const *const c_void, entries: usize) -> &'static [usize] {
    BELOW.get_or_init(|| {
        // SAFETY: the caller vouches for `entries` readable pointers.
        let table = unsafe { std::slice::from_raw_parts(table, entries) };
        table.iter().map(|entry| entry.addr()).collect()
    })
}

/// The entry point at `position` of the layer below; `None` when the loader has no such entry.
///
/// # Safety
/// `F` is the function pointer type of that position.
pub unsafe fn below<F: Copy>(position: usize) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let entry = *BELOW.get()?.get(position)?;
    if entry == 0 {
        return None;
    }
    // SAFETY: a non-null entry of the dispatch table is a function of the position's type, which the caller
    // names, and function pointers have the size of `usize` (asserted above).
    Some(unsafe { std::mem::transmute_copy(&entry) })
}

/// A fixed-size value of an `…Info` call.
///
/// # Safety
/// `object` is a live handle for the query at `position`; `T` is plain data of the parameter's type.
pub unsafe fn info<T: Copy + Default>(position: usize, object: Handle, parameter: Uint) -> Option<T> {
    let mut value = T::default();
    // SAFETY: the positions used with `info` all have the `Info` type.
    let call: Info = unsafe { below(position) }?;
    // SAFETY: `value` is writable for its size; the object is live (caller).
    let code =
        unsafe { call(object, parameter, size_of::<T>(), (&raw mut value).cast(), std::ptr::null_mut()) };
    (code == SUCCESS).then_some(value)
}

/// A value of any size as bytes.
///
/// # Safety
/// `object` is a live handle for the query at `position`.
pub unsafe fn info_bytes(position: usize, object: Handle, parameter: Uint) -> Option<Vec<u8>> {
    // SAFETY: as in `info`.
    let call: Info = unsafe { below(position) }?;
    let mut size = 0_usize;
    // SAFETY: a size query writes only to `size`.
    let code = unsafe { call(object, parameter, 0, std::ptr::null_mut(), &raw mut size) };
    if code != SUCCESS {
        return None;
    }
    let mut bytes = vec![0_u8; size];
    // SAFETY: `bytes` is writable for `size` bytes.
    let code = unsafe { call(object, parameter, size, bytes.as_mut_ptr().cast(), std::ptr::null_mut()) };
    (code == SUCCESS).then_some(bytes)
}

/// A text without its terminating zero; empty when the query fails.
///
/// # Safety
/// As for [`info_bytes`].
pub unsafe fn info_text(position: usize, object: Handle, parameter: Uint) -> String {
    // SAFETY: passed on.
    let bytes = unsafe { info_bytes(position, object, parameter) }.unwrap_or_default();
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).trim().to_owned()
}
