//! The matrix: what fills a cell, what does not, and what is said about the rest.

#![allow(clippy::unwrap_used, reason = "test code")]

mod good;

use good::*;
use runproof_evidence::matrix::*;
use runproof_records::fleet::Fleet;
use runproof_records::reasons::Reasons;
use runproof_records::record::{Record, Target, TestKey, Work};
use runproof_records::verdict::*;
use std::fs;
use std::path::Path;

const REASONS: &str = r#"
[[empty]]
host = "linux-x86"
device = "ane"
tier_missing = "T2"
missing = ["hardware-access"]
because = "never used: the cell is n/a"
next_step = "none"
owner = "runtime team"
review = "2026-12-01"
claim = ""
"#;

fn reason(host: &str, device: &str, tier: &str) -> String {
    format!(
        "[[empty]]\nhost = \"{host}\"\ndevice = \"{device}\"\ntier_missing = \"{tier}\"\nmissing = [\"hardware-access\", \"run\"]\n\
         because = \"nobody has the machine\"\nblockers = [\"https://example.org/1\"]\nnext_step = \"rent one\"\nowner = \"runtime team\"\n\
         review = \"2026-12-01\"\nclaim = \"it compiles\"\n"
    )
}

fn fleet() -> Fleet {
    toml::from_str(FLEET).unwrap()
}

fn reasons(text: &str) -> Reasons {
    toml::from_str(text).unwrap()
}

fn at_date(date: &str) -> Settings {
    Settings { as_of: date.into(), min_executed: 1 }
}

fn open(path: &Path) -> Source {
    let link = format!("evidence/{}", path.file_name().unwrap().to_str().unwrap());
    Source::open(path, link).unwrap()
}

/// A bundle of these tests, with an edit of the run and of each record before it is written.
fn make(
    parent: &Path,
    id: &str,
    keys: &[TestKey],
    edit_run: impl Fn(&mut runproof_records::bundle::Run),
    edit: impl Fn(&mut Record),
) -> Source {
    let mut r = run(id);
    edit_run(&mut r);
    let host = r.host.clone();
    let mut m = begin(parent, r, keys);
    for k in keys {
        let source = runproof_evidence::digest::of_bytes(k.test.as_bytes());
        let mut record = executed(&mut m, k, 1, &source, 0);
        match &k.target {
            Target::Device { id } if id == "h200" => place(&mut m, &mut record, device_h200(), false),
            Target::Device { .. } => place(&mut m, &mut record, device_pocl(), false),
            Target::Shim => {
                record.declaration.kinds = vec!["cuda".into()];
            }
            Target::Host => {}
        }
        record.host = host.clone();
        edit(&mut record);
        m.append(record);
    }
    let end = m.tick();
    open(&m.writer.finish(end, false, None).unwrap().path)
}

fn cell<'a>(m: &'a Matrix, host: &str, device: &str) -> &'a Cell {
    m.cells.iter().find(|c| c.host == host && c.device == device).unwrap()
}

fn headline(m: &Matrix, host: &str, device: &str) -> String {
    let h = cell(m, host, device).headline;
    h.map_or("-".into(), |h| {
        format!("{}{}{}", h.tier, h.grade.map_or("", Grade::word), if h.shim { " shim" } else { "" })
    })
}

fn kinds(m: &Matrix) -> Vec<ProblemKind> {
    m.problems.iter().map(|p| p.kind).collect()
}

fn build_one(source: Source, text: &str) -> Matrix {
    build(&[source], &fleet(), &reasons(text), &at_date("2026-03-02")).unwrap()
}

#[test]
fn the_committed_table_is_what_the_bundles_give() {
    let folder = tempfile::tempdir().unwrap();
    let done = bundle(folder.path(), "r-1", None);
    let sources = [open(&done.path)];
    let text: String = [
        reason("mac-arm", "ane", "T2"),
        reason("mac-arm", "pocl", "T1"),
        reason("mac-arm", "no device", "T1"),
    ]
    .concat();
    // `wrong.vx` fails with goal T1, so T1 is no headline of the first column; T0 is.
    let matrix = build(&sources, &fleet(), &reasons(&text), &at_date("2026-03-02")).unwrap();
    assert_eq!(headline(&matrix, "linux-x86", "no device"), "T0");
    assert_eq!(headline(&matrix, "linux-x86", "h200"), "T2event");
    assert_eq!(headline(&matrix, "linux-x86", "pocl"), "T1");
    assert_eq!(cell(&matrix, "linux-x86", "ane").state, CellState::NotApplicable);
    assert_eq!(cell(&matrix, "mac-arm", "ane").reason.as_ref().unwrap().next_step, "rent one");
    assert!(matrix.problems.is_empty(), "{:#?}", matrix.problems);
    let executed = Executed { on_device: 1, on_shim_or_software: 1, without: 2 };
    assert_eq!(matrix.executed, executed, "T1 and T2 are never one number");

    let committed = markdown(&matrix);
    let golden = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/matrix.md"))
        .unwrap_or_default();
    // The digest of the bundle holds digests of the rule and the logs: it is data, not wording.
    let digest = sources[0].bundle.digest.as_ref().unwrap().as_str();
    let rule = matrix.rule.digest.as_str();
    let wording = committed.replace(digest, "sha256:BUNDLE").replace(rule, "sha256:RULE");
    assert!(wording == golden, "tests/golden/matrix.md differs; this is given:\n{wording}");

    check(&committed, &sources, &fleet(), &reasons(&text), 1).unwrap();
    let edited = committed.replacen("○ T1", "● T2", 1);
    let message = check(&edited, &sources, &fleet(), &reasons(&text), 1).unwrap_err().to_string();
    assert!(message.contains("is not what the bundles give"), "{message}");
    let message = check("# nothing", &sources, &fleet(), &reasons(&text), 1).unwrap_err().to_string();
    assert!(message.contains("generate it again"), "{message}");
    assert_eq!(
        json(&matrix).unwrap(),
        json(&build(&sources, &fleet(), &reasons(&text), &at_date("2026-03-02")).unwrap()).unwrap()
    );
}

#[test]
fn a_shim_result_is_t1_in_the_columns_of_its_kinds_and_needs_a_reason_there() {
    let folder = tempfile::tempdir().unwrap();
    let source =
        make(folder.path(), "r", &[key("k.vx", Target::Shim), key("h.vx", Target::Host)], |_| {}, |_| {});
    let m = build_one(source, &reason("linux-x86", "h200", "T2"));
    assert_eq!(headline(&m, "linux-x86", "h200"), "T1 shim");
    assert_eq!(headline(&m, "linux-x86", "pocl"), "-", "the test does not declare that kind");
    let first = cell(&m, "linux-x86", "no device");
    assert_eq!((first.tiers[&Tier::T1].passed, first.placement_bearing), (2, 1));
    assert_eq!(cell(&m, "linux-x86", "h200").tiers[&Tier::T1].passed, 1);
    assert!(cell(&m, "linux-x86", "h200").reason.is_some());
    assert_eq!(m.executed.on_device, 0);
}

#[test]
fn what_fills_nothing_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let keys = [key("h.vx", Target::Host)];
    let none = |source: Source, expect: &str| {
        let m = build_one(source, "");
        assert_eq!(headline(&m, "linux-x86", "no device"), "-");
        assert!(m.left_out[0].why.contains(expect), "{:?}", m.left_out);
    };
    none(make(folder.path(), "filtered", &keys, |r| r.selection.partial = true, |_| {}), "partial");
    none(make(folder.path(), "shard", &keys, |r| r.selection.shard = "1/2".into(), |_| {}), "partial");
    let skip = |r: &mut Record| {
        r.commands.clear();
        r.verdict.state = State::Skipped;
        r.verdict.skip = Some(SkipKind::NoDevice);
    };
    none(make(folder.path(), "skipped", &keys, |_| {}, skip), "none of its 1 tests was executed");
    none(make(folder.path(), "elsewhere", &keys, |r| r.host.id = "other".into(), |_| {}), "not declared");
    none(
        make(folder.path(), "later", &keys, |r| r.started.utc += 100 * 86_400_000_000_000, |_| {}),
        "after the date",
    );
    let mut killed = begin(folder.path(), run("killed"), &keys);
    let now = killed.tick();
    killed.writer.started(&keys[0], 1, now).unwrap();
    none(open(killed.writer.root()), "partial");
    // Below the floor there is no headline, and the counts are shown.
    let source = make(folder.path(), "floor", &keys, |_| {}, |_| {});
    let settings = Settings { as_of: "2026-03-02".into(), min_executed: 2 };
    let m = build(&[source], &fleet(), &Reasons::default(), &settings).unwrap();
    let cell = cell(&m, "linux-x86", "no device");
    assert_eq!((cell.headline, cell.tiers[&Tier::T1].passed), (None, 1));
}

#[test]
fn a_failed_test_of_the_goal_takes_the_headline() {
    let folder = tempfile::tempdir().unwrap();
    let keys = [key("a.vx", on("h200")), key("b.vx", on("h200")), key("c.vx", Target::Shim)];
    let liar = |r: &mut Record| {
        if r.key.test == "b.vx" {
            r.placement = None;
            r.verdict.placement = None;
            r.verdict.facts.placement = Fact::Failed;
        }
    };
    let m = build_one(make(folder.path(), "r", &keys, |_| {}, liar), "");
    assert_eq!(headline(&m, "linux-x86", "h200"), "T1 shim");
    assert_eq!(cell(&m, "linux-x86", "h200").failed[&Tier::T2], 1);
    // An undeclared override makes the evidence ineligible.
    let m = build_one(
        make(
            folder.path(),
            "o",
            &keys[..1],
            |_| {},
            |r| {
                r.device.as_mut().unwrap().undeclared_overrides.push("CUDA_VISIBLE_DEVICES".into());
            },
        ),
        "",
    );
    assert_eq!(headline(&m, "linux-x86", "h200"), "-");
    assert!(cell(&m, "linux-x86", "h200").tiers.is_empty());
}

#[test]
fn evidence_ages_by_days() {
    let folder = tempfile::tempdir().unwrap();
    let source = make(folder.path(), "r", &[key("a.vx", on("h200"))], |_| {}, |_| {});
    for (date, state) in [
        ("2026-03-01", CellState::Filled),
        ("2026-04-15", CellState::Filled),
        ("2026-04-16", CellState::Ageing),
        ("2026-05-13", CellState::Stale),
        ("2026-05-30", CellState::Stale),
        ("2026-05-31", CellState::Expired),
    ] {
        let m = build(std::slice::from_ref(&source), &fleet(), &Reasons::default(), &at_date(date)).unwrap();
        let cell = cell(&m, "linux-x86", "h200");
        assert_eq!(cell.state, state, "{date}");
        assert_eq!(cell.headline.is_some(), state != CellState::Expired, "{date}");
        assert_eq!(kinds(&m).contains(&ProblemKind::Expired), state == CellState::Expired, "{date}");
    }
}

#[test]
fn two_evidences_of_one_commit_that_disagree_are_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let keys = [key("a.vx", Target::Host)];
    let fail = |r: &mut Record| {
        r.verdict.state = State::Failed;
        r.verdict.facts.oracle = Fact::Failed;
    };
    let one = make(folder.path(), "one", &keys, |_| {}, fail);
    let two = make(folder.path(), "two", &keys, |r| r.started.utc += 1, |_| {});
    let other = make(folder.path(), "other", &keys, |r| r.source.commit = "fff".into(), |_| {});
    let m =
        build(&[two.clone(), one.clone()], &fleet(), &Reasons::default(), &at_date("2026-03-02")).unwrap();
    let c = cell(&m, "linux-x86", "no device");
    assert_eq!(c.state, CellState::Conflict);
    assert!(c.conflicts[0].contains("failed in one, passed in two"), "{:?}", c.conflicts);
    let m = build(&[other, one], &fleet(), &Reasons::default(), &at_date("2026-03-02")).unwrap();
    assert_ne!(
        cell(&m, "linux-x86", "no device").state,
        CellState::Conflict,
        "another commit disagrees with nobody"
    );
}

#[test]
fn an_older_bundle_of_the_same_results_is_still_listed() {
    let folder = tempfile::tempdir().unwrap();
    let keys = [key("a.vx", on("h200"))];
    let old = make(folder.path(), "old", &keys, |_| {}, |_| {});
    let new = make(folder.path(), "new", &keys, |r| r.started.utc += 1, |_| {});
    let m = build(&[new, old], &fleet(), &Reasons::default(), &at_date("2026-03-02")).unwrap();
    assert_eq!(cell(&m, "linux-x86", "h200").evidence.len(), 1);
    assert_eq!(m.left_out.len(), 1);
    assert_eq!(m.left_out[0].run, "old");
    assert!(m.left_out[0].why.contains("newer bundles hold its results again; by itself it has T2 1 passed"));
    // What has expired is not said to have been repeated.
    let alone = make(folder.path(), "alone", &keys, |_| {}, |_| {});
    let m = build(&[alone], &fleet(), &Reasons::default(), &at_date("2030-03-02")).unwrap();
    assert!(
        m.left_out[0].why.starts_with("its results belong to no cell, or are too old"),
        "{:?}",
        m.left_out
    );
}

#[test]
fn kernels_on_several_devices_make_a_run_across_devices() {
    let folder = tempfile::tempdir().unwrap();
    let keys = [key("a.vx", on("h200"))];
    let one = make(folder.path(), "one", &keys, |_| {}, |_| {});
    let second = |r: &mut Record| {
        let work = &mut r.placement.as_mut().unwrap().commands[0].work;
        let other = Work { device: "GPU-other".into(), name: "decode".into(), ..work[0].clone() };
        work.push(other);
    };
    let two = make(folder.path(), "two", &keys, |_| {}, second);
    let m = build(&[one, two], &fleet(), &Reasons::default(), &at_date("2026-03-02")).unwrap();
    assert_eq!(m.runs.len(), 1, "{:?}", m.runs);
    assert_eq!(m.runs[0].run, "two");
    assert_eq!(m.runs[0].participants.len(), 2);
    assert!(m.runs[0].participants.iter().any(|p| p == "GPU-other: decode"), "{:?}", m.runs);
}

#[test]
fn reasons_are_linted() {
    let folder = tempfile::tempdir().unwrap();
    let source = make(folder.path(), "r", &[key("a.vx", on("h200"))], |_| {}, |_| {});
    let check = |text: &str, kind: ProblemKind, expect: &str| {
        let m =
            build(std::slice::from_ref(&source), &fleet(), &reasons(text), &at_date("2026-03-02")).unwrap();
        let found = m.problems.iter().any(|p| p.kind == kind && p.message.contains(expect));
        assert!(found, "{kind:?} `{expect}`: {:#?}", m.problems);
    };
    check("", ProblemKind::NoReason, "mac-arm × ane MISSING T2: no result set names it");
    check("", ProblemKind::NoReason, "linux-x86 × pocl MISSING T1");
    check(&reason("mac-*", "ane", "T2").repeat(2), ProblemKind::TwoReasons, "2 reasons match");
    check(&reason("linux-x86", "h200", "T2"), ProblemKind::NeedlessReason, "has evidence of T2");
    check(&reason("linux-x86", "h200", "T1"), ProblemKind::NeedlessReason, "has evidence of T2");
    check(REASONS, ProblemKind::NeedlessReason, "is n/a (ane needs os=macos)");
    check(&reason("mac-arm", "tpu", "T2"), ProblemKind::NeedlessReason, "no cell of the fleet is meant");
    check(
        &reason("mac-arm", "ane", "T2").replace("2026-12-01", "2026-03-01"),
        ProblemKind::ReviewDue,
        "2026-03-01",
    );
    check(&reason("mac-arm", "ane", "T2").replace("2026-12-01", "soon"), ProblemKind::BadReason, "`soon`");
    check(
        &reason("mac-arm", "ane", "T2").replace("[\"hardware-access\", \"run\"]", "[]"),
        ProblemKind::BadReason,
        "`missing` is empty",
    );
    let typo = reason("a", "b", "T2").replace("owner", "ownr");
    assert!(toml::from_str::<Reasons>(&typo).unwrap_err().to_string().contains("ownr"));
}

#[test]
fn a_typed_tier_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let done = bundle(folder.path(), "r", None);
    // Without a manifest nothing stands in the way but the tier itself.
    fs::remove_file(done.path.join("MANIFEST")).unwrap();
    let path = done.path.join("records.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let at = text.rfind("\"tier\":\"T0\"").unwrap();
    fs::write(&path, format!("{}\"tier\":\"T2\"{}", &text[..at], &text[at + 11..])).unwrap();
    let run = done.path.join("run.json");
    let mut value: serde_json::Value = serde_json::from_str(&fs::read_to_string(&run).unwrap()).unwrap();
    value.as_object_mut().unwrap().remove("end");
    fs::write(&run, value.to_string()).unwrap();
    let message = Source::open(&done.path, "x".into()).unwrap_err().to_string();
    assert!(message.contains("stored as T2, the rule gives T0"), "{message}");
    let whole = bundle(folder.path(), "s", None);
    fs::write(whole.path.join("logs/more"), "x").unwrap();
    assert!(Source::open(&whole.path, "x".into()).unwrap_err().to_string().contains("logs/more"));
}

#[test]
fn a_test_that_ran_nowhere_is_named_with_what_was_demanded() {
    let folder = tempfile::tempdir().unwrap();
    let keys = [key("native.vx", Target::Host), key("other.vx", Target::Host)];
    let skip = |gate: &'static str| {
        move |r: &mut Record| {
            if r.key.test == "native.vx" {
                r.commands.clear();
                r.declaration.gates = vec![format!("REQUIRES: {gate}")];
                r.verdict.state = State::Skipped;
                r.verdict.skip = Some(SkipKind::Requires);
            }
        }
    };
    let host = |id: &'static str| move |r: &mut runproof_records::bundle::Run| r.host.id = id.into();
    let sources = [
        make(folder.path(), "a", &keys, host("linux-x86"), skip("device_gpu")),
        make(folder.path(), "b", &keys, host("mac-arm"), skip("device_gpu")),
        make(folder.path(), "c", &keys, host("nightly"), skip("!device_gpu")),
    ];
    let m = build(&sources, &fleet(), &Reasons::default(), &at_date("2026-03-02")).unwrap();
    assert_eq!(m.nowhere.len(), 1);
    let text = markdown(&m);
    for part in
        ["native.vx of suite s: ran on 0 of 3 hosts", "both device\\_gpu and !device\\_gpu were demanded"]
    {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn foreign_text_is_no_markup() {
    let folder = tempfile::tempdir().unwrap();
    let scope = |r: &mut Record| {
        r.declaration.scope.insert("op".into(), "a|b\n<script>".into());
    };
    let m = build_one(make(folder.path(), "r", &[key("a.vx", Target::Host)], |_| {}, scope), "");
    assert!(markdown(&m).contains("- scope op: a\\|b \\<script\\>\n"));
}
