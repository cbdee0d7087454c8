//! The mutations: what is done to a good bundle, and the check that has to find it. `row` is the number in the
//! published list; `–` marks one that is directed at a check which that list does not prove.

use super::forge::Forge;
use crate::load::sha256;
use runproof_records::bundle::{LOGS, PLACEMENT, RECORDS, RUN, SIGNATURE, SOURCES};
use runproof_records::record::{CommandRole, Exit, Line, Record, Target};
use runproof_records::verdict::{Fact, Grade, SkipKind, State, Tier};
use runproof_records::wire::{Message, Role, Stamped};
use std::fs;
use std::path::{Path, PathBuf};

/// Rows that concern nothing in a bundle of this kind.
pub(super) const LEFT_OUT: &str = "rows 1-39 but 4 and 5, 42 and 47: they concern measurement cohorts, which a \
    bundle of this version does not hold; 41, 43, 55, 80: they need the compiler's own records; 57-60: they need the \
    records of a second machine; 62-71, 73-77: they concern the matrix, claims and the grammar, which have their own \
    tests; 88: there is no mode without assertions";

pub(super) struct Mutation {
    pub(super) what: &'static str,
    pub(super) killer: &'static str,
    pub(super) change: Change,
}

/// How far the forger covers his traces afterwards.
pub(super) enum Change {
    /// Everything fits again: chain, digests of probe files, tiers, totals, manifest, signature.
    Records(fn(&mut Forge) -> Option<()>),
    /// The same but for tiers, which the mutation types in.
    Typed(fn(&mut Forge) -> Option<()>),
    /// Files are changed as they lie; manifest and signature fit again.
    Files(fn(&Path) -> Option<()>),
    /// Nothing fits again.
    Sealed(fn(&Path) -> Option<()>),
}

use Change::{Files, Records, Sealed, Typed};

const fn m(killer: &'static str, what: &'static str, change: Change) -> Mutation {
    Mutation { what, killer, change }
}

pub(super) const MUTATIONS: &[Mutation] = &[
    m(
        "attempts",
        "4: the failed attempt is removed and the retry put in its place",
        Records(drop_first_attempt),
    ),
    m(
        "attempts",
        "–: an attempt is numbered 2 and there is no first",
        Records(|f| set(f, executed, |r| r.attempt = 2)),
    ),
    m(
        "exits",
        "5: a failed exit is marked as held",
        Records(|f| {
            set_failed(f, |r| {
                asked_failing(r)?.exit_held = true;
                Some(())
            })
        }),
    ),
    m(
        "state",
        "5: a failed record is marked as passed",
        Records(|f| set(f, failed, |r| r.verdict.state = State::Passed)),
    ),
    m(
        "host",
        "44: the record of another host is put in",
        Records(|f| set(f, executed, |r| r.host.id = "elsewhere".into())),
    ),
    m(
        "fleet",
        "44: the device is relabelled as another kind",
        Records(|f| set_device(f, |r| r.device.as_mut().map(|d| d.kind = "other".into()))),
    ),
    m(
        "fleet",
        "44: the device is another than the test was for",
        Records(|f| set_device(f, |r| r.device.as_mut().map(|d| d.id = "other".into()))),
    ),
    m("fleet", "44: a host result gets a device", Records(host_gets_device)),
    m("goal", "45: the goal is lowered so that what is missing is not missed", Records(lower_goal)),
    m("commands", "45: a declared RUN is left out", Records(drop_run_command)),
    m(
        "identity",
        "46: the record of an old run is put in",
        Records(|f| set(f, executed, |r| r.nonce = "0".repeat(32))),
    ),
    m(
        "identity",
        "46: the census of another run is put in",
        Records(|f| {
            f.census.nonce = "0".repeat(32);
            Some(())
        }),
    ),
    m(
        "window",
        "46: the attempt was before the run",
        Records(|f| {
            let start = f.run.started;
            set(f, executed, |r| r.started.utc = start.utc - 1)
        }),
    ),
    m(
        "window",
        "46: a command ended after its attempt",
        Records(|f| {
            set(f, executed, |r| {
                let end = r.ended.mono;
                r.commands[0].ended.mono = end + 1;
            })
        }),
    ),
    m(
        "tier",
        "48: the tier is typed upward",
        Typed(|f| set(f, |r| r.verdict.tier < Some(Tier::T2), |r| r.verdict.tier = Some(Tier::T2))),
    ),
    m(
        "tier",
        "48: the grade is typed upward",
        Typed(|f| {
            set(f, |r| r.verdict.grade == Some(Grade::Event), |r| r.verdict.grade = Some(Grade::Effect))
        }),
    ),
    m(
        "probe-device",
        "49: the probe's records are of another device",
        Records(|f| {
            f.raw(
                |_, e| placed(e),
                |lines| {
                    device_mut(lines, |d| match &mut d.uuid {
                        Some(uuid) => uuid.push('0'),
                        None => d.name.push('0'),
                    })
                },
            )
        }),
    ),
    m(
        "probe-device",
        "50: the kernels ran on another ordinal that was never described",
        Records(|f| f.raw(|_, e| placed(e), |lines| kernels(lines, |k| k.dev += 1))),
    ),
    m(
        "hello",
        "51: the raw file is of another command",
        Records(|f| f.raw(|_, e| placed(e), |lines| hello(lines, |h| h.nonce = "0".repeat(32)))),
    ),
    m(
        "probe-window",
        "51: the kernels ran before the command",
        Records(|f| f.raw(|_, e| placed(e), |lines| kernels(lines, |k| (k.start, k.end) = (1, 2)))),
    ),
    m(
        "work",
        "52: kernels are left out of the sums",
        Records(|f| {
            set(f, any_work, |r| {
                r.placement.iter_mut().flat_map(|p| &mut p.commands).for_each(|c| c.work.clear());
            })
        }),
    ),
    m(
        "work",
        "52: kernels are put into the sums",
        Records(|f| {
            set(f, any_work, |r| {
                let work = r.placement.iter_mut().flat_map(|p| &mut p.commands).flat_map(|c| &mut c.work);
                work.for_each(|w| w.count += 1000);
            })
        }),
    ),
    m(
        "tier",
        "53: text of the program is counted as placement",
        Typed(|f| {
            set(
                f,
                |r| r.verdict.grade.is_some(),
                |r| {
                    lines_of(r).for_each(|l| l.grade = Some(Grade::Text));
                },
            )
        }),
    ),
    m(
        "placed",
        "53: a plan is sold as an effect",
        Records(|f| {
            set(
                f,
                |r| r.verdict.grade.is_some(),
                |r| {
                    lines_of(r).for_each(|l| l.grade = Some(Grade::Effect));
                },
            )
        }),
    ),
    m("control", "54: the negative control is left out", Records(drop_control)),
    m(
        "control",
        "54: the negative control saw the device and is said to have held",
        Records(|f| {
            set(f, has_control, |r| {
                control(r).map(|c| c.records = 1).unwrap_or_default();
            })
        }),
    ),
    m(
        "control",
        "54: the control names a command that was not hidden",
        Records(|f| {
            set(f, has_control, |r| {
                control(r).map(|c| c.commands = vec![0]).unwrap_or_default();
            })
        }),
    ),
    m(
        "overrides",
        "56: an override of the device choice is hidden",
        Records(|f| {
            set_device(f, |r| {
                r.device.as_mut().map(|d| {
                    d.masks.insert("CUDA_VISIBLE_DEVICES".into(), "1".into());
                })
            })
        }),
    ),
    m(
        "emulation",
        "57: the end was emulated",
        Records(|f| {
            f.raw(
                |_, _| true,
                |lines| {
                    lines.iter_mut().find_map(|s| match &mut s.line.as_mut()?.msg {
                        Message::Host { emulation, .. } => {
                            emulation.push("qemu-user".into());
                            Some(())
                        }
                        _ => None,
                    })
                },
            )
        }),
    ),
    m(
        "announced",
        "61: the evidence is of another test file",
        Records(|f| set(f, executed, |r| r.source = sha256(b"another"))),
    ),
    m(
        "sources",
        "40: the test file is edited",
        Files(|p| edit(first_in(p, SOURCES)?, |bytes| bytes.push(b'x'))),
    ),
    m(
        "partial",
        "68: a filtered run is sold as a whole one",
        Records(|f| {
            f.run.selection.filters.push("one".into());
            f.run.selection.partial = false;
            Some(())
        }),
    ),
    m(
        "partial",
        "68: a shard is sold as a whole run",
        Records(|f| {
            f.run.selection.shard = "1/2".into();
            f.run.selection.partial = false;
            Some(())
        }),
    ),
    m(
        "announced",
        "72: the denominator shrinks: a test leaves the census",
        Records(|f| f.census.tests.pop().map(|_| ())),
    ),
    m("census", "72: a test that failed leaves the records", Records(drop_test)),
    m(
        "stages",
        "78: a wrapper swallows the exit status",
        Records(|f| {
            set_failed(f, |r| {
                let command = asked_failing(r)?;
                command.exit = Exit::Code { code: 0 };
                command.exit_held = true;
                Some(())
            })
        }),
    ),
    m("logs", "79: a stale output is put in", Files(|p| edit(first_in(p, LOGS)?, |bytes| bytes.push(b'x')))),
    m("logs", "79: an output is taken out", Files(|p| fs::remove_file(first_in(p, LOGS)?).ok())),
    m(
        "flaky",
        "81: a pass after a retry is a plain pass",
        Records(|f| set(f, |r| r.verdict.state == State::Flaky, |r| r.verdict.state = State::Passed)),
    ),
    m(
        "xfail",
        "82: a failure becomes an expected one",
        Records(|f| set(f, failed, |r| r.verdict.state = State::Xfailed)),
    ),
    m(
        "xfail",
        "82: the expected failure was another one",
        Records(|f| {
            set(
                f,
                |r| r.verdict.state == State::Xfailed,
                |r| {
                    if let Some(xfail) = &mut r.declaration.xfail {
                        xfail.expects = if xfail.expects == "timeout" { "crash" } else { "timeout" }.into();
                    }
                },
            )
        }),
    ),
    m("manifest", "83: a file is added", Sealed(|p| fs::write(p.join("logs/added"), "x").ok())),
    m("manifest", "83: a file is taken away", Sealed(|p| fs::remove_file(first_in(p, LOGS)?).ok())),
    m("manifest", "83: a file is edited", Sealed(|p| edit(p.join(RECORDS), |bytes| bytes.insert(0, b' ')))),
    m("stray", "83: a file is added and listed", Files(|p| fs::write(p.join("logs/added"), "x").ok())),
    m(
        "signature",
        "84: the manifest is hashed again after an edit",
        Sealed(|p| {
            let envelope = fs::read(p.join(SIGNATURE)).ok()?;
            fs::write(p.join("logs/added"), "x").ok()?;
            super::forge::close(p).ok()?;
            fs::write(p.join(SIGNATURE), envelope).ok()
        }),
    ),
    m(
        "signature",
        "85: the payload is exchanged under the signature",
        Sealed(|p| {
            let envelope = fs::read(p.join(SIGNATURE)).ok()?;
            fs::write(p.join("logs/added"), "x").ok()?;
            super::forge::close(p).ok()?;
            let (old, new) = (json(&envelope)?, json(&fs::read(p.join(SIGNATURE)).ok()?)?);
            let mut mixed = new;
            mixed["signatures"] = old["signatures"].clone();
            fs::write(p.join(SIGNATURE), mixed.to_string()).ok()
        }),
    ),
    m(
        "chain",
        "86: two lines change places",
        Files(|p| {
            let text = fs::read_to_string(p.join(RECORDS)).ok()?;
            let mut lines: Vec<&str> = text.lines().collect();
            (lines.len() > 1).then(|| lines.swap(0, 1))?;
            rehead(p, &(lines.join("\n") + "\n"))
        }),
    ),
    m(
        "head",
        "86: the tail is cut off",
        Files(|p| {
            let text = fs::read_to_string(p.join(RECORDS)).ok()?;
            let cut = text.trim_end().rfind('\n')? + 1;
            fs::write(p.join(RECORDS), &text[..cut]).ok()
        }),
    ),
    m(
        "shape",
        "–: a field is added for a tier",
        Files(|p| {
            let text = fs::read_to_string(p.join(RECORDS)).ok()?;
            rehead(p, &text.replacen("\"verdict\":{", "\"verdict\":{\"tier_override\":\"T2\",", 1))
        }),
    ),
    m(
        "raw",
        "–: the raw probe file is edited",
        Files(|p| edit(first_in(p, PLACEMENT)?, |bytes| bytes.extend_from_within(..))),
    ),
    m(
        "sequence",
        "–: a probe line is lost",
        Records(|f| {
            f.raw(
                |_, e| placed(e),
                |lines| {
                    let last = lines.iter_mut().rev().find(|s| s.role == Role::Inner)?;
                    last.line.as_mut().map(|l| l.seq += 1)
                },
            )
        }),
    ),
    m(
        "hello",
        "–: the probe could not subscribe",
        Records(|f| {
            f.raw(
                |_, e| placed(e),
                |lines| {
                    hello(lines, |h| {
                        h.rc.insert("subscribe".into(), 39);
                    })
                },
            )
        }),
    ),
    m(
        "processes",
        "–: a process that does not descend from the command is accepted",
        Records(|f| {
            set(f, any_work, |r| {
                let entries = r.placement.iter_mut().flat_map(|p| &mut p.commands);
                entries.flat_map(|c| &mut c.processes).for_each(|p| p.descends = false);
            })
        }),
    ),
    m(
        "placed",
        "–: a PLACED line is given more records than there are",
        Records(|f| {
            set(f, any_work, |r| {
                lines_of(r).for_each(|l| l.matched += 1000);
            })
        }),
    ),
    m(
        "witness",
        "–: the witness is said to agree and saw nothing",
        Records(|f| {
            f.raw(
                |_, e| e.witness == "agrees",
                |lines| {
                    lines.retain(|s| s.role == Role::Inner);
                    Some(())
                },
            )
        }),
    ),
    m(
        "outcome",
        "–: inconclusive evidence is placed",
        Records(|f| {
            set(f, any_work, |r| {
                let entries = r.placement.iter_mut().flat_map(|p| &mut p.commands);
                entries.for_each(|c| c.inconclusive.push("lost records".into()));
            })
        }),
    ),
    m(
        "outcome",
        "–: the fact `placement` is typed in",
        Records(|f| {
            set(
                f,
                |r| executed(r) && r.placement.is_none(),
                |r| {
                    r.verdict.facts.placement = Fact::Held;
                },
            )
        }),
    ),
    m(
        "agreement",
        "–: what the device said is edited",
        Records(|f| {
            set_device(f, |r| {
                let facts = r.device.as_mut().map(|d| &mut d.agreement)?;
                facts.first_mut().map(|a| a.observed = "1".into())
            })
        }),
    ),
    m(
        "agreement",
        "–: a declared fact is not compared",
        Records(|f| {
            set_device(f, |r| {
                let facts = r.device.as_mut().map(|d| &mut d.agreement)?;
                let at = facts.iter().position(|a| a.fact != "capability")?;
                facts.remove(at);
                Some(())
            })
        }),
    ),
    m(
        "software",
        "–: a CPU behind a device interface is sold as hardware",
        Records(|f| {
            set(
                f,
                |r| r.device.as_ref().is_some_and(|d| d.software),
                |r| r.device.as_mut().map(|d| d.software = false).unwrap_or_default(),
            )
        }),
    ),
    m(
        "rule",
        "–: another rule graded it",
        Records(|f| set(f, executed, |r| r.verdict.rule.digest = sha256(b"mine"))),
    ),
    m(
        "fact-exit",
        "–: the fact `exit` is typed in",
        Records(|f| set(f, failed, |r| r.verdict.facts.exit = Fact::Held)),
    ),
    m(
        "fact-readback",
        "–: the fact `readback` stands on a program that did not end",
        Records(|f| {
            set(f, executed_failed, |r| {
                for c in r.commands.iter_mut().filter(|c| c.role == CommandRole::Exec) {
                    c.exit = Exit::TimedOut { limit_ms: 1 };
                    c.exit_held = false;
                }
                r.verdict.facts.readback = Fact::Held;
            })
        }),
    ),
    m(
        "fact-oracle",
        "–: the fact `oracle` is typed in",
        Records(|f| set(f, executed_failed, |r| r.verdict.facts.oracle = Fact::Held)),
    ),
    m(
        "nonces",
        "–: two commands share a nonce",
        Records(|f| {
            let nonce = f.find(executed)?.commands.first()?.nonce.clone();
            let other = f.records().filter(|r| r.placement.is_none()).flat_map(|r| &mut r.commands);
            other.into_iter().find(|c| c.nonce != nonce).map(|c| c.nonce = nonce)
        }),
    ),
    m(
        "skip",
        "–: a failure becomes a skip",
        Records(|f| {
            set(f, failed, |r| {
                r.verdict.state = State::Skipped;
                r.verdict.skip = Some(SkipKind::NoDevice);
            })
        }),
    ),
    m(
        "totals",
        "–: the totals are edited",
        Files(|p| {
            let mut run = json(&fs::read(p.join(RUN)).ok()?)?;
            run["end"]["states"] = serde_json::json!({ "passed": 1000 });
            fs::write(p.join(RUN), run.to_string()).ok()
        }),
    ),
];

fn executed(r: &Record) -> bool {
    r.verdict.state == State::Passed && !r.commands.is_empty()
}

fn failed(r: &Record) -> bool {
    r.verdict.state == State::Failed && asked_fails(r)
}

fn executed_failed(r: &Record) -> bool {
    failed(r) && r.commands.iter().any(|c| c.role == CommandRole::Exec)
}

fn asked_fails(r: &Record) -> bool {
    r.commands.iter().any(|c| matches!(c.role, CommandRole::Run | CommandRole::Exec) && !c.exit_held)
}

fn placed(e: &runproof_records::record::CommandPlacement) -> bool {
    !e.work.is_empty()
}

fn any_work(r: &Record) -> bool {
    r.placement.as_ref().is_some_and(|p| p.commands.iter().any(placed))
}

fn has_control(r: &Record) -> bool {
    r.placement.as_ref().is_some_and(|p| p.control.is_some())
}

fn control(r: &mut Record) -> Option<&mut runproof_records::record::HiddenControl> {
    r.placement.as_mut()?.control.as_mut()
}

fn set(f: &mut Forge, fits: impl Fn(&Record) -> bool, change: impl Fn(&mut Record)) -> Option<()> {
    f.find(fits).map(change)
}

fn set_device(f: &mut Forge, change: impl Fn(&mut Record) -> Option<()>) -> Option<()> {
    f.records().filter(|r| r.device.is_some()).find_map(change)
}

fn set_failed(f: &mut Forge, change: impl Fn(&mut Record) -> Option<()>) -> Option<()> {
    change(f.find(failed)?)
}

fn asked_failing(r: &mut Record) -> Option<&mut runproof_records::record::Command> {
    r.commands.iter_mut().find(|c| matches!(c.role, CommandRole::Run | CommandRole::Exec) && !c.exit_held)
}

fn lines_of(r: &mut Record) -> impl Iterator<Item = &mut runproof_records::record::PlacedLine> {
    let entries = r.placement.iter_mut().flat_map(|p| &mut p.commands).filter(|c| placed(c));
    entries.flat_map(|c| &mut c.placed).filter(|l| l.applies)
}

fn hello(lines: &mut [Stamped], change: impl Fn(&mut runproof_records::wire::Hello)) -> Option<()> {
    lines.iter_mut().find_map(|s| match &mut s.line.as_mut()?.msg {
        Message::Hello(h) if s.role == Role::Inner => {
            change(h);
            Some(())
        }
        _ => None,
    })
}

fn device_mut(lines: &mut [Stamped], change: impl Fn(&mut runproof_records::wire::Device)) -> Option<()> {
    lines.iter_mut().find_map(|s| match &mut s.line.as_mut()?.msg {
        Message::Device(d) => {
            change(d);
            Some(())
        }
        _ => None,
    })
}

fn kernels(lines: &mut [Stamped], change: impl Fn(&mut runproof_records::wire::Kernel)) -> Option<()> {
    let mut any = None;
    for s in lines {
        if let Some(Message::Kernel(k)) = s.line.as_mut().map(|l| &mut l.msg) {
            change(k);
            any = Some(());
        }
    }
    any
}

fn drop_first_attempt(f: &mut Forge) -> Option<()> {
    let key = f.find(|r| r.attempt == 2)?.key.clone();
    f.lines.retain(|l| match l {
        Line::Started(s) => s.key != key || s.attempt != 1,
        Line::Finished(r) => r.key != key || r.attempt != 1,
    });
    Some(())
}

fn drop_test(f: &mut Forge) -> Option<()> {
    let key = f.find(failed).map(|r| r.key.clone())?;
    f.lines.retain(|l| match l {
        Line::Started(s) => s.key != key,
        Line::Finished(r) => r.key != key,
    });
    Some(())
}

fn drop_run_command(f: &mut Forge) -> Option<()> {
    let r =
        f.find(|r| r.placement.is_none() && r.commands.first().is_some_and(|c| c.role == CommandRole::Run))?;
    r.commands.remove(0);
    for (i, c) in r.commands.iter_mut().enumerate() {
        c.index = u32::try_from(i).unwrap_or(u32::MAX);
    }
    Some(())
}

fn drop_control(f: &mut Forge) -> Option<()> {
    let r = f.find(has_control)?;
    let placement = r.placement.as_mut()?;
    let commands = placement.control.take()?.commands;
    placement.commands.retain(|c| !commands.contains(&c.command));
    r.commands.retain(|c| c.role != CommandRole::HiddenDevice);
    Some(())
}

fn host_gets_device(f: &mut Forge) -> Option<()> {
    let device = f.find(|r| r.device.is_some())?.device.clone();
    set(f, |r| r.key.target == Target::Host && executed(r), |r| r.device.clone_from(&device))
}

fn lower_goal(f: &mut Forge) -> Option<()> {
    set(
        f,
        |r| r.verdict.goal > Tier::T0,
        |r| {
            r.verdict.goal = if r.verdict.goal == Tier::T2 { Tier::T1 } else { Tier::T0 };
        },
    )
}

/// The first file under a folder of the bundle, by name, that is not empty.
fn first_in(root: &Path, folder: &str) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(root.join(folder)).ok()?.flatten().map(|e| e.path()).collect();
    entries.sort();
    entries.into_iter().find_map(|path| {
        if path.is_dir() {
            let mut inner: Vec<PathBuf> = fs::read_dir(path).ok()?.flatten().map(|e| e.path()).collect();
            inner.sort();
            inner.into_iter().find(|p| p.metadata().is_ok_and(|m| m.len() > 0))
        } else {
            Some(path)
        }
    })
}

fn edit(path: PathBuf, change: impl Fn(&mut Vec<u8>)) -> Option<()> {
    let mut bytes = fs::read(&path).ok()?;
    change(&mut bytes);
    fs::write(path, bytes).ok()
}

fn json(bytes: &[u8]) -> Option<serde_json::Value> {
    serde_json::from_slice(bytes).ok()
}

/// Writes the records as they are and makes run.json's head fit.
fn rehead(root: &Path, text: &str) -> Option<()> {
    fs::write(root.join(RECORDS), text).ok()?;
    let mut run = json(&fs::read(root.join(RUN)).ok()?)?;
    run["end"]["head"] = sha256(text.lines().last()?.as_bytes()).as_str().into();
    fs::write(root.join(RUN), run.to_string()).ok()
}
