//! `cargo xtask dist`: one folder with the program and the probe libraries, as it is copied to a machine
//! with a device.

use super::{cargo, root, target};
use std::fs;

/// Files of the folder.
const FILES: &[&str] = &[
    "runproof",
    "librunproof_probe_cuda.so",
    "librunproof_probe_opencl.so",
    "librunproof_probe_opencl.dylib",
];

/// Builds in release and fills `dist/`.
pub fn run() -> Result<u8, String> {
    let probes = ["-p", "runproof-probe-opencl", "-p", "runproof-probe-cuda"];
    let built = cargo(&[&["build", "--release", "-p", "runproof"][..], &probes].concat())?;
    if built != 0 {
        return Ok(built);
    }
    let folder = root().join("dist");
    fs::create_dir_all(&folder).map_err(|e| format!("`dist` cannot be made: {e}"))?;
    let mut copied = 0;
    for name in FILES {
        let from = target().join("release").join(name);
        if from.exists() {
            fs::copy(&from, folder.join(name)).map_err(|e| format!("`{name}` cannot be copied: {e}"))?;
            println!("dist/{name}");
            copied += 1;
        }
    }
    if copied == 0 { Err("the build left none of the files".to_owned()) } else { Ok(0) }
}
