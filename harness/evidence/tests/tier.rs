//! The tier function, row by row: what a record has to show, and what each missing fact costs.

#![allow(clippy::unwrap_used, reason = "test code")]

mod good;

use good::*;
use runproof_evidence::tier::{GoalInputs, goal, grade};
use runproof_records::record::*;
use runproof_records::verdict::*;

/// The T2 record of the good bundle, before it is written.
fn gpu() -> Record {
    let folder = tempfile::tempdir().unwrap();
    let mut m = begin(folder.path(), run("r"), &keys());
    let k = key("kernel.vx", on("h200"));
    let mut r = executed(&mut m, &k, 1, &runproof_evidence::digest::of_bytes(b"kernel.vx"), 0);
    place(&mut m, &mut r, device_h200(), true);
    m.append(r)
}

fn check(what: &str, edit: impl Fn(&mut Record), expect: Option<Tier>, atom: &str) {
    let mut record = gpu();
    edit(&mut record);
    let got = grade(&record);
    assert_eq!(got.tier, expect, "{what}: {:?}", got.missing);
    if expect < Some(record.verdict.goal) {
        assert!(got.missing.iter().any(|m| m.atom == atom && !m.why.is_empty()), "{what}: {:?}", got.missing);
        assert_eq!((got.grade, got.control), (None, false), "{what}");
    }
}

fn entry(r: &mut Record) -> &mut CommandPlacement {
    &mut r.placement.as_mut().unwrap().commands[0]
}

fn line(r: &mut Record) -> &mut PlacedLine {
    &mut entry(r).placed[0]
}

fn device(r: &mut Record) -> &mut Device {
    r.device.as_mut().unwrap()
}

#[test]
fn the_good_record_is_t2_event_with_control() {
    let got = grade(&gpu());
    assert_eq!((got.tier, got.grade, got.control), (Some(Tier::T2), Some(Grade::Event), true));
    assert!(got.missing.is_empty());
}

#[test]
fn what_is_in_the_verdict_already_does_not_matter() {
    check("typed tier", |r| r.verdict.tier = Some(Tier::T2x), Some(Tier::T2), "");
    check("typed grade", |r| r.verdict.grade = Some(Grade::Effect), Some(Tier::T2), "");
    check("typed outcome", |r| r.verdict.placement = None, Some(Tier::T2), "");
}

#[test]
fn each_missing_fact_of_t2_leaves_t1() {
    let t1 = Some(Tier::T1);
    check("on the shim", |r| r.key.target = Target::Shim, t1, "on_device");
    check("another device", |r| device(r).id = "x".into(), t1, "on_device");
    check("no device", |r| r.device = None, t1, "on_device");
    check("software", |r| device(r).software = true, t1, "hardware");
    check("CPU class", |r| device(r).class = "cpu".into(), t1, "hardware");
    check("unknown class", |r| device(r).class = "unknown".into(), t1, "hardware");
    check("undeclared", |r| device(r).declared = false, t1, "as_declared");
    check("not compared", |r| device(r).agreement.clear(), t1, "as_declared");
    check("a fact disagrees", |r| device(r).agreement[1].agrees = false, t1, "as_declared");
    check(
        "no identity",
        |r| (device(r).identity.uuid, device(r).identity.bus) = (None, None),
        t1,
        "identity",
    );
    check("override", |r| device(r).undeclared_overrides.push("X".into()), t1, "untainted");
    check("emulated", |r| r.host.emulation.push("qemu".into()), t1, "native");
    check("no probe", |r| r.placement = None, t1, "observed");
    check("not observed", |r| r.placement.as_mut().unwrap().commands.clear(), t1, "observed");
    check("an empty stream", |r| entry(r).lines = 0, t1, "observed");
    check("probe not named", |r| r.placement.as_mut().unwrap().probes.clear(), t1, "observed");
    check("fact", |r| r.verdict.facts.placement = Fact::Absent, t1, "placement");
    check(
        "not placed",
        |r| r.placement.as_mut().unwrap().outcome = PlacementOutcome::NotPlaced,
        t1,
        "placement",
    );
    check("one command is not", |r| entry(r).outcome = PlacementOutcome::Inconclusive, t1, "placement");
    check("not accepted", |r| entry(r).processes[0].accepted = false, t1, "processes");
    check("not of the command", |r| entry(r).processes[0].descends = false, t1, "processes");
    check("no process", |r| entry(r).processes.clear(), t1, "processes");
    check("no nonce", |r| r.commands[1].nonce.clear(), t1, "window");
    check("before the attempt", |r| r.commands[1].started.utc = 1, t1, "window");
    check("no PLACED", |r| entry(r).placed.clear(), t1, "placed_lines");
    check("not met", |r| line(r).met = false, t1, "placed_lines");
    check("met against the count", |r| line(r).matched = 0, t1, "placed_lines");
    check("does not apply", |r| line(r).applies = false, t1, "placed_lines");
    check("a memset is no kernel", |r| line(r).pattern.record = "memset".into(), t1, "placed_lines");
    check("text", |r| line(r).grade = Some(Grade::Text), t1, "records_grade");
    check("plan", |r| line(r).grade = Some(Grade::Plan), t1, "records_grade");
    check("no grade", |r| line(r).grade = None, t1, "records_grade");
    check("above its probe", |r| line(r).grade = Some(Grade::Effect), t1, "records_grade");
    check("no work", |r| entry(r).work.clear(), t1, "device_work");
    check("another UUID", |r| entry(r).work[0].device = "GPU-x".into(), t1, "device_work");
    check(
        "fallback",
        |r| {
            let mut other = entry(r).work[0].clone();
            other.device = "Portable Computing Language/cpu".into();
            entry(r).work.push(other);
        },
        t1,
        "no_fallback",
    );
    check("witness contradicts", |r| entry(r).witness = "contradicts".into(), t1, "witness");
    check("witness missing", |r| entry(r).witness = "missing".into(), t1, "witness");
    check("cuda has a witness", |r| entry(r).witness = "none".into(), t1, "witness");
    check("inconclusive", |r| entry(r).inconclusive.push("gap".into()), t1, "conclusive");
    check(
        "control seen",
        |r| r.placement.as_mut().unwrap().control.as_mut().unwrap().records = 1,
        t1,
        "control",
    );
    check(
        "control accepted",
        |r| r.placement.as_mut().unwrap().control.as_mut().unwrap().accepted = true,
        t1,
        "control",
    );
    check("control result lost", |r| r.placement.as_mut().unwrap().control = None, t1, "control");
}

#[test]
fn each_missing_fact_of_t1_leaves_t0_and_of_t0_nothing() {
    let t0 = Some(Tier::T0);
    check("crash", |r| r.commands[1].exit = Exit::Signal { number: 11, name: "SIGSEGV".into() }, t0, "exit");
    check("exit not held", |r| r.commands[1].exit_held = false, t0, "exit");
    check("fact exit", |r| r.verdict.facts.exit = Fact::Absent, t0, "exit");
    check("another exit was asked", |r| r.commands[1].expected = "exit 3".into(), t0, "exit");
    check("timed out", |r| r.commands[1].exit = Exit::TimedOut { limit_ms: 5 }, t0, "executed");
    check("EXEC_RUN lost", |r| drop(r.commands.remove(1)), t0, "executed");
    check("nothing started", |r| r.commands[1].stages.clear(), t0, "executed");
    check("readback", |r| r.verdict.facts.readback = Fact::Absent, t0, "readback");
    check("oracle", |r| r.verdict.facts.oracle = Fact::Absent, t0, "oracle");
    check("check lost", |r| r.result.checks.clear(), t0, "oracle");
    check("never executed", |r| r.result.checks[0].executed = 0, t0, "oracle");
    check(
        "NaN",
        |r| {
            r.result.numeric =
                Some(Numeric { elements: 4, max_abs: "0".into(), max_rel: "0".into(), nan: 1, over: 0 });
        },
        t0,
        "oracle",
    );
    check("RUN failed", |r| r.commands[0].exit_held = false, None, "run_part");
    check("RUN lost", |r| drop(r.commands.remove(0)), None, "run_part");
    check("all lost", |r| r.commands.clear(), None, "reached");
    check("another schema", |r| r.schema = "runproof-record/2.0".into(), None, "schema");
}

#[test]
fn a_death_by_the_expected_signal_is_as_asked() {
    check(
        "signal",
        |r| {
            r.commands[1].exit = Exit::Signal { number: 6, name: "SIGABRT".into() };
            r.commands[1].expected = "signal SIGABRT".into();
        },
        Some(Tier::T2),
        "",
    );
}

#[test]
fn a_test_that_only_compiles_earns_t0_and_one_that_executes_nothing_else_earns_none_when_it_fails() {
    let mut r = gpu();
    r.commands.truncate(1);
    r.declaration.directives.remove("EXEC_RUN");
    r.verdict.goal =
        goal(&GoalInputs { executes: false, target: &r.key.target, declared_software: false, peers: false });
    assert_eq!((grade(&r).tier, r.verdict.goal), (Some(Tier::T0), Tier::T0));
    let mut r = gpu();
    r.commands.remove(0);
    r.declaration.directives.remove("RUN");
    assert_eq!(grade(&r).tier, Some(Tier::T2));
    r.commands[0].exit_held = false;
    assert_eq!(grade(&r).tier, None);
}

#[test]
fn peers_are_not_reached_by_a_record_of_this_schema() {
    let mut r = gpu();
    r.declaration.peers = vec!["worker".into()];
    r.verdict.goal = Tier::T2x;
    let got = grade(&r);
    assert_eq!(got.tier, Some(Tier::T2));
    assert!(got.missing.iter().any(|m| m.atom == "two_machines"));
}

#[test]
fn a_plan_beside_energy_is_no_grade_of_its_own() {
    let mut r = gpu();
    let mut plan = line(&mut r).clone();
    plan.pattern.record = "plan".into();
    plan.grade = Some(Grade::Plan);
    entry(&mut r).placed.push(plan.clone());
    assert_eq!(grade(&r).grade, Some(Grade::Event));
    entry(&mut r).placed = vec![plan];
    assert_eq!(grade(&r).tier, Some(Tier::T1), "a plan by itself is never T2");
}
