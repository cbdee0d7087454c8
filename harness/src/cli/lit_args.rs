//! lit's command line.

use clap::{ArgAction, Args, ValueEnum};
use std::path::PathBuf;

/// `lit`.
#[derive(Args, Clone, Debug, Default)]
#[command(disable_version_flag = true)]
pub struct LitArgs {
    /// Suites, folders of them, or tests.
    #[arg(value_name = "TEST_PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Tests at a time [default: $LIT_MAX_WORKERS, or the number of CPUs].
    #[arg(short = 'j', long = "workers", alias = "threads", value_name = "N", env = "LIT_MAX_WORKERS", hide_env = true)]
    pub workers: Option<std::num::NonZeroUsize>,
    /// First part of the names of lit's configuration files.
    #[arg(long, value_name = "NAME")]
    pub config_prefix: Option<String>,
    /// A parameter that configurations can ask for. May be repeated.
    #[arg(short = 'D', long = "param", value_name = "NAME=VAL")]
    pub param: Vec<String>,
    /// Whose commands and outputs are shown.
    #[arg(long, value_enum, value_name = "WHICH")]
    pub test_output: Option<Level>,
    /// Whose result lines are shown [default: all].
    #[arg(long, value_enum, value_name = "WHICH")]
    pub print_result_after: Option<Level>,
    /// Least important messages that are shown.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub diagnostic_level: Option<Diagnostic>,
    /// Only count failures at the end.
    #[arg(long, overrides_with = "no_terse_summary")]
    pub terse_summary: bool,
    /// Count all results at the end.
    #[arg(long)]
    pub no_terse_summary: bool,
    /// Only failures, and a terse summary.
    #[arg(short, long)]
    pub quiet: bool,
    /// A progress bar, and only failures.
    #[arg(short, long)]
    pub succinct: bool,
    /// Show the commands and outputs of failed tests.
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
    /// As `-v`.
    #[arg(long)]
    pub echo_all_commands: bool,
    /// Show the commands and outputs of all tests.
    #[arg(short = 'a', long)]
    pub show_all: bool,
    /// Show paths of tests relative to the current folder.
    #[arg(short, long)]
    pub relative_paths: bool,
    /// Write the results as JSON.
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Show a progress bar.
    #[arg(long, overrides_with = "no_progress_bar")]
    pub progress_bar: bool,
    /// Show none.
    #[arg(long)]
    pub no_progress_bar: bool,
    /// Also list tests that were left out.
    #[arg(long)]
    pub show_excluded: bool,
    /// Also list tests that were not reached.
    #[arg(long)]
    pub show_skipped: bool,
    /// Also list tests that are not for this place.
    #[arg(long)]
    pub show_unsupported: bool,
    /// Also list tests that passed.
    #[arg(long)]
    pub show_pass: bool,
    /// Also list tests that passed after they had failed.
    #[arg(long)]
    pub show_flakypass: bool,
    /// Also list tests that failed as expected.
    #[arg(long)]
    pub show_xfail: bool,
    /// Split googletest programs into parts.
    #[arg(long, overrides_with = "no_gtest_sharding")]
    pub gtest_sharding: bool,
    /// Run googletest programs case by case in one process.
    #[arg(long)]
    pub no_gtest_sharding: bool,
    /// A folder to put before PATH. May be repeated.
    #[arg(long, value_name = "DIR")]
    pub path: Vec<PathBuf>,
    /// Run nothing: what would be run is passed.
    #[arg(long)]
    pub no_execute: bool,
    /// Write the results as JUnit XML.
    #[arg(long, value_name = "PATH")]
    pub xunit_xml_output: Option<PathBuf>,
    /// Report only failures.
    #[arg(long)]
    pub report_failures_only: bool,
    /// Write the results for ResultDB.
    #[arg(long, value_name = "PATH")]
    pub resultdb_output: Option<PathBuf>,
    /// Write the times for Chrome's trace viewer.
    #[arg(long, value_name = "PATH")]
    pub time_trace_output: Option<PathBuf>,
    /// Give each report a name that no other has.
    #[arg(long, hide = true)]
    pub use_unique_output_file_name: bool,
    /// Seconds that one test may take; 0 is no limit.
    #[arg(long, value_name = "N")]
    pub timeout: Option<u64>,
    /// How often a test that failed is run again.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_retries_per_test: Option<u32>,
    /// End after so many failures.
    #[arg(long, value_name = "N")]
    pub max_failures: Option<std::num::NonZeroUsize>,
    /// Succeed when all tests are filtered out.
    #[arg(long)]
    pub allow_empty_runs: bool,
    /// Each command writes a profile of its own.
    #[arg(long)]
    pub per_test_coverage: bool,
    /// Succeed also when tests fail.
    #[arg(long)]
    pub ignore_fail: bool,
    /// Do not write down how long tests took.
    #[arg(long, conflicts_with = "time_tests")]
    pub skip_test_time_recording: bool,
    /// Show the slowest tests and how times are spread.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "20")]
    pub time_tests: Option<String>,
    /// Run at most so many tests.
    #[arg(long, value_name = "N")]
    pub max_tests: Option<std::num::NonZeroUsize>,
    /// End after so many seconds.
    #[arg(long, value_name = "N")]
    pub max_time: Option<std::num::NonZeroU64>,
    /// In which order.
    #[arg(long, value_enum, default_value_t)]
    pub order: Order,
    /// In random order.
    #[arg(long)]
    pub shuffle: bool,
    /// Failed tests come first anyway.
    #[arg(short, long, hide = true)]
    pub incremental: bool,
    /// Only tests whose name matches.
    #[arg(long, value_name = "REGEX", env = "LIT_FILTER", hide_env = true)]
    pub filter: Option<String>,
    /// No tests whose name matches.
    #[arg(long, value_name = "REGEX", env = "LIT_FILTER_OUT", hide_env = true)]
    pub filter_out: Option<String>,
    /// Only tests that failed in the last run.
    #[arg(long)]
    pub filter_failed: bool,
    /// Tests that are expected to fail, with semicolons between.
    #[arg(long, value_name = "LIST", value_delimiter = ';', env = "LIT_XFAIL", hide_env = true)]
    pub xfail: Vec<String>,
    /// Tests that are not expected to fail, whatever they say.
    #[arg(long, value_name = "LIST", value_delimiter = ';', env = "LIT_XFAIL_NOT", hide_env = true)]
    pub xfail_not: Vec<String>,
    /// Leave out tests that are expected to fail.
    #[arg(long)]
    pub exclude_xfail: bool,
    /// Tests that are not for this place.
    #[arg(long, value_name = "LIST", value_delimiter = ';', env = "LIT_UNSUPPORTED", hide_env = true)]
    pub unsupported: Vec<String>,
    /// Tests that are for this place, whatever they say.
    #[arg(long, value_name = "LIST", value_delimiter = ';', env = "LIT_UNSUPPORTED_NOT", hide_env = true)]
    pub unsupported_not: Vec<String>,
    /// Run one of so many parts.
    #[arg(long, value_name = "M", env = "LIT_NUM_SHARDS", hide_env = true)]
    pub num_shards: Option<std::num::NonZeroUsize>,
    /// Which part.
    #[arg(long, value_name = "N", env = "LIT_RUN_SHARD", hide_env = true)]
    pub run_shard: Option<std::num::NonZeroUsize>,
    /// Show what configurations are read.
    #[arg(long)]
    pub debug: bool,
    /// List the suites.
    #[arg(long)]
    pub show_suites: bool,
    /// List the tests.
    #[arg(long)]
    pub show_tests: bool,
    /// List the features that tests name.
    #[arg(long)]
    pub show_used_features: bool,
}

/// Whose results or outputs are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Level {
    /// Nobody's.
    #[default]
    Off,
    /// Of tests that failed.
    Failed,
    /// Also of those that were run several times.
    FailedOrFlaky,
    /// Everybody's.
    All,
}

/// How important a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Diagnostic {
    /// The run cannot go on.
    Error,
    /// Something is wrong.
    Warning,
    /// Good to know.
    #[default]
    Note,
}

/// An order of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// By name.
    Lexical,
    /// By chance.
    Random,
    /// Those that failed, then the slowest.
    #[default]
    Smart,
}
