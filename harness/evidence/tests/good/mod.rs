//! A bundle in which everything holds, made with the product's own writer for the tests of evidence and audit. It
//! is test code: nothing that is shipped can make evidence of something that did not run.

#![allow(dead_code, reason = "each test uses its own part of it")]
#![allow(clippy::unwrap_used, reason = "test code")]

use runproof_evidence::bundle::{Finished, Stream};
use runproof_evidence::sign::Signer;
use runproof_evidence::tier::{GoalInputs, goal, rule};
use runproof_evidence::{BundleWriter, digest};
use runproof_records::bundle::{Announced, Census, Revision, Run, Selection};
use runproof_records::record::*;
use runproof_records::verdict::*;
use runproof_records::wire::{self, Message, Role, Stamped};
use runproof_records::{BUNDLE_SCHEMA, PROBE_SCHEMA, RECORD_SCHEMA};
use std::collections::BTreeMap;
use std::path::Path;

pub const GPU: &str = "GPU-5c0f7e1a-0000-4000-8000-000000000001";
/// 2026-03-01T00:00:00Z.
pub const START: u64 = 1_772_323_200_000_000_000;

pub const FLEET: &str = r#"
[[host]]
id = "linux-x86"
name = "Linux on x86"
owner = "runtime team"
os = "linux"
arch = "x86_64"
access = "ci"

[[host]]
id = "mac-arm"
name = "macOS on Apple silicon"
owner = "runtime team"
os = "macos"
arch = "aarch64"
access = "owned"

[[device]]
id = "h200"
kind = "cuda"
name = "H200"
owner = "runtime team"
vendor = "NVIDIA"
capability = "sm_90"
identity = { model = "NVIDIA H200*" }
access = "rented"
fact = [{ fact = "memory", expect = 150754820096, tolerance_percent = 1 }]
allowed_overrides = ["CUDA_DEVICE_ORDER"]

[[device]]
id = "pocl"
kind = "opencl"
name = "PoCL"
owner = "runtime team"
vendor = "pocl"
capability = "any"
identity = { model = "cpu-*" }
software = true
access = "ci"

[[device]]
id = "ane"
kind = "ane"
name = "Neural Engine"
owner = "runtime team"
vendor = "Apple"
capability = "any"
identity = { model = "*" }
access = "none"

[[not_applicable]]
kind = "ane"
needs = { os = "macos" }

[[not_applicable]]
kind = "cuda"
needs = { os = "linux" }
"#;

pub fn at(offset: u64) -> Instant {
    Instant { utc: START + offset, mono: 1_000_000 + offset }
}

pub fn hex(n: u64) -> String {
    digest::of_bytes(&n.to_le_bytes()).hex()[..32].to_owned()
}

pub fn host() -> Host {
    Host {
        id: "linux-x86".into(),
        os: "linux".into(),
        arch: "x86_64".into(),
        kernel_arch: "x86_64".into(),
        kernel: "6.1.0".into(),
        cpu: "a CPU".into(),
        machine: digest::of_bytes(b"machine"),
        emulation: vec![],
    }
}

pub fn run(id: &str) -> Run {
    Run {
        schema: BUNDLE_SCHEMA.into(),
        id: id.into(),
        nonce: hex(id.len() as u64 + 77),
        harness: "0.1.0".into(),
        executable: digest::of_bytes(b"runproof"),
        argv: vec!["runproof".into(), "test".into()],
        source: Revision { commit: "0123abc".into(), dirty: false },
        host: host(),
        tools: BTreeMap::new(),
        selection: Selection {
            devices: vec!["h200".into()],
            filters: vec![],
            shard: String::new(),
            partial: false,
            controls: true,
        },
        started: at(0),
        end: None,
    }
}

pub fn key(test: &str, target: Target) -> TestKey {
    TestKey { suite: "s".into(), test: test.into(), target }
}

pub fn on(id: &str) -> Target {
    Target::Device { id: id.into() }
}

pub fn device_h200() -> Device {
    let agrees = |fact: &str, declared: &str, observed: &str| Agreement {
        fact: fact.into(),
        declared: declared.into(),
        observed: observed.into(),
        agrees: true,
    };
    Device {
        id: "h200".into(),
        kind: "cuda".into(),
        declared: true,
        identity: Identity {
            uuid: Some(GPU.into()),
            bus: Some("0000:0a:00.0".into()),
            platform: None,
            strength: "strong".into(),
        },
        name: "NVIDIA H200".into(),
        class: "gpu".into(),
        capability: "sm_90".into(),
        memory: 150_754_820_096,
        driver: "570.1".into(),
        runtime: "12.8".into(),
        software: false,
        agreement: vec![
            agrees("capability", "sm_90", "sm_90"),
            agrees("memory", "150754820096", "150754820000"),
        ],
        masks: BTreeMap::from([("CUDA_DEVICE_ORDER".into(), "PCI_BUS_ID".into())]),
        undeclared_overrides: vec![],
    }
}

pub fn device_pocl() -> Device {
    Device {
        id: "pocl".into(),
        kind: "opencl".into(),
        declared: true,
        identity: Identity {
            uuid: None,
            bus: None,
            platform: Some("Portable Computing Language".into()),
            strength: "weak".into(),
        },
        name: "cpu-znver3".into(),
        class: "cpu".into(),
        capability: "unknown".into(),
        memory: 8 << 30,
        driver: "5.0".into(),
        runtime: "OpenCL 3.0".into(),
        software: true,
        agreement: vec![],
        masks: BTreeMap::new(),
        undeclared_overrides: vec![],
    }
}

/// A clock and a supply of nonces for one bundle.
pub struct Maker {
    pub writer: BundleWriter,
    now: u64,
    nonce: u64,
}

impl Maker {
    pub fn tick(&mut self) -> Instant {
        self.now += 1_000_000;
        at(self.now)
    }

    pub fn command(
        &mut self,
        key: &TestKey,
        attempt: u32,
        index: u32,
        role: CommandRole,
        code: i32,
        out: &str,
    ) -> Command {
        self.nonce += 1;
        let started = self.tick();
        // Room for the kernels of a fake stream.
        self.now += 10_000_000;
        let ended = self.tick();
        let output = |text: &str, stream| {
            let place = self.writer.log_path(key, attempt, index, stream);
            let log = (!text.is_empty()).then(|| {
                std::fs::write(&place.path, text).unwrap();
                place.name
            });
            Output { bytes: text.len() as u64, digest: digest::of_bytes(text.as_bytes()), log }
        };
        let stdout = output(out, Stream::Stdout);
        let stderr = output("", Stream::Stderr);
        let exit = Exit::Code { code };
        Command {
            index,
            role,
            line: index + 1,
            script: "${tool:prog} ${suite}/t".into(),
            nonce: hex(10_000 + self.nonce),
            cwd: ".".into(),
            env: BTreeMap::new(),
            stages: vec![Stage {
                argv: vec!["prog".into()],
                program: "${tool:prog}".into(),
                executable: Some(digest::of_bytes(b"prog")),
                machine: Some("x86_64".into()),
                exit: exit.clone(),
            }],
            exit,
            expected: "exit 0".into(),
            exit_held: code == 0,
            started,
            ended,
            stdout,
            stderr,
            leftovers: vec![],
        }
    }

    pub fn record(&mut self, key: &TestKey, attempt: u32, source: &runproof_records::Digest) -> Record {
        let now = self.tick();
        self.writer.started(key, attempt, now).unwrap();
        Record {
            schema: RECORD_SCHEMA.into(),
            seq: 0,
            prev: digest::of_bytes(b""),
            run: String::new(),
            nonce: String::new(),
            key: key.clone(),
            attempt,
            source: source.clone(),
            variant: BTreeMap::new(),
            started: now,
            ended: now,
            declaration: Declaration::default(),
            commands: vec![],
            host: host(),
            device: None,
            placement: None,
            result: Comparisons::default(),
            verdict: Verdict {
                state: State::Passed,
                reason: String::new(),
                skip: None,
                facts: Facts {
                    exit: Fact::Absent,
                    placement: Fact::Absent,
                    readback: Fact::Absent,
                    oracle: Fact::Absent,
                },
                evidence: EvidenceState::Complete,
                placement: None,
                goal: Tier::T0,
                tier: None,
                grade: None,
                control: false,
                rule: rule(),
            },
            not_recorded: vec![],
        }
    }

    pub fn append(&mut self, mut record: Record) -> Record {
        record.ended = self.tick();
        self.writer.append(record).unwrap()
    }
}

/// Makes the declaration and checks of a test with one `RUN`, one `EXEC_RUN` and one `EXPECT`.
pub fn executed(
    m: &mut Maker,
    key: &TestKey,
    attempt: u32,
    source: &runproof_records::Digest,
    code: i32,
) -> Record {
    let mut r = m.record(key, attempt, source);
    r.declaration.directives =
        BTreeMap::from([("RUN".into(), 1), ("EXEC_RUN".into(), 1), ("EXPECT".into(), 1)]);
    r.commands.push(m.command(key, attempt, 0, CommandRole::Run, 0, ""));
    r.commands.push(m.command(key, attempt, 1, CommandRole::Exec, code, "42\n"));
    let held = code == 0;
    r.result.checks.push(Check { line: 3, keyword: "EXPECT".into(), executed: 1, held });
    let fact = if held { Fact::Held } else { Fact::Failed };
    r.verdict.facts = Facts { exit: fact, placement: Fact::Absent, readback: Fact::Held, oracle: fact };
    r.verdict.goal = goal(&GoalInputs {
        executes: true,
        target: &key.target,
        declared_software: key.target == on("pocl"),
        peers: false,
    });
    if !held {
        r.verdict.state = State::Failed;
        r.verdict.reason = format!("exit {code}");
    }
    r
}

/// Puts a device and a placement with two kernels into an executed record.
pub fn place(m: &mut Maker, r: &mut Record, device: Device, control: bool) {
    let software = device.software;
    let outcome = if software { PlacementOutcome::PlacedSoftware } else { PlacementOutcome::Placed };
    r.declaration.devices = vec![device.kind.clone()];
    r.declaration.kinds = vec![device.kind.clone()];
    r.declaration.directives.insert("DEVICES".into(), 1);
    r.declaration.directives.insert("PLACED".into(), 1);
    let mut commands = vec![observe(m, r, &device, 1, 2, outcome)];
    let mut hidden = None;
    if control {
        let key = r.key.clone();
        let mut c = m.command(&key, r.attempt, 2, CommandRole::HiddenDevice, 3, "no device\n");
        c.exit_held = false;
        r.commands.push(c);
        let mut entry = observe(m, r, &device, 2, 0, PlacementOutcome::NotPlaced);
        entry.witness = "missing".into();
        entry.reason = "0 kernels".into();
        commands.push(entry);
        hidden = Some(HiddenControl { commands: vec![2], records: 0, accepted: false, held: true });
    }
    r.placement = Some(Placement {
        probes: vec![ProbeUse {
            id: format!("{}.inner", device.kind),
            version: "1".into(),
            role: Role::Inner,
            grade: Grade::Event,
            library: Some(digest::of_bytes(b"probe")),
        }],
        commands,
        outcome,
        reason: String::new(),
        control: hidden,
    });
    if !control {
        let reason = "devices of this kind cannot be hidden".to_owned();
        r.not_recorded.push(NotRecorded { field: "placement.control".into(), reason });
    }
    r.verdict.placement = Some(outcome);
    r.verdict.facts.placement = Fact::Held;
    r.device = Some(device);
}

fn observe(
    m: &mut Maker,
    r: &Record,
    device: &Device,
    index: u32,
    kernels: u64,
    outcome: PlacementOutcome,
) -> CommandPlacement {
    let c = &r.commands[index as usize];
    let t = c.started.utc + 1_000_000;
    let peer = 4242;
    let mut lines = vec![Message::Hello(wire::Hello {
        v: PROBE_SCHEMA,
        nonce: c.nonce.clone(),
        probe: format!("{}.inner", device.kind),
        version: "1".into(),
        api: "api".into(),
        api_version: "1".into(),
        rc: BTreeMap::from([("subscribe".into(), 0)]),
        ppid: 1,
        start_ticks: 5,
        pidns: "pid:[1]".into(),
        exe: "prog".into(),
        boot_id: "b".into(),
        rt: t,
        mono: 1,
    })];
    lines.push(Message::Device(wire::Device {
        dev: 0,
        uuid: device.identity.uuid.clone(),
        name: device.name.clone(),
        vendor: "v".into(),
        class: if device.software { wire::DeviceClass::Cpu } else { wire::DeviceClass::Gpu },
        capability: (!device.software).then(|| device.capability.clone()),
        units: 132,
        memory: device.memory,
        pci: device.identity.bus.clone(),
        platform: device.identity.platform.clone(),
        driver: device.driver.clone(),
        visible: true,
        mig: None,
        facts: BTreeMap::new(),
    }));
    lines.push(Message::Host {
        arch: "x86_64".into(),
        kernel_arch: "x86_64".into(),
        boot_id: "b".into(),
        release: "6.1.0".into(),
        emulation: vec![],
    });
    for i in 0..kernels {
        let start = t + 1000 + i * 1000;
        lines.push(Message::Kernel(wire::Kernel {
            name: "matmul_f32".into(),
            dev: 0,
            stream: 1,
            start,
            end: start + 500,
            grid: vec![1],
            block: vec![32],
            corr: i,
        }));
    }
    lines.push(Message::Bye { t: t + 9000, launches: kernels, kernels, records: kernels, dropped: 0 });
    let mut text = String::new();
    let mut count = 0;
    let mut put = |stamped: &Stamped| {
        text.push_str(&serde_json::to_string(stamped).unwrap());
        text.push('\n');
        count += 1;
    };
    for (seq, msg) in lines.into_iter().enumerate() {
        put(&Stamped {
            probe: format!("{}.inner", device.kind),
            role: Role::Inner,
            conn: 0,
            peer,
            arr: t + 10_000,
            line: Some(wire::Line { seq: seq as u64, pid: peer, msg }),
            garbled: None,
        });
    }
    if device.kind == "cuda" {
        let sample = wire::Sample {
            uuid: GPU.into(),
            start: t,
            end: t + 20_000,
            of_run: vec![],
            procs: vec![(peer, 1 << 20)],
            busy_ns: Some(900),
            energy: None,
            source: "nvml.list".into(),
        };
        put(&Stamped {
            probe: "nvml".into(),
            role: Role::Outer,
            conn: 9,
            peer: 0,
            arr: t + 20_000,
            line: Some(wire::Line { seq: 0, pid: 0, msg: Message::Sample(sample) }),
            garbled: None,
        });
    }
    let file = m.writer.placement_path(&r.key, r.attempt, index);
    std::fs::write(&file.path, &text).unwrap();
    let place = match (&device.identity.uuid, &device.identity.platform) {
        (Some(uuid), _) => uuid.clone(),
        (None, platform) => format!("{}/{}", platform.clone().unwrap(), device.name),
    };
    let mut work = vec![];
    if kernels > 0 {
        let (record, name) = ("kernel".into(), "matmul_f32".into());
        work.push(Work { record, name, device: place, count: kernels, ns: 500 * kernels, bytes: 0 });
    }
    CommandPlacement {
        command: index,
        raw: file.name,
        raw_digest: digest::of_bytes(text.as_bytes()),
        lines: count,
        processes: vec![ObservedProcess {
            conn: 0,
            peer,
            descends: true,
            start_ticks: 5,
            exe: "${tool:prog}".into(),
            accepted: true,
            why: String::new(),
        }],
        work,
        placed: vec![PlacedLine {
            line: 4,
            text: "kernel name=matmul* count>=1".into(),
            pattern: PlacedPattern {
                record: "kernel".into(),
                kind: None,
                fields: vec![PlacedField {
                    field: "name".into(),
                    condition: Condition { op: "=".into(), value: "matmul*".into() },
                }],
                count: Condition { op: ">=".into(), value: "1".into() },
            },
            applies: true,
            matched: kernels,
            met: kernels > 0,
            grade: (kernels > 0).then_some(Grade::Event),
        }],
        witness: if device.kind == "cuda" { "agrees" } else { "none" }.into(),
        inconclusive: vec![],
        outcome,
        reason: String::new(),
    }
}

/// Begins a bundle that announces these tests.
pub fn begin(parent: &Path, run: Run, keys: &[TestKey]) -> Maker {
    let source = |key: &TestKey| digest::of_bytes(key.test.as_bytes());
    let census = Census {
        schema: BUNDLE_SCHEMA.into(),
        run: run.id.clone(),
        nonce: run.nonce.clone(),
        tests: keys.iter().map(|key| Announced { key: key.clone(), source: source(key) }).collect(),
        unclaimed: vec![],
    };
    let writer = BundleWriter::create(parent, run, &census, FLEET).unwrap();
    for key in keys {
        writer.add_source(key.test.as_bytes()).unwrap();
    }
    Maker { writer, now: 1_000_000, nonce: 0 }
}

pub fn keys() -> Vec<TestKey> {
    vec![
        key("compile.vx", Target::Host),
        key("flaky.vx", Target::Host),
        key("host.vx", Target::Host),
        key("kernel.vx", Target::Shim),
        key("kernel.vx", on("h200")),
        key("kernel.vx", on("pocl")),
        key("skip.vx", Target::Host),
        key("wrong.vx", Target::Host),
        key("xfail.vx", Target::Host),
    ]
}

/// Every kind of result: T0, T1 on host, shim and software device, T2 with control, flaky, skip, failure, xfail.
pub fn write_all(m: &mut Maker) {
    let source = |key: &TestKey| digest::of_bytes(key.test.as_bytes());
    for key in keys() {
        let source = source(&key);
        match (key.test.as_str(), &key.target) {
            ("compile.vx", _) => {
                let mut r = m.record(&key, 1, &source);
                r.declaration.directives = BTreeMap::from([("RUN".into(), 1), ("CHECK".into(), 1)]);
                r.commands.push(m.command(&key, 1, 0, CommandRole::Run, 0, "module\n"));
                r.result.checks.push(Check { line: 2, keyword: "CHECK".into(), executed: 1, held: true });
                r.verdict.facts.exit = Fact::Held;
                m.append(r);
            }
            ("flaky.vx", _) => {
                let r = executed(m, &key, 1, &source, 29);
                m.append(r);
                let mut r = executed(m, &key, 2, &source, 0);
                r.verdict.state = State::Flaky;
                m.append(r);
            }
            ("kernel.vx", Target::Device { id }) => {
                let gpu = id == "h200";
                let mut r = executed(m, &key, 1, &source, 0);
                place(m, &mut r, if gpu { device_h200() } else { device_pocl() }, gpu);
                m.append(r);
            }
            ("kernel.vx", _) => {
                let mut r = executed(m, &key, 1, &source, 0);
                r.declaration.devices = vec!["cuda".into()];
                r.declaration.kinds = vec!["cuda".into()];
                m.append(r);
            }
            ("skip.vx", _) => {
                let mut r = m.record(&key, 1, &source);
                r.declaration.gates = vec!["REQUIRES: big_memory".into()];
                r.declaration.directives = BTreeMap::from([("RUN".into(), 1)]);
                r.verdict.state = State::Skipped;
                r.verdict.skip = Some(SkipKind::Requires);
                r.verdict.reason = "big_memory is not there".into();
                m.append(r);
            }
            ("wrong.vx", _) => {
                let r = executed(m, &key, 1, &source, 1);
                m.append(r);
            }
            ("xfail.vx", _) => {
                let mut r = executed(m, &key, 1, &source, 1);
                r.declaration.xfail = Some(Xfail {
                    expects: "fail".into(),
                    reason: "known".into(),
                    review: "2026-12-01".into(),
                });
                r.verdict.state = State::Xfailed;
                m.append(r);
            }
            _ => {
                let r = executed(m, &key, 1, &source, 0);
                m.append(r);
            }
        }
    }
}

/// A complete good bundle.
pub fn bundle(parent: &Path, id: &str, signer: Option<&Signer>) -> Finished {
    let mut m = begin(parent, run(id), &keys());
    write_all(&mut m);
    let end = m.tick();
    m.writer.finish(end, false, signer).unwrap()
}
