//! A device that is not here: the program says so, and runs nothing.
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

use std::path::Path;
use std::process::Command;

const FLEET: &str = r#"
[[device]]
id = "h200"
kind = "cuda"
name = "NVIDIA H200"
owner = "o"
vendor = "NVIDIA"
capability = "sm_90"
identity = { model = "*H200*" }
access = "rented"
"#;

#[test]
fn a_device_without_its_driver_is_absent_and_nothing_runs() {
    if Path::new("/proc/driver/nvidia/version").exists() {
        eprintln!("SKIPPED: this machine has NVIDIA's driver");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "runproof.toml",
        "[suite]\nname = \"s\"\nfiles = [\"*.test\"]\n[devices]\nfleet = \"fleet.toml\"\n",
    );
    write("fleet.toml", FLEET);
    write("a.test", "// DEVICES: cuda\n// EXEC_RUN: echo ran > ran\n// PLACED: kernel name=k count>=1\n");
    for device in ["h200", "cuda"] {
        let output = Command::new(env!("CARGO_BIN_EXE_runproof"))
            .args(["test", "--suite", ".", "--device", device, "--out", "out"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        for says in ["absent", device, "no driver", "install the driver of cuda"] {
            assert!(said.contains(says), "{said:?} does not say {says:?}");
        }
        assert!(!folder.path().join("ran").exists() && !folder.path().join("out").exists());
    }
}
