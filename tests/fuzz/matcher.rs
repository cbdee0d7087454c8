//! Check files on inputs, with options. What this keeps is what `directives/tests/against_filecheck` compares with FileCheck.
#![no_main]

#[path = "../../directives/tests/against_filecheck/case.rs"]
mod case;

use case::Case;
use libfuzzer_sys::fuzz_target;
use runproof_directives::check::{Wording, program};

fuzz_target!(|bytes: &[u8]| {
    let Some(case) = Case::from_bytes(bytes) else { return };
    let run = |wording| {
        program(wording, &case.all_arguments(), |name| match name {
            Some(case::CHECKS) => Ok(case.checks.clone()),
            Some(case::INPUT) => Ok(case.input.clone()),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        })
    };
    let (ours, llvm) = (run(Wording::Own), run(Wording::Llvm));
    assert_eq!(ours.status, llvm.status, "the wording decides nothing");
    assert!(llvm.status == 0 || !llvm.stderr.is_empty(), "a failure says something");
});
