//! The audit on good, killed and mutated bundles.

#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "../../evidence/tests/good/mod.rs"]
mod good;

use runproof_audit::{CHECKS, Options, Signed, audit, explain, selftest};
use runproof_evidence::sign::{self, Signer};
use runproof_records::bundle::RECORDS;
use std::fs;

#[test]
fn a_good_bundle_is_clean_and_says_whether_it_is_signed() {
    let folder = tempfile::tempdir().unwrap();
    let done = good::bundle(folder.path(), "r", None);
    let report = audit(&done.path, &Options::default());
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert!(report.partial.is_empty());
    assert_eq!(report.signed, Signed::Unsigned);
    assert_eq!(report.checks.len(), CHECKS.len(), "every check was run");

    let pem = folder.path().join("key.pem");
    let id = sign::generate(&pem).unwrap();
    let done = good::bundle(folder.path(), "signed", Some(&Signer::open(&pem).unwrap()));
    assert_eq!(audit(&done.path, &Options::default()).signed, Signed::Unverified);
    let mut options = Options::default();
    options.trust(&fs::read_to_string(folder.path().join("key.pem.pub")).unwrap()).unwrap();
    let report = audit(&done.path, &options);
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!(report.signed, Signed::By(id));
}

#[test]
fn the_self_test_catches_every_mutation_and_proves_every_check() {
    let folder = tempfile::tempdir().unwrap();
    let done = good::bundle(folder.path(), "r", None);
    let scratch = folder.path().join("scratch");
    let result = selftest(&done.path, &scratch).unwrap();
    assert!(result.escapes.is_empty(), "{:#?}", result.escapes);
    assert!(result.unproved.is_empty(), "{:?}", result.unproved);
    assert!(result.inapplicable.is_empty(), "{:?}", result.inapplicable);
    assert_eq!((result.caught, result.proved), (result.mutations, CHECKS.len()));
    println!(
        "mutations caught {}/{}, checks proved {}/{}, needed {}",
        result.caught, result.mutations, result.proved, result.checks, result.needed
    );
    let again = selftest(&done.path.join("logs"), &scratch).unwrap_err();
    assert!(again.contains("no good bundle"), "{again}");
}

#[test]
fn a_run_killed_at_any_byte_is_partial_and_not_false() {
    let folder = tempfile::tempdir().unwrap();
    let mut m = good::begin(folder.path(), good::run("r"), &good::keys());
    good::write_all(&mut m);
    let root = m.writer.root().to_owned();
    drop(m);
    let whole = fs::read(root.join(RECORDS)).unwrap();
    for cut in 0..whole.len() {
        let near = whole[cut.saturating_sub(1)..(cut + 1).min(whole.len())].contains(&b'\n');
        if !near && cut % 499 != 0 {
            continue;
        }
        fs::write(root.join(RECORDS), &whole[..cut]).unwrap();
        let report = audit(&root, &Options::default());
        assert!(report.is_clean(), "cut at {cut}: {:#?}", report.findings);
        assert!(report.partial.len() >= 2, "cut at {cut}: {:?}", report.partial);
    }
}

#[test]
fn every_check_is_explained_once() {
    let mut ids: Vec<_> = CHECKS.iter().map(|c| c.id).collect();
    assert!(CHECKS.iter().all(|c| !c.proves.is_empty() && explain(c.id).is_some()));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), CHECKS.len());
    assert!(explain("no such check").is_none());
}
