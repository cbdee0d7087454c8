//! A CUPTI client that the CUDA driver loads into a program and that tells the harness what the program's
//! devices did.
//!
//! The driver loads it when `CUDA_INJECTION64_PATH` names it, in `cuInit`, before any context exists. It reports
//! the devices that the program sees, the contexts it makes, every kernel, copy, fill and allocation, with times
//! on the clock of the harness. It is linked with neither CUDA nor CUPTI: CUPTI is opened at run time
//! (`library`), and records are read by offsets that hold from CUDA 12.0 on (`layout`). What must not enter:
//! judgements about what was seen, and anything that changes what the program does. Without a harness it does
//! nothing.
//!
//! The driver ignores silently a library that it cannot use. A program without a `hello` is therefore one that
//! nobody watched, never one that did not use a device.

mod layout;
mod library;
mod observe;
mod record;
mod sys;

use std::ffi::c_int;

/// The entry point that the driver calls. It answers 1 whatever happened: the program goes on, and what went wrong
/// is said to the harness.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the driver's name for it")]
pub extern "C" fn InitializeInjection() -> c_int {
    let _ = std::panic::catch_unwind(observe::start);
    1
}
