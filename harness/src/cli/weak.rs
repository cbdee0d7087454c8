//! `lint --weak`: runs the tests and measures what their checks can reject. The outputs are those of this run; its
//! bundle is thrown away, so nothing here earns a tier.

use super::args::{Format, LintArgs, LintDeny, TestArgs};
use super::setup::Setup;
use super::{Failed, print};
use crate::device::host;
use crate::diag::Problem;
use crate::exit::Status;
use crate::plan::Plan;
use crate::process::Interrupt;
use crate::report::json::annotation;
use crate::report::{Silent, Summary, id};
use crate::run::Run;
use crate::run::strength::{Origin, Trial, Tried, against_foreign, against_mutants, spread_of, sum};
use runproof_directives::Source;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Other tests whose outputs a test is tried on; of more in a suite they are taken at even distances.
const MOST_OTHERS: usize = 32;

/// What was measured of one test.
struct Measured {
    test: String,
    /// File and line of its first check.
    place: (String, u32),
    tried: Vec<Tried>,
    /// Smallest strength that its suite allows, percent.
    floor: u32,
}

impl Measured {
    fn is_weak(&self) -> bool {
        self.tried.iter().any(|t| t.origin.is_foreign() && !t.rejected)
    }

    fn of(&self, origin: Origin) -> Option<(u32, u32)> {
        let tried: Vec<Tried> = self.tried.iter().filter(|t| t.origin == origin).cloned().collect();
        sum(&tried).map(|s| (s.rejected, s.tried))
    }

    fn total(&self) -> (u32, u32) {
        sum(&self.tried).map_or((0, 0), |s| (s.rejected, s.tried))
    }

    fn percent(&self) -> u32 {
        let (rejected, tried) = self.total();
        (rejected * 100).checked_div(tried).unwrap_or(100)
    }

    fn is_below(&self) -> bool {
        self.percent() < self.floor
    }

    /// `strength 3/8 (37 %): empty 1/1, other tests 0/3, …`.
    fn said(&self) -> String {
        let (rejected, tried) = self.total();
        let kinds = Origin::ALL.iter().filter_map(|origin| {
            let (rejected, tried) = self.of(*origin)?;
            Some(format!("{} {rejected}/{tried}", origin.name()))
        });
        let kinds: Vec<String> = kinds.collect();
        format!("strength {rejected}/{tried} ({} %): {}", self.percent(), kinds.join(", "))
    }

    /// What its checks accepted of some origins, each once.
    fn accepted(&self, origins: impl Fn(Origin) -> bool) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for tried in self.tried.iter().filter(|t| !t.rejected && origins(t.origin)) {
            if !all.contains(&tried.what.as_str()) {
                all.push(&tried.what);
            }
        }
        all
    }

    fn also(&self) -> String {
        let (file, line) = &self.place;
        format!("the checks of {file}:{line} also hold on {}", few(&self.accepted(Origin::is_foreign)))
    }
}

/// Runs, measures and prints; 1 when weak checks are denied or a test is below its suite's floor.
///
/// # Errors
/// The tests cannot be run.
pub fn run(args: &LintArgs, setup: &Setup) -> Result<Status, Failed> {
    let jobs = args.jobs.or(std::thread::available_parallelism().ok()).map_or(1, usize::from);
    let begun = Instant::now();
    let (trials, summary) = trials(args, setup, jobs)?;
    let ran = begun.elapsed();
    let begun = Instant::now();
    let measured = measure(&setup.plan, &trials, jobs);
    let known: BTreeSet<&str> = measured.iter().map(|m| m.test.as_str()).collect();
    let all = Measurement {
        unmeasured: setup
            .plan
            .to_run()
            .map(|item| id(&item.key))
            .filter(|test| !known.contains(test.as_str()))
            .map(|test| match summary.failed.iter().find(|(name, ..)| *name == test) {
                Some((_, state, _)) => (test, format!("it {state}")),
                None => {
                    (test, "the harness compares no output of it, or only one of more than 64 KiB".to_owned())
                }
            })
            .collect(),
        ran,
        tried: begun.elapsed(),
        measured: &measured,
    };
    print(&match args.format {
        Format::Json => all.as_json(),
        Format::Github => all.as_annotations(&setup.plan),
        Format::Pretty => all.as_text(true),
        Format::Terse => all.as_text(false),
    });
    let denied = args.deny.contains(&LintDeny::Weak) && measured.iter().any(Measured::is_weak);
    let below = measured.iter().any(Measured::is_below);
    Ok(if denied || below { Status::Failed } else { Status::Held })
}

/// Runs the tests; what held, with what it accepted.
fn trials(args: &LintArgs, setup: &Setup, jobs: usize) -> Result<(Vec<Trial>, Summary), Failed> {
    let scratch =
        tempfile::tempdir().map_err(|e| Problem::new("bundle", format!("no temporary folder: {e}")))?;
    let interrupt = Interrupt::on_signals()
        .map_err(|e| Problem::new("bundle", format!("signals cannot be handled: {e}")))?;
    let as_test = TestArgs { select: args.select.clone(), ..TestArgs::default() };
    let mut options = super::test::options(&as_test, setup)?;
    options.out = scratch.path().to_path_buf();
    options.keep_trials = true;
    let run = Run::open(&setup.plan, &setup.kinds, host::probe(&setup.fleet), options, interrupt)?;
    run.all(jobs, &Mutex::new(Silent));
    let summary = run.close()?;
    if summary.interrupted {
        return Err(Failed { problems: Vec::new(), status: Status::Interrupted });
    }
    let failed: BTreeSet<&str> = summary.failed.iter().map(|(name, ..)| name.as_str()).collect();
    let mut trials = run.take_trials();
    trials.retain(|t| !failed.contains(t.test.as_str()));
    Ok((trials, summary))
}

/// Outputs with the file that each is from.
type Pool<'t> = Vec<(&'t str, &'t [u8])>;

/// Different outputs of each suite.
fn pools(trials: &[Trial]) -> BTreeMap<usize, Pool<'_>> {
    let mut different: BTreeMap<usize, BTreeMap<&[u8], &str>> = BTreeMap::new();
    for trial in trials.iter().filter(|t| !t.output.is_empty()) {
        different.entry(trial.suite).or_default().entry(&trial.output).or_insert(&trial.file);
    }
    let mut pools = BTreeMap::new();
    for (suite, outputs) in different {
        let mut all: Pool<'_> = outputs.into_iter().map(|(bytes, file)| (file, bytes)).collect();
        all.sort_unstable();
        pools.insert(suite, spread_of(all.len(), MOST_OTHERS).into_iter().map(|at| all[at]).collect());
    }
    pools
}

fn measure(plan: &Plan, trials: &[Trial], jobs: usize) -> Vec<Measured> {
    let pools = pools(trials);
    let done: Mutex<BTreeMap<usize, Vec<Tried>>> = Mutex::default();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(trials.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(trial) = trials.get(at) else { break };
                    let pool = pools.get(&trial.suite).into_iter().flatten().copied();
                    let mut tried = against_foreign(trial, pool.filter(|(file, _)| *file != trial.file));
                    tried.extend(against_mutants(trial));
                    done.lock().unwrap_or_else(PoisonError::into_inner).insert(at, tried);
                }
            });
        }
    });
    let mut measured: Vec<Measured> = Vec::new();
    for (at, tried) in done.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let trial = &trials[at];
        match measured.last_mut().filter(|m| m.test == trial.test) {
            Some(known) => known.tried.extend(tried),
            None => measured.push(Measured {
                test: trial.test.clone(),
                place: (trial.file.clone(), trial.line),
                tried,
                floor: floor(plan, trial),
            }),
        }
    }
    measured
}

fn floor(plan: &Plan, trial: &Trial) -> u32 {
    let mut files = plan.suites[trial.suite].files.iter();
    files.find(|f| f.path == trial.file).map_or(0, |f| f.settings.min_strength_percent)
}

/// Everything that was measured, and what it cost.
struct Measurement<'a> {
    measured: &'a [Measured],
    /// Tests that ran and were not measured, each with why.
    unmeasured: Vec<(String, String)>,
    ran: Duration,
    tried: Duration,
}

impl Measurement<'_> {
    fn matches(&self) -> usize {
        self.measured.iter().map(|m| m.tried.len()).sum()
    }

    fn weak(&self) -> impl Iterator<Item = &Measured> {
        self.measured.iter().filter(|m| m.is_weak())
    }

    fn below(&self) -> impl Iterator<Item = &Measured> {
        self.measured.iter().filter(|m| m.is_below())
    }

    /// For a person; every test when `all`, else only the lists at the end.
    fn as_text(&self, all: bool) -> String {
        let mut text = String::new();
        for m in self.measured.iter().filter(|_| all) {
            let _ = writeln!(text, "{}: {}", m.test, m.said());
            let accepted = m.accepted(|_| true);
            if !accepted.is_empty() {
                let _ = writeln!(text, "  accepts {}", few(&accepted));
            }
        }
        let mut section = |title: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                let _ = writeln!(text, "\n{title}:");
                lines.iter().for_each(|line| _ = writeln!(text, "  {line}"));
            }
        };
        let why = |(test, why): &(String, String)| format!("{test} - {why}");
        section("not measured", self.unmeasured.iter().map(why).collect());
        let also = |m: &Measured| format!("{} - {}", m.test, m.also());
        section("weak (their checks accept a foreign output)", self.weak().map(also).collect());
        let below = |m: &Measured| format!("{} - {} %, its suite wants {} %", m.test, m.percent(), m.floor);
        section("below the floor of their suite", self.below().map(below).collect());
        let _ = writeln!(
            text,
            "\n{} tests measured, {} weak, {} below the floor of their suite, {} not measured",
            self.measured.len(),
            self.weak().count(),
            self.below().count(),
            self.unmeasured.len(),
        );
        let _ = writeln!(
            text,
            "cost: the tests ran for {:.1} s, {} matches were tried in {:.1} s",
            self.ran.as_secs_f64(),
            self.matches(),
            self.tried.as_secs_f64(),
        );
        text
    }

    /// One object for each test, then one for the whole.
    fn as_json(&self) -> String {
        let test = |m: &Measured| {
            let (rejected, tried) = m.total();
            json!({
                "test": m.test, "file": m.place.0, "line": m.place.1, "rejected": rejected, "tried": tried,
                "weak": m.is_weak(), "below": m.is_below(), "accepted": m.accepted(|_| true),
            })
        };
        let whole = json!({
            "measured": self.measured.len(), "weak": self.weak().count(), "below": self.below().count(),
            "unmeasured": self.unmeasured, "matches": self.matches(),
            "ran_ms": self.ran.as_millis(), "tried_ms": self.tried.as_millis(),
        });
        let all = self.measured.iter().map(test).chain([whole]);
        all.map(|object| format!("{object}\n")).collect()
    }

    fn as_annotations(&self, plan: &Plan) -> String {
        let sources = plan.suites.iter().flat_map(|s| &s.files);
        let sources: BTreeMap<&str, &Source> = sources.map(|f| (f.path.as_str(), &f.source)).collect();
        let annotated = self.measured.iter().filter(|m| m.is_weak() || m.is_below());
        annotated
            .filter_map(|m| {
                let source = sources.get(m.place.0.as_str())?;
                let lines = source.bytes.split_inclusive(|b| *b == b'\n');
                let at = lines.take(m.place.1.saturating_sub(1) as usize).map(<[u8]>::len).sum();
                let text = format!("{}; {}", m.said(), few(&m.accepted(|_| true)));
                Some(format!("{}\n", annotation("warning", source, at, "weak", &text)))
            })
            .collect()
    }
}

/// The first few, and how many more there are.
fn few(names: &[&str]) -> String {
    const FEW: usize = 6;
    let more = names.len().saturating_sub(FEW);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", names[..names.len().min(FEW)].join(", "))
}
