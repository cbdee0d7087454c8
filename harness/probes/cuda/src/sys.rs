//! The C interface of CUPTI, opened at run time: its calls, its memory, its callbacks.
//!
//! Prototypes are those of `cupti_activity.h`, `cupti_callbacks.h` and `cupti_version.h`, unchanged from CUDA 12.0
//! to 13. Everything that another thread or the driver calls ends here and goes on in safe code.

use crate::layout::{self, Record, callback};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Bytes of one buffer that CUPTI fills.
const BUFFER_BYTES: usize = 1 << 20;
/// Alignment that CUPTI asks for.
const BUFFER_ALIGN: usize = 8;
/// Bytes of a text that are kept.
const TEXT_CAP: usize = 4096;

type Code = c_int;
type Subscriber = *mut c_void;
type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
type Request = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type Complete = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
type Version = unsafe extern "C" fn(*mut u32) -> Code;
type Subscribe = unsafe extern "C" fn(*mut Subscriber, Callback, *mut c_void) -> Code;
type EnableCallback = unsafe extern "C" fn(u32, Subscriber, u32, u32) -> Code;
type Register = unsafe extern "C" fn(Request, Complete) -> Code;
type Enable = unsafe extern "C" fn(u32) -> Code;
type Flush = unsafe extern "C" fn(u32) -> Code;
type Next = unsafe extern "C" fn(*mut u8, usize, *mut *mut u8) -> Code;
type Dropped = unsafe extern "C" fn(*mut c_void, u32, *mut usize) -> Code;
type DeviceOf = unsafe extern "C" fn(*mut c_void, *mut u32) -> Code;

/// A library that is open and stays open.
#[derive(Clone, Copy, Debug)]
pub struct Opened(*mut c_void);

/// The library with this name, if the process has it already.
pub fn already_open(name: &str) -> Option<Opened> {
    load(name, libc::RTLD_NOW | libc::RTLD_NOLOAD)
}

/// Opens a library.
pub fn open(path: &str) -> Option<Opened> {
    load(path, libc::RTLD_NOW | libc::RTLD_LOCAL)
}

fn load(path: &str, flags: c_int) -> Option<Opened> {
    let path = CString::new(path).ok()?;
    // SAFETY: a text that ends with 0. CUPTI's initialisers are those that any profiler runs.
    let handle = unsafe { libc::dlopen(path.as_ptr(), flags) };
    (!handle.is_null()).then_some(Opened(handle))
}

/// The driver's CUDA version, 13000 for 13.0; 0 when there is no driver in the process.
pub fn driver_version() -> u32 {
    let Some(driver) = already_open("libcuda.so.1") else { return 0 };
    let mut version: c_int = 0;
    // SAFETY: a name that ends with 0; the symbol is `CUresult cuDriverGetVersion(int *)`, which may be called
    // before initialisation.
    let code = unsafe {
        let symbol = libc::dlsym(driver.0, c"cuDriverGetVersion".as_ptr());
        if symbol.is_null() {
            return 0;
        }
        let get = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> Code>(symbol);
        get(&raw mut version)
    };
    if code == 0 { u32::try_from(version).unwrap_or(0) } else { 0 }
}

/// CUPTI's calls.
pub struct Api {
    version: Version,
    subscribe: Subscribe,
    enable_callback: EnableCallback,
    register: Register,
    enable: Enable,
    flush: Flush,
    next: Next,
    dropped: Dropped,
    device_of: DeviceOf,
}

static API: OnceLock<Api> = OnceLock::new();

/// What to do with what CUPTI says.
pub struct Handlers {
    /// Every record of one buffer, in order: its kind and its prefix.
    pub records: fn(&mut dyn Iterator<Item = (u32, Record<'static>)>),
    /// CUPTI lost this many records.
    pub lost: fn(usize),
    /// The program makes a launch call.
    pub launch: fn(),
    /// A call of the program that waited for the device returns.
    pub waited: fn(),
    /// A context was created on this device.
    pub context: fn(u32),
}

static HANDLERS: OnceLock<Handlers> = OnceLock::new();

/// CUPTI, once [`Api::load`] succeeded.
pub fn api() -> Option<&'static Api> {
    API.get()
}

impl Api {
    /// Takes the calls from a library.
    ///
    /// # Errors
    /// The name of the first one that it has not.
    pub fn load(library: Opened, handlers: Handlers) -> Result<&'static Self, String> {
        let symbol = |name: &'static CStr| {
            // SAFETY: an open library and a name that ends with 0.
            let address = unsafe { libc::dlsym(library.0, name.as_ptr()) };
            if address.is_null() {
                Err(format!("CUPTI has no {}", name.to_string_lossy()))
            } else {
                Ok(address)
            }
        };
        macro_rules! call {
            ($name:literal as $type:ty) => {
                // SAFETY: the symbol is the CUPTI function of that name, whose type is the one it is given.
                unsafe { std::mem::transmute::<*mut c_void, $type>(symbol($name)?) }
            };
        }
        let api = Self {
            version: call!(c"cuptiGetVersion" as Version),
            subscribe: call!(c"cuptiSubscribe" as Subscribe),
            enable_callback: call!(c"cuptiEnableCallback" as EnableCallback),
            register: call!(c"cuptiActivityRegisterCallbacks" as Register),
            enable: call!(c"cuptiActivityEnable" as Enable),
            flush: call!(c"cuptiActivityFlushAll" as Flush),
            next: call!(c"cuptiActivityGetNextRecord" as Next),
            dropped: call!(c"cuptiActivityGetNumDroppedRecords" as Dropped),
            device_of: call!(c"cuptiGetDeviceId" as DeviceOf),
        };
        let _ = HANDLERS.set(handlers);
        Ok(API.get_or_init(|| api))
    }

    /// CUPTI's own number for its version: 18 for CUDA 12.0, 130000 for 13.0.
    ///
    /// # Errors
    /// The code that it returned: newer versions do not answer without a driver.
    pub fn version(&self) -> Result<u32, i32> {
        let mut version = 0;
        // SAFETY: a writable number.
        match unsafe { (self.version)(&raw mut version) } {
            0 => Ok(version),
            code => Err(code),
        }
    }

    /// Becomes the process's CUPTI client and asks for the callbacks. The first code is that of the subscription,
    /// the second that of the launch callback.
    pub fn subscribe(&self) -> (i64, i64) {
        let mut subscriber: Subscriber = null_mut();
        // SAFETY: a writable handle, a callback that lives as long as this library is mapped.
        let code = unsafe { (self.subscribe)(&raw mut subscriber, on_callback, null_mut()) };
        if code != 0 {
            return (code.into(), code.into());
        }
        // SAFETY: the subscriber was just made; CUPTI refuses numbers that it does not know.
        let enable = |domain, id| unsafe { (self.enable_callback)(1, subscriber, domain, id) };
        enable(callback::RESOURCE, callback::CONTEXT_CREATED);
        // Calls that a version of CUPTI does not know are calls that its programs cannot make.
        for id in callback::LAUNCHES.into_iter().skip(1).chain(callback::WAITS) {
            enable(callback::DRIVER, id);
        }
        (0, enable(callback::DRIVER, callback::LAUNCHES[0]).into())
    }

    /// Registers the buffer callbacks.
    pub fn register(&self) -> i64 {
        // SAFETY: both callbacks live as long as this library is mapped.
        unsafe { (self.register)(on_request, on_complete) }.into()
    }

    /// Asks for one kind of record.
    pub fn enable(&self, kind: u32) -> i64 {
        // SAFETY: a number; CUPTI refuses what it does not know.
        unsafe { (self.enable)(kind) }.into()
    }

    /// Has finished records delivered, on this thread; with `unfinished` those of work that still runs too.
    pub fn flush(&self, unfinished: bool) {
        // SAFETY: flag 1 is CUPTI_ACTIVITY_FLAG_FLUSH_FORCED.
        unsafe { (self.flush)(u32::from(unfinished)) };
    }
}

fn guarded(act: impl FnOnce(&'static Handlers)) {
    let Some(handlers) = HANDLERS.get() else { return };
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(handlers)));
}

unsafe extern "C" fn on_request(buffer: *mut *mut u8, size: *mut usize, records: *mut usize) {
    let mut memory: *mut c_void = null_mut();
    // SAFETY: a writable pointer; the alignment is a power of two and a multiple of a pointer's size.
    let failed = unsafe { libc::posix_memalign(&raw mut memory, BUFFER_ALIGN, BUFFER_BYTES) } != 0;
    // SAFETY: CUPTI gives three writable places. Size 0 says that there is no buffer; 0 records, that their
    // number is not limited.
    unsafe {
        *buffer = if failed { null_mut() } else { memory.cast() };
        *size = if failed { 0 } else { BUFFER_BYTES };
        *records = 0;
    }
}

unsafe extern "C" fn on_complete(
    context: *mut c_void,
    stream: u32,
    buffer: *mut u8,
    _size: usize,
    valid: usize,
) {
    let Some(api) = api() else { return };
    guarded(|handlers| {
        let mut record: *mut u8 = null_mut();
        let mut next = || {
            loop {
                // SAFETY: the buffer and its valid size are those of this callback; the record is null or the
                // last one that this call gave.
                if unsafe { (api.next)(buffer, valid, &raw mut record) } != 0 {
                    return None;
                }
                // SAFETY: every record begins with its kind.
                let kind = unsafe { record.cast::<u32>().read_unaligned() };
                if let Some(size) = layout::prefix(kind) {
                    // SAFETY: a record of this kind is at least this long since CUDA 12.0; it lives until the
                    // buffer is freed below, and the handler keeps nothing of it.
                    return Some((kind, Record(unsafe { std::slice::from_raw_parts(record, size) })));
                }
            }
        };
        (handlers.records)(&mut std::iter::from_fn(&mut next));
        let mut dropped = 0;
        // SAFETY: context and stream are those of this callback; a writable number.
        if unsafe { (api.dropped)(context, stream, &raw mut dropped) } == 0 && dropped > 0 {
            (handlers.lost)(dropped);
        }
    });
    // SAFETY: CUPTI gives back the memory that `on_request` took, or null.
    unsafe { libc::free(buffer.cast()) };
}

unsafe extern "C" fn on_callback(_data: *mut c_void, domain: u32, id: u32, info: *const c_void) {
    guarded(|handlers| match domain {
        callback::DRIVER => {
            // SAFETY: the information of an API callback begins with the site, a 32-bit enumeration.
            let site = unsafe { info.byte_add(callback::SITE).cast::<u32>().read_unaligned() };
            if site == callback::BEFORE && callback::LAUNCHES.contains(&id) {
                (handlers.launch)();
            } else if site == callback::AFTER && callback::WAITS.contains(&id) {
                (handlers.waited)();
            }
        }
        callback::RESOURCE if id == callback::CONTEXT_CREATED => {
            // SAFETY: the information of a resource callback begins with the context.
            let context = unsafe { info.cast::<*mut c_void>().read_unaligned() };
            let mut device = 0;
            // SAFETY: a live context and a writable number.
            if api().is_some_and(|api| unsafe { (api.device_of)(context, &raw mut device) } == 0) {
                (handlers.context)(device);
            }
        }
        _ => {}
    });
}

/// The text behind a pointer that CUPTI put into a record; such texts live as long as their module, at least until
/// the record's buffer is given back.
pub fn text(pointer: u64) -> String {
    let Ok(address) = usize::try_from(pointer) else { return String::new() };
    if address == 0 {
        return String::new();
    }
    // SAFETY: CUPTI documents the pointer as a text that ends with 0.
    let text = unsafe { CStr::from_ptr(std::ptr::with_exposed_provenance::<c_char>(address)) }.to_bytes();
    String::from_utf8_lossy(&text[..text.len().min(TEXT_CAP)]).into_owned()
}
