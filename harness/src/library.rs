//! The library face: one value and one call make a suite run under `cargo test` and `cargo nextest`.

use crate::cli::args::SelectArgs;
use crate::cli::setup::{self, Setup};
use crate::cli::{Failed, print_problems};
use crate::device::host;
use crate::diag::{self, Style};
use crate::exit::Status;
use crate::plan::{Fate, Item};
use crate::process::Interrupt;
use crate::report::{Finished, Silent, pretty};
use crate::run::{OUTPUT_FOLDER, Options, Run};
use libtest_mimic::{Arguments, Completion, Failed as TrialFailed, Trial};
use runproof_records::bundle::Selection;
use runproof_records::record::Target;
use runproof_records::verdict::State;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

/// Environment variable that names devices for a suite under `cargo test`, comma-separated.
pub const DEVICE_VARIABLE: &str = "RUNPROOF_DEVICE";
/// Environment variable that names the folder for bundles under `cargo test`.
pub const OUT_VARIABLE: &str = "RUNPROOF_OUT";

/// Suites below a folder, as one test target with `harness = false`:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     runproof::Suite::new("tests").run()
/// }
/// ```
///
/// There is one entry per test and variant; filters, `--list`, `--exact`, `--ignored` and threads mean what they
/// mean for every other test target. What is skipped is an ignored test, what is refused a failing one.
#[derive(Clone, Debug)]
pub struct Suite {
    select: SelectArgs,
}

impl Suite {
    /// Suites at or below `root`, relative to the package's folder.
    pub fn new(root: impl AsRef<Path>) -> Self {
        let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
        Self { select: SelectArgs { suite: vec![package.join(root)], ..SelectArgs::default() } }
    }

    /// Folder to look tools of `[tools]` up in, before PATH.
    #[must_use]
    pub fn tool_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.select.tool_dir.push(folder.into());
        self
    }

    /// Folder with the probe libraries.
    #[must_use]
    pub fn probe_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.select.probe_dir = Some(folder.into());
        self
    }

    /// Runs as the program's main function. Exit status 101 when a test failed, 2 when the suites or the bundle
    /// do not hold, 3 when a requested device is not usable.
    pub fn run(mut self) -> ExitCode {
        let mut arguments = Arguments::from_args();
        if arguments.test_threads.is_none() {
            arguments.test_threads = std::env::var("RUST_TEST_THREADS").ok().and_then(|n| n.parse().ok());
        }
        if let Ok(devices) = std::env::var(DEVICE_VARIABLE) {
            self.select.device = devices.split(',').filter(|d| !d.is_empty()).map(str::to_owned).collect();
        }
        let style = Style { colour: std::io::stderr().is_terminal() };
        match run(&self.select, &arguments, style) {
            Ok(code) => code,
            Err(failed) => {
                print_problems(&failed.problems, style);
                failed.status.into()
            }
        }
    }
}

fn run(select: &SelectArgs, arguments: &Arguments, style: Style) -> Result<ExitCode, Failed> {
    let setup = setup::setup(select, true)?;
    if arguments.list {
        let trials = setup.plan.items.iter().map(listed).chain(unclaimed(&setup)).collect();
        return Ok(libtest_mimic::run(arguments, trials).exit_code());
    }
    // The trials live as long as the process: libtest-mimic takes them by value and wants them `'static`.
    let setup: &'static Setup = Box::leak(Box::new(setup));
    let interrupt = Interrupt::on_signals()
        .map_err(|e| diag::Problem::new("bundle", format!("signals cannot be handled: {e}")))?;
    let run = Run::open(
        &setup.plan,
        &setup.kinds,
        host::probe(&setup.fleet),
        options(select, arguments, setup),
        interrupt.clone(),
    )?;
    let run = Arc::new(run);
    let trials = setup
        .plan
        .items
        .iter()
        .map(|item| {
            let run = Arc::clone(&run);
            let ignored = is_ignored(item);
            Trial::ignorable_test(name(item), move || trial(&run, item, style)).with_ignored_flag(ignored)
        })
        .chain(unclaimed(setup))
        .collect();
    let conclusion = libtest_mimic::run(arguments, trials);
    let summary = run.close()?;
    eprintln!("tiers: {}; bundle: {}", summary.tiers_line(), summary.bundle);
    if interrupt.is_raised() {
        return Ok(Status::Interrupted.into());
    }
    Ok(conclusion.exit_code())
}

fn options(select: &SelectArgs, arguments: &Arguments, setup: &Setup) -> Options {
    let filters: Vec<String> = arguments.filter.iter().cloned().collect();
    let partial = !filters.is_empty() || !arguments.skip.is_empty() || arguments.ignored;
    Options {
        out: out_folder(),
        run_id: None,
        key: std::env::var_os("RUNPROOF_KEY").map(PathBuf::from),
        controls: false,
        timeout: None,
        tool_dirs: select.tool_dir.clone(),
        argv: std::env::args().collect(),
        selection: Selection {
            devices: setup.requested.clone(),
            filters,
            shard: String::new(),
            partial: partial || setup.plan.partial,
            controls: false,
        },
        fleet_text: setup.fleet.text.clone(),
        reproduce: "cargo test --".to_owned(),
        keep_trials: false,
        reproduce_by_name: true,
    }
}

/// Below cargo's target folder, which is found from the place of this program: `cargo test` names it nowhere.
fn out_folder() -> PathBuf {
    if let Some(out) = std::env::var_os(OUT_VARIABLE) {
        return out.into();
    }
    let exe = std::env::current_exe().unwrap_or_default();
    exe.ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").exists())
        .map_or_else(|| PathBuf::from(OUTPUT_FOLDER), |target| target.join(OUTPUT_FOLDER))
}

/// `suite::path[variant]`, the target last where it is not the host.
pub fn name(item: &Item) -> String {
    let key = &item.key;
    let test = key.test.replace(' ', "_");
    match &key.target {
        Target::Host => format!("{}::{test}", key.suite),
        Target::Shim => format!("{}::{test}::shim", key.suite),
        Target::Device { id } => format!("{}::{test}::{id}", key.suite),
    }
}

fn is_ignored(item: &Item) -> bool {
    matches!(&item.fate, Fate::Settled { state: State::Skipped, .. })
}

fn listed(item: &Item) -> Trial {
    Trial::test(name(item), || Ok(())).with_ignored_flag(is_ignored(item))
}

/// A file that no suite claims is a failing test of its own, so that it is seen here too.
fn unclaimed(setup: &Setup) -> Vec<Trial> {
    setup
        .plan
        .suites
        .iter()
        .filter(|s| !s.suite.unclaimed.is_empty())
        .map(|s| {
            let files = s.suite.unclaimed.join(", ");
            Trial::test(format!("{}::unclaimed-files", s.suite.name), move || {
                Err(TrialFailed::from(format!(
                    "claimed by no pattern; list them under `files` or `exclude`: {files}"
                )))
            })
        })
        .collect()
}

fn trial(run: &Run<'_>, item: &Item, style: Style) -> Result<Completion, TrialFailed> {
    let Some(Finished { record, failure, .. }) = run.item(item, &Mutex::new(Silent)) else {
        return Err("the run was interrupted, or its bundle cannot be written".into());
    };
    let verdict = &record.verdict;
    match verdict.state {
        State::Skipped => Ok(Completion::ignored_with(&verdict.reason)),
        state if state.is_failure() => {
            let text = failure.map(|f| pretty::render(&f, style)).unwrap_or_default();
            Err(format!("{state}: {}\n{text}", verdict.reason).into())
        }
        _ => Ok(Completion::Completed),
    }
}
