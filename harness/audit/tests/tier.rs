//! Two interpreters of one rule: they agree on records that nobody would write by hand, and nothing that is taken
//! away from a record raises its tier.

#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "../../evidence/tests/good/mod.rs"]
mod good;

use good::*;
use proptest::prelude::*;
use runproof_records::record::*;
use runproof_records::verdict::*;
use serde_json::Value;
use std::sync::LazyLock;

static RECORDS: LazyLock<Vec<Record>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let done = bundle(folder.path(), "r", None);
    let bundle = runproof_evidence::Bundle::open(&done.path).unwrap();
    bundle.tests.into_iter().flat_map(|t| t.attempts).collect()
});

fn agree(record: &Record) -> Result<(), TestCaseError> {
    let runner = runproof_evidence::tier::grade(record);
    let audit = runproof_audit::tier(record);
    prop_assert_eq!((runner.tier, runner.grade, runner.control), (audit.tier, audit.grade, audit.control));
    prop_assert_eq!(runner.missing.is_empty(), runner.tier >= Some(record.verdict.goal));
    Ok(())
}

/// Every place of a JSON value, as pointers.
fn places(value: &Value, here: String, into: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, v)| places(v, format!("{here}/{i}"), into));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(k, v)| {
                places(v, format!("{here}/{}", k.replace('~', "~0").replace('/', "~1")), into);
            });
        }
        _ => {}
    }
    into.push(here);
}

const TEXTS: &[&str] = &[
    "held",
    "failed",
    "absent",
    "placed",
    "not placed",
    "inconclusive",
    "G0",
    "G1",
    "G2",
    "G3",
    "agrees",
    "none",
    "missing",
    "kernel",
    "plan",
    "energy_delta",
    "memcpy",
    "exec",
    "run",
    "hidden-device",
    "cpu",
    "gpu",
    "device",
    "cuda",
    "opencl",
    ">=",
    "=",
    "exit 0",
    "exit nonzero",
    "EXPECT",
    "EXPECT(refused)",
    "CHECK",
    "",
    GPU,
    "T0",
    "T1",
    "T2",
    "T2x",
];

/// Changes one place: removes it, doubles it, or puts another value of its type there.
fn mutate(record: &Record, at: usize, how: usize) -> Option<Record> {
    let mut root = serde_json::to_value(record).unwrap();
    let mut all = Vec::new();
    places(&root, String::new(), &mut all);
    let place = &all[at % all.len()];
    let (parent, name) = place.rsplit_once('/')?;
    let name = name.replace("~1", "/").replace("~0", "~");
    match root.pointer_mut(parent)? {
        Value::Array(items) if how.is_multiple_of(3) => drop(items.remove(name.parse().ok()?)),
        Value::Array(items) if how % 3 == 1 => {
            let copy = items[name.parse::<usize>().ok()?].clone();
            items.push(copy);
        }
        Value::Object(fields) if how.is_multiple_of(5) => drop(fields.remove(&name)),
        _ => match root.pointer_mut(place)? {
            Value::Bool(b) => *b = !*b,
            Value::Number(n) => *n = [0_u64, 1, 2, n.as_u64().unwrap_or_default() + 1][how % 4].into(),
            Value::String(s) => *s = TEXTS[how % TEXTS.len()].to_owned(),
            Value::Array(items) => items.clear(),
            Value::Object(fields) => fields.clear(),
            Value::Null => {}
        },
    }
    serde_json::from_value(root).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runner_and_audit_agree(base in 0_usize..64, edits in prop::collection::vec((any::<usize>(), any::<usize>()), 1..6)) {
        let mut record = RECORDS[base % RECORDS.len()].clone();
        for (at, how) in edits {
            if let Some(next) = mutate(&record, at, how) {
                record = next;
            }
            agree(&record)?;
        }
    }
}

#[test]
fn they_agree_after_every_single_change() {
    for record in RECORDS.iter() {
        let mut all = Vec::new();
        places(&serde_json::to_value(record).unwrap(), String::new(), &mut all);
        for (at, place) in all.iter().enumerate() {
            for how in 0..8 {
                if let Some(next) = mutate(record, at, how) {
                    agree(&next).unwrap_or_else(|e| panic!("{place} ({how}): {e}"));
                }
            }
        }
    }
}

/// Takes one positive fact away.
fn take(r: &mut Record, what: usize, which: usize) {
    fn out<T>(list: &mut Vec<T>, which: usize) {
        if !list.is_empty() {
            list.remove(which % list.len());
        }
    }
    let facts = |f: &mut Facts, which: usize| {
        *[&mut f.exit, &mut f.placement, &mut f.readback, &mut f.oracle][which % 4] = Fact::Absent;
    };
    match (what, r.placement.as_mut(), r.device.as_mut()) {
        (0, ..) => facts(&mut r.verdict.facts, which),
        (1, ..) => {
            let kept: Vec<usize> =
                (0..r.commands.len()).filter(|i| r.commands[*i].role != CommandRole::HiddenDevice).collect();
            if !kept.is_empty() {
                r.commands.remove(kept[which % kept.len()]);
            }
        }
        (2, ..) => out(&mut r.result.checks, which),
        (3, ..) => r.device = None,
        (4, ..) => r.placement = None,
        (5, Some(p), _) => out(&mut p.probes, which),
        (6, Some(p), _) => {
            // The control's own entries are a negative finding, not a positive fact.
            if !p.commands.is_empty() && p.commands[0].command == 1 {
                p.commands.remove(0);
            }
        }
        (7, Some(p), _) => p.commands.iter_mut().for_each(|c| out(&mut c.processes, which)),
        (8, Some(p), _) => p.commands.iter_mut().for_each(|c| out(&mut c.work, which)),
        (9, Some(p), _) => p.commands.iter_mut().for_each(|c| out(&mut c.placed, which)),
        (10, Some(p), _) => p.commands.iter_mut().flat_map(|c| &mut c.placed).for_each(|l| l.grade = None),
        (11, _, Some(d)) => out(&mut d.agreement, which),
        (12, _, Some(d)) => {
            d.identity.uuid = None;
        }
        (13, ..) => r.commands.iter_mut().for_each(|c| out(&mut c.stages, which)),
        (14, ..) => {
            if let Some(c) = r.commands.first_mut() {
                c.nonce.clear();
            }
        }
        (15, Some(p), _) => p.commands.iter_mut().for_each(|c| c.witness = "missing".into()),
        _ => r.result.strength = None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_taken_away_never_raises_a_tier(
        base in 0_usize..64,
        taken in prop::collection::vec((0_usize..17, any::<usize>()), 1..8),
    ) {
        let mut record = RECORDS[base % RECORDS.len()].clone();
        let mut before = runproof_evidence::tier::grade(&record).tier;
        for (what, which) in taken {
            take(&mut record, what, which);
            agree(&record)?;
            let after = runproof_evidence::tier::grade(&record).tier;
            prop_assert!(after <= before, "{what} {which}: {before:?} became {after:?}");
            before = after;
        }
    }
}

#[test]
fn both_embed_the_same_rule() {
    assert_eq!(runproof_audit::RULE_TEXT, runproof_evidence::tier::RULE_TEXT);
}

/// The first T2 record as one of the Neural Engine: found by platform and name, proved by energy.
fn of_the_engine() -> Record {
    let mut r = RECORDS.iter().find(|r| r.verdict.tier == Some(Tier::T2)).unwrap().clone();
    let device = r.device.as_mut().unwrap();
    device.kind = "ane".into();
    device.class = "npu".into();
    device.name = "Neural Engine".into();
    device.identity =
        Identity { uuid: None, bus: None, platform: Some("Core ML".into()), strength: "weak".into() };
    r.commands.retain(|c| c.role != CommandRole::HiddenDevice);
    let kept: Vec<u32> = r.commands.iter().map(|c| c.index).collect();
    let placement = r.placement.as_mut().unwrap();
    placement.control = None;
    placement.commands.retain(|e| kept.contains(&e.command));
    for entry in &mut placement.commands {
        let work = |record: &str, name: &str| Work {
            record: record.into(),
            name: name.into(),
            device: "Core ML/Neural Engine".into(),
            count: 1,
            ns: 0,
            bytes: 0,
        };
        entry.work = vec![work("energy_delta", "ane"), work("plan", "ios17.matmul")];
        let mut energy = entry.placed[0].clone();
        energy.pattern.record = "energy_delta".into();
        energy.pattern.fields = vec![];
        (energy.pattern.count, energy.matched) = (Condition { op: ">=".into(), value: "1".into() }, 1);
        let mut plan = energy.clone();
        plan.pattern.record = "plan".into();
        plan.grade = Some(Grade::Plan);
        entry.placed = vec![plan, energy];
    }
    r
}

#[test]
fn the_neural_engine_needs_energy_and_its_witness() {
    let check = |edit: fn(&mut CommandPlacement), expect: Tier| {
        let mut r = of_the_engine();
        r.placement.as_mut().unwrap().commands.iter_mut().for_each(edit);
        agree(&r).unwrap();
        assert_eq!(
            runproof_audit::tier(&r).tier,
            Some(expect),
            "{:#?}",
            runproof_evidence::tier::grade(&r).missing
        );
    };
    check(|_| {}, Tier::T2);
    check(|entry| drop(entry.placed.pop()), Tier::T1);
    check(|entry| entry.work.retain(|work| work.record == "plan"), Tier::T1);
    check(|entry| entry.witness = "missing".into(), Tier::T1);
    check(|entry| entry.witness = "none".into(), Tier::T1);
    check(|entry| entry.inconclusive.push("the counters stand still".into()), Tier::T1);
    check(|entry| entry.placed[1].grade = Some(Grade::Plan), Tier::T1);
}
