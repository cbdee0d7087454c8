//! Bundles written and read back: whole, killed at any byte, in the way of the file system.

#![allow(clippy::unwrap_used, reason = "test code")]

mod good;

use good::*;
use runproof_evidence::sign::{self, Signer};
use runproof_evidence::{Bundle, BundleWriter, export};
use runproof_records::bundle::{MANIFEST, RECORDS, RUN};
use runproof_records::record::Target;
use runproof_records::verdict::{Grade, State, Tier};
use std::collections::BTreeMap;
use std::fs;

#[test]
fn a_bundle_reads_back_with_the_tiers_that_the_writer_computed() {
    let folder = tempfile::tempdir().unwrap();
    let done = bundle(folder.path(), "r-1", None);
    let read = Bundle::open(&done.path).unwrap();
    read.verify_files().unwrap();
    assert!(read.missing.is_empty());
    assert_eq!(read.digest, Some(done.digest));
    let got: Vec<_> = read.tests.iter().map(|t| (export::title(t), t.state(), t.tier())).collect();
    let expect = [
        ("compile.vx", State::Passed, Some(Tier::T0)),
        ("flaky.vx", State::Flaky, Some(Tier::T1)),
        ("host.vx", State::Passed, Some(Tier::T1)),
        ("kernel.vx on shim", State::Passed, Some(Tier::T1)),
        ("kernel.vx on h200", State::Passed, Some(Tier::T2)),
        ("kernel.vx on pocl", State::Passed, Some(Tier::T1)),
        ("skip.vx", State::Skipped, None),
        ("wrong.vx", State::Failed, Some(Tier::T0)),
        ("xfail.vx", State::Xfailed, Some(Tier::T0)),
    ];
    assert_eq!(got, expect.map(|(n, s, t)| (n.to_owned(), s, t)));
    let gpu = read.tests[4].last().unwrap();
    assert_eq!((gpu.verdict.grade, gpu.verdict.control), (Some(Grade::Event), true));
    let end = read.run.end.unwrap();
    assert_eq!(
        end.tiers,
        BTreeMap::from([("T0", 3), ("T1", 4), ("T2", 1), ("none", 1)].map(|(k, v)| (k.into(), v)))
    );
}

#[test]
fn no_pass_stands_below_its_goal() {
    let folder = tempfile::tempdir().unwrap();
    let mut m = begin(folder.path(), run("r"), &keys());
    let k = key("kernel.vx", on("h200"));
    let mut r = executed(&mut m, &k, 1, &runproof_evidence::digest::of_bytes(b"kernel.vx"), 0);
    r.device = Some(device_h200());
    r.verdict.tier = Some(Tier::T2);
    r.verdict.grade = Some(Grade::Effect);
    let r = m.append(r);
    assert_eq!((r.verdict.state, r.verdict.tier, r.verdict.grade), (State::Failed, Some(Tier::T1), None));
    assert!(r.verdict.reason.starts_with("goal T2, got T1: no probe was armed"), "{}", r.verdict.reason);
}

#[test]
fn a_run_killed_at_any_byte_is_read_as_partial() {
    let folder = tempfile::tempdir().unwrap();
    let mut m = begin(folder.path(), run("r"), &keys());
    write_all(&mut m);
    let root = m.writer.root().to_owned();
    drop(m);
    let whole = fs::read(root.join(RECORDS)).unwrap();
    let announced = keys().len();
    // Every cut near a line's end, and a coarse sweep between.
    for cut in 0..whole.len() {
        let near = whole[cut.saturating_sub(2)..(cut + 2).min(whole.len())].contains(&b'\n');
        if !near && cut % 97 != 0 {
            continue;
        }
        fs::write(root.join(RECORDS), &whole[..cut]).unwrap();
        let read = Bundle::open(&root).unwrap_or_else(|e| panic!("cut at {cut}: {e}"));
        assert!(!read.missing.is_empty());
        assert_eq!(read.tests.len(), announced);
        let ended = whole[..cut].split_inclusive(|b| *b == b'\n').filter(|l| l.ends_with(b"\n")).count();
        let states = read.tests.iter().filter(|t| t.state() == State::NotRun).count();
        assert!(ended > 0 || states == announced, "cut at {cut}");
    }
}

#[test]
fn a_started_test_without_an_end_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut m = begin(folder.path(), run("r"), &keys());
    let k = key("flaky.vx", Target::Host);
    let r = executed(&mut m, &k, 1, &runproof_evidence::digest::of_bytes(b"flaky.vx"), 1);
    m.append(r);
    let now = m.tick();
    m.writer.started(&k, 2, now).unwrap();
    let read = Bundle::open(m.writer.root()).unwrap();
    let test = read.tests.iter().find(|t| t.key == k).unwrap();
    assert_eq!(test.state(), State::NotRun);
    assert_eq!(test.attempts.len(), 1);
    assert!(test.reason().contains("was running when the run ended (attempt 2)"));
    let end = m.tick();
    let done = m.writer.finish(end, true, None).unwrap();
    assert_eq!(done.end.states["not-run"], keys().len() as u64);
    assert!(Bundle::open(&done.path).unwrap().run.selection.partial, "an interrupted run fills no cell");
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let done = bundle(folder.path(), "r", None);
    let check = |file: &str, edit: &dyn Fn(String) -> String, expect: &[&str]| {
        let path = done.path.join(file);
        let before = fs::read_to_string(&path).unwrap();
        fs::write(&path, edit(before.clone())).unwrap();
        let message = Bundle::open(&done.path).unwrap_err().to_string();
        fs::write(&path, before).unwrap();
        for part in expect {
            assert!(message.contains(part), "`{message}` lacks `{part}`");
        }
    };
    check(
        RUN,
        &|t| t.replace("runproof-bundle/1.0", "runproof-bundle/0.9"),
        &["run.json", "runproof-bundle/0.9", "reads runproof-bundle/1.0"],
    );
    check(RUN, &|t| t.replacen('{', "{\"tier\":\"T2\",", 1), &["unknown field `tier`"]);
    check(
        RECORDS,
        &|t| t.replacen("\"attempt\":1", "\"attempt\":\"x\"", 1),
        &["records.jsonl:1", "invalid type"],
    );
    check(
        RECORDS,
        &|t| t.replacen("\"verdict\":{", "\"verdict\":{\"best\":1,", 1),
        &["records.jsonl:2", "unknown field `best`"],
    );
    check(RECORDS, &|t| t.lines().take(3).map(|l| format!("{l}\n")).collect(), &["3 lines", "run.json says"]);
    check(RECORDS, &|t| t.replacen("compile.vx", "other.vx", 1), &["records.jsonl"]);
    check("fleet.toml", &|t| t + "[[hots]]\n", &["fleet.toml", "hots"]);
    fs::write(done.path.join("logs/extra"), "x").unwrap();
    let message = Bundle::open(&done.path).unwrap().verify_files().unwrap_err().to_string();
    assert!(message.contains("logs/extra"), "{message}");
}

#[test]
fn foreign_rows_are_refused_by_what_they_lack() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, text: &str, expect: &[&str]| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let message = Bundle::open(&path).unwrap_err().to_string();
        for part in expect {
            assert!(message.contains(part), "`{message}` lacks `{part}`");
        }
    };
    check(
        "old.json",
        r#"{"schema": 1, "gpu": "cardX"}"#,
        &["old.json", "schema 1", "this version reads runproof-bundle/1.0"],
    );
    check(
        "row.json",
        r#"{"test": "scan", "seconds": 1.25}"#,
        &["missing: commit, host, device identity, driver, command, harness version"],
    );
}

#[test]
fn a_bundle_that_cannot_be_written_says_what_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let check = |parent: &std::path::Path, id: &str, expect: &[&str]| {
        let census = |run: &runproof_records::bundle::Run| runproof_records::bundle::Census {
            schema: runproof_records::BUNDLE_SCHEMA.into(),
            run: run.id.clone(),
            nonce: run.nonce.clone(),
            tests: vec![],
            unclaimed: vec![],
        };
        let r = run(id);
        let c = census(&r);
        let error = BundleWriter::create(parent, r, &c, FLEET).unwrap_err();
        let message = format!("{error}; {}", error.way_out());
        for part in expect {
            assert!(message.contains(part), "`{message}` lacks `{part}`");
        }
    };
    check(folder.path(), "../x", &["`../x` is no run id"]);
    bundle(folder.path(), "twice", None);
    check(folder.path(), "twice", &["twice", "never written over"]);
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    check(&file, "r", &["file"]);
    let m = begin(folder.path(), run("r"), &keys());
    let message = m.writer.started(&key("other.vx", Target::Host), 1, at(5)).unwrap_err().to_string();
    assert!(message.contains("`other.vx` of suite `s` was not announced"), "{message}");
}

#[test]
fn lines_of_many_threads_are_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<_> = (0..40).map(|i| key(&format!("t{i}.vx"), Target::Host)).collect();
    let m = begin(folder.path(), run("r"), &names);
    std::thread::scope(|scope| {
        for part in names.chunks(10) {
            let writer = &m.writer;
            scope.spawn(move || part.iter().for_each(|k| writer.started(k, 1, at(1)).unwrap()));
        }
    });
    let text = fs::read_to_string(m.writer.root().join(RECORDS)).unwrap();
    let mut prev = runproof_evidence::digest::of_bytes(run("r").nonce.as_bytes());
    for (i, line) in text.lines().enumerate() {
        assert!(line.contains(&format!("\"seq\":{i},\"prev\":\"{prev}\"")), "{line}");
        prev = runproof_evidence::digest::of_bytes(line.as_bytes());
    }
    assert_eq!(text.lines().count(), 40);
}

#[test]
fn a_signed_bundle_has_an_envelope_over_its_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let pem = folder.path().join("key.pem");
    sign::generate(&pem).unwrap();
    let signer = Signer::open(&pem).unwrap();
    let done = bundle(folder.path(), "r", Some(&signer));
    assert!(done.signed);
    Bundle::open(&done.path).unwrap().verify_files().unwrap();
    let envelope = fs::read_to_string(done.path.join("MANIFEST.dsse")).unwrap();
    assert!(envelope.contains("application/vnd.in-toto+json") && envelope.contains(signer.id()));
    assert!(!fs::read_to_string(done.path.join(MANIFEST)).unwrap().contains("dsse"));
}
