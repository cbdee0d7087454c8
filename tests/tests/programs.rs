//! What the operator programs answer without a device: right on the host, a sentence and 3 where there is none.
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

use std::path::Path;
use std::process::Command;

const PROGRAMS: &[&str] = &[
    "attention_decode",
    "attention_prefill",
    "disaggregated",
    "matmul",
    "rmsnorm",
    "rope",
    "softmax",
    "swiglu",
    "vector_add",
];

#[track_caller]
fn check(arguments: &[&str], status: i32, says: &str) {
    for program in PROGRAMS {
        let folder = Path::new(env!("CARGO_BIN_EXE_matmul")).parent().unwrap();
        // Hides every GPU, so that a machine with one answers like a machine without.
        let mut command = Command::new(folder.join(program));
        let output = command.args(arguments).env("CUDA_VISIBLE_DEVICES", "").output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert_eq!(output.status.code(), Some(status), "{program} {arguments:?}: {text}");
        assert!(text.contains(says), "{program} {arguments:?}: {text}");
    }
}

#[test]
fn right_on_the_host_and_wrong_when_spoilt() {
    check(&[], 0, " wrong 0 guards intact\n");
    check(&["--spoil", "element"], 1, " wrong 1 guards intact\n");
    check(&["--spoil", "guard"], 1, " wrong 0 guards broken\n");
}

#[test]
fn no_gpu_is_a_sentence() {
    check(&["--device", "cuda"], 3, "Cuda(0): ");
}

#[test]
fn usage() {
    check(&["--device", "npu"], 2, "--device npu: this program knows host, opencl and cuda");
    check(&["--index", "x"], 2, "--index x: not a number");
    check(&["--spoil"], 2, "--spoil needs a value");
}

/// The known negative of the Neural Engine, which is the same program as the product of 512×512, and fast.
#[track_caller]
fn check_tiny(arguments: &[&str], status: i32, says: &str) {
    let folder = Path::new(env!("CARGO_BIN_EXE_ane_matmul")).parent().unwrap();
    let output = Command::new(folder.join("ane_matmul")).arg("--tiny").args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}");
    assert!(text.contains(says), "{arguments:?}: {text}");
}

#[test]
fn programs_of_the_neural_engine() {
    check_tiny(&[], 0, "elements 16 wrong 0 guards intact\n");
    check_tiny(&["--spoil", "element"], 1, " wrong 1 guards intact\n");
    check_tiny(&["--spoil", "guard"], 1, " wrong 0 guards broken\n");
    check_tiny(&["--device", "ane"], 2, "--device ane needs --model");
    // Elsewhere there is no Core ML, on a Mac no such model.
    check_tiny(&["--device", "ane", "--model", "none.mlmodelc"], 3, "");
}

#[test]
fn a_model_that_cannot_be_built_says_which_python_was_asked() {
    let make = |python: &str, device: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ane_model"));
        command.args(["--device", device, "tiny", "models.py", "out.mlmodelc"]);
        let output = command.env("RUNPROOF_PYTHON", python).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    };
    let (status, text) = make("/no/such/python3", "ane");
    assert_eq!(status, Some(1));
    assert!(text.contains("no Python with coremltools ($RUNPROOF_PYTHON: could not be started"), "{text}");
    let (status, text) = make("false", "ane");
    assert_eq!((status, text.contains("$RUNPROOF_PYTHON: it printed nothing")), (Some(1), true), "{text}");
    assert_eq!(make("/no/such/python3", "host"), (Some(0), "host needs no model\n".to_owned()));
}
