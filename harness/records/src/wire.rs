//! The line protocol between a probe and the harness: one JSON object a line, over one socket a process.
//!
//! A probe says [`Message::Hello`] first, numbers its lines from 0 without gaps and ends with
//! [`Message::Bye`]. The harness writes the single byte [`FLUSH`] when it wants everything that the probe
//! still holds; the probe answers with [`Message::Forced`]. All times are `CLOCK_REALTIME` nanoseconds.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Environment variable that names the socket: `unix:/path`.
pub const SINK_VARIABLE: &str = "RUNPROOF_SINK";
/// Environment variable with the nonce of the command, 32 hexadecimal digits.
pub const NONCE_VARIABLE: &str = "RUNPROOF_NONCE";
/// The byte that asks a probe for a forced flush.
pub const FLUSH: u8 = b'F';
/// The byte that the harness writes once, before anything else, when it has read the connecting process's
/// facts from outside. A probe waits for it after its `hello`, a few seconds at most, so that a process that ends
/// at once is not gone before anybody looked.
pub const SEEN: u8 = b'A';
/// Kernels recorded one by one; beyond it a probe aggregates per name and device.
pub const KERNEL_LINE_CAP: u64 = 2_000;

/// One line: a sequence number and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Position in this process's stream, from 0 without gaps.
    pub seq: u64,
    /// Process id as the process sees it; the harness trusts the socket's credentials instead.
    pub pid: i32,
    /// What it says.
    pub msg: Message,
}

/// The kinds of line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "k", rename_all = "snake_case", deny_unknown_fields)]
pub enum Message {
    /// The first line of every process.
    Hello(Hello),
    /// A device as this process sees it.
    Device(Device),
    /// A context was created on device `dev`.
    Context {
        /// Index in this process.
        dev: u32,
        /// When.
        t: u64,
    },
    /// One kernel execution.
    Kernel(Kernel),
    /// Kernel executions beyond [`KERNEL_LINE_CAP`], summed per name and device.
    KernelAgg {
        /// Name as the runtime gives it.
        name: String,
        /// Index in this process.
        dev: u32,
        /// How many.
        n: u64,
        /// Sum of their durations, nanoseconds.
        ns: u64,
        /// Earliest start.
        first: u64,
        /// Latest end.
        last: u64,
    },
    /// A copy between host and device, or inside one of them.
    Memcpy {
        /// `H2D`, `D2H`, `D2D`, `H2H`.
        dir: Direction,
        /// Bytes copied.
        bytes: u64,
        /// Start.
        start: u64,
        /// End; 0 when unfinished.
        end: u64,
        /// Index in this process.
        dev: u32,
    },
    /// A copy from one device to another.
    PeerCopy {
        /// Source index in this process.
        src: u32,
        /// Destination index in this process.
        dst: u32,
        /// Bytes copied.
        bytes: u64,
        /// Start.
        start: u64,
        /// End; 0 when unfinished.
        end: u64,
    },
    /// Device memory was filled.
    Memset {
        /// Index in this process.
        dev: u32,
        /// Bytes.
        bytes: u64,
        /// Start.
        start: u64,
        /// End.
        end: u64,
    },
    /// Device memory was allocated or freed.
    Alloc {
        /// Index in this process.
        dev: u32,
        /// Bytes.
        bytes: u64,
        /// When.
        t: u64,
        /// `alloc` or `free`.
        op: String,
        /// Kind of memory as the runtime names it.
        memkind: String,
    },
    /// A vendor's plan for the model that the process loads.
    Plan {
        /// Digest of the model.
        model: String,
        /// Compute units permitted.
        units: String,
        /// Operator.
        op: String,
        /// Device preferred for it.
        preferred: String,
        /// Devices supported for it.
        supported: Vec<String>,
        /// Share of the cost in millionths.
        weight_ppm: u64,
    },
    /// Energy over a window.
    EnergyDelta {
        /// Device UUID, `ane` or `cpu`.
        rail: String,
        /// Microjoules over the window.
        uj: u64,
        /// Microjoules of the idle baseline over an equal window.
        baseline_uj: u64,
        /// Standard deviation of the baseline, microjoules.
        sigma_uj: u64,
        /// Start.
        start: u64,
        /// End.
        end: u64,
        /// What was read.
        source: String,
    },
    /// What an outer probe saw at one time or over one window.
    Sample(Sample),
    /// Facts about the machine of the process.
    Host {
        /// Architecture the program was built for.
        arch: String,
        /// Architecture of the kernel (`/proc/sys/kernel/arch`).
        kernel_arch: String,
        /// Boot id.
        boot_id: String,
        /// Kernel release.
        release: String,
        /// Signs of emulation; empty when none was found.
        emulation: Vec<String>,
    },
    /// Traffic on one channel.
    Net {
        /// Channel name.
        channel: String,
        /// `in` or `out`.
        dir: String,
        /// Messages.
        msgs: u64,
        /// Bytes.
        bytes: u64,
        /// Running hash of the bytes.
        hash: String,
        /// Who counted.
        source: String,
    },
    /// Answer to [`FLUSH`].
    Forced {
        /// When the flush was complete.
        t: u64,
        /// Records delivered by it.
        records: u64,
    },
    /// The last line of a process that ends regularly.
    Bye {
        /// When.
        t: u64,
        /// Launch calls counted on the host side.
        launches: u64,
        /// Kernels seen done.
        kernels: u64,
        /// Records written.
        records: u64,
        /// Records lost.
        dropped: u64,
    },
    /// The probe could not do its work: makes the run inconclusive.
    Error {
        /// What went wrong.
        what: String,
    },
}

/// The first line of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// Protocol version, [`crate::PROBE_SCHEMA`].
    pub v: u32,
    /// Nonce as the process found it in its environment.
    pub nonce: String,
    /// Probe id, for example `opencl.layer` or `cuda.cupti`.
    pub probe: String,
    /// Version of the probe.
    pub version: String,
    /// Interface observed, for example `OpenCL` or `CUPTI`.
    pub api: String,
    /// Version of that interface.
    pub api_version: String,
    /// Return codes by name (`subscribe`, `register`, `enable.10`, …); anything but 0 makes the run inconclusive.
    pub rc: BTreeMap<String, i64>,
    /// Parent process as the process sees it.
    pub ppid: i32,
    /// Start time of the process in clock ticks since boot (`/proc/self/stat` field 22).
    pub start_ticks: u64,
    /// PID namespace (`readlink /proc/self/ns/pid`).
    pub pidns: String,
    /// Executable as the process sees it.
    pub exe: String,
    /// Boot id.
    pub boot_id: String,
    /// `CLOCK_REALTIME` now.
    pub rt: u64,
    /// `CLOCK_MONOTONIC` now.
    pub mono: u64,
}

/// A device as a process sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Index in this process: only a key for the other lines, never an identity.
    pub dev: u32,
    /// UUID where the interface has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub uuid: Option<String>,
    /// Name.
    pub name: String,
    /// Vendor.
    pub vendor: String,
    /// What kind of thing computes.
    pub class: DeviceClass,
    /// Capability as the fleet spells it (`sm_90`), where the interface tells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capability: Option<String>,
    /// Compute units (multiprocessors, cores).
    pub units: u64,
    /// Memory in bytes.
    pub memory: u64,
    /// PCI address `dddd:bb:dd.f`, where there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pci: Option<String>,
    /// Platform that offers it, for interfaces that have platforms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub platform: Option<String>,
    /// Driver version.
    pub driver: String,
    /// Whether the process may use it.
    pub visible: bool,
    /// MIG instance `GI/CI`, when it is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mig: Option<String>,
    /// More that the interface tells, by the names that fleet facts use (`l2_bytes`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub facts: BTreeMap<String, u64>,
}

/// What kind of thing computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DeviceClass {
    /// A graphics processor.
    Gpu,
    /// A CPU behind a device interface: never above T1.
    Cpu,
    /// A neural processor.
    Npu,
    /// Another accelerator.
    Accelerator,
    /// A simulation of a device.
    Sim,
}

/// One kernel execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Name as the runtime gives it (it may be mangled).
    pub name: String,
    /// Index in this process.
    pub dev: u32,
    /// Stream or queue.
    pub stream: u64,
    /// Start on the device's clock, converted to `CLOCK_REALTIME`.
    pub start: u64,
    /// End; 0 when it had not finished.
    pub end: u64,
    /// Work groups (grid) per dimension.
    pub grid: Vec<u64>,
    /// Work items per group (block) per dimension; empty when the runtime chose.
    pub block: Vec<u64>,
    /// Correlation number of the interface.
    pub corr: u64,
}

/// Direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Direction {
    H2D,
    D2H,
    D2D,
    H2H,
}

/// What an outer probe saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Device UUID.
    pub uuid: String,
    /// Start of the window.
    pub start: u64,
    /// End of the window.
    pub end: u64,
    /// Processes that hold a context: (process id outside any namespace, bytes).
    pub procs: Vec<(i32, u64)>,
    /// Those of them that descended from the harness when they were first listed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub of_run: Vec<i32>,
    /// Nanoseconds that the device's units were busy over the window, averaged over units; absent where
    /// the device has no such counter.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_ns: Option<u64>,
    /// A reading of an energy counter; then `uuid` is a rail, `ane` or `cpu`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub energy: Option<Reading>,
    /// What was read (`nvml.list`, `nvml.gpm`, …).
    pub source: String,
}

/// A reading of an energy counter over the window of its [`Sample`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// What ran meanwhile.
    pub phase: Phase,
    /// Microjoules; absent when the counter could not be read. 0 is a reading, and may be that of a counter that stands
    /// still.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub uj: Option<u64>,
}

/// What ran while an energy counter was read, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The observer's own model, which the engine is known to run.
    KnownModel,
    /// Nothing of ours.
    IdleBefore,
    /// The command.
    Run,
    /// Nothing of ours.
    IdleAfter,
    /// The command's model, permitted to the CPU alone.
    CpuOnly,
}

/// A line as the harness keeps it: with who said it and when it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stamped {
    /// Probe that the harness armed.
    pub probe: String,
    /// Observer inside or outside the program.
    pub role: Role,
    /// Connection, numbered from 0 within the command.
    pub conn: u32,
    /// Process id from the socket's credentials; 0 for an outer probe in the harness itself.
    pub peer: i32,
    /// Arrival, `CLOCK_REALTIME` nanoseconds.
    pub arr: u64,
    /// The line; absent when it could not be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<Line>,
    /// The text of a line that could not be read, capped at 1 KiB.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub garbled: Option<String>,
}

/// Observer inside or outside the program under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A library injected into the program.
    Inner,
    /// The harness or a program beside it.
    Outer,
}
