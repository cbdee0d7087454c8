//! Disks that fill up, folders that cannot be written, folders that go away: a clear error, status 2, and what
//! was known before is on disk.
//!
//! The small and the read-only disk are mounted in a mount namespace; where that is not allowed the test says so
//! and proves nothing.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;
mod rig;

use rig::{Rig, code, program, read, text, until};
use runproof_records::verdict::State;
use std::fs;
use std::process::{Command, Output};

/// Runs the suite with `--out` on a file system that is mounted with these options, then copies what is there into
/// `marks`. `None`, loudly, where nothing can be mounted.
fn on_a_disk(bed: &Rig, options: &str) -> Option<Output> {
    fs::create_dir(bed.path("marks/disk")).unwrap();
    let script = "mount -t tmpfs -o \"$1\" disk marks/disk || exit 99
        \"$2\" test -j1 --out marks/disk/out --run-id full
        status=$?
        test ! -d marks/disk/out || cp -r marks/disk/out marks/copy
        exit $status";
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh", options]).arg(program());
    command.current_dir(bed.path("."));
    let output = command.output();
    match output {
        Ok(output) if output.status.code() != Some(99) && !text(&output).contains("unshare:") => Some(output),
        other => {
            eprintln!("\n*** SKIPPED, NOTHING PROVED: no file system can be mounted here: {other:?} ***\n");
            None
        }
    }
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_what_was_written() {
    let small: Vec<String> = (0..9).map(|i| format!("a{i}.vx")).collect();
    let tests = small.iter().map(|n| (n.as_str(), "// RUN: echo hi\n"));
    let fills = "// RUN: sh -c \"head -c 3000000 /dev/zero\"\n";
    let bed =
        Rig::new(tests.chain([("b.vx", fills), ("c.vx", "// RUN: echo hi\n"), ("d.vx", "// RUN: true\n")]));
    let Some(output) = on_a_disk(&bed, "size=1m") else { return };
    let said = text(&output);
    assert_eq!(code(output.status), 2, "{said}");
    assert!(said.contains("full/") && said.contains("make room"), "{said}");
    let bundle = read(&bed.path("marks/copy/full"), 12);
    for i in 0..9 {
        assert_eq!(bundle.tests[i].state(), State::Passed, "{}", bundle.tests[i].key.test);
    }
    assert_eq!(bundle.tests[11].state(), State::NotRun);
    let partial = bed.path("marks/full");
    fs::rename(bed.path("marks/copy/full"), &partial).unwrap();
    let (audited, said) = bed.audit(&partial);
    assert_eq!(audited, Some(0), "{said}");
    assert!(said.contains("partial"), "{said}");
}

#[test]
fn a_disk_that_cannot_be_written_is_an_error_before_anything_runs() {
    let bed = Rig::new([("a.vx", "// RUN: echo . > %S/marks/ran\n")]);
    let Some(output) = on_a_disk(&bed, "ro") else { return };
    let said = text(&output);
    assert_eq!(code(output.status), 2, "{said}");
    assert!(said.contains("marks/disk/out") && said.contains("Read-only"), "{said}");
    assert!(!bed.path("marks/ran").exists());
}

#[test]
fn an_output_folder_that_is_a_file_is_an_error() {
    let bed = Rig::new([("a.vx", "// RUN: true\n")]);
    fs::write(bed.path("marks/file"), "").unwrap();
    let output = bed.run(&["test", "--out", "marks/file"]);
    assert_eq!(code(output.status), 2, "{}", text(&output));
    assert!(text(&output).contains("marks/file"), "{}", text(&output));
}

#[test]
fn a_bundle_that_is_deleted_while_its_run_goes_on_counts_for_nothing() {
    let waits =
        "// RUN: sh -c \"echo . > %S/marks/running; until test -e %S/marks/go; do sleep 0.01; done\"\n";
    let bed = Rig::new([("a.vx", waits), ("b.vx", "// RUN: echo hi\n")]);
    let mut process = bed.start(&["test", "-j1", "--run-id", "gone"]);
    until("the test", || bed.path("marks/running").exists());
    fs::remove_dir_all(bed.bundle("gone")).unwrap();
    fs::write(bed.path("marks/go"), "").unwrap();
    assert_eq!(code(process.wait().unwrap()), 2);
    let said = bed.printed("stderr");
    assert!(said.contains("gone") && said.contains("until its run has ended"), "{said}");
    assert!(!bed.bundle("gone").exists(), "a deleted bundle came back");
}
