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
