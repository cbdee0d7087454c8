//! lit's command line.

use super::lit_loudness::Loudness;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Command, ValueEnum};
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;

const USAGE: &str = "usage: lit [-h] [OPTION]... TEST_PATH...";

/// `lit`.
#[derive(Args, Clone, Debug, Default)]
#[command(
    disable_version_flag = true,
    args_override_self = true,
    infer_long_args = true,
    help_template = "usage: lit [-h] [OPTION]... TEST_PATH...\n\n{about}\n\n{all-args}"
)]
pub struct LitArgs {
    /// Print the version of lit whose behaviour this is, and of this program.
    #[arg(long)]
    pub version: bool,
    /// Suites, folders of them, or tests.
    #[arg(value_name = "TEST_PATH", required_unless_present = "version", allow_negative_numbers = true)]
    pub paths: Vec<PathBuf>,
    /// Tests at a time [default: $LIT_MAX_WORKERS, or the number of CPUs].
    #[arg(short = 'j', long = "workers", alias = "threads", value_name = "N", allow_negative_numbers = true, value_parser = positive::<NonZeroUsize>)]
    pub workers: Option<NonZeroUsize>,
    /// First part of the names of lit's configuration files.
    #[arg(long, value_name = "NAME")]
    pub config_prefix: Option<String>,
    /// A parameter that configurations can ask for. May be repeated.
    #[arg(short = 'D', long = "param", value_name = "NAME=VAL")]
    pub param: Vec<String>,
    /// What is shown.
    #[command(flatten)]
    pub loudness: Loudness,
    /// Show paths of tests relative to the current folder.
    #[arg(short, long)]
    pub relative_paths: bool,
    /// Write the results as JSON.
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Draw the progress bar at most once in so many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "0", hide_default_value = true, allow_negative_numbers = true, value_parser = seconds)]
    pub min_output_interval: f64,
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
    /// Also list tests that were mended, of which there are none: see `--update-tests` of lit.
    #[arg(long, hide = true)]
    pub show_fixed: bool,
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
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub timeout: Option<u64>,
    /// How often a test that failed is run again.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<NonZeroU32>)]
    pub max_retries_per_test: Option<NonZeroU32>,
    /// End after so many failures.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<NonZeroUsize>)]
    pub max_failures: Option<NonZeroUsize>,
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
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<NonZeroUsize>)]
    pub max_tests: Option<NonZeroUsize>,
    /// End after so many seconds.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<NonZeroU64>)]
    pub max_time: Option<NonZeroU64>,
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
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = positive::<NonZeroUsize>)]
    pub num_shards: Option<NonZeroUsize>,
    /// Which part.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<NonZeroUsize>)]
    pub run_shard: Option<NonZeroUsize>,
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

impl LitArgs {
    /// Whether programs with googletest's cases are split into parts.
    pub fn gtest_sharding(&self) -> bool {
        !self.no_gtest_sharding
    }

    /// With numbers from the environment where none are given. What the environment says otherwise does not matter.
    ///
    /// # Errors
    /// Such a number is none.
    pub fn with_environment(mut self) -> Result<Self, String> {
        for (number, variable, option) in [
            (&mut self.workers, "LIT_MAX_WORKERS", "workers"),
            (&mut self.num_shards, "LIT_NUM_SHARDS", "num-shards"),
            (&mut self.run_shard, "LIT_RUN_SHARD", "run-shard"),
        ] {
            if let (None, Some(text)) = (*number, std::env::var_os(variable)) {
                let parsed = positive(&text.to_string_lossy());
                *number = Some(parsed.map_err(|why| format!("argument {}: {why}", all_names(option)))?);
            }
        }
        Ok(self)
    }
}

fn positive<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("requires positive integer, but found '{text}'"))
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("requires non-negative integer, but found '{text}'"))
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|n| *n >= 0.0);
    number.ok_or_else(|| format!("requires non-negative float, but found '{text}'"))
}

/// lit's options: each with all its names, in lit's order.
fn options() -> Vec<Vec<String>> {
    let command = LitArgs::augment_args(Command::new("lit"));
    let names = |argument: &clap::Arg| {
        let short = argument.get_short().map(|c| format!("-{c}"));
        let aliases = argument.get_all_aliases().unwrap_or_default();
        let long = aliases.into_iter().chain(argument.get_long()).map(|name| format!("--{name}"));
        short.into_iter().chain(long).collect()
    };
    command.get_arguments().map(names).collect()
}

/// An option with its other names, as lit writes it.
fn all_names(option: &str) -> String {
    let long = format!("--{}", option.trim_start_matches('-'));
    options().into_iter().find(|names| names.contains(&long)).map_or(long, |names| names.join("/"))
}

/// What is wrong with the arguments, in lit's words.
pub fn usage_error(error: &clap::Error, given: &[OsString]) -> String {
    let part = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    let argument = part(ContextKind::InvalidArg).unwrap_or_default();
    // Without the name of its value.
    let argument = argument.split([' ', '=', '[']).next().unwrap_or_default();
    let unknown = error.kind() == ErrorKind::UnknownArgument;
    let candidates: Vec<String> =
        options().concat().into_iter().filter(|o| o.starts_with(argument)).collect();
    if unknown && argument.starts_with("--") && candidates.len() > 1 {
        let whole = given.iter().filter_map(|a| a.to_str()).find(|a| a.split('=').next() == Some(argument));
        let whole = whole.unwrap_or(argument);
        return format!(
            "{USAGE}\nlit: error: ambiguous option: {whole} could match {}",
            candidates.join(", ")
        );
    }
    let argument = if unknown { argument.to_owned() } else { all_names(argument) };
    let value = part(ContextKind::InvalidValue).unwrap_or_default();
    let source = std::error::Error::source(error).map(ToString::to_string);
    let why = match (error.kind(), source) {
        (ErrorKind::ValueValidation, Some(source)) => format!("argument {argument}: {source}"),
        (ErrorKind::InvalidValue, _) if value.is_empty() => {
            format!("argument {argument}: expected one argument")
        }
        (ErrorKind::InvalidValue, _) => {
            let choices = part(ContextKind::ValidValue).unwrap_or_default();
            format!("argument {argument}: invalid choice: '{value}' (choose from {choices})")
        }
        (ErrorKind::TooManyValues, _) => format!("argument {argument}: ignored explicit argument '{value}'"),
        (ErrorKind::UnknownArgument, _) => format!("unrecognized arguments: {argument}"),
        (ErrorKind::MissingRequiredArgument, _) => {
            "the following arguments are required: TEST_PATH".to_owned()
        }
        (ErrorKind::ArgumentConflict, _) => {
            let other = part(ContextKind::PriorArg).unwrap_or_default();
            let other = other.split([' ', '=', '[']).next().unwrap_or_default();
            format!("argument {argument}: not allowed with argument {other}")
        }
        _ => {
            let text = error.to_string();
            text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
        }
    };
    format!("{USAGE}\nlit: error: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches as _;

    fn parse(arguments: &str) -> Result<LitArgs, String> {
        let words = std::iter::once("lit").chain(arguments.split_whitespace());
        let matches = LitArgs::augment_args(Command::new("lit")).try_get_matches_from(words);
        let given: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        matches.and_then(|m| LitArgs::from_arg_matches(&m)).map_err(|e| usage_error(&e, &given))
    }

    #[test]
    fn what_is_wrong_is_said_in_lits_words() {
        for (arguments, words) in [
            ("", "the following arguments are required: TEST_PATH"),
            ("--num-shards 0 x", "argument --num-shards: requires positive integer, but found '0'"),
            ("-j x y", "argument -j/--threads/--workers: requires positive integer, but found 'x'"),
            ("-j -1 y", "argument -j/--threads/--workers: requires positive integer, but found '-1'"),
            ("--max-tests -1 y", "argument --max-tests: requires positive integer, but found '-1'"),
            ("--timeout -1 y", "argument --timeout: requires non-negative integer, but found '-1'"),
            ("--fil x y", "ambiguous option: --fil could match --filter, --filter-out, --filter-failed"),
            ("--ver=x y", "ambiguous option: --ver=x could match --version, --verbose"),
            (
                "--show y",
                "ambiguous option: --show could match --show-all, --show-excluded, --show-skipped, --show-unsupported, \
                 --show-pass, --show-flakypass, --show-fixed, --show-xfail, --show-suites, --show-tests, --show-used-features",
            ),
            ("--quiet=3 y", "argument -q/--quiet: ignored explicit argument '3'"),
            ("--timeout=-1 x", "argument --timeout: requires non-negative integer, but found '-1'"),
            ("--min-output-interval=-1 x", "argument --min-output-interval: requires non-negative float"),
            (
                "--order=none x",
                "argument --order: invalid choice: 'none' (choose from lexical, random, smart)",
            ),
            ("--order", "argument --order: expected one argument"),
            ("--vg x", "unrecognized arguments: --vg"),
            ("--time-tests --skip-test-time-recording x", "not allowed with argument --"),
        ] {
            let why = parse(arguments).unwrap_err();
            assert!(why.starts_with("usage: lit [-h]") && why.contains(words), "{arguments}: {why}");
        }
    }

    #[test]
    fn the_last_of_an_option_counts_and_names_can_be_cut_short() {
        let args = parse("--order lexical --order=random --max-te 3 --filter a --filter b x").unwrap();
        assert_eq!(args.order, Order::Random);
        assert_eq!(args.filter.as_deref(), Some("b"));
        assert!(parse("--time-tests x").unwrap().time_tests.is_some());
        assert_eq!(parse("--show-fixed -1 -- -v").unwrap().paths, ["-1", "-v"].map(PathBuf::from));
    }
}
