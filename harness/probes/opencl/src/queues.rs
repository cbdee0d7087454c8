//! Contexts and queues: profiling is switched on where the program left it off, and that does not show.

use crate::layer::{below, context_created};
use crate::sys::{self, Code, Handle, Uint, at};
use crate::{devices, observe};
use runproof_probe_sink::Sink;
use runproof_probe_sink::sys::realtime;
use runproof_records::wire::Message;
use std::collections::HashSet;
use std::ffi::{CStr, c_char, c_void};
use std::panic::catch_unwind;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Queues on which the probe, not the program, switched profiling on.
static SWITCHED: Mutex<Option<HashSet<usize>>> = Mutex::new(None);
/// `clCreateCommandQueueWithPropertiesKHR` of the layer below, once the program asked for it.
static KHR_CREATE: OnceLock<usize> = OnceLock::new();

pub unsafe extern "C" fn create_context(
    properties: *const isize,
    n: Uint,
    list: *const Handle,
    notify: Option<sys::ContextNotify>,
    data: *mut c_void,
    error: *mut Code,
) -> Handle {
    let context = below!(CREATE_CONTEXT as CreateContext, properties, n, list, notify, data, error);
    if !context.is_null() {
        context_created(context);
    }
    context
}

pub unsafe extern "C" fn create_context_from_type(
    properties: *const isize,
    kind: u64,
    notify: Option<sys::ContextNotify>,
    data: *mut c_void,
    error: *mut Code,
) -> Handle {
    let context =
        below!(CREATE_CONTEXT_FROM_TYPE as CreateContextFromType, properties, kind, notify, data, error);
    if !context.is_null() {
        context_created(context);
    }
    context
}

pub unsafe extern "C" fn create(
    context: Handle,
    device: Handle,
    properties: u64,
    error: *mut Code,
) -> Handle {
    with_profiling(device, properties & sys::QUEUE_PROFILING_ENABLE != 0, |profile| {
        let bits = if profile { sys::QUEUE_PROFILING_ENABLE } else { 0 };
        below!(CREATE_COMMAND_QUEUE as CreateQueue, context, device, properties | bits, error)
    })
}

pub unsafe extern "C" fn create_with_properties(
    context: Handle,
    device: Handle,
    properties: *const u64,
    error: *mut Code,
) -> Handle {
    // SAFETY: a property list is null or ends with 0.
    let (with, had) = unsafe { profiled(properties) };
    with_profiling(device, had, |profile| {
        let list = if profile { with.as_ptr() } else { properties };
        below!(
            CREATE_COMMAND_QUEUE_WITH_PROPERTIES as CreateQueueWithProperties,
            context,
            device,
            list,
            error
        )
    })
}

unsafe extern "C" fn create_with_properties_khr(
    context: Handle,
    device: Handle,
    properties: *const u64,
    error: *mut Code,
) -> Handle {
    let Some(entry) = KHR_CREATE.get() else { return crate::missing() };
    // SAFETY: the address is the extension function that the layer below gave out under this name.
    let call: sys::CreateQueueWithProperties = unsafe { std::mem::transmute(*entry) };
    // SAFETY: a property list is null or ends with 0.
    let (with, had) = unsafe { profiled(properties) };
    with_profiling(device, had, |profile| {
        let list = if profile { with.as_ptr() } else { properties };
        // SAFETY: the program's own arguments, the list apart, which ends with 0 and outlives the call.
        unsafe { call(context, device, list, error) }
    })
}

pub unsafe extern "C" fn function_address(name: *const c_char) -> *mut c_void {
    let address = below!(GET_EXTENSION_FUNCTION_ADDRESS as FunctionAddress, name);
    // SAFETY: the program's own zero-terminated name, which the layer below has just read.
    unsafe { stand_in(name, address) }
}

pub unsafe extern "C" fn function_address_for_platform(platform: Handle, name: *const c_char) -> *mut c_void {
    let address =
        below!(GET_EXTENSION_FUNCTION_ADDRESS_FOR_PLATFORM as FunctionAddressForPlatform, platform, name);
    // SAFETY: as above.
    unsafe { stand_in(name, address) }
}

/// The one extension function that makes queues; every other address is passed on.
///
/// # Safety
/// `name` is null or zero-terminated.
unsafe fn stand_in(name: *const c_char, address: *mut c_void) -> *mut c_void {
    if name.is_null() || address.is_null() {
        return address;
    }
    // SAFETY: zero-terminated (caller).
    if unsafe { CStr::from_ptr(name) } != c"clCreateCommandQueueWithPropertiesKHR" {
        return address;
    }
    // One driver's function serves all queues only if there is one driver: the first keeps the place.
    if *KHR_CREATE.get_or_init(|| address.expose_provenance()) != address.addr() {
        return address;
    }
    let function: sys::CreateQueueWithProperties = create_with_properties_khr;
    function as *mut c_void
}

/// The program sees the properties it asked for.
pub unsafe extern "C" fn info(
    queue: Handle,
    what: Uint,
    size: usize,
    value: *mut c_void,
    ret: *mut usize,
) -> Code {
    let code = below!(GET_COMMAND_QUEUE_INFO as Info, queue, what, size, value, ret);
    if code == sys::SUCCESS && what == sys::QUEUE_PROPERTIES && !value.is_null() && switched(queue) {
        // SAFETY: the call succeeded, so `value` holds a `cl_command_queue_properties`.
        unsafe { *value.cast::<u64>() &= !sys::QUEUE_PROFILING_ENABLE };
    }
    code
}

fn switched(queue: Handle) -> bool {
    let switched = SWITCHED.lock().unwrap_or_else(PoisonError::into_inner);
    switched.as_ref().is_some_and(|set| set.contains(&queue.addr()))
}

/// The list with profiling switched on, and whether it was on before.
///
/// # Safety
/// `properties` is null or ends with 0.
unsafe fn profiled(properties: *const u64) -> (Vec<u64>, bool) {
    let mut list = Vec::new();
    let (mut found, mut had) = (false, false);
    let mut position = 0;
    // SAFETY: pairs up to the 0 that ends the list (caller).
    unsafe {
        while !properties.is_null() && *properties.add(position) != 0 {
            let (name, mut value) = (*properties.add(position), *properties.add(position + 1));
            if name == u64::from(sys::QUEUE_PROPERTIES) {
                found = true;
                had = value & sys::QUEUE_PROFILING_ENABLE != 0;
                value |= sys::QUEUE_PROFILING_ENABLE;
            }
            list.extend([name, value]);
            position += 2;
        }
    }
    if !found {
        list.extend([u64::from(sys::QUEUE_PROPERTIES), sys::QUEUE_PROFILING_ENABLE]);
    }
    list.push(0);
    (list, had)
}

/// Creates a queue with profiling; a device that refuses it gets the queue as the program asked, and the
/// harness is told that this queue cannot be observed.
fn with_profiling(device: Handle, had: bool, create: impl Fn(bool) -> Handle) -> Handle {
    let queue = create(true);
    if queue.is_null() && !had {
        let queue = create(false);
        if !queue.is_null()
            && let Some(sink) = Sink::get()
        {
            sink.emit(Message::Error { what: "a device refused a queue with profiling".into() });
        }
        return queue;
    }
    if !queue.is_null() {
        let _ = catch_unwind(|| introduce(device, queue, had));
    }
    queue
}

fn introduce(device: Handle, queue: Handle, had: bool) {
    let Some(sink) = Sink::get() else { return };
    {
        // A freed queue's address may come back for another queue.
        let mut switched = SWITCHED.lock().unwrap_or_else(PoisonError::into_inner);
        let set = switched.get_or_insert_default();
        if had {
            set.remove(&queue.addr())
        } else {
            set.insert(queue.addr())
        };
    }
    observe::flush_before_driver_exit();
    let dev = devices::index(sink, device);
    // Empty commands on the new, empty queue pin the device's clock to the host's within the time of one
    // call. Three, because the first one may pay for what it is the first to need.
    for _ in 0..3 {
        let mut event = std::ptr::null_mut();
        let before = realtime();
        if below!(ENQUEUE_MARKER as EnqueueMarker, queue, &raw mut event) != sys::SUCCESS {
            return;
        }
        below!(WAIT_FOR_EVENTS as WaitForEvents, 1, &raw const event);
        // SAFETY: the marker's event is live until it is released below; the value is a `cl_ulong`.
        let queued: Option<u64> =
            unsafe { sys::info(at::GET_EVENT_PROFILING_INFO, event, sys::PROFILING_COMMAND_QUEUED) };
        if let Some(queued) = queued.filter(|time| *time != 0) {
            devices::calibrate(dev, queued, before);
        }
        below!(RELEASE_EVENT as One, event);
    }
}
