//! The command line, declared once: help, completion of spelling and the CLI reference come from here.

use super::lit_args::LitArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Run tests that prove where they ran.
#[derive(Debug, Parser)]
#[command(name = "runproof", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Colours: on a terminal, always or never.
    #[arg(long, value_enum, default_value_t, global = true)]
    pub color: Colour,
}

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run suites and leave an evidence bundle.
    Test(TestArgs),
    /// Show what would run, and why what would not.
    List(ListArgs),
    /// Show refusals and findings without running anything, or with `--weak` what the checks can reject.
    Lint(LintArgs),
    /// Show which devices are here, which are declared and how they agree.
    Devices(DevicesArgs),
    /// Make or check the matrix of hosts and devices from bundles.
    Matrix(MatrixArgs),
    /// Verify bundles.
    Audit(AuditArgs),
    /// Explain a code or a directive, with an example of wrong and right.
    Explain(ExplainArgs),
    /// Print a reference page or a schema.
    Reference(ReferenceArgs),
    /// Match standard input against the check lines of a file, as LLVM's FileCheck does.
    Filecheck(FilecheckArgs),
    /// Move a suite that was written for lit: write its configuration and a baseline, run both and compare.
    Migrate(MigrateArgs),
    /// Run suites written for lit, with lit's arguments, result lines and verdicts.
    Lit(Box<LitArgs>),
}

/// `migrate`.
#[derive(Args, Clone, Debug, Default)]
pub struct MigrateArgs {
    /// Folders of suites, each with a `lit.cfg` or `lit.site.cfg.py`.
    #[arg(required = true, value_name = "SUITE")]
    pub suite: Vec<PathBuf>,
    /// A parameter that configurations can ask for, as lit has it. May be repeated.
    #[arg(short = 'D', long = "param", value_name = "NAME=VAL")]
    pub param: Vec<String>,
    /// Also write down findings that are new since the baseline was written. The first time all are written down.
    #[arg(long)]
    pub accept_new: bool,
    /// Write the files only: do not run the suite with lit and with runproof.
    #[arg(long)]
    pub no_run: bool,
}

/// `filecheck`.
#[derive(Args, Clone, Debug, Default)]
pub struct FilecheckArgs {
    /// Options and the check file, as FileCheck takes them; `filecheck --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// Which suites and tests.
#[derive(Args, Clone, Debug, Default)]
pub struct SelectArgs {
    /// Tests whose id contains this text; or a path of a file or folder of a suite.
    pub filter: Vec<String>,
    /// Folder of a suite, or a folder above several [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub suite: Vec<PathBuf>,
    /// Filters name whole test ids.
    #[arg(long)]
    pub exact: bool,
    /// Device to place tests on: a declared id, a kind, `host`, or `all` that are present. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub device: Vec<String>,
    /// Only part I of N of the tests.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<String>,
    /// Fleet file [default: the one that the suites name].
    #[arg(long, value_name = "FILE")]
    pub fleet: Option<PathBuf>,
    /// Folder with the probe libraries [default: beside the program, then ../lib/runproof].
    #[arg(long, value_name = "DIR")]
    pub probe_dir: Option<PathBuf>,
    /// Folder that tools named in `[tools]` are looked up in first. May be repeated.
    #[arg(long, value_name = "DIR")]
    pub tool_dir: Vec<PathBuf>,
}

/// `test`.
#[derive(Args, Clone, Debug, Default)]
pub struct TestArgs {
    /// Which.
    #[command(flatten)]
    pub select: SelectArgs,
    /// Tests at a time [default: number of CPUs].
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,
    /// Run device tests again with the device hidden: they must fail then.
    #[arg(long)]
    pub controls: bool,
    /// Run one test file on a device and show what the probe sees; earns no tier.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bless", "controls"])]
    pub observe: Option<PathBuf>,
    /// Rewrite `EXPECT` lines from what the program printed, after showing the difference.
    #[arg(long)]
    pub bless: bool,
    /// What else makes the run fail.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    pub deny: Vec<Deny>,
    /// Succeed when no test was selected or all were skipped.
    #[arg(long)]
    pub allow_empty: bool,
    /// Limit of one test that has no `TIMEOUT` (`500ms`, `30s`, `2m`).
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// End with the matrix of this run (needs a fleet).
    #[arg(long)]
    pub matrix: bool,
    /// Folder for bundles and work files [default: runproof-out].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Id of the run and name of its bundle [default: made from date and nonce].
    #[arg(long, value_name = "ID")]
    pub run_id: Option<String>,
    /// ed25519 key (PKCS#8 PEM) that signs the bundle.
    #[arg(long, value_name = "FILE", env = "RUNPROOF_KEY")]
    pub key: Option<PathBuf>,
    /// What is printed.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Print failures and totals only.
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `--deny` raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deny {
    /// A pass after a retry.
    Flaky,
    /// Checks that accept a foreign output.
    Weak,
    /// A test that only looks at exit statuses.
    ExitOnly,
}

/// What is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person.
    #[default]
    Pretty,
    /// One character per test.
    Terse,
    /// One JSON object per event.
    Json,
    /// Workflow commands that annotate the files.
    Github,
}

/// `list`.
#[derive(Args, Clone, Debug, Default)]
pub struct ListArgs {
    /// Which.
    #[command(flatten)]
    pub select: SelectArgs,
    /// Also the settings of each folder and the file that each is from.
    #[arg(long)]
    pub explain: bool,
    /// One JSON object per test.
    #[arg(long)]
    pub json: bool,
}

/// `lint`.
#[derive(Args, Clone, Debug, Default)]
pub struct LintArgs {
    /// Which.
    #[command(flatten)]
    pub select: SelectArgs,
    /// Run the tests and try their checks on outputs that are not theirs: the empty one, those of other tests of
    /// the suite, their own with one line dropped, two lines swapped or one number changed. Leaves no bundle.
    #[arg(long)]
    pub weak: bool,
    /// What else makes it fail.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT", requires = "weak")]
    pub deny: Vec<LintDeny>,
    /// With `--weak`: tests at a time [default: number of CPUs].
    #[arg(short, long, value_name = "N", requires = "weak")]
    pub jobs: Option<std::num::NonZeroUsize>,
    /// What is printed.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// What `lint --deny` raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LintDeny {
    /// With `--weak`: checks that accept a foreign output.
    Weak,
}

/// `devices`.
#[derive(Args, Clone, Debug, Default)]
pub struct DevicesArgs {
    /// Folder of a suite, or a folder above several [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub suite: Vec<PathBuf>,
    /// Fleet file [default: the one that the suites name].
    #[arg(long, value_name = "FILE")]
    pub fleet: Option<PathBuf>,
    /// Folder with the probe libraries.
    #[arg(long, value_name = "DIR")]
    pub probe_dir: Option<PathBuf>,
    /// One JSON object.
    #[arg(long)]
    pub json: bool,
}

/// `matrix`.
#[derive(Args, Clone, Debug, Default)]
pub struct MatrixArgs {
    /// Bundles: folders, or a folder that holds them.
    #[arg(required = true)]
    pub bundle: Vec<PathBuf>,
    /// Fleet file.
    #[arg(long, value_name = "FILE")]
    pub fleet: PathBuf,
    /// Reasons of empty cells.
    #[arg(long, value_name = "FILE")]
    pub reasons: Option<PathBuf>,
    /// Write Markdown here [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write JSON here.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Compare with what stands in `--out` (and `--json`) instead of writing; 1 when they differ.
    #[arg(long)]
    pub check: bool,
    /// With `--check`: also fail on evidence that has expired and on reviews past due today.
    #[arg(long, requires = "check")]
    pub today: bool,
    /// Tests that must have been executed and passed before a cell has a headline.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub min_executed: u64,
    /// Fail when a test ran on no host.
    #[arg(long)]
    pub deny_never_run: bool,
}

/// `audit`.
#[derive(Args, Clone, Debug, Default)]
pub struct AuditArgs {
    /// Bundles.
    #[arg(required = true)]
    pub bundle: Vec<PathBuf>,
    /// Public key (ed25519, SPKI PEM) that must have signed. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub key: Vec<PathBuf>,
    /// Prove the audit: apply every mutation to a copy of the bundle and name the check that catches it.
    #[arg(long)]
    pub self_test: bool,
    /// One JSON object.
    #[arg(long)]
    pub json: bool,
}

/// `explain`.
#[derive(Args, Clone, Debug, Default)]
pub struct ExplainArgs {
    /// Code of a message, a directive, or `placement`; without it all codes are listed.
    pub code: Option<String>,
}

/// `reference`.
#[derive(Args, Clone, Debug)]
pub struct ReferenceArgs {
    /// Which page.
    #[arg(value_enum)]
    pub page: Page,
    /// For `schema`: which.
    pub name: Option<String>,
}

/// Pages of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Page {
    /// Every directive.
    Directives,
    /// Every code.
    Codes,
    /// Every command and option.
    Cli,
    /// A JSON Schema by name; without a name their names.
    Schema,
}
