//! Rows of the threat list, as observations that no program made and no bundle can come from.

use super::*;
use crate::probe::Peer;
use runproof_records::record::{Condition, PlacedField};
use runproof_records::wire::{Direction, Hello, Kernel, Line, Message, Role, Sample, Stamped};

const NONCE: &str = "00112233445566778899aabbccddeeff";
const START: u64 = 1_000_000;
const END: u64 = 2_000_000;

fn gpu(n: u32) -> Device {
    Device {
        dev: n,
        uuid: Some(format!("GPU-{n}")),
        name: "GPU Model".into(),
        vendor: "Vendor".into(),
        class: DeviceClass::Gpu,
        capability: Some("sm_90".into()),
        units: 132,
        memory: 1 << 37,
        pci: Some(format!("0000:0{n}:00.0")),
        platform: None,
        driver: "580.1".into(),
        visible: true,
        mig: None,
        facts: std::collections::BTreeMap::new(),
    }
}

fn hello() -> Hello {
    Hello {
        v: runproof_records::PROBE_SCHEMA,
        nonce: NONCE.into(),
        probe: "cuda.cupti".into(),
        version: "1".into(),
        api: "CUPTI".into(),
        api_version: "13".into(),
        rc: [("subscribe".to_owned(), 0), ("register".to_owned(), 0)].into(),
        ppid: 1,
        start_ticks: 77,
        pidns: "pid:[1]".into(),
        exe: "/bin/p".into(),
        boot_id: "b".into(),
        rt: START,
        mono: 1,
    }
}

fn kernel(name: &str, dev: u32, start: u64, end: u64) -> Message {
    let grid = vec![132];
    Message::Kernel(Kernel { name: name.into(), dev, stream: 0, start, end, grid, block: vec![], corr: 1 })
}

fn bye(launches: u64) -> Message {
    Message::Bye { t: END, launches, kernels: 1, records: 5, dropped: 0 }
}

fn sample(uuid: &str, procs: &[i32], busy: Option<u64>) -> Message {
    let procs = procs.iter().map(|pid| (*pid, 1 << 20)).collect();
    Message::Sample(Sample {
        uuid: uuid.into(),
        start: START,
        end: END,
        procs,
        of_run: vec![],
        busy_ns: busy,
        energy: None,
        source: "list".into(),
    })
}

/// A world to be changed in one place by each test: an honest program on the first of two GPUs.
struct World {
    peers: Vec<Peer>,
    inner: Vec<(u32, Vec<Message>)>,
    outer: Vec<Message>,
    devices: Vec<Device>,
    inventory: Vec<Device>,
    placed: Vec<Asserted>,
    kind: &'static str,
    software: bool,
    witness: bool,
    witness_failed: Option<&'static str>,
    overflow: u64,
    numbers: fn(u64) -> u64,
}

fn peer(conn: u32, pid: i32) -> Peer {
    Peer {
        role: Role::Inner,
        conn,
        pid,
        descends: true,
        start_ticks: 77,
        exe: "/bin/p".into(),
        has_library: Some(true),
        opened: START + 10,
        closed: Some(END - 10),
    }
}

fn honest() -> World {
    World {
        peers: vec![peer(0, 100)],
        inner: vec![(
            0,
            vec![
                Message::Hello(hello()),
                Message::Device(gpu(0)),
                Message::Context { dev: 0, t: START + 20 },
                kernel("matmul_f32", 0, START + 100, START + 90_100),
                Message::Memcpy {
                    dir: Direction::D2H,
                    bytes: 4096,
                    start: START + 90_200,
                    end: START + 90_300,
                    dev: 0,
                },
                bye(1),
            ],
        )],
        outer: vec![sample("GPU-0", &[100], Some(80_000))],
        devices: vec![gpu(0)],
        inventory: vec![gpu(0), gpu(1)],
        placed: vec![line("kernel", &[("name", "=", "matmul*")], (">=", 1))],
        kind: "cuda",
        software: false,
        witness: true,
        witness_failed: None,
        overflow: 0,
        numbers: |seq| seq,
    }
}

fn line(record: &str, fields: &[(&str, &str, &str)], count: (&str, u64)) -> Asserted {
    let condition = |op: &str, value: &str| Condition { op: op.into(), value: value.into() };
    Asserted {
        line: 3,
        text: format!("{record} {fields:?} {count:?}"),
        pattern: PlacedPattern {
            record: record.into(),
            kind: None,
            fields: fields
                .iter()
                .map(|(field, op, value)| PlacedField {
                    field: (*field).into(),
                    condition: condition(op, value),
                })
                .collect(),
            count: condition(count.0, &count.1.to_string()),
        },
    }
}

impl World {
    fn decide(&self) -> CommandPlacement {
        let mut lines = Vec::new();
        for (conn, messages) in &self.inner {
            let pid = self.peers.iter().find(|p| p.conn == *conn).map_or(0, |p| p.pid);
            for (seq, msg) in (0..).zip(messages) {
                lines.push(stamped(Role::Inner, *conn, pid, (self.numbers)(seq), msg));
            }
        }
        for (seq, msg) in (0..).zip(&self.outer) {
            lines.push(stamped(Role::Outer, 1 << 31, 0, seq, msg));
        }
        let outer = Peer { role: Role::Outer, has_library: None, ..peer(1 << 31, 7) };
        let peers = self.peers.iter().cloned().chain([outer]).collect();
        let observation = Observation { lines, peers, overflow: self.overflow };
        decide(&Question {
            command: 0,
            nonce: NONCE,
            window: (START, END),
            observation: &observation,
            raw: ("placement/0", Digest::from_bytes(&[0; 32])),
            kind: self.kind,
            devices: &self.devices,
            inventory: &self.inventory,
            software: self.software,
            placed: &self.placed,
            has_witness: self.witness,
            witness_failed: self.witness_failed,
        })
    }

    fn messages(&mut self) -> &mut Vec<Message> {
        &mut self.inner[0].1
    }
}

fn stamped(role: Role, conn: u32, peer: i32, seq: u64, msg: &Message) -> Stamped {
    let line = Some(Line { seq, pid: peer, msg: msg.clone() });
    Stamped { probe: "p".into(), role, conn, peer, arr: END, line, garbled: None }
}

#[track_caller]
fn check(change: impl FnOnce(&mut World), outcome: PlacementOutcome, says: &str) {
    let mut world = honest();
    change(&mut world);
    let decided = world.decide();
    assert_eq!(decided.outcome, outcome, "{}", decided.reason);
    assert!(decided.reason.contains(says), "{:?} does not say {says:?}", decided.reason);
    assert_eq!(outcome == Inconclusive, !decided.inconclusive.is_empty());
}

use PlacementOutcome::{Inconclusive, NotPlaced, Placed, PlacedSoftware};

#[test]
fn an_honest_program_is_placed() {
    check(|_| {}, Placed, "kernel matmul_f32 ×1 on GPU-0");
    let decided = honest().decide();
    assert_eq!(decided.witness, "agrees");
    assert_eq!(decided.work.len(), 2);
    assert_eq!(decided.placed[0].grade, Some(Grade::Event));
}

#[test]
fn printing_it_is_no_placement() {
    check(|w| (w.peers.clear(), w.inner.clear()).0, Inconclusive, "unobserved");
}

#[test]
fn enumerating_or_a_context_is_no_placement() {
    check(|w| w.messages().truncate(1), NotPlaced, "no context, 0 kernels");
    check(|w| w.messages().truncate(3), NotPlaced, "context on GPU-0, 0 kernels");
}

#[test]
fn copies_and_fills_are_no_kernels() {
    check(
        |w| {
            w.messages()[3] = Message::Memset { dev: 0, bytes: 1 << 24, start: START + 100, end: START + 200 }
        },
        NotPlaced,
        "0 kernels",
    );
}

#[test]
fn another_kernel_is_not_the_test_s() {
    check(|w| w.messages()[3] = kernel("noop", 0, START + 1, START + 90_000), NotPlaced, "kernel noop ×1");
    check(|w| w.messages()[3] = kernel("_Z10matmul_f32Pf", 0, START + 1, START + 90_000), Placed, "matmul");
}

#[test]
fn the_wrong_device_is_named_by_identity() {
    let wrong = |w: &mut World| w.messages()[1] = Message::Device(Device { dev: 0, ..gpu(1) });
    check(wrong, NotPlaced, "asked for GPU-0 (bus 0000:00:00.0), proof says GPU-1 (bus 0000:01:00.0)");
}

#[test]
fn a_device_that_appeared_during_the_run_does_not_count() {
    check(|w| w.inventory = vec![gpu(1)], NotPlaced, "not in the inventory taken before the run");
    let undescribed = |w: &mut World| {
        w.messages().remove(1);
    };
    check(undescribed, NotPlaced, "its device was never described");
}

#[test]
fn a_gap_or_a_double_in_the_numbers_is_a_loss() {
    check(|w| w.numbers = |seq| seq + u64::from(seq > 2), Inconclusive, "line 3 is missing");
    check(|w| w.numbers = |seq| seq - u64::from(seq > 2), Inconclusive, "two lines have number 2");
}

#[test]
fn a_part_of_a_device_is_not_the_device() {
    let slice = |w: &mut World| {
        w.messages()[1] = Message::Device(Device { mig: Some("1/0".into()), units: 16, ..gpu(0) });
    };
    check(slice, Inconclusive, "in the inventory");
}

#[test]
fn foreign_processes_do_not_count() {
    check(|w| w.peers[0].descends = false, Inconclusive, "process 100 does not descend from the command");
    check(
        |w| w.peers[0].has_library = Some(false),
        Inconclusive,
        "the probe library is not loaded in process 100",
    );
    check(|w| w.peers[0].start_ticks = 78, Inconclusive, "started at tick 78");
    check(|w| w.peers[0].pid = 0, Inconclusive, "which process it is");
    let other = |w: &mut World| w.messages()[0] = Message::Hello(Hello { nonce: "ff".repeat(16), ..hello() });
    check(other, Inconclusive, "nonce of another command");
    check(
        |w| {
            w.messages().remove(0);
        },
        Inconclusive,
        "never said hello",
    );
}

#[test]
fn a_probe_that_could_not_arm_itself_proves_nothing() {
    let busy = |w: &mut World| {
        w.messages()[0] = Message::Hello(Hello { rc: [("subscribe".to_owned(), 39)].into(), ..hello() });
    };
    check(busy, Inconclusive, "subscribe returned 39");
    check(|w| w.messages().push(Message::Error { what: "no times".into() }), Inconclusive, "no times");
    let lost = Message::Bye { t: END, launches: 1, kernels: 1, records: 5, dropped: 2 };
    check(|w| w.messages()[5] = lost, Inconclusive, "lost 2 records");
    check(|w| w.overflow = 9, Inconclusive, "9 lines beyond the cap");
}

#[test]
fn a_second_connection_beside_the_first_is_a_forger() {
    let forged = |w: &mut World| {
        w.peers.push(Peer { opened: START + 50, ..peer(1, 100) });
        w.inner.push((1, w.inner[0].1.clone()));
    };
    check(forged, Inconclusive, "two connections at once");
    let after_exec = |w: &mut World| {
        w.peers[0].closed = Some(START + 40);
        w.outer = vec![sample("GPU-0", &[100], Some(180_000))];
        forged(w);
    };
    check(after_exec, Placed, "matmul");
}

#[test]
fn claims_that_do_not_fit_each_other() {
    check(|w| w.messages()[5] = bye(0), Inconclusive, "no launch call");
    check(|w| w.messages()[2] = Message::Forced { t: START, records: 0 }, Inconclusive, "without a context");
}

#[test]
fn the_window_and_the_interval_decide_what_counts() {
    let time = |start, end| move |w: &mut World| w.messages()[3] = kernel("matmul", 0, start, end);
    check(time(START - 1, START + 90_000), NotPlaced, "it began before the command");
    check(time(START + 1, END + 1), NotPlaced, "it ended after the command");
    check(time(START + 5, 0), NotPlaced, "it never finished");
    check(time(START + 5, START + 5), NotPlaced, "its times are no interval");
    check(time(0, START + 5), NotPlaced, "its times are no interval");
}

#[test]
fn a_crash_keeps_what_was_recorded() {
    check(|w| w.messages().truncate(4), Placed, "matmul_f32 ×1");
}

#[test]
fn the_outer_witness_has_to_agree() {
    check(|w| w.outer.clear(), Inconclusive, "nothing was sampled of GPU-0");
    check(|w| w.witness_failed = Some("it hung"), Inconclusive, "it hung");
    check(|w| w.outer = vec![sample("GPU-0", &[], Some(0))], Inconclusive, "lists no process of the command");
    check(|w| w.outer = vec![sample("GPU-0", &[100], Some(0))], Inconclusive, "it was for 0 ns");
    check(|w| w.outer = vec![sample("GPU-0", &[100], None)], Placed, "no busy counter");
    check(|w| w.outer = vec![sample("GPU-0", &[100, 7], Some(90_000))], Inconclusive, "process 7");
    check(
        |w| w.outer = vec![sample("GPU-1", &[100], Some(90_000))],
        Inconclusive,
        "nothing was sampled of GPU-0",
    );
    let outer_below_floor = |w: &mut World| {
        w.messages()[3] = kernel("matmul", 0, START + 100, START + 2_100);
        w.outer = vec![sample("GPU-0", &[100], Some(0))];
    };
    check(outer_below_floor, Placed, "too little for the counter");
}

#[test]
fn a_claim_is_weighed_by_the_units_that_the_groups_can_fill() {
    // 90 µs on one of 132 units are 674 ns of the device, its overhead taken off, below what the counter sees; on all of them they are not.
    let grid = |groups: u64| {
        move |w: &mut World| {
            if let Message::Kernel(kernel) = &mut w.messages()[3] {
                kernel.grid = vec![groups, 1, 1];
            }
            w.outer = vec![sample("GPU-0", &[100], Some(5_000))];
        }
    };
    check(grid(1), Placed, "674 ns of busy time are too little");
    check(grid(12), Placed, "matmul");
    check(grid(132), Inconclusive, "busy for 89000 ns, and it was for 5000 ns");
    check(grid(u64::MAX), Inconclusive, "busy for 89000 ns");
}

#[test]
fn the_overhead_of_many_small_kernels_is_no_claim() {
    let hundred = |ns: u64| {
        move |w: &mut World| {
            let (n, first, last) = (100, START + 100, START + 90_100);
            w.messages()[3] = Message::KernelAgg { name: "matmul".into(), dev: 0, n, ns, first, last };
            w.outer = vec![sample("GPU-0", &[100], Some(5_000))];
        }
    };
    // One group at least of each: 100 × 1 µs of overhead, and what is left on one of 132 units.
    check(hundred(100_000), Placed, "0 ns of busy time are too little");
    check(hundred(2_100_000), Inconclusive, "busy for 15151 ns, and it was for 5000 ns");
}

#[test]
fn a_process_that_touched_the_device_unseen_is_a_sign() {
    let of_run = |procs: &[i32]| {
        let Message::Sample(mut sample) = sample("GPU-0", procs, Some(90_000)) else { unreachable!() };
        sample.of_run = procs.to_vec();
        vec![Message::Sample(sample)]
    };
    check(|w| w.outer = of_run(&[100]), Placed, "matmul");
    check(|w| w.outer = of_run(&[100, 7]), Inconclusive, "touched, unobserved: the driver lists process 7");
    let silent = |w: &mut World| {
        w.peers.clear();
        w.inner.clear();
        w.outer = of_run(&[7]);
    };
    let mut world = honest();
    silent(&mut world);
    let decided = world.decide();
    assert!(decided.inconclusive.iter().any(|sign| sign.contains("lists process 7")), "{decided:?}");
    // Somebody else's work beside a program that claims nothing changes nothing.
    let beside = |w: &mut World| {
        w.messages().truncate(3);
        w.outer = vec![sample("GPU-0", &[100, 7], Some(6_000_000))];
    };
    check(beside, NotPlaced, "context on GPU-0, 0 kernels");
}

#[test]
fn an_outer_probe_may_be_the_observer() {
    let outer_only = |w: &mut World| {
        w.outer = std::mem::take(&mut w.inner[0].1);
        w.peers.clear();
        w.witness = false;
    };
    check(outer_only, Placed, "matmul_f32 ×1");
    let stale = |w: &mut World| {
        outer_only(w);
        w.outer[0] = Message::Hello(Hello { nonce: "ff".repeat(16), ..hello() });
    };
    check(stale, Inconclusive, "unobserved");
}

#[test]
fn a_cpu_behind_the_interface_is_placed_as_software() {
    let cpu =
        || Device { uuid: None, pci: None, class: DeviceClass::Cpu, platform: Some("PoCL".into()), ..gpu(0) };
    let software = |w: &mut World| {
        w.messages()[1] = Message::Device(Device { memory: 7, ..cpu() });
        (w.devices, w.inventory) = (vec![cpu()], vec![cpu()]);
        w.witness = false;
    };
    check(software, PlacedSoftware, "PoCL/GPU Model");
    check(|w| w.software = true, PlacedSoftware, "matmul");
    let twins = |w: &mut World| {
        software(w);
        w.inventory.push(cpu());
    };
    check(twins, Inconclusive, "2 devices look the same");
}

#[test]
fn placed_lines_for_other_kinds_do_not_apply() {
    let other_kind = |w: &mut World| w.placed[0].pattern.kind = Some("opencl".into());
    check(other_kind, NotPlaced, "no PLACED line names work");
    check(|w| w.placed.clear(), NotPlaced, "no PLACED line names work");
    check(|w| w.placed = vec![line("kernel", &[], ("=", 0))], NotPlaced, "matched 1 records");
    let nothing_at_all = |w: &mut World| {
        w.placed = vec![line("kernel", &[], ("=", 0))];
        w.messages().truncate(3);
    };
    check(nothing_at_all, NotPlaced, "no PLACED line names work");
}

#[test]
fn sums_count_as_kernels() {
    let sum = Message::KernelAgg {
        name: "matmul".into(),
        dev: 0,
        n: 50,
        ns: 10_000,
        first: START + 100,
        last: START + 70_000,
    };
    let with_sum = |w: &mut World| {
        w.messages().insert(5, sum);
        w.placed = vec![line("kernel", &[("name", "=", "matmul*"), ("device", "=", "0")], ("=", 51))];
    };
    check(with_sum, Placed, "matched 51");
}

#[test]
fn peer_copies_have_two_ends() {
    let two = |from: &'static str, to: &'static str| {
        move |w: &mut World| {
            w.devices = vec![gpu(0), gpu(1)];
            w.messages().insert(2, Message::Device(gpu(1)));
            let copy = Message::PeerCopy { src: 0, dst: 1, bytes: 442_368, start: START + 5, end: START + 9 };
            w.messages().insert(4, copy);
            let fields = [("from", "=", from), ("to", "=", to), ("bytes", "=", "442368")];
            w.placed.push(line("peer_copy", &fields, ("=", 1)));
        }
    };
    check(two("0", "1"), Placed, "matmul");
    check(two("1", "0"), NotPlaced, "peer_copy");
    check(two("0", "2"), NotPlaced, "peer_copy");
}

#[test]
fn a_plan_that_the_program_tells_is_none() {
    let planned = |w: &mut World| {
        w.kind = "ane";
        w.witness = false;
        w.messages().truncate(3);
        w.messages().push(Message::Plan {
            model: "m".into(),
            units: "all".into(),
            op: "matmul".into(),
            preferred: "ane".into(),
            supported: vec![],
            weight_ppm: 1_000_000,
        });
        w.placed = vec![line("plan", &[("op", "=", "matmul"), ("ane", ">=", "0.9")], (">=", 1))];
    };
    check(planned, NotPlaced, "no plan");
}
