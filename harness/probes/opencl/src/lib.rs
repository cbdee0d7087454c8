//! The OpenCL probe: a layer that the OpenCL loader puts between a program and the drivers when
//! `OPENCL_LAYERS` names this library.
//!
//! It reports contexts, kernels and copies with the device's own times, and changes nothing that a program
//! can see except one thing: profiling times can be read from events of queues that did not ask for them.
//! What must not enter: a judgement about what was seen, and anything that is not OpenCL.
//! Programs that link a driver's library directly, past the loader, are not seen.

mod devices;
mod layer;
mod observe;
mod pending;
mod queues;
mod sys;

pub use layer::{clGetLayerInfo, clInitLayer};

use runproof_probe_sink::Identity;
use std::collections::BTreeMap;

fn identity() -> Identity {
    Identity {
        probe: "opencl.layer".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        api: "OpenCL".into(),
        api_version: "layer 1.0".into(),
        rc: BTreeMap::from([("layer".to_owned(), 0)]),
    }
}

/// What a replacement answers when the layer below has no such entry, which [`clInitLayer`] rules out.
trait Missing {
    fn missing() -> Self;
}

impl Missing for sys::Code {
    fn missing() -> Self {
        // CL_INVALID_OPERATION
        -59
    }
}

impl Missing for sys::Handle {
    fn missing() -> Self {
        std::ptr::null_mut()
    }
}

fn missing<T: Missing>() -> T {
    T::missing()
}
