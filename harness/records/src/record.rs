//! The record of one test on one target in one attempt, and the lines of `records.jsonl`.
//!
//! `records.jsonl` is a chain: each line carries its position and the digest of the line before it (the
//! first carries the digest of the run's nonce). A [`Line::Started`] is on disk before the test starts, so a
//! killed run leaves `not-run`, not silence.

use crate::digest::Digest;
use crate::verdict::{EvidenceState, Fact, Grade, PlacementOutcome, SkipKind, State, Tier};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A line of `records.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "line", rename_all = "lowercase")]
pub enum Line {
    /// A test is about to start.
    Started(Started),
    /// A test reached its terminal state.
    Finished(Box<Record>),
}

/// Which test on which target: the key that census and records share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TestKey {
    /// Name of the suite.
    pub suite: String,
    /// `path` or `path[name=value,…]`, relative to the suite's root, with `/`.
    pub test: String,
    /// Where it runs.
    pub target: Target,
}

/// Where a test runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "on", rename_all = "lowercase", deny_unknown_fields)]
pub enum Target {
    /// The host, for a test that declares no device.
    Host,
    /// The host's stand-in for the devices that the test declares.
    Shim,
    /// The device with this declared (or probed) id.
    Device {
        /// Id as in the fleet, or `KIND:N` for a device that the fleet does not declare.
        id: String,
    },
}

/// `started`: written before the test starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// Position in the file, from 0.
    pub seq: u64,
    /// Digest of the previous line's bytes without the line end.
    pub prev: Digest,
    /// Which test.
    pub key: TestKey,
    /// Attempt, from 1.
    pub attempt: u32,
    /// When.
    pub at: Instant,
}

/// A moment on both clocks, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Instant {
    /// `CLOCK_REALTIME`, nanoseconds since 1970-01-01 UTC.
    pub utc: u64,
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub mono: u64,
}

/// Everything that was seen of one test on one target in one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`crate::RECORD_SCHEMA`].
    pub schema: String,
    /// Position in the file, from 0.
    pub seq: u64,
    /// Digest of the previous line's bytes without the line end.
    pub prev: Digest,
    /// Run id.
    pub run: String,
    /// Nonce of the run, 32 hexadecimal digits.
    pub nonce: String,
    /// Which test.
    pub key: TestKey,
    /// Attempt, from 1.
    pub attempt: u32,
    /// Digest of the test file; the file itself is `sources/<hex>`.
    pub source: Digest,
    /// Variant values by name.
    pub variant: BTreeMap<String, String>,
    /// Start of the attempt.
    pub started: Instant,
    /// End of the attempt.
    pub ended: Instant,
    /// What the file declares.
    pub declaration: Declaration,
    /// Every command that was run or was to be run, in order.
    pub commands: Vec<Command>,
    /// The machine.
    pub host: Host,
    /// The device, when the target is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub device: Option<Device>,
    /// What the probes saw, when any was armed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub placement: Option<Placement>,
    /// What was compared.
    pub result: Comparisons,
    /// What follows.
    pub verdict: Verdict,
    /// What could not be recorded, each with its reason.
    pub not_recorded: Vec<NotRecorded>,
}

/// What the test file declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// `DEVICES` alternatives as written.
    pub devices: Vec<String>,
    /// The kinds they name, sorted; empty for a test that is for the host only.
    pub kinds: Vec<String>,
    /// `DEVICES(no-shim)`.
    pub no_shim: bool,
    /// `REQUIRES` and `UNSUPPORTED` expressions as written, with their keyword.
    pub gates: Vec<String>,
    /// `XFAIL`, when one applies here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub xfail: Option<Xfail>,
    /// `SCOPE` entries.
    pub scope: BTreeMap<String, String>,
    /// Names of `PEERS`.
    pub peers: Vec<String>,
    /// How many directives of each keyword the file has, as they count for this variant and target: `EXPECT(near)`
    /// may be a key of its own, a continued directive counts once, an alias under the word that it stands for. The
    /// record has at least as many commands, checks and `PLACED` lines, else it earns less (the tier rule).
    pub directives: BTreeMap<String, u32>,
}

/// An expected failure that applies on this target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Xfail {
    /// The kind of failure that is expected: `fail`, `crash`, `timeout` or `placement`.
    pub expects: String,
    /// Reason as written.
    pub reason: String,
    /// Review date as written, `YYYY-MM-DD`; empty when none was given.
    pub review: String,
}

/// What a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CommandRole {
    /// `RUN`: on the host.
    Run,
    /// `EXEC_RUN`: on the target.
    Exec,
    /// `CONTROL_RUN`: its output must be rejected.
    Control,
    /// The `EXEC_RUN` again with the device hidden.
    HiddenDevice,
}

/// One command line and how it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Position among the test's commands, from 0.
    pub index: u32,
    /// What it is for.
    pub role: CommandRole,
    /// Line of the directive in the test file, from 1.
    pub line: u32,
    /// The command line after substitution, with `${suite}`, `${tmp}`, `${tool:NAME}` in place of paths.
    pub script: String,
    /// Nonce of the command, 32 hexadecimal digits.
    pub nonce: String,
    /// Working folder, relative to the test's temporary folder (`.`) or to the suite (`${suite}/…`).
    pub cwd: String,
    /// Environment variables that differ from the suite's declared environment.
    pub env: BTreeMap<String, String>,
    /// Programs that were started, in order.
    pub stages: Vec<Stage>,
    /// How the command line as a whole ended.
    pub exit: Exit,
    /// How it had to end, one of three sentences: `exit N`, `exit nonzero` (also for a refusal that is expected),
    /// `signal NAME`. Anything else is an expectation that nothing meets.
    pub expected: String,
    /// Whether it ended so.
    pub exit_held: bool,
    /// Start.
    pub started: Instant,
    /// End.
    pub ended: Instant,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// Processes that outlived the command and were ended, by command name.
    pub leftovers: Vec<String>,
}

/// One program of a command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Arguments, the name first, paths replaced as in [`Command::script`].
    pub argv: Vec<String>,
    /// `builtin` for a program of the harness itself, else the executable's path, paths replaced.
    pub program: String,
    /// Digest of the executable.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub executable: Option<Digest>,
    /// Machine of the executable (`x86_64`, `aarch64`, `script`, …).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub machine: Option<String>,
    /// How it ended.
    pub exit: Exit,
}

/// How a program or a command line ended. A death by signal is never an exit code, and a program that could
/// not be started is neither.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Exit {
    /// By itself, with this code.
    Code {
        /// Exit code.
        code: i32,
    },
    /// By this signal.
    Signal {
        /// Number.
        number: i32,
        /// Name, `SIGSEGV`.
        name: String,
    },
    /// It could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
    /// The limit was reached and it was ended.
    TimedOut {
        /// Limit in milliseconds.
        limit_ms: u64,
    },
    /// The run was interrupted.
    Interrupted,
    /// Not reached: an earlier command failed or nothing was to be run.
    NotReached,
}

/// One output stream of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Bytes.
    pub bytes: u64,
    /// Digest of the bytes.
    pub digest: Digest,
    /// File in the bundle that holds them; absent when there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub log: Option<String>,
}

/// The machine, as probed. Host name and user are never recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Declared id, or `undeclared`.
    pub id: String,
    /// `linux`, `macos`, `windows`.
    pub os: String,
    /// Architecture of the harness's own executable.
    pub arch: String,
    /// Architecture of the kernel, from the kernel.
    pub kernel_arch: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu: String,
    /// Hash of machine id and boot id, so that two machines can be told apart and neither named.
    pub machine: Digest,
    /// Signs of emulation; empty when none was found.
    pub emulation: Vec<String>,
}

/// The device of the target, as the inventory found it before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Id as in [`Target::Device`].
    pub id: String,
    /// Device kind.
    pub kind: String,
    /// Whether the fleet declares it.
    pub declared: bool,
    /// Identity used to recognise it in placement records.
    pub identity: Identity,
    /// Probed name.
    pub name: String,
    /// Probed class (`gpu`, `cpu`, …).
    pub class: String,
    /// Probed capability, `unknown` where the interface does not tell.
    pub capability: String,
    /// Memory in bytes.
    pub memory: u64,
    /// Driver version.
    pub driver: String,
    /// Runtime or platform version.
    pub runtime: String,
    /// Computes on a CPU or is a simulation.
    pub software: bool,
    /// Declared facts compared one by one, with one named `capability` for the declared capability (declared `any`
    /// agrees with every device): without it a device is not corroborated and earns no T2.
    pub agreement: Vec<Agreement>,
    /// Environment variables that hide or choose devices, as found.
    pub masks: BTreeMap<String, String>,
    /// Those of [`Self::masks`] and other overrides that the fleet does not declare: they taint.
    pub undeclared_overrides: Vec<String>,
}

/// How a device is recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// UUID.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub uuid: Option<String>,
    /// PCI address.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bus: Option<String>,
    /// Platform, for interfaces that have platforms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub platform: Option<String>,
    /// `strong` with a UUID, else `weak`.
    pub strength: String,
}

/// One declared fact against what the device says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// Name of the fact.
    pub fact: String,
    /// As declared.
    pub declared: String,
    /// As probed.
    pub observed: String,
    /// Whether they agree within the declared tolerance.
    pub agrees: bool,
}

/// What the probes saw of the test's `EXEC_RUN` commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// Probes that were armed.
    pub probes: Vec<ProbeUse>,
    /// One entry for each observed command.
    pub commands: Vec<CommandPlacement>,
    /// The outcome over all of them.
    pub outcome: PlacementOutcome,
    /// Why, in one line.
    pub reason: String,
    /// The run with the device hidden, when it was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub control: Option<HiddenControl>,
}

/// A probe that was armed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProbeUse {
    /// Probe id.
    pub id: String,
    /// Version.
    pub version: String,
    /// Observer inside or outside.
    pub role: crate::wire::Role,
    /// The strongest grade its records can have.
    pub grade: Grade,
    /// Digest of the probe library, for an injected one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub library: Option<Digest>,
}

/// What was seen of one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandPlacement {
    /// [`Command::index`].
    pub command: u32,
    /// File in the bundle with every stamped line.
    pub raw: String,
    /// Digest of that file.
    pub raw_digest: Digest,
    /// Lines in it.
    pub lines: u64,
    /// Processes that connected.
    pub processes: Vec<ObservedProcess>,
    /// Work on devices, summed by kind of record, name and device.
    pub work: Vec<Work>,
    /// `PLACED` lines and how they came out.
    pub placed: Vec<PlacedLine>,
    /// What the kind's outer witness says: `agrees`, `contradicts`, `missing`, `none` (the kind has none).
    pub witness: String,
    /// Signs that make the evidence inconclusive.
    pub inconclusive: Vec<String>,
    /// Outcome for this command.
    pub outcome: PlacementOutcome,
    /// Why, in one line.
    pub reason: String,
}

/// A process that connected to the command's socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ObservedProcess {
    /// Connection number.
    pub conn: u32,
    /// Process id from the socket's credentials.
    pub peer: i32,
    /// Whether it descends from the command.
    pub descends: bool,
    /// Start time in clock ticks since boot, as the harness read it; 0 when it was gone.
    pub start_ticks: u64,
    /// Executable as seen from outside, paths replaced; empty when it was gone.
    pub exe: String,
    /// Whether its records count.
    pub accepted: bool,
    /// Why not; empty when they count.
    pub why: String,
}

/// Work summed over one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// `kernel`, `memcpy`, `peer_copy`, `memset`, `plan`, `energy_delta`.
    pub record: String,
    /// Name of the kernel, direction of the copy; empty where there is none.
    pub name: String,
    /// Device, by UUID, else by PCI address, else by `platform/name`.
    pub device: String,
    /// How many.
    pub count: u64,
    /// Duration summed, nanoseconds.
    pub ns: u64,
    /// Bytes summed.
    pub bytes: u64,
}

/// One `PLACED` line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlacedLine {
    /// Line in the test file.
    pub line: u32,
    /// Pattern as written.
    pub text: String,
    /// The pattern, parsed.
    pub pattern: PlacedPattern,
    /// Whether it applies to this device kind.
    pub applies: bool,
    /// Records that match it.
    pub matched: u64,
    /// Whether it holds.
    pub met: bool,
    /// The weakest grade among the matching records.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grade: Option<Grade>,
}

/// A `PLACED` pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlacedPattern {
    /// Kind of record: `kernel`, `memcpy`, `peer_copy`, `memset`, `plan`, `energy_delta`.
    pub record: String,
    /// Device kind it is for; absent when for all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kind: Option<String>,
    /// Conditions that each record must meet.
    pub fields: Vec<PlacedField>,
    /// Condition on the number of matching records.
    pub count: Condition,
}

/// A condition on one field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlacedField {
    /// Field: `name`, `bytes`, `dir`, `from`, `to`, `device`, `ns`, …
    pub field: String,
    /// What it must be.
    pub condition: Condition,
}

/// A comparison with a value. For text `=` takes `*` as a wildcard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// `=`, `>=`, `<=`, `>`, `<`.
    pub op: String,
    /// The value: a number in decimal, or text.
    pub value: String,
}

/// The run with the device hidden.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HiddenControl {
    /// Commands (indices) that were run for it.
    pub commands: Vec<u32>,
    /// Placement records that still appeared: must be 0.
    pub records: u64,
    /// Whether it exited 0 with output that the expectations accept: must be false.
    pub accepted: bool,
    /// Whether the control held.
    pub held: bool,
}

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Comparisons {
    /// Every `EXPECT` (of every form), `CHECK` and `CONTROL_RUN` line.
    pub checks: Vec<Check>,
    /// Numeric comparison over all `EXPECT(near)` values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub numeric: Option<Numeric>,
    /// How many foreign outputs the expectations rejected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub strength: Option<Strength>,
}

/// One checked line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Line in the test file.
    pub line: u32,
    /// Keyword with its form, `EXPECT(near)`, `CHECK-NEXT`.
    pub keyword: String,
    /// How often it was evaluated.
    pub executed: u32,
    /// Whether it held each time.
    pub held: bool,
}

/// A numeric comparison. Values are decimal text because a record holds no floating-point numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Numeric {
    /// Numbers compared.
    pub elements: u64,
    /// Largest absolute error.
    pub max_abs: String,
    /// Largest relative error.
    pub max_rel: String,
    /// Numbers that were not a number on either side.
    pub nan: u64,
    /// Numbers outside their tolerance.
    pub over: u64,
}

/// Rejected / tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Strength {
    /// Foreign outputs rejected.
    pub rejected: u32,
    /// Foreign outputs tried.
    pub tried: u32,
}

/// What follows from the record. `tier` and `grade` are for readers: they are the value of the published
/// rule on this record, written by the bundle writer alone, and every consumer computes them again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Terminal state.
    pub state: State,
    /// Why, in one line; empty for a plain pass.
    pub reason: String,
    /// Kind of skip, exactly when the state is `skipped`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub skip: Option<SkipKind>,
    /// The four facts.
    pub facts: Facts,
    /// What the facts carry.
    pub evidence: EvidenceState,
    /// Placement outcome, on a device with a probe.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub placement: Option<PlacementOutcome>,
    /// The tier that the test has to reach here.
    pub goal: Tier,
    /// The tier that the record earns; absent when none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tier: Option<Tier>,
    /// Proof grade of a T2.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grade: Option<Grade>,
    /// Whether a negative control held (`±`).
    pub control: bool,
    /// The rule that was used.
    pub rule: RuleRef,
}

/// The four facts that a device result stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The programs ended by themselves as asked.
    pub exit: Fact,
    /// A probe saw the work on the requested device.
    pub placement: Fact,
    /// The output came back.
    pub readback: Fact,
    /// The output was compared and is right.
    pub oracle: Fact,
}

/// Version and digest of the tier rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleRef {
    /// Version.
    pub version: u32,
    /// Digest of the published file.
    pub digest: Digest,
}

/// Something that could not be recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NotRecorded {
    /// Field, dotted path.
    pub field: String,
    /// Why.
    pub reason: String,
}
