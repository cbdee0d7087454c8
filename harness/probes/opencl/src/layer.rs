//! The layer: what the loader calls, and the entry points that replace those of the layer below.
//!
//! Every replacement calls the layer below exactly once with the program's own arguments (plus profiling
//! on queues and an event where the program asked for none) and returns its answer unchanged.

use crate::sys::{self, Bool, Code, Handle, Uint, at};
use crate::{devices, observe, pending, queues};
use pending::Work;
use runproof_records::wire::Direction;
use std::ffi::c_void;
use std::sync::OnceLock;

static TABLE: OnceLock<Vec<usize>> = OnceLock::new();

/// What the loader asks first: the version of the layer interface, and a name.
///
/// # Safety
/// The pointers are as `CL/cl_layer.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetLayerInfo(
    name: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Code {
    let version = sys::LAYER_API_VERSION_100.to_ne_bytes();
    let answer: &[u8] = match name {
        sys::LAYER_API_VERSION => &version,
        sys::LAYER_NAME => b"runproof\0",
        _ => return sys::INVALID_VALUE,
    };
    if !value.is_null() {
        if size < answer.len() {
            return sys::INVALID_VALUE;
        }
        // SAFETY: `value` is writable for `size` bytes (caller), and the answer fits.
        unsafe { std::ptr::copy_nonoverlapping(answer.as_ptr(), value.cast(), answer.len()) };
    }
    if !size_ret.is_null() {
        // SAFETY: writable when not null (caller).
        unsafe { *size_ret = answer.len() };
    }
    sys::SUCCESS
}

/// Puts the replacements into a copy of the loader's table and says hello to the harness. Without a harness
/// the copy is the table as it was.
///
/// # Safety
/// The pointers are as `CL/cl_layer.h` says: `target` has `entries` pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clInitLayer(
    entries: Uint,
    target: *const *const c_void,
    entries_ret: *mut Uint,
    layer_ret: *mut *const *const c_void,
) -> Code {
    if target.is_null() || entries_ret.is_null() || layer_ret.is_null() {
        return sys::INVALID_VALUE;
    }
    let table = TABLE.get_or_init(|| {
        // SAFETY: `target` has `entries` pointers (caller).
        let mut table = unsafe { sys::keep_below(target, entries as usize) }.to_vec();
        if observe::start(&crate::identity()).is_some() {
            for (position, replacement) in replacements() {
                // Beyond the loader's table, or empty in it, there is nothing to stand in front of.
                if let Some(entry) = table.get_mut(position).filter(|entry| **entry != 0) {
                    *entry = replacement;
                }
            }
        }
        table
    });
    // SAFETY: both are writable (caller, checked for null); the table lives as long as the process.
    unsafe {
        *entries_ret = Uint::try_from(table.len()).unwrap_or(entries);
        *layer_ret = table.as_ptr().cast();
    }
    sys::SUCCESS
}

fn replacements() -> [(usize, usize); 22] {
    // Each function is first given the type of its position, so a wrong signature does not compile.
    macro_rules! entry {
        ($position:ident, $function:path as $kind:ident) => {{
            let function: sys::$kind = $function;
            (at::$position, function as *const () as usize)
        }};
    }
    [
        entry!(CREATE_CONTEXT, queues::create_context as CreateContext),
        entry!(CREATE_CONTEXT_FROM_TYPE, queues::create_context_from_type as CreateContextFromType),
        entry!(CREATE_COMMAND_QUEUE, queues::create as CreateQueue),
        entry!(
            CREATE_COMMAND_QUEUE_WITH_PROPERTIES,
            queues::create_with_properties as CreateQueueWithProperties
        ),
        entry!(GET_COMMAND_QUEUE_INFO, queues::info as Info),
        entry!(GET_EXTENSION_FUNCTION_ADDRESS, queues::function_address as FunctionAddress),
        entry!(
            GET_EXTENSION_FUNCTION_ADDRESS_FOR_PLATFORM,
            queues::function_address_for_platform as FunctionAddressForPlatform
        ),
        entry!(GET_EVENT_INFO, event_info as Info),
        entry!(WAIT_FOR_EVENTS, wait_for_events as WaitForEvents),
        entry!(FINISH, finish as One),
        entry!(ENQUEUE_ND_RANGE_KERNEL, nd_range as EnqueueNdRange),
        entry!(ENQUEUE_TASK, task as EnqueueTask),
        entry!(ENQUEUE_READ_BUFFER, read as EnqueueRead),
        entry!(ENQUEUE_WRITE_BUFFER, write as EnqueueRead),
        entry!(ENQUEUE_COPY_BUFFER, copy as EnqueueCopy),
        entry!(ENQUEUE_FILL_BUFFER, fill as EnqueueFill),
        entry!(ENQUEUE_MAP_BUFFER, map as EnqueueMap),
        entry!(ENQUEUE_UNMAP_MEM_OBJECT, unmap as EnqueueUnmap),
        entry!(ENQUEUE_READ_BUFFER_RECT, read_rect as EnqueueReadRect),
        entry!(ENQUEUE_WRITE_BUFFER_RECT, write_rect as EnqueueReadRect),
        entry!(ENQUEUE_COPY_BUFFER_RECT, copy_rect as EnqueueCopyRect),
        entry!(ENQUEUE_SVM_MEMCPY, svm_memcpy as EnqueueSvmMemcpy),
    ]
}

/// Calls the entry of the layer below; the table has it, or this replacement would not stand in front of it.
macro_rules! below {
    ($position:ident as $kind:ident, $($argument:expr),*) => {
        // SAFETY: the position has this type, and the arguments are the program's own.
        unsafe {
            match sys::below::<sys::$kind>(at::$position) {
                Some(call) => call($($argument),*),
                None => crate::missing(),
            }
        }
    };
}
pub(crate) use below;

unsafe extern "C" fn finish(queue: Handle) -> Code {
    let code = below!(FINISH as One, queue);
    observe::synchronised();
    code
}

unsafe extern "C" fn wait_for_events(n: Uint, events: *const Handle) -> Code {
    let code = below!(WAIT_FOR_EVENTS as WaitForEvents, n, events);
    observe::synchronised();
    code
}

/// The probe's own references do not show.
unsafe extern "C" fn event_info(
    event: Handle,
    what: Uint,
    size: usize,
    value: *mut c_void,
    ret: *mut usize,
) -> Code {
    let code = below!(GET_EVENT_INFO as Info, event, what, size, value, ret);
    if code == sys::SUCCESS && what == sys::EVENT_REFERENCE_COUNT && !value.is_null() {
        let own = pending::own_references(event);
        // SAFETY: the call below succeeded, so `value` holds a `cl_uint`.
        unsafe { *value.cast::<Uint>() -= own.min(*value.cast::<Uint>()) };
    }
    if code == sys::SUCCESS && what == sys::EVENT_COMMAND_EXECUTION_STATUS {
        // A program that polls learns here that its kernel is done.
        observe::synchronised();
    }
    code
}

unsafe extern "C" fn nd_range(
    queue: Handle,
    kernel: Handle,
    dimensions: Uint,
    offset: *const usize,
    global: *const usize,
    local: *const usize,
    waits: Uint,
    list: *const Handle,
    event: *mut Handle,
) -> Code {
    observe::launched();
    let work = || {
        // SAFETY: the enqueue below succeeded, so both arrays have `dimensions` entries where not null.
        let (global, local) = unsafe { (sizes(global, dimensions), sizes(local, dimensions)) };
        Work::kernel(kernel, &global, &local)
    };
    observe::command(queue, event, false, work, |event| {
        below!(
            ENQUEUE_ND_RANGE_KERNEL as EnqueueNdRange,
            queue,
            kernel,
            dimensions,
            offset,
            global,
            local,
            waits,
            list,
            event
        )
    })
}

unsafe extern "C" fn task(
    queue: Handle,
    kernel: Handle,
    waits: Uint,
    list: *const Handle,
    event: *mut Handle,
) -> Code {
    observe::launched();
    observe::command(
        queue,
        event,
        false,
        || Work::kernel(kernel, &[1], &[1]),
        |event| below!(ENQUEUE_TASK as EnqueueTask, queue, kernel, waits, list, event),
    )
}

unsafe extern "C" fn read(
    queue: Handle,
    memory: Handle,
    blocking: Bool,
    offset: usize,
    size: usize,
    host: *mut c_void,
    waits: Uint,
    list: *const Handle,
    event: *mut Handle,
) -> Code {
    observe::command(
        queue,
        event,
        blocking != 0,
        || Work::copy(Direction::D2H, size),
        |event| {
            below!(
                ENQUEUE_READ_BUFFER as EnqueueRead,
                queue,
                memory,
                blocking,
                offset,
                size,
                host,
                waits,
                list,
                event
            )
        },
    )
}

unsafe extern "C" fn write(
    queue: Handle,
    memory: Handle,
    blocking: Bool,
    offset: usize,
    size: usize,
    host: *mut c_void,
    waits: Uint,
    list: *const Handle,
    event: *mut Handle,
) -> Code {
    observe::command(
        queue,
        event,
        blocking != 0,
        || Work::copy(Direction::H2D, size),
        |event| {
            below!(
                ENQUEUE_WRITE_BUFFER as EnqueueRead,
                queue,
                memory,
                blocking,
                offset,
                size,
                host,
                waits,
                list,
                event
            )
        },
    )
}

unsafe extern "C" fn copy(
    queue: Handle,
    source: Handle,
    target: Handle,
    source_offset: usize,
    target_offset: usize,
    size: usize,
    waits: Uint,
    list: *const Handle,
    event: *mut Handle,
) -> Code {
    observe::command(
        queue,
        event,
        false,
        || Work::copy(Direction::D2D, size),
        |event| {
            below!(
                ENQUEUE_COPY_BUFFER as EnqueueCopy,
                queue,
                source,
                target,
                source_offset,
                target_offset,
                size,
                waits,
                list,
                event
            )
        },
    )
}

unsafe extern "C" fn fill(
    queue: Handle,
    memory: Handle,
    pattern: *const c_void,
    pattern_size: usize,
    offset: usize,
    size: usize,
    waits: Uint,
    list: *const Handle,
    event: *mut Handle,
) -> Code {
    observe::command(
        queue,
        event,
        false,
        || Work::Fill { bytes: size as u64 },
        |event| {
            below!(
                ENQUEUE_FILL_BUFFER as EnqueueFill,
                queue,
                memory,
                pattern,
                pattern_size,
                offset,
                size,
                waits,
                list,
                event
            )
        },
    )
}

unsafe extern "C" fn map(
    queue: Handle,
    memory: Handle,
    blocking: Bool,
    flags: u64,
    offset: usize,
    size: usize,
    waits: Uint,
    list: *const Handle,
    event: *mut Handle,
    error: *mut Code,
) -> *mut c_void {
    let mut code = sys::SUCCESS;
    let mut mapped = std::ptr::null_mut();
    observe::command(
        queue,
        event,
        blocking != 0,
        || Work::copy(Direction::D2H, size),
        |event| {
            mapped = below!(
                ENQUEUE_MAP_BUFFER as EnqueueMap,
                queue,
                memory,
                blocking,
                flags,
                offset,
                size,
                waits,
                list,
                event,
                &raw mut code
            );
            code
        },
    );
    if !error.is_null() {
        // SAFETY: writable when not null (the program's own pointer).
        unsafe { *error = code };
    }
    mapped
}

unsafe extern "C" fn unmap(
    queue: Handle,
    memory: Handle,
    mapped: *mut c_void,
    waits: Uint,
    list: *const Handle,
    event: *mut Handle,
) -> Code {
    let work = || {
        // SAFETY: the enqueue below succeeded, so the memory object is live; its size is a `size_t`.
        let size: Option<usize> = unsafe { sys::info(at::GET_MEM_OBJECT_INFO, memory, sys::MEM_SIZE) };
        Work::copy(Direction::H2D, size.unwrap_or(0))
    };
    observe::command(queue, event, false, work, |event| {
        below!(ENQUEUE_UNMAP_MEM_OBJECT as EnqueueUnmap, queue, memory, mapped, waits, list, event)
    })
}

unsafe extern "C" fn read_rect(
    queue: Handle,
    memory: Handle,
    blocking: Bool,
    origin: *const usize,
    host_origin: *const usize,
    region: *const usize,
    row: usize,
    slice: usize,
    host_row: usize,
    host_slice: usize,
    host: *mut c_void,
    waits: Uint,
    list: *const Handle,
    event: *mut Handle,
) -> Code {
    // SAFETY: a successful enqueue had a region of three entries.
    let work = || Work::copy(Direction::D2H, unsafe { volume(region) });
    observe::command(queue, event, blocking != 0, work, |event| {
        below!(
            ENQUEUE_READ_BUFFER_RECT as EnqueueReadRect,
            queue,
            memory,
            blocking,
            origin,
            host_origin,
            region,
            row,
            slice,
            host_row,
            host_slice,
            host,
            waits,
            list,
            event
        )
    })
}

unsafe extern "C" fn write_rect(
    queue: Handle,
    memory: Handle,
    blocking: Bool,
    origin: *const usize,
    host_origin: *const usize,
    region: *const usize,
    row: usize,
    slice: usize,
    host_row: usize,
    host_slice: usize,
    host: *mut c_void,
    waits: Uint,
    list: *const Handle,
    event: *mut Handle,
) -> Code {
    // SAFETY: as for `read_rect`.
    let work = || Work::copy(Direction::H2D, unsafe { volume(region) });
    observe::command(queue, event, blocking != 0, work, |event| {
        below!(
            ENQUEUE_WRITE_BUFFER_RECT as EnqueueReadRect,
            queue,
            memory,
            blocking,
            origin,
            host_origin,
            region,
            row,
            slice,
            host_row,
            host_slice,
            host,
            waits,
            list,
            event
        )
    })
}

unsafe extern "C" fn copy_rect(
    queue: Handle,
    source: Handle,
    target: Handle,
    source_origin: *const usize,
    target_origin: *const usize,
    region: *const usize,
    source_row: usize,
    source_slice: usize,
    target_row: usize,
    target_slice: usize,
    waits: Uint,
    list: *const Handle,
    event: *mut Handle,
) -> Code {
    // SAFETY: as for `read_rect`.
    let work = || Work::copy(Direction::D2D, unsafe { volume(region) });
    observe::command(queue, event, false, work, |event| {
        below!(
            ENQUEUE_COPY_BUFFER_RECT as EnqueueCopyRect,
            queue,
            source,
            target,
            source_origin,
            target_origin,
            region,
            source_row,
            source_slice,
            target_row,
            target_slice,
            waits,
            list,
            event
        )
    })
}

unsafe extern "C" fn svm_memcpy(
    queue: Handle,
    blocking: Bool,
    target: *mut c_void,
    source: *const c_void,
    size: usize,
    waits: Uint,
    list: *const Handle,
    event: *mut Handle,
) -> Code {
    // Shared memory has no side: the copy is the device's own.
    observe::command(
        queue,
        event,
        blocking != 0,
        || Work::copy(Direction::D2D, size),
        |event| {
            below!(
                ENQUEUE_SVM_MEMCPY as EnqueueSvmMemcpy,
                queue,
                blocking,
                target,
                source,
                size,
                waits,
                list,
                event
            )
        },
    )
}

/// # Safety
/// `array` is null or has `n` entries.
unsafe fn sizes(array: *const usize, n: Uint) -> Vec<u64> {
    if array.is_null() {
        return Vec::new();
    }
    // SAFETY: `n` entries (caller).
    unsafe { std::slice::from_raw_parts(array, n as usize) }.iter().map(|size| *size as u64).collect()
}

/// # Safety
/// `region` has three entries.
unsafe fn volume(region: *const usize) -> usize {
    // SAFETY: three entries (caller).
    unsafe { std::slice::from_raw_parts(region, 3) }.iter().product()
}

impl Work {
    fn copy(dir: Direction, bytes: usize) -> Self {
        Self::Copy { dir, bytes: bytes as u64 }
    }

    fn kernel(kernel: Handle, global: &[u64], local: &[u64]) -> Self {
        // SAFETY: the kernel was just enqueued, so it is live.
        let name = unsafe { sys::info_text(at::GET_KERNEL_INFO, kernel, sys::KERNEL_FUNCTION_NAME) };
        let grid = global
            .iter()
            .enumerate()
            .map(|(d, size)| size.div_ceil(local.get(d).copied().unwrap_or(1).max(1)))
            .collect();
        Self::Kernel { name, grid, block: local.to_vec() }
    }
}

/// Devices named in `context` are introduced, and the context with them.
pub(crate) fn context_created(context: Handle) {
    let _ = std::panic::catch_unwind(|| {
        let Some(sink) = runproof_probe_sink::Sink::get() else { return };
        // SAFETY: the context was just created; the value is an array of device ids.
        let ids = unsafe { sys::info_bytes(at::GET_CONTEXT_INFO, context, sys::CONTEXT_DEVICES) };
        for id in ids.unwrap_or_default().chunks_exact(size_of::<usize>()) {
            let mut bytes = [0_u8; size_of::<usize>()];
            bytes.copy_from_slice(id);
            let device = std::ptr::with_exposed_provenance_mut(usize::from_ne_bytes(bytes));
            let dev = devices::index(sink, device);
            sink.emit(runproof_records::wire::Message::Context {
                dev,
                t: runproof_probe_sink::sys::realtime(),
            });
        }
    });
}
