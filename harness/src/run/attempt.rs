//! One attempt of one test: its folder, its commands in file order, its record.

use super::as_lit::Lit;
use super::command::Steps;
use super::compare::{self, Compared};
use super::judge::{Happened, Trouble, judge};
use super::outputs::Ran;
use super::{Run, clock, xfail_of};
use crate::plan::{Item, LoadedFile};
use crate::report::Failure;
use crate::report::failure::{Point, TAIL_BYTES};
use runproof_directives::model::{Step, TestFile};
use runproof_evidence::bundle::BundleError;
use runproof_records::RECORD_SCHEMA;
use runproof_records::record::{
    Command, Comparisons, Declaration, Facts, HiddenControl, Instant, NotRecorded, Numeric, Output,
    Placement, Record, Strength, Verdict,
};
use runproof_records::verdict::{EvidenceState, Fact, PlacementOutcome, SkipKind, State};
use std::path::PathBuf;

/// An attempt that came to an end.
pub struct Done {
    /// The record, without what only the bundle's writer may say.
    pub record: Record,
    /// What to show when it does not hold.
    pub failure: Option<Failure>,
}

/// An attempt that came to none.
pub enum Stopped {
    /// The run was interrupted.
    Interrupted,
    /// The bundle cannot be written.
    Bundle(BundleError),
}

/// Runs one attempt.
///
/// # Errors
/// Interrupt, or a bundle that cannot be written; everything else is a verdict.
pub fn run(run: &Run<'_>, item: &Item, number: u32) -> Result<Done, Stopped> {
    let started = clock::now();
    let file = run.plan.file(item);
    let mut before = None;
    if let Some(test) = &file.lit {
        match super::as_lit::run(run, item, test, number)? {
            Lit::Done(done) => return Ok(*done),
            Lit::GoesOn(ran) => before = Some(ran),
        }
    }
    let work = work_folder(run, item, number);
    let mut state = Gathered::default();
    if let Err(e) = fresh(&work) {
        state.trouble(
            Trouble::Errored,
            first_span(file),
            format!("its folder `{}` cannot be made: {e}", work.display()),
        );
    } else {
        let mut steps = Steps::new(run, item, number, work.clone());
        steps.commands = before.as_mut().map(|ran| std::mem::take(&mut ran.commands)).unwrap_or_default();
        for step in &file.test.steps {
            match step {
                Step::Define(define) => steps.define(define),
                // lit has run it.
                Step::Command(step) if before.is_some() && !step.exec => {}
                Step::Command(step) => {
                    let ran = steps.command(step)?;
                    if step.build {
                        state.degraded = degraded(&ran, step.line).map(|why| steps.mask(&why));
                    }
                    state.take(ran, step.exec);
                    if !state.points.is_empty() {
                        break;
                    }
                }
            }
        }
        state.commands = std::mem::take(&mut steps.commands);
        state.tainted = steps.tainted();
    }
    let mut done = conclude(run, item, number, started, state);
    if before.is_some_and(|ran| ran.xfail) {
        super::as_lit::expect_failure(&mut done);
    }
    if done.failure.is_none() {
        remove(&work);
    }
    Ok(done)
}

/// The record of a test that reaches its state without being run.
pub fn settled(run: &Run<'_>, item: &Item, state: State, skip: Option<SkipKind>, reason: &str) -> Record {
    let now = clock::now();
    let absent =
        Facts { exit: Fact::Absent, placement: Fact::Absent, readback: Fact::Absent, oracle: Fact::Absent };
    let evidence = match skip {
        Some(SkipKind::DegradedBuild) => EvidenceState::DegradedBuild,
        _ => EvidenceState::Complete,
    };
    let mut record = blank(run, item, 1, now);
    record.verdict = verdict(state, reason.to_owned(), absent, evidence, item);
    record.verdict.skip = skip;
    record
}

/// What was gathered over the commands of an attempt.
#[derive(Default)]
struct Gathered {
    commands: Vec<Command>,
    checks: Compared,
    points: Vec<(Trouble, Point)>,
    executions: usize,
    exits_held: bool,
    compared: Option<bool>,
    read_back: Option<bool>,
    outputs_seen: bool,
    placement: Option<Placement>,
    strength: Option<Strength>,
    tainted: bool,
    /// Why a build came out lesser.
    degraded: Option<String>,
    last: Option<(String, PathBuf, PathBuf)>,
    notes: Vec<String>,
    not_recorded: Vec<NotRecorded>,
}

impl Gathered {
    fn trouble(&mut self, trouble: Trouble, span: runproof_directives::Span, message: String) {
        self.points.push((trouble, Point { span, message, label: String::new(), detail: String::new() }));
    }

    fn take(&mut self, ran: Ran, exec: bool) {
        let held = ran.compared.points.is_empty();
        if exec {
            self.exits_held = ran.exit_held && (self.executions == 0 || self.exits_held);
            self.executions += 1;
            if ran.compared.looked || ran.exit_stated {
                self.compared = Some(held && self.compared != Some(false));
            }
            self.outputs_seen |= ran.output_seen;
            self.read_back = Some(ran.outputs_came && self.read_back != Some(false));
        }
        self.checks.checks.extend(ran.compared.checks);
        self.checks.numbers.add(ran.compared.numbers);
        self.points.extend(ran.compared.points);
        if let Some(more) = ran.strength {
            let sum = self.strength.get_or_insert(Strength { rejected: 0, tried: 0 });
            sum.rejected += more.rejected;
            sum.tried += more.tried;
        }
        if let Some(placement) = ran.placement {
            self.placement = Some(merge(self.placement.take(), placement));
        }
        self.notes.extend(ran.notes);
        self.not_recorded.extend(ran.not_recorded);
        self.last = Some(ran.shown);
    }
}

/// The reason for a skip, when a `RUN(build)` ended by itself and not as it had to: the end of its log.
fn degraded(ran: &Ran, line: u32) -> Option<String> {
    let failed = !ran.compared.points.is_empty()
        && ran.compared.points.iter().all(|(t, _)| matches!(t, Trouble::Failed | Trouble::Crashed));
    let (_, stdout, stderr) = &ran.shown;
    let tail = |path: &PathBuf| tail_of(path).unwrap_or_default();
    let last = |bytes: Vec<u8>| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.lines().rfind(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned())
    };
    let said = last(tail(stderr)).or_else(|| last(tail(stdout)));
    let said = said.unwrap_or_else(|| "it printed nothing".to_owned());
    failed.then(|| format!("the RUN(build) of line {line} failed: {said}; its whole log is in the bundle"))
}

/// Placement over several commands: one that is not placed decides, then one that is inconclusive.
fn merge(known: Option<Placement>, new: Placement) -> Placement {
    let Some(mut all) = known else { return new };
    let rank = |o: PlacementOutcome| match o {
        PlacementOutcome::NotPlaced => 3,
        PlacementOutcome::Inconclusive => 2,
        PlacementOutcome::PlacedSoftware => 1,
        PlacementOutcome::Placed => 0,
    };
    if rank(new.outcome) > rank(all.outcome) {
        all.outcome = new.outcome;
        all.reason = new.reason;
    }
    all.commands.extend(new.commands);
    all.control = match (all.control, new.control) {
        (Some(a), Some(b)) => Some(HiddenControl {
            commands: a.commands.into_iter().chain(b.commands).collect(),
            records: a.records + b.records,
            accepted: a.accepted || b.accepted,
            held: a.held && b.held,
        }),
        (a, b) => a.or(b),
    };
    all
}

fn conclude(run: &Run<'_>, item: &Item, number: u32, started: Instant, mut state: Gathered) -> Done {
    let file = run.plan.file(item);
    let on_device = item.placement.is_some();
    // On a device an output has to come back: an exit status alone is the program's own word.
    if on_device && !state.outputs_seen {
        state.read_back = None;
        if !state.checks.checks.iter().any(|c| c.keyword.starts_with("EXPECT") && !is_exit_form(&c.keyword)) {
            state.compared = None;
        }
    }
    // Who measures strength wants the checks of weak tests too.
    let floor = if run.options.keep_trials { 0 } else { u64::from(file.settings.min_strength_percent) };
    if let Some(Strength { rejected, tried }) = state.strength
        && u64::from(rejected) * 100 < floor * u64::from(tried)
    {
        let message = format!(
            "its checks are weak: they reject {rejected} of {tried} foreign outputs, the suite wants {floor} %"
        );
        state.trouble(Trouble::Failed, first_span(file), message);
    }
    let happened = Happened {
        troubles: state.points.iter().map(|(t, p)| (*t, p.message.clone())).collect(),
        executions: file.test.steps.iter().filter(|s| matches!(s, Step::Command(c) if c.exec)).count(),
        exits_held: state.exits_held,
        read_back: state.read_back,
        compared: state.compared,
        placement: state.placement.as_ref().map(|p| (p.outcome, p.reason.clone())),
        planned: state.placement.iter().flat_map(|p| &p.commands).any(crate::placement::is_planned),
        on_device,
        xfail: xfail_of(item),
        emulated: !run.host.emulation.is_empty(),
        tainted: state.tainted,
    };
    let mut judged = judge(&happened);
    let degraded = state.degraded.take();
    if let Some(why) = &degraded {
        judged.state = State::Skipped;
        judged.reason.clone_from(why);
        judged.evidence = EvidenceState::DegradedBuild;
    }
    let mut record = blank(run, item, number, started);
    record.ended = clock::now();
    record.commands = state.commands;
    record.result = Comparisons {
        checks: state.checks.checks,
        numeric: numeric(&state.checks.numbers),
        strength: state.strength,
    };
    record.verdict = verdict(judged.state, judged.reason, judged.facts, judged.evidence, item);
    record.verdict.skip = degraded.map(|_| SkipKind::DegradedBuild);
    record.verdict.placement = state.placement.as_ref().map(|p| p.outcome);
    record.placement = state.placement;
    record.not_recorded = state.not_recorded;
    if on_device && record.placement.is_none() {
        record.not_recorded.push(NotRecorded {
            field: "placement".to_owned(),
            reason: "no observed command was reached".to_owned(),
        });
    }
    let graded = runproof_evidence::tier::grade(&record);
    let below = graded.tier < Some(item.goal);
    let failing = record.verdict.state.is_failure() || (record.verdict.state == State::Passed && below);
    let failure =
        failing.then(|| failure(run, item, file, &state.points, state.last.as_ref(), &state.notes, &record));
    Done { record, failure }
}

fn is_exit_form(keyword: &str) -> bool {
    matches!(keyword, "EXPECT(exit)" | "EXPECT(signal)")
}

fn numeric(numbers: &runproof_directives::text::Numbers) -> Option<Numeric> {
    (numbers.elements > 0).then(|| Numeric {
        elements: numbers.elements,
        max_abs: format!("{:e}", numbers.max_abs),
        max_rel: format!("{:e}", numbers.max_rel),
        nan: numbers.nan,
        over: numbers.over,
    })
}

pub(super) fn failure(
    run: &Run<'_>,
    item: &Item,
    file: &LoadedFile,
    points: &[(Trouble, Point)],
    last: Option<&(String, PathBuf, PathBuf)>,
    notes: &[String],
    record: &Record,
) -> Failure {
    let mut points: Vec<Point> = points.iter().map(|(_, p)| p.clone()).collect();
    if points.is_empty() {
        let devices = file.test.devices.as_ref().map(|d| d.span);
        points.push(Point {
            span: devices.unwrap_or_else(|| first_span(file)),
            message: record.verdict.reason.clone(),
            label: format!("goal {}", item.goal),
            detail: String::new(),
        });
    }
    let tail = |path: &PathBuf| tail_of(path).unwrap_or_default();
    let reproduce = if run.options.reproduce_by_name {
        format!("{} --exact {}", run.options.reproduce, crate::cli::quoted(&crate::library::name(item)))
    } else {
        let device =
            item.placement.map(|p| format!(" --device {}", run.plan.placements[p].id)).unwrap_or_default();
        let id = format!("{}/{}", item.key.suite, item.key.test);
        format!("{}{device} --exact {}", run.options.reproduce, crate::cli::quoted(&id))
    };
    Failure {
        source: file.source.clone(),
        points,
        command: last.map(|(c, ..)| c.clone()).unwrap_or_default(),
        stdout: last.map(|(_, o, _)| tail(o)).unwrap_or_default(),
        stderr: last.map(|(_, _, e)| tail(e)).unwrap_or_default(),
        reproduce,
        evidence: crate::suite::discover::show(run.bundle()),
        notes: notes.to_vec(),
    }
}

fn tail_of(path: &std::path::Path) -> std::io::Result<Vec<u8>> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn first_span(file: &LoadedFile) -> runproof_directives::Span {
    file.test
        .steps
        .iter()
        .find_map(|s| match s {
            Step::Command(c) => Some(c.span),
            Step::Define(_) => None,
        })
        .unwrap_or_default()
}

/// The test's own folder: names never collide, since the key's digest is in it.
fn work_folder(run: &Run<'_>, item: &Item, number: u32) -> PathBuf {
    let key = serde_json::to_vec(&item.key).unwrap_or_default();
    let digest = crate::plan::load::digest(&key);
    let stem: String = item
        .key
        .test
        .rsplit('/')
        .next()
        .unwrap_or("test")
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_')
        .take(24)
        .collect();
    let out = std::path::absolute(&run.options.out).unwrap_or_else(|_| run.options.out.clone());
    out.join("work").join(&run.id).join(format!("{stem}-{}-{number}", &digest.hex()[..10]))
}

fn fresh(folder: &std::path::Path) -> std::io::Result<()> {
    use std::io::ErrorKind;
    match std::fs::create_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => std::fs::create_dir_all(folder),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            std::fs::remove_dir_all(folder)?;
            std::fs::create_dir(folder)
        }
        made => made,
    }
}

/// Removes a test's folder. Most are empty, and for those one call is enough.
fn remove(folder: &std::path::Path) {
    if std::fs::remove_dir(folder).is_err() {
        let _ = std::fs::remove_dir_all(folder);
    }
}

pub(super) fn blank(run: &Run<'_>, item: &Item, number: u32, started: Instant) -> Record {
    let file = run.plan.file(item);
    Record {
        schema: RECORD_SCHEMA.to_owned(),
        seq: 0,
        prev: file.digest.clone(),
        run: run.id.clone(),
        nonce: run.nonce.clone(),
        key: item.key.clone(),
        attempt: number,
        source: file.digest.clone(),
        variant: item.variant.clone(),
        started,
        ended: started,
        declaration: declaration(item, file),
        commands: Vec::new(),
        host: run.host.clone(),
        device: item.placement.and_then(|p| run.plan.placements[p].devices.first()).map(|d| d.record.clone()),
        placement: None,
        result: Comparisons::default(),
        verdict: verdict(
            State::NotRun,
            String::new(),
            Facts {
                exit: Fact::Absent,
                placement: Fact::Absent,
                readback: Fact::Absent,
                oracle: Fact::Absent,
            },
            EvidenceState::Complete,
            item,
        ),
        not_recorded: Vec::new(),
    }
}

fn declaration(item: &Item, file: &LoadedFile) -> Declaration {
    let test = &file.test;
    if let Some(lit) = &file.lit {
        return super::as_lit::declaration(file, lit);
    }
    let gates = |keyword: &'static str, list: &[runproof_directives::model::Gate]| {
        list.iter().map(|g| format!("{keyword}: {}", g.text)).collect::<Vec<_>>()
    };
    Declaration {
        gates: gates("REQUIRES", &test.requires)
            .into_iter()
            .chain(gates("UNSUPPORTED", &test.unsupported))
            .collect(),
        xfail: xfail_of(item),
        peers: test.peers.iter().map(|p| p.value.0.clone()).collect(),
        directives: test.counts.clone(),
        ..of_devices(test)
    }
}

/// What a test declares of devices.
pub(super) fn of_devices(test: &TestFile) -> Declaration {
    let alternatives = test.devices.iter().flat_map(|d| &d.alternatives);
    let mut kinds: Vec<String> = alternatives.clone().map(|a| a.kind.clone()).collect();
    kinds.sort();
    kinds.dedup();
    Declaration {
        devices: alternatives.map(|a| a.text.clone()).collect(),
        kinds,
        no_shim: test.devices.as_ref().is_some_and(|d| d.no_shim),
        scope: test.scope.clone(),
        ..Declaration::default()
    }
}

fn verdict(state: State, reason: String, facts: Facts, evidence: EvidenceState, item: &Item) -> Verdict {
    Verdict {
        state,
        reason,
        skip: None,
        facts,
        evidence,
        placement: None,
        goal: item.goal,
        tier: None,
        grade: None,
        control: false,
        rule: runproof_evidence::tier::rule(),
    }
}

/// An output stream for the record; one without content leaves no file in the bundle.
pub fn output(path: &std::path::Path, name: &str) -> std::io::Result<Output> {
    let empty = || (runproof_evidence::digest::of_bytes(&[]), 0);
    let (digest, bytes) = match std::fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => empty(),
        Ok(metadata) if metadata.len() == 0 => {
            std::fs::remove_file(path)?;
            empty()
        }
        _ => runproof_evidence::digest::of_file(path)?,
    };
    Ok(Output { bytes, digest, log: (bytes > 0).then(|| name.to_owned()) })
}

/// Whether a test only looks at exit statuses: nothing is compared with anything.
pub fn is_exit_only(test: &TestFile) -> bool {
    test.checks.is_empty()
        && test.steps.iter().all(|s| match s {
            Step::Define(_) => true,
            Step::Command(c) => {
                compare::stdout_lines(&c.stdout).is_empty()
                    && c.stderr.is_empty()
                    && c.refused.is_empty()
                    && c.files.is_empty()
                    && c.identical.is_empty()
            }
        })
}
