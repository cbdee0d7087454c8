//! This repository's fleet against the OpenCL device of this machine.
#![cfg(target_os = "linux")]

use runproof::device::{Inventory, Kinds, Unusable, fleet, presence, resolve};
use std::path::Path;

fn fleet_file() -> fleet::FleetFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fleet.toml");
    fleet::read(&path, "fleet.toml").unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// The tests of this package have a probe library to find once `placement.rs` has built it; here only its
/// place matters, so an empty stand-in serves.
fn kinds(fleet: &fleet::FleetFile, folder: &Path) -> Kinds {
    let name =
        format!("{}runproof_probe_opencl{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    std::fs::write(folder.join(name), "").unwrap_or_else(|error| panic!("{error}"));
    Kinds::new(Some(folder), &fleet.fleet)
}

#[test]
fn the_opencl_device_of_this_machine_is_the_declared_software_device() {
    let folder = tempfile::tempdir().unwrap();
    let fleet = fleet_file();
    let kinds = kinds(&fleet, folder.path());
    assert_eq!(presence("opencl", &fleet, &kinds), Ok(()));
    for asked in ["opencl-cpu", "opencl", "all"] {
        let placements = resolve(asked, &fleet, &kinds).unwrap();
        assert_eq!(placements.len(), 1, "{asked}");
        assert_eq!(placements[0].id, "opencl-cpu");
        let device = &placements[0].devices[0];
        assert!(device.declared_software && device.record.software && device.record.declared);
        assert!(device.record.agreement.iter().all(|fact| fact.agrees) && device.record.agreement.len() == 3);
    }
    assert!(matches!(&*kinds.inventory("opencl"), Inventory::Found(_)));
}

#[test]
fn what_is_not_here_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let fleet = fleet_file();
    let kinds = kinds(&fleet, folder.path());
    let problem = resolve("ane", &fleet, &kinds).unwrap_err();
    assert!(matches!(problem, Unusable::Absent { .. }), "{problem}");
    assert!(problem.to_string().contains("this host is not macOS"), "{problem}");
    let problem = resolve("h2000", &fleet, &kinds).unwrap_err();
    assert!(problem.to_string().contains("did you mean `h200`?"), "{problem}");
}

#[test]
fn a_missing_probe_library_is_no_absent_device() {
    let empty = tempfile::tempdir().unwrap();
    let fleet = fleet_file();
    let kinds = Kinds::new(Some(empty.path()), &fleet.fleet);
    assert_eq!(presence("opencl", &fleet, &kinds), Ok(()));
    let problem = resolve("opencl-cpu", &fleet, &kinds).unwrap_err();
    assert!(matches!(problem, Unusable::ProbeMissing { .. }), "{problem}");
    assert!(problem.to_string().contains("probe missing"), "{problem}");
}
