//! The committed bundles: each passes the audit, and what `docs/gpu.md` says of them is counted again.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;

use bed::Bed;
use runproof_evidence::read::{Bundle, Test};
use runproof_records::record::{CommandPlacement, CommandRole};
use runproof_records::verdict::{State, Tier};
use std::path::PathBuf;

fn committed() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/evidence");
    let found: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!found.is_empty());
    found
}

fn of_h200() -> Vec<Bundle> {
    let named = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("h200-");
    committed().iter().filter(|path| named(path)).map(|path| Bundle::open(path).unwrap()).collect()
}

/// Whether the outer witness of a command is the weaker one.
fn says_list(command: &CommandPlacement) -> bool {
    command.reason.contains("its witness is the process list alone")
}

#[test]
fn every_committed_bundle_passes_the_audit() {
    let bed = Bed::empty();
    for path in committed() {
        bed.run(&["audit", path.to_str().unwrap()]).check(0, &["holds: ", " 0 findings"]);
    }
}

#[test]
fn on_the_h200_what_is_honest_is_t2_and_what_is_not_stays_below() {
    let bundles = of_h200();
    assert_eq!(bundles.len(), 4);
    for bundle in bundles {
        let executed = bundle.tests.iter().filter(|test| test.state().was_executed());
        let (honest, liars): (Vec<_>, Vec<_>) = executed.partition(|test| test.state() == State::Passed);
        for test in &honest {
            assert_eq!(test.tier(), Some(Tier::T2), "{} of {}", test.key.test, bundle.run.id);
        }
        assert_eq!(honest.len(), if bundle.run.id == "h200-x2-1" { 19 } else { 18 });
        let by_list =
            |t: &&&Test| t.last().unwrap().placement.as_ref().unwrap().commands.iter().any(says_list);
        let mut weaker: Vec<_> = honest.iter().filter(by_list).map(|t| t.key.test.as_str()).collect();
        weaker.sort_unstable();
        // That run is of a time when these two were smaller.
        let small: &[&str] =
            if bundle.run.id == "h200-x2-1" { &["rope.test", "vector_add.test"] } else { &[] };
        assert_eq!(weaker, small, "{}", bundle.run.id);
        assert_eq!(liars.len(), 14);
        for test in liars {
            assert_eq!(test.state(), State::Xfailed, "{}", test.key.test);
            assert!(test.tier() < Some(Tier::T2), "{} of {}", test.key.test, bundle.run.id);
        }
    }
}

#[test]
fn on_the_h200_programs_that_ended_badly_left_all_their_records() {
    let mut programs = 0;
    for bundle in of_h200() {
        for test in &bundle.tests {
            let name = test.key.test.as_str();
            if !["abort_", "exit_past", "fault_in", "kill_in", "segv_"].iter().any(|n| name.starts_with(n)) {
                continue;
            }
            let record = test.last().unwrap();
            let run = record.commands.iter().find(|c| c.role == CommandRole::Exec).unwrap();
            let observed = record.placement.as_ref().unwrap();
            let seen = observed.commands.iter().find(|c| c.command == run.index).unwrap();
            let kept = seen.work.iter().find(|work| work.name == "matmul_f32").map(|work| work.count);
            assert_eq!(kept, Some(100), "{name} of {}", bundle.run.id);
            programs += 1;
        }
    }
    assert_eq!(programs, 20);
}
