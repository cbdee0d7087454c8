//! A run: the plan is carried out, every test leaves its record, the bundle is closed.
//!
//! [`Run::open`] announces everything before the first test starts, [`Run::item`] carries out one test (from
//! any thread), [`Run::close`] writes totals and manifest. The program and the library face use the same three.

mod as_lit;
pub mod attempt;
mod clock;
mod command;
pub mod compare;
mod executables;
pub mod judge;
pub mod locks;
mod masked;
mod matcher;
mod outputs;
pub mod placed;
pub mod schedule;
pub mod strength;
mod surroundings;
mod watch;

use crate::device::Kinds;
use crate::diag::Problem;
use crate::exit::Status;
use crate::plan::{Fate, Item, LoadedFile, Plan};
use crate::process::Interrupt;
use crate::report::{Event, Failure, Finished, Reporter, Summary};
use crate::suite::Settings;
use crate::suite::tools::{self, Tool};
use attempt::Done;
pub use attempt::is_exit_only;
use executables::Executables;
use locks::Locks;
use masked::Masks;
use runproof_evidence::Signer;
use runproof_evidence::bundle::{BundleError, BundleWriter};
use runproof_records::bundle::{Announced, Census, Revision, Run as RunRecord, Selection};
use runproof_records::record::{Host, Record, Target, Xfail};
use runproof_records::verdict::State;
use runproof_records::{BUNDLE_SCHEMA, Digest};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use strength::Trial;

/// Folder for bundles and work files unless `--out` says otherwise.
pub const OUTPUT_FOLDER: &str = "runproof-out";

/// How a run is carried out.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder for bundles and work files.
    pub out: PathBuf,
    /// Id of the run; made from date and nonce unless given.
    pub run_id: Option<String>,
    /// Key that signs the bundle.
    pub key: Option<PathBuf>,
    /// Run device tests again with the device hidden.
    pub controls: bool,
    /// Limit of a test without `TIMEOUT`, over the suite's.
    pub timeout: Option<Duration>,
    /// Folders to look tools up in.
    pub tool_dirs: Vec<PathBuf>,
    /// Command line for the record.
    pub argv: Vec<String>,
    /// What the selection was, for the record.
    pub selection: Selection,
    /// Text of the fleet file.
    pub fleet_text: String,
    /// How to run one test alone: the words before its id.
    pub reproduce: String,
    /// Checks are kept with the outputs that they accepted, for [`Run::take_trials`].
    pub keep_trials: bool,
    /// The test is named as cargo's test targets name it.
    pub reproduce_by_name: bool,
}

/// An output that is left for the next test's checks is at most this long, bytes: a match that fails costs more than one
/// that holds, and what is too weak to reject a long output is so for a short one.
const FOREIGN_BYTES: usize = 4 << 10;

/// Suite, file, target and line of an `EXPECT(identical)`.
type Identical = (usize, usize, Target, u32);

/// A run that is going on.
pub struct Run<'a> {
    plan: &'a Plan,
    kinds: &'a Kinds,
    executables: Executables,
    options: Options,
    id: String,
    nonce: String,
    host: Host,
    writer: Mutex<Option<BundleWriter>>,
    bundle: PathBuf,
    masks: Masks,
    tools: BTreeMap<usize, Arc<BTreeMap<String, Tool>>>,
    devices: Locks,
    serial: Locks,
    times: schedule::Times,
    interrupt: Interrupt,
    /// Tests in lit's dialect whose verdict may hide something.
    traps: Mutex<BTreeMap<crate::lit::Trap, BTreeSet<String>>>,
    /// What tests in lit's dialect share.
    lit: crate::lit::Context,
    /// The newest output that a test of each suite accepted: a foreign output for the next one's checks.
    foreign: Mutex<BTreeMap<usize, (String, Vec<u8>)>>,
    /// Foreign outputs that the checks of a test accept, by its id.
    accepted: Mutex<BTreeMap<String, Vec<String>>>,
    /// Everything that held with what it accepted, when it is kept.
    trials: Option<Mutex<Vec<Trial>>>,
    /// Digests of `EXPECT(identical)` outputs by file, target and line, with the variant that came first.
    identical: Mutex<BTreeMap<Identical, (String, Digest)>>,
    summary: Mutex<Summary>,
    broken: Mutex<Option<BundleError>>,
    stop: AtomicBool,
    opened: Instant,
}

impl<'a> Run<'a> {
    /// Announces every test of the plan in a new bundle.
    ///
    /// # Errors
    /// A tool is missing, the bundle cannot be written, the key cannot be read.
    pub fn open(
        plan: &'a Plan,
        kinds: &'a Kinds,
        host: Host,
        options: Options,
        interrupt: Interrupt,
    ) -> Result<Self, Vec<Problem>> {
        let nonce = clock::nonce()
            .map_err(|e| vec![Problem::new("bundle", format!("no random numbers from the system: {e}"))])?;
        let id = options.run_id.clone().unwrap_or_else(|| format!("{}-{}", stamp(), &nonce[..8]));
        // Large executables and repositories take their time, so these three go side by side.
        let (tools, executable, source) = std::thread::scope(|scope| {
            let executable = scope.spawn(own_digest);
            let source = scope.spawn(|| revision(plan));
            (tools_and_masks(plan, &options), executable.join(), source.join())
        });
        let (tools, masks, tool_records) = tools?;
        let record = RunRecord {
            schema: BUNDLE_SCHEMA.to_owned(),
            id: id.clone(),
            nonce: nonce.clone(),
            harness: env!("CARGO_PKG_VERSION").to_owned(),
            executable: executable.unwrap_or_else(|_| crate::plan::load::digest(&[])),
            argv: options.argv.iter().map(|a| masks.mask(a)).collect(),
            source: source.unwrap_or_else(|_| unknown_revision()),
            host: host.clone(),
            tools: tool_records,
            selection: Selection { partial: plan.partial, ..options.selection.clone() },
            started: clock::now(),
            end: None,
        };
        let writer =
            BundleWriter::create(&options.out, record, &census(plan, &id, &nonce), &options.fleet_text)
                .map_err(|e| vec![bundle_problem(&e)])?;
        let mut kept = BTreeSet::new();
        for item in &plan.items {
            if kept.insert((item.suite, item.file)) {
                writer.add_source(&plan.file(item).source.bytes).map_err(|e| vec![bundle_problem(&e)])?;
            }
        }
        let bundle = writer.root().to_path_buf();
        let tmp = options.out.join("work").join(&id).join("tmp");
        let has_lit = plan.suites.iter().flat_map(|s| &s.files).any(|f| f.lit.is_some());
        let lit = crate::lit::Context {
            one_attempt: true,
            keep: true,
            runs_own: true,
            ..crate::lit::Context::new(
                &nonce[..16],
                has_lit.then(|| std::path::absolute(&tmp).unwrap_or_else(|_| tmp.clone())),
                interrupt.clone(),
            )
        };
        if has_lit {
            std::fs::create_dir_all(&tmp).map_err(|e| {
                vec![Problem::new("bundle", format!("`{}` cannot be made: {e}", tmp.display()))]
            })?;
        }
        let times = schedule::Times::open(&options.out);
        let summary = Summary {
            announced: plan.items.len() as u64,
            bundle: crate::suite::discover::show(&bundle),
            unclaimed: unclaimed(plan),
            ..Summary::default()
        };
        Ok(Self {
            plan,
            kinds,
            executables: Executables::default(),
            id,
            nonce,
            host,
            writer: Mutex::new(Some(writer)),
            bundle,
            masks,
            tools,
            devices: Locks::machine_wide(),
            serial: Locks::new(options.out.join("locks")),
            times,
            interrupt,
            traps: Mutex::default(),
            lit,
            foreign: Mutex::default(),
            accepted: Mutex::default(),
            trials: options.keep_trials.then(Mutex::default),
            identical: Mutex::default(),
            summary: Mutex::new(summary),
            broken: Mutex::default(),
            stop: AtomicBool::new(false),
            opened: Instant::now(),
            options,
        })
    }

    /// Carries out the whole plan on `jobs` threads.
    pub fn all(&self, jobs: usize, reporter: &Mutex<dyn Reporter + '_>) {
        let tell = |event: &Event<'_>| reporter.lock().unwrap_or_else(PoisonError::into_inner).event(event);
        let runnable: Vec<usize> =
            (0..self.plan.items.len()).filter(|i| self.plan.items[*i].fate == Fate::Run).collect();
        tell(&Event::Opened {
            announced: self.plan.items.len(),
            to_run: runnable.len(),
            suites: self.plan.suites.len(),
            bundle: &self.bundle.to_string_lossy(),
        });
        for item in self.plan.items.iter().filter(|i| i.fate != Fate::Run) {
            self.item(item, reporter);
        }
        let ids: Vec<String> = runnable.iter().map(|i| crate::report::id(&self.plan.items[*i].key)).collect();
        let order: Vec<usize> = self.times.order(&ids).into_iter().map(|at| runnable[at]).collect();
        let serial = |i: usize| {
            let file = self.plan.file(&self.plan.items[i]);
            let own = file.test.serial.iter().map(|s| s.value.clone());
            // On every target it runs in lit's one folder for it.
            let shared = file.lit.as_ref().filter(|_| file.executes());
            own.chain(shared.map(|test| test.exec().to_string_lossy().into_owned())).collect()
        };
        schedule::run(&order, jobs, &self.serial, &serial, &self.stop, &|i, locked| match locked {
            Ok(()) => {
                self.item(&self.plan.items[i], reporter);
            }
            Err(e) => {
                let why = format!("its SERIAL lock cannot be taken: {e}");
                self.settle(&self.plan.items[i], &Fate::errored(why), reporter);
            }
        });
    }

    /// Carries out one test, with its retries, and returns its terminal state; `None` when the run was
    /// interrupted or its bundle broke, so that the test has none.
    pub fn item(&self, item: &Item, reporter: &Mutex<dyn Reporter + '_>) -> Option<Finished> {
        if self.stop.load(Ordering::Relaxed) || self.interrupt.is_raised() {
            self.stop.store(true, Ordering::Relaxed);
            return None;
        }
        if item.fate != Fate::Run {
            return self.settle(item, &item.fate, reporter);
        }
        let begun = Instant::now();
        let file = self.plan.file(item);
        let retries = match &file.lit {
            Some(test) => as_lit::retries_of(file, test),
            None => file.test.retries.as_ref().map_or(0, |r| r.value),
        };
        let mut earlier = Vec::new();
        for number in 1..=retries.saturating_add(1) {
            self.keep(|w| w.started(&item.key, number, clock::now()))?;
            tell(reporter, &Event::Started { key: &item.key, attempt: number });
            let Done { mut record, mut failure } = match attempt::run(self, item, number) {
                Ok(done) => done,
                Err(attempt::Stopped::Interrupted) => {
                    self.stop.store(true, Ordering::Relaxed);
                    return None;
                }
                Err(attempt::Stopped::Bundle(e)) => return self.broke(e),
            };
            let failed = record.verdict.state == State::Failed;
            let last = !failed || number > retries;
            if record.verdict.state == State::Passed && !earlier.is_empty() {
                record.verdict.state = State::Flaky;
                record.verdict.reason = format!("{}; attempt {number}: passed", earlier.join("; "));
            }
            if let Some(failure) = &mut failure {
                failure.notes.extend(earlier.iter().map(|e| format!("earlier, {e}")));
            }
            earlier.push(format!("attempt {number}: {}", record.verdict.reason));
            let finished = self.finish(record, failure, last, reporter)?;
            if last || finished.record.verdict.state != State::Failed {
                self.times.note(
                    &crate::report::id(&item.key),
                    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
                );
                return Some(finished);
            }
        }
        None
    }

    /// Records a test that reaches its state without being run.
    fn settle(&self, item: &Item, fate: &Fate, reporter: &Mutex<dyn Reporter + '_>) -> Option<Finished> {
        let Fate::Settled { state, skip, reason } = fate else { return None };
        let record = attempt::settled(self, item, *state, *skip, reason);
        let file = self.plan.file(item);
        let failure = (*state == State::Refused).then(|| refusal(file));
        self.finish(record, failure, true, reporter)
    }

    fn finish(
        &self,
        record: Record,
        failure: Option<Failure>,
        last: bool,
        reporter: &Mutex<dyn Reporter + '_>,
    ) -> Option<Finished> {
        let record = self.keep(|w| w.append(record))?;
        let failure = failure.map(|mut failure| {
            // Only the writer knows the tier, so only now can be said that it is below the goal.
            for point in failure.points.iter_mut().filter(|p| p.message.is_empty()) {
                point.message.clone_from(&record.verdict.reason);
            }
            failure
        });
        let finished = Finished { record, failure, last };
        if last {
            self.summary.lock().unwrap_or_else(PoisonError::into_inner).count(&finished.record);
        }
        tell(reporter, &Event::Finished(&finished));
        Some(finished)
    }

    /// Writes to the bundle. When that fails the run stops: what cannot be recorded did not happen.
    fn keep<T>(&self, write: impl FnOnce(&BundleWriter) -> Result<T, BundleError>) -> Option<T> {
        let result = {
            let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.as_ref().map(write)?
        };
        match result {
            Ok(value) => Some(value),
            Err(e) => self.broke(e),
        }
    }

    fn broke<T>(&self, error: BundleError) -> Option<T> {
        self.stop.store(true, Ordering::Relaxed);
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        None
    }

    /// Closes the bundle and returns the totals.
    ///
    /// # Errors
    /// The bundle could not be written at some point.
    pub fn close(&self) -> Result<Summary, Vec<Problem>> {
        crate::process::sweep_strays();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(error) = self.broken.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(vec![bundle_problem(&error)]);
        }
        let interrupted = self.interrupt.is_raised();
        if let Some(writer) = writer {
            let signer = match &self.options.key {
                Some(path) => Some(Signer::open(path).map_err(|e| vec![bundle_problem(&e)])?),
                None => None,
            };
            writer
                .finish(clock::now(), interrupted, signer.as_ref())
                .map_err(|e| vec![bundle_problem(&e)])?;
        }
        self.times.save();
        let work = self.options.out.join("work").join(&self.id);
        if self.lit.tmp.is_some() {
            let _ = std::fs::remove_dir_all(work.join("tmp"));
        }
        let _ = std::fs::remove_dir(work);
        point_latest(&self.options.out, &self.id);
        let mut summary = self.summary.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        for (test, how) in &mut summary.weak {
            *how = accepted.get(test).map(|said| said.join("; ")).unwrap_or_default();
        }
        drop(accepted);
        summary.interrupted = interrupted;
        summary.wall_ms = self.opened.elapsed().as_millis();
        let counted: u64 = summary.states.values().sum();
        if summary.announced > counted {
            *summary.states.entry(State::NotRun).or_default() += summary.announced - counted;
        }
        summary.notes = trap_notes(&self.traps.lock().unwrap_or_else(PoisonError::into_inner));
        summary.status = status(&summary);
        Ok(summary)
    }

    /// Folder of the bundle.
    pub fn bundle(&self) -> &Path {
        &self.bundle
    }

    /// Notes what an `EXPECT(identical)` line is about; the variant that it differs from, if it does.
    fn same_in_all_variants(&self, item: &Item, line: u32, digest: &Digest) -> Option<String> {
        let key = (item.suite, item.file, item.key.target.clone(), line);
        let mut known = self.identical.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, of_first) = known.entry(key).or_insert_with(|| (item.key.test.clone(), digest.clone()));
        (of_first != digest).then(|| first.clone())
    }

    /// The newest output of another test of the suite.
    fn foreign_to(&self, trial: &Trial) -> Option<(String, Vec<u8>)> {
        let foreign = self.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        foreign.get(&trial.suite).filter(|(file, _)| *file != trial.file).cloned()
    }

    /// Leaves what checks accepted for the next test, and keeps it if everything is kept.
    fn leave(&self, trial: Trial) {
        if !trial.output.is_empty() && trial.output.len() <= FOREIGN_BYTES {
            let newest = (trial.file.clone(), trial.output.clone());
            self.foreign.lock().unwrap_or_else(PoisonError::into_inner).insert(trial.suite, newest);
        }
        if let Some(trials) = &self.trials {
            trials.lock().unwrap_or_else(PoisonError::into_inner).push(trial);
        }
    }

    fn note_accepted(&self, trial: &Trial, tried: &[strength::Tried]) {
        let accepted = tried.iter().filter(|t| !t.rejected);
        let said: Vec<String> = accepted
            .map(|t| format!("the checks of {}:{} also hold on {}", trial.file, trial.line, t.what))
            .collect();
        if !said.is_empty() {
            let mut all = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(trial.test.clone()).or_default().extend(said);
        }
    }

    /// Everything that held with what it accepted, in the order of the tests; empty unless it was kept.
    pub fn take_trials(&self) -> Vec<Trial> {
        let mut trials = self.trials.as_ref().map_or_else(Vec::new, |trials| {
            std::mem::take(&mut *trials.lock().unwrap_or_else(PoisonError::into_inner))
        });
        trials.sort_by(|a, b| (&a.test, a.line).cmp(&(&b.test, b.line)));
        trials
    }

    /// Asks the bundle's writer; `None` when the bundle is closed.
    fn with_writer<T>(&self, ask: impl FnOnce(&BundleWriter) -> T) -> Option<T> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ask)
    }

    fn tools(&self, settings: &Arc<Settings>) -> Arc<BTreeMap<String, Tool>> {
        self.tools.get(&(Arc::as_ptr(settings) as usize)).cloned().unwrap_or_default()
    }
}

fn tell(reporter: &Mutex<dyn Reporter + '_>, event: &Event<'_>) {
    reporter.lock().unwrap_or_else(PoisonError::into_inner).event(event);
}

/// The status that follows from the totals alone; a command adds what `--deny` and `--allow-empty` say.
fn status(summary: &Summary) -> Status {
    let mut status = Status::Held;
    if summary.states.iter().any(|(s, n)| *n > 0 && s.is_failure()) {
        status = status.and(Status::Failed);
    }
    if summary.of(State::Refused) > 0 || !summary.unclaimed.is_empty() {
        status = status.and(Status::Usage);
    }
    if summary.interrupted {
        status = status.and(Status::Interrupted);
    }
    status
}

/// One line for each way in which lit's rules may have hidden something.
fn trap_notes(traps: &BTreeMap<crate::lit::Trap, BTreeSet<String>>) -> Vec<String> {
    const SHOWN: usize = 3;
    let line = |(trap, tests): (&crate::lit::Trap, &BTreeSet<String>)| {
        let mut named: Vec<&str> = tests.iter().map(String::as_str).take(SHOWN).collect();
        if tests.len() > SHOWN {
            named.push("…");
        }
        format!("lit's verdict hides: {} - {} ({} tests)", trap.text(), named.join(", "), tests.len())
    };
    traps.iter().map(line).collect()
}

/// Every refusal of a file, as a failure report.
pub fn refusal(file: &LoadedFile) -> Failure {
    let points = file
        .test
        .findings
        .iter()
        .filter(|f| f.severity == runproof_directives::Severity::Refusal)
        .map(|f| crate::report::failure::Point {
            span: f.span,
            message: format!("{} [{}]", f.message, f.code),
            label: f.label.clone(),
            detail: f
                .related
                .iter()
                .map(|(span, label)| {
                    let (line, column) = file.source.position(span.start);
                    format!("{}:{line}:{column}: {label}\n", file.source.name)
                })
                .chain(f.help.iter().map(|h| format!("help: {h}\n")))
                .collect(),
        })
        .collect();
    Failure {
        source: file.source.clone(),
        points,
        command: String::new(),
        stdout: Vec::new(),
        stderr: Vec::new(),
        reproduce: String::new(),
        evidence: String::new(),
        notes: Vec::new(),
    }
}

fn census(plan: &Plan, run: &str, nonce: &str) -> Census {
    let mut tests: Vec<Announced> = plan
        .items
        .iter()
        .map(|i| Announced { key: i.key.clone(), source: plan.file(i).digest.clone() })
        .collect();
    tests.sort();
    Census {
        schema: BUNDLE_SCHEMA.to_owned(),
        run: run.to_owned(),
        nonce: nonce.to_owned(),
        tests,
        unclaimed: unclaimed(plan),
    }
}

fn unclaimed(plan: &Plan) -> Vec<String> {
    plan.suites
        .iter()
        .flat_map(|s| s.suite.unclaimed.iter().map(move |f| format!("{}/{f}", s.suite.name)))
        .collect()
}

type Tools = BTreeMap<usize, Arc<BTreeMap<String, Tool>>>;

fn tools_and_masks(
    plan: &Plan,
    options: &Options,
) -> Result<(Tools, Masks, BTreeMap<String, runproof_records::bundle::Tool>), Vec<Problem>> {
    let mut all = BTreeMap::new();
    let mut masks = Masks::default();
    let mut records = BTreeMap::new();
    let mut problems = Vec::new();
    for item in plan.to_run() {
        let settings = &plan.file(item).settings;
        let at = Arc::as_ptr(settings) as usize;
        if all.contains_key(&at) {
            continue;
        }
        match tools::find(settings, &options.tool_dirs) {
            Ok(found) => {
                for (name, tool) in &found {
                    masks.add(&tool.path, &format!("${{tool:{name}}}"));
                    records.insert(name.clone(), tool.record.clone());
                }
                all.insert(at, Arc::new(found));
            }
            Err(more) => problems.extend(more),
        }
    }
    for loaded in &plan.suites {
        masks.add(&loaded.suite.root, "${suite}");
        if loaded.suite.home != loaded.suite.root {
            masks.add(&loaded.suite.home, "${home-of-suite}");
        }
    }
    for dir in &options.tool_dirs {
        masks.add(dir, "${tools}");
    }
    if let Ok(exe) = std::env::current_exe() {
        masks.add(&exe, "runproof");
    }
    if let Some(home) = std::env::var_os("HOME") {
        masks.add(Path::new(&home), "${home}");
    }
    if problems.is_empty() { Ok((all, masks, records)) } else { Err(problems) }
}

fn own_digest() -> Digest {
    let found = std::env::current_exe().and_then(|path| runproof_evidence::digest::of_file(&path));
    found.map_or_else(|_| crate::plan::load::digest(&[]), |(digest, _)| digest)
}

fn revision(plan: &Plan) -> Revision {
    let root = plan.suites.first().map_or_else(|| PathBuf::from("."), |s| s.suite.root.clone());
    let git = |arguments: &[&str]| {
        duct::cmd("git", arguments)
            .dir(&root)
            .stdin_null()
            .stderr_null()
            .unchecked()
            .stdout_capture()
            .run()
            .ok()
            .and_then(|o| o.status.success().then(|| String::from_utf8_lossy(&o.stdout).trim().to_owned()))
    };
    match git(&["rev-parse", "HEAD"]) {
        Some(commit) => Revision {
            commit,
            dirty: git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|s| !s.is_empty()),
        },
        None => unknown_revision(),
    }
}

fn unknown_revision() -> Revision {
    Revision { commit: "unknown".to_owned(), dirty: true }
}

fn stamp() -> String {
    jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// A problem from the bundle's writer.
pub fn bundle_problem(error: &BundleError) -> Problem {
    Problem::new("bundle", error.to_string())
        .help(error.way_out())
        .help("no evidence, no tier: the run does not count; what was written stays where it is")
}

/// `latest` in the output folder names the newest bundle; where links cannot be made there is none.
fn point_latest(out: &Path, id: &str) {
    let link = out.join("latest");
    let _ = std::fs::remove_file(&link);
    #[cfg(unix)]
    let _ = std::os::unix::fs::symlink(id, &link);
}

/// Expected failure of an item, for records.
fn xfail_of(item: &Item) -> Option<Xfail> {
    item.xfail.clone()
}
