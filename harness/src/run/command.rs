//! One command of an attempt: substitution, the script, the probe around an `EXEC_RUN`, the comparisons, the
//! controls, the command's entry in the record.

use super::attempt::{Stopped, output};
use super::compare::{self, Compared};
use super::judge::{Trouble, ended_by_itself};
use super::matcher::{Matched, Matchers};
use super::{Run, clock, placed};
use crate::placement::{Question, decide, work_records};
use crate::plan::{Item, LoadedFile};
use crate::probe::{Session, command_nonce};
use crate::process::{Deadline, Limits, Patience};
use crate::report::failure::Point;
use crate::shell::{self, CommandOutcome, Program, RunEnv, ShellState};
use crate::suite::config::Shell;
use runproof_directives::Span;
use runproof_directives::command::{Substitutions, SyntaxError, TextContext, parse};
use runproof_directives::model::{CommandStep, Define, IdenticalWhat, Payload};
use runproof_evidence::bundle::{Place, Stream};
use runproof_records::Digest;
use runproof_records::record::{
    Check, Command, CommandRole, Exit, HiddenControl, NotRecorded, Placement, Stage, Strength,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between asking a process to end and killing it.
const GRACE: Duration = Duration::from_millis(500);
/// Output that is compared, bytes; a longer one is kept whole in the bundle and does not hold.
const COMPARED_BYTES: u64 = 64 << 20;
/// Output that is kept to try on the next test's checks, bytes.
const FOREIGN_BYTES: u64 = 64 << 10;

/// What came of one command step.
pub struct Ran {
    /// Comparisons.
    pub compared: Compared,
    /// Whether it ended as it had to.
    pub exit_held: bool,
    /// Whether a directive says how it must end.
    pub exit_stated: bool,
    /// Whether every output that the directives name came back.
    pub outputs_came: bool,
    /// Whether some output came back and was looked at.
    pub output_seen: bool,
    /// What the probes saw.
    pub placement: Option<Placement>,
    /// Foreign outputs tried on its expectations.
    pub strength: Option<Strength>,
    /// Command line, files of stdout and stderr: what a failure shows.
    pub shown: (String, PathBuf, PathBuf),
    /// Remarks.
    pub notes: Vec<String>,
    /// What could not be recorded.
    pub not_recorded: Vec<NotRecorded>,
}

/// The commands of one attempt.
pub struct Steps<'r, 'p> {
    run: &'r Run<'p>,
    item: &'r Item,
    attempt: u32,
    work: PathBuf,
    shell: ShellState,
    substitutions: Substitutions,
    tools: BTreeMap<String, PathBuf>,
    matchers: Matchers,
    marker: String,
    limit: Duration,
    left: Duration,
    /// Entries for the record, in order.
    pub commands: Vec<Command>,
}

/// One run of a command line under the device's probes.
struct Observed {
    once: Once,
    placement: Option<Placement>,
    /// Records of work, whoever sent them.
    records: u64,
}

/// One run of a command line.
struct Once {
    outcome: CommandOutcome,
    command: Command,
    stdout: Place,
    stderr: Place,
    /// Check lines that its matchers evaluated.
    matched: Vec<Matched>,
}

impl<'r, 'p> Steps<'r, 'p> {
    /// Prepares folder, environment and substitutions of an attempt.
    pub fn new(run: &'r Run<'p>, item: &'r Item, attempt: u32, work: PathBuf) -> Self {
        let file = run.plan.file(item);
        let settings = &file.settings;
        let limit = match &file.test.timeout {
            Some(own) => own.value,
            None => run.options.timeout.unwrap_or(settings.timeout),
        };
        let tools: BTreeMap<String, PathBuf> =
            run.tools(settings).iter().map(|(name, tool)| (name.clone(), tool.path.clone())).collect();
        let limits = Limits {
            cores: settings.core_files,
            memory: settings.memory,
            processes: settings.processes,
            ..Limits::default()
        };
        let mut steps = Self {
            run,
            item,
            attempt,
            shell: ShellState::new(work.clone(), environment(file, &work), limits),
            substitutions: Substitutions::new(),
            tools,
            matchers: Matchers::new(run.plan.path(item), file),
            marker: format!("{}/{}/{attempt}", &run.nonce[..16], item_number(run, item)),
            limit,
            left: limit,
            commands: Vec::new(),
            work,
        };
        steps.base_substitutions(file);
        steps
    }

    fn base_substitutions(&mut self, file: &LoadedFile) {
        let source = self.run.plan.path(self.item).to_string_lossy().into_owned();
        let stem = file.path.rsplit('/').next().unwrap_or("test");
        let tmp = self.work.join(format!("{stem}.tmp")).to_string_lossy().into_owned();
        let s = &mut self.substitutions;
        s.paths(&source, &tmp);
        for (name, text) in &file.settings.substitutions {
            s.text(name, text);
        }
        for (name, value) in &self.item.variant {
            s.value(format!("%{{{name}}}"), value);
        }
        let variant: Vec<String> = self.item.variant.iter().map(|(k, v)| format!("{k}={v}")).collect();
        s.value("%{variant}", variant.join(","));
        match self.item.placement.and_then(|p| self.run.plan.placements[p].devices.first()) {
            Some(device) => {
                let record = &device.record;
                s.value("%{device}", &record.id)
                    .value("%{device.kind}", &record.kind)
                    .value(
                        "%{device.index}",
                        self.run.kinds.index_for_program(&record.kind, &device.wire).to_string(),
                    )
                    .value("%{device.uuid}", record.identity.uuid.clone().unwrap_or_default())
                    .value("%{device.capability}", &record.capability);
            }
            None => {
                s.value("%{device}", "host")
                    .value("%{device.kind}", "host")
                    .value("%{device.index}", "0")
                    .value("%{device.uuid}", "")
                    .value("%{device.capability}", "");
            }
        }
    }

    /// `DEFINE` or `REDEFINE`.
    pub fn define(&mut self, define: &Define) {
        self.substitutions.text(&define.name, &define.text);
    }

    /// Whether an undeclared override of the device was set.
    pub fn tainted(&self) -> bool {
        self.devices().iter().any(|d| !d.record.undeclared_overrides.is_empty())
    }

    fn devices(&self) -> &'r [crate::device::Resolved] {
        let plan = self.run.plan;
        match self.item.placement {
            Some(p) => {
                let all = &plan.placements[p].devices;
                &all[..(self.item.device_count as usize).min(all.len())]
            }
            None => &[],
        }
    }

    /// Runs a step and compares.
    ///
    /// # Errors
    /// Interrupt, or a bundle that cannot be written.
    pub fn command(&mut self, step: &CommandStep) -> Result<Ran, Stopped> {
        let role = if step.exec { CommandRole::Exec } else { CommandRole::Run };
        let observe = step.exec && !self.devices().is_empty();
        let _lock = if observe { Some(self.lock_devices()) } else { None };
        let lock_trouble = match &_lock {
            Some(Err(e)) => Some(format!("the device cannot be locked: {e}")),
            _ => None,
        };
        let (once, placement) = if let Some(why) = lock_trouble {
            (self.refused_to_start(step, role, &step.command, &why)?, None)
        } else if observe {
            let devices: Vec<_> = self.devices().iter().map(|d| d.wire.clone()).collect();
            let steer = self.run.kinds.point_at(&self.devices()[0].record.kind, &devices);
            let observed = self.observed(step, role, steer)?;
            (observed.once, observed.placement)
        } else {
            (self.once(step, role, &step.command, &BTreeMap::new(), &|_| {})?, None)
        };
        let mut ran = self.compare(step, &once)?;
        ran.placement = placement;
        let held = ran.compared.points.is_empty();
        self.commands.push(once.command);
        for control in &step.controls {
            if held {
                self.control(step, control, &mut ran)?;
            }
        }
        let liar = self.item.xfail.as_ref().is_some_and(|x| x.expects == "placement");
        if observe && self.run.options.controls && held && !liar {
            self.hidden(step, &mut ran)?;
        }
        Ok(ran)
    }

    fn lock_devices(&mut self) -> std::io::Result<super::locks::Held<'r>> {
        let names: Vec<String> = self.devices().iter().map(|d| crate::placement::label(&d.wire)).collect();
        self.run.devices.hold(&names)
    }

    /// Runs a command line under the device's probes; `steer` points it at the device or hides it.
    fn observed(
        &mut self,
        step: &CommandStep,
        role: CommandRole,
        steer: Vec<(String, String)>,
    ) -> Result<Observed, Stopped> {
        let index = self.next_index();
        let nonce = command_nonce(&self.run.nonce, &self.item.key, self.attempt, index);
        let kind = self.devices()[0].record.kind.clone();
        let inherited = self.shell.env.iter().map(|(k, v)| (k.into(), v.into())).collect();
        let armed = self.run.kinds.arm(&kind).map_err(|e| e.to_string()).and_then(|arming| {
            let ancestor = i32::try_from(std::process::id()).unwrap_or(i32::MAX);
            Session::open(&nonce, arming, &inherited, ancestor).map_err(|e| e.to_string())
        });
        let session = match armed {
            Ok(session) => session,
            Err(why) => {
                let once = self.refused_to_start(step, role, &step.command, &why)?;
                return Ok(Observed { once, placement: None, records: 0 });
            }
        };
        let mut env: BTreeMap<String, String> = session
            .env()
            .into_iter()
            .map(|(k, v)| (k.to_string_lossy().into_owned(), v.to_string_lossy().into_owned()))
            .collect();
        env.extend(steer);
        let devices: Vec<_> = self.devices().iter().map(|d| d.wire.clone()).collect();
        let witness = self.run.kinds.start_outer(&kind, &devices, &session);
        let once = self.once(step, role, &step.command, &env, &|until: Instant| {
            session.flush(until.saturating_duration_since(Instant::now()));
        })?;
        let witness_failed = witness.stop();
        let observation = session.finish();
        let placement = self.placed(step, &once, &nonce, &kind, &observation, witness_failed.as_deref())?;
        Ok(Observed { once, placement: Some(placement), records: work_records(&observation) })
    }

    fn placed(
        &self,
        step: &CommandStep,
        once: &Once,
        nonce: &str,
        kind: &str,
        observation: &crate::probe::Observation,
        witness_failed: Option<&str>,
    ) -> Result<Placement, Stopped> {
        let place = self.bundle(|w| w.placement_path(&self.item.key, self.attempt, once.command.index))?;
        let raw = observation.to_jsonl();
        std::fs::write(&place.path, &raw).map_err(|e| self.unwritable(&place.path, e))?;
        let devices: Vec<_> = self.devices().iter().map(|d| d.wire.clone()).collect();
        let assertions = placed::assertions(step);
        let inventory = self.run.kinds.inventory(kind);
        let decided = decide(&Question {
            command: once.command.index,
            nonce,
            window: (once.command.started.utc, once.command.ended.utc),
            observation,
            raw: (&place.name, crate::plan::load::digest(&raw)),
            kind,
            devices: &devices,
            inventory: inventory.devices(),
            software: self.devices().iter().any(|d| d.declared_software),
            placed: &assertions,
            has_witness: self.run.kinds.has_witness(kind),
            witness_failed,
        });
        let mut decided = decided;
        for process in &mut decided.processes {
            process.exe = self.mask(&process.exe);
        }
        Ok(Placement {
            probes: self.run.kinds.probes_used(kind, observation),
            outcome: decided.outcome,
            reason: decided.reason.clone(),
            commands: vec![decided],
            control: None,
        })
    }

    /// Runs a command line once, its outputs going into the bundle.
    fn once(
        &mut self,
        step: &CommandStep,
        role: CommandRole,
        payload: &Payload,
        extra_env: &BTreeMap<String, String>,
        before_kill: &dyn Fn(Instant),
    ) -> Result<Once, Stopped> {
        let index = self.next_index();
        let nonce = command_nonce(&self.run.nonce, &self.item.key, self.attempt, index);
        self.substitutions.value("%{nonce}", &nonce);
        let (stdout, stderr) = self.logs(index)?;
        let (out, err) = (shell::Output::at(&stdout.path), shell::Output::at(&stderr.path));
        let begun = Instant::now();
        let deadline = Deadline { at: begun + self.left, limit: self.limit };
        let script = self.script(payload);
        let outcome = match &script {
            Ok(script) => {
                let env = RunEnv {
                    marker: &self.marker,
                    folder: &self.work,
                    patience: Patience {
                        deadline,
                        grace: GRACE,
                        interrupt: &self.run.interrupt,
                        before_kill,
                    },
                    stdout: &out,
                    stderr: &err,
                    substitutions: &self.substitutions,
                    tools: &self.tools,
                    builtins: &self.matchers,
                    extra_env,
                    on_spawn: &|_| {},
                    as_lit: false,
                };
                match script {
                    Line::Script(script) => shell::run_script(script, &mut self.shell, &env),
                    Line::Real(text) => shell::run_in_real_shell(text, &mut self.shell, &env),
                }
            }
            Err(why) => never_started(why),
        };
        self.left = self.left.saturating_sub(begun.elapsed());
        if outcome.exit.exit == Exit::Interrupted || self.run.interrupt.is_raised() {
            return Err(Stopped::Interrupted);
        }
        for (place, output) in [(&stdout, &out), (&stderr, &err)] {
            if let Some(error) = output.error() {
                return Err(self.unwritable(&place.path, error));
            }
        }
        let text = self.shown(payload);
        let command =
            self.entry(step, role, (index, nonce, text), &outcome, extra_env, (&stdout, &stderr))?;
        Ok(Once { outcome, command, stdout, stderr, matched: self.matchers.take() })
    }

    /// An entry for a command line that the harness did not start.
    fn refused_to_start(
        &mut self,
        step: &CommandStep,
        role: CommandRole,
        payload: &Payload,
        why: &str,
    ) -> Result<Once, Stopped> {
        let index = self.next_index();
        let nonce = command_nonce(&self.run.nonce, &self.item.key, self.attempt, index);
        let (stdout, stderr) = self.logs(index)?;
        let outcome = never_started(why);
        let text = self.shown(payload);
        let command =
            self.entry(step, role, (index, nonce, text), &outcome, &BTreeMap::new(), (&stdout, &stderr))?;
        Ok(Once { outcome, command, stdout, stderr, matched: self.matchers.take() })
    }

    fn logs(&self, index: u32) -> Result<(Place, Place), Stopped> {
        let place = |stream| self.bundle(|w| w.log_path(&self.item.key, self.attempt, index, stream));
        Ok((place(Stream::Stdout)?, place(Stream::Stderr)?))
    }

    fn next_index(&self) -> u32 {
        u32::try_from(self.commands.len()).unwrap_or(u32::MAX)
    }

    /// The script of a payload, or why there is none.
    fn script(&self, payload: &Payload) -> Result<Line, String> {
        let file = self.run.plan.file(self.item);
        let context = self.context(payload);
        let context = TextContext { line_of: &context.0, holds: &context.1 };
        let say = |errors: Vec<SyntaxError>| {
            errors.into_iter().map(|e| format!("{} ({})", e.message, e.help)).collect::<Vec<_>>().join("; ")
        };
        let expanded = self.substitutions.expand_text(&payload.text, &context).map_err(say)?;
        if file.settings.shell == Shell::Bash {
            return Ok(Line::Real(expanded.text));
        }
        let script = parse(&expanded.text).map_err(say)?;
        let undefined = self.substitutions.undefined(&script);
        if undefined.is_empty() { Ok(Line::Script(script)) } else { Err(say(undefined)) }
    }

    /// A payload as people and records see it: everything put in, paths replaced.
    fn shown(&self, payload: &Payload) -> String {
        let context = self.context(payload);
        let text = TextContext { line_of: &context.0, holds: &context.1 };
        let text = self
            .substitutions
            .expand_text(&payload.text, &text)
            .map_or_else(|_| payload.text.clone(), |e| e.text);
        let text = self.substitutions.expand_str(&text).unwrap_or(text);
        self.mask(&text)
    }

    /// Line of an offset in a payload, and whether an `%if` condition holds.
    fn context<'s>(
        &'s self,
        payload: &'s Payload,
    ) -> (impl Fn(usize) -> u32 + 's, impl Fn(&str) -> Result<bool, String> + 's) {
        let file = self.run.plan.file(self.item);
        let line_of = |offset| file.source.line(payload.locate(Span::new(offset, offset + 1)).start);
        let holds = |condition: &str| {
            runproof_directives::expr::Expr::parse(condition)
                .map(|e| e.holds(&file.features.present))
                .map_err(|e| e.message.clone())
        };
        (line_of, holds)
    }

    fn mask(&self, text: &str) -> String {
        let tmp = self.work.to_string_lossy();
        self.run.masks.mask(&text.replace(tmp.as_ref(), "${tmp}"))
    }

    fn entry(
        &self,
        step: &CommandStep,
        role: CommandRole,
        (index, nonce, script): (u32, String, String),
        outcome: &CommandOutcome,
        extra_env: &BTreeMap<String, String>,
        (stdout, stderr): (&Place, &Place),
    ) -> Result<Command, Stopped> {
        let stages = outcome
            .stages
            .iter()
            .map(|s| {
                let (program, executable, machine) = self.program(&s.program);
                Stage {
                    argv: s.argv.iter().map(|a| self.mask(a)).collect(),
                    program,
                    executable,
                    machine,
                    exit: s.exit.clone(),
                }
            })
            .collect();
        let exit = outcome.exit.exit.clone();
        let (expected, exit_held) = match role {
            CommandRole::Control | CommandRole::HiddenDevice => ("any".to_owned(), ended_by_itself(&exit)),
            CommandRole::Run | CommandRole::Exec => {
                (compare::expected_exit(step), compare::exit_held(step, &exit))
            }
        };
        Ok(Command {
            index,
            role,
            line: step.line,
            script,
            nonce,
            cwd: self.mask(&self.shell.cwd.to_string_lossy()),
            env: extra_env.iter().map(|(k, v)| (k.clone(), self.mask(v))).collect(),
            stages,
            expected,
            exit_held,
            exit,
            started: outcome.started,
            ended: outcome.ended,
            stdout: output(&stdout.path, &stdout.name).map_err(|e| self.unwritable(&stdout.path, e))?,
            stderr: output(&stderr.path, &stderr.name).map_err(|e| self.unwritable(&stderr.path, e))?,
            leftovers: outcome.leftovers.iter().map(ToString::to_string).collect(),
        })
    }

    fn program(&self, program: &Program) -> (String, Option<Digest>, Option<String>) {
        match program {
            Program::Builtin => ("builtin".to_owned(), None, None),
            Program::None => ("not found".to_owned(), None, None),
            Program::File(path) => {
                let facts = self.run.executables.facts(path);
                (self.mask(&path.to_string_lossy()), facts.digest, facts.machine)
            }
        }
    }

    fn compare(&self, step: &CommandStep, once: &Once) -> Result<Ran, Stopped> {
        let file = self.run.plan.file(self.item);
        let mut compared = Compared::default();
        let keyword = if step.exec { "EXEC_RUN" } else { "RUN" };
        let who = self.who(keyword, step, &once.outcome);
        let exit_held = compare::exit_held(step, &once.outcome.exit.exit);
        compare::matched(&once.matched, exit_held, &mut compared);
        // Check lines that failed say more than the exit status of the matcher that they made.
        if compared.points.is_empty() || !decided_by_matcher(&once.outcome) {
            compare::exit(step, &file.source, &once.outcome.exit.exit, &who, &mut compared);
        }
        let mut outputs_came = true;
        let mut output_seen = false;
        let mut strength = None;
        if ended_by_itself(&once.outcome.exit.exit) {
            let (out, err) = (once.command.stdout.bytes, once.command.stderr.bytes);
            let (reads_stdout, reads_stderr) = compare::reads(step);
            let foreign = step.exec && out <= FOREIGN_BYTES;
            let stdout = if reads_stdout || foreign {
                self.read(&once.stdout, out, step.span, &mut compared)?
            } else {
                Vec::new()
            };
            let stderr = if reads_stderr {
                self.read(&once.stderr, err, step.span, &mut compared)?
            } else {
                Vec::new()
            };
            compare::outputs(step, &stdout, &stderr, &mut compared);
            outputs_came = self.files(step, once, &mut compared);
            self.identical(step, &once.command.stdout.digest, &mut compared);
            output_seen = compared.looked && (out > 0 || err > 0 || !step.files.is_empty());
            if compared.points.is_empty() && step.exec {
                strength = self.strength(step, stdout);
            }
        }
        let mut notes: Vec<String> = once.command.leftovers.clone();
        notes.extend(once.outcome.stages.iter().flat_map(|s| s.notes.iter().cloned()));
        Ok(Ran {
            compared,
            exit_held,
            exit_stated: compare::states_exit(step),
            outputs_came,
            output_seen,
            placement: None,
            strength,
            shown: (once.command.script.clone(), once.stdout.path.clone(), once.stderr.path.clone()),
            notes,
            not_recorded: Vec::new(),
        })
    }

    /// Who ended the line: `stage 1 of RUN line 3 (t.vx:3)`.
    fn who(&self, keyword: &str, step: &CommandStep, outcome: &CommandOutcome) -> String {
        let file = &self.run.plan.file(self.item).path;
        let place = format!("{keyword} of {file}:{}", step.line);
        match outcome.exit.stage {
            Some(stage) if outcome.stages.len() > 1 => {
                let name = outcome.stages[stage].argv.first().map(String::as_str).unwrap_or_default();
                format!("stage {} (`{name}`) of {place}", stage + 1)
            }
            _ => place,
        }
    }

    fn read(
        &self,
        place: &Place,
        bytes: u64,
        span: Span,
        compared: &mut Compared,
    ) -> Result<Vec<u8>, Stopped> {
        if bytes == 0 {
            return Ok(Vec::new());
        }
        if bytes > COMPARED_BYTES {
            compared.points.push((
                Trouble::Failed,
                Point {
                    span,
                    message: format!("it printed {bytes} bytes; more than {COMPARED_BYTES} are not compared"),
                    label: "its output is whole in the bundle".to_owned(),
                    detail: String::new(),
                },
            ));
            return Ok(Vec::new());
        }
        std::fs::read(&place.path).map_err(|e| self.unwritable(&place.path, e))
    }

    /// Declared files against their goldens; whether each was produced by this run.
    fn files(&self, step: &CommandStep, once: &Once, compared: &mut Compared) -> bool {
        let folder = self.run.plan.path(self.item).parent().map(Path::to_path_buf).unwrap_or_default();
        let mut all_came = true;
        for golden in &step.files {
            let expand = |text: &str| self.substitutions.expand_str(text).unwrap_or_else(|_| text.to_owned());
            let (produced, wanted) = (expand(&golden.produced), expand(&golden.golden));
            let made = fresh_bytes(&self.shell.cwd.join(&produced), once.command.started.utc);
            let right = std::fs::read(folder.join(&wanted));
            let (came, trouble) = match (&made, &right) {
                (_, Err(e)) => (
                    made.is_ok(),
                    Some((
                        Trouble::Errored,
                        format!("golden file `{wanted}` cannot be read: {e}"),
                        String::new(),
                    )),
                ),
                (Err(why), Ok(_)) => (
                    false,
                    Some((
                        Trouble::Failed,
                        format!("`{produced}` was not produced ({why}), so it cannot equal `{wanted}`"),
                        String::new(),
                    )),
                ),
                (Ok(a), Ok(b)) if a == b => (true, None),
                (Ok(a), Ok(b)) => (
                    true,
                    Some((
                        Trouble::Failed,
                        format!("`{produced}` differs from `{wanted}`"),
                        difference(b, a),
                    )),
                ),
            };
            all_came &= came;
            compared.looked |= came;
            compared.checks.push(Check {
                line: golden.line,
                keyword: "EXPECT(file)".to_owned(),
                executed: 1,
                held: trouble.is_none(),
            });
            if let Some((trouble, message, detail)) = trouble {
                compared.points.push((
                    trouble,
                    Point { span: golden.span, message, label: "compared here".to_owned(), detail },
                ));
            }
        }
        all_came
    }

    /// Outputs that must be the same in every variant: the first one is what the others are compared with.
    fn identical(&self, step: &CommandStep, stdout: &Digest, compared: &mut Compared) {
        for what in &step.identical {
            let (name, digest) = match &what.value {
                IdenticalWhat::Stdout => ("stdout".to_owned(), Ok(stdout.clone())),
                IdenticalWhat::File(path) => {
                    let path = self.substitutions.expand_str(path).unwrap_or_else(|_| path.clone());
                    let digest = runproof_evidence::digest::of_file(&self.shell.cwd.join(&path));
                    (format!("`{path}`"), digest.map(|(digest, _)| digest))
                }
            };
            let line = self.run.plan.file(self.item).source.line(what.span.start);
            let trouble = match digest {
                Err(e) => Some(format!("{name} was not produced: {e}")),
                Ok(digest) => self
                    .run
                    .same_in_all_variants(self.item, line, &digest)
                    .map(|other| format!("{name} of this variant is not identical to that of `{other}`")),
            };
            compared.looked = true;
            compared.checks.push(Check {
                line,
                keyword: "EXPECT(identical)".to_owned(),
                executed: 1,
                held: trouble.is_none(),
            });
            if let Some(message) = trouble {
                compared.points.push((
                    Trouble::Failed,
                    Point {
                        span: what.span,
                        message,
                        label: "over all variants".to_owned(),
                        detail: String::new(),
                    },
                ));
            }
        }
    }

    /// Tries the empty output and another test's on the expectations, and leaves this one for the next test.
    fn strength(&self, step: &CommandStep, stdout: Vec<u8>) -> Option<Strength> {
        let mut foreign = self.run.foreign.lock().ok()?;
        let name = &self.item.key.test;
        let file = &self.run.plan.file(self.item).path;
        let other =
            foreign.get(&self.item.suite).filter(|(of, _)| of != file).map(|(_, bytes)| bytes.as_slice());
        let strength = compare::strength(step, &stdout, other);
        if stdout.len() as u64 <= FOREIGN_BYTES && !stdout.is_empty() && !name.is_empty() {
            foreign.insert(self.item.suite, (file.clone(), stdout));
        }
        strength
    }

    /// A run whose output the expectations must reject.
    fn control(&mut self, step: &CommandStep, payload: &Payload, ran: &mut Ran) -> Result<(), Stopped> {
        let once = self.once(step, CommandRole::Control, payload, &BTreeMap::new(), &|_| {})?;
        let line = self.run.plan.file(self.item).source.line(payload.span.start);
        let trouble = if matches!(once.outcome.exit.exit, Exit::Code { .. }) {
            let bytes = once.command.stdout.bytes;
            let stdout = self.read(&once.stdout, bytes, payload.span, &mut ran.compared)?;
            (!compare::rejects(step, &stdout)).then(|| {
                (
                    Trouble::Failed,
                    "the expectations accept the output of this CONTROL_RUN: they cannot fail".to_owned(),
                )
            })
        } else {
            let how = crate::process::status::describe(&once.outcome.exit.exit);
            Some((
                Trouble::Errored,
                format!("this CONTROL_RUN proves nothing: it did not exit by itself ({how})"),
            ))
        };
        ran.compared.checks.push(Check {
            line,
            keyword: "CONTROL_RUN".to_owned(),
            executed: 1,
            held: trouble.is_none(),
        });
        if let Some((trouble, message)) = trouble {
            ran.compared.points.push((
                trouble,
                Point {
                    span: payload.span,
                    message,
                    label: "had to be rejected".to_owned(),
                    detail: String::new(),
                },
            ));
        }
        let mut command = once.command;
        command.line = line;
        self.commands.push(command);
        Ok(())
    }

    /// The command again with the device hidden: it must leave no record and must not be accepted.
    fn hidden(&mut self, step: &CommandStep, ran: &mut Ran) -> Result<(), Stopped> {
        let kind = self.devices()[0].record.kind.clone();
        let empty = self.work.join("no-devices");
        let _ = std::fs::create_dir_all(&empty);
        let Some(hide) = self.run.kinds.hide(&kind, &empty) else {
            ran.not_recorded.push(NotRecorded {
                field: "placement.control".to_owned(),
                reason: format!("devices of kind {kind} cannot be hidden"),
            });
            return Ok(());
        };
        let Observed { once, placement, records } = self.observed(step, CommandRole::HiddenDevice, hide)?;
        let bytes = once.command.stdout.bytes;
        let stdout = self.read(&once.stdout, bytes, step.span, &mut ran.compared)?;
        let accepted = compare::exit_held(step, &once.outcome.exit.exit)
            && !(compare::stdout_lines(&step.stdout).is_empty() && step.files.is_empty())
            && !compare::rejects(step, &stdout);
        let watched = placement.is_some();
        let held = watched && records == 0 && !accepted && ended_by_itself(&once.outcome.exit.exit);
        if let Some(all) = &mut ran.placement {
            all.commands.extend(placement.into_iter().flat_map(|p| p.commands));
            all.control = Some(HiddenControl { commands: vec![once.command.index], records, accepted, held });
        }
        if !held {
            let why = if records > 0 {
                format!("with the device hidden, {records} records of work on it still appeared")
            } else if accepted {
                "it has a CPU fallback: with the device hidden it still exits as asked with the expected output".to_owned()
            } else {
                "the run with the device hidden did not end by itself".to_owned()
            };
            ran.compared.points.push((
                Trouble::Failed,
                Point {
                    span: step.span,
                    message: why,
                    label: "negative control".to_owned(),
                    detail: String::new(),
                },
            ));
        }
        self.commands.push(once.command);
        Ok(())
    }

    fn bundle<T>(
        &self,
        ask: impl FnOnce(&runproof_evidence::bundle::BundleWriter) -> T,
    ) -> Result<T, Stopped> {
        self.run.with_writer(ask).ok_or(Stopped::Interrupted)
    }

    fn unwritable(&self, path: &Path, error: std::io::Error) -> Stopped {
        Stopped::Bundle(runproof_evidence::bundle::BundleError::io(path, "keeping a command's output", error))
    }
}

/// A command line that is ready to run.
enum Line {
    Script(runproof_directives::command::ast::Script),
    Real(String),
}

/// Whether the matcher's own exit status ended a command line.
fn decided_by_matcher(outcome: &CommandOutcome) -> bool {
    outcome.exit.stage.is_some_and(|stage| {
        let stage = &outcome.stages[stage];
        stage.program == Program::Builtin && stage.argv.first().is_some_and(|name| name == "FileCheck")
    })
}

fn never_started(why: &str) -> CommandOutcome {
    let now = clock::now();
    let exit = Exit::NotStarted { why: why.to_owned() };
    CommandOutcome {
        exit: shell::ScriptExit { exit, stage: None },
        stages: Vec::new(),
        leftovers: Vec::new(),
        started: now,
        ended: now,
    }
}

/// Position of an item: part of the marker of its processes.
fn item_number(run: &Run<'_>, item: &Item) -> usize {
    run.plan.items.binary_search_by(|i| i.key.cmp(&item.key)).unwrap_or_default()
}

/// The clean environment of a test: what the suite declares, a search path, a locale, folders of its own.
fn environment(file: &LoadedFile, work: &Path) -> BTreeMap<String, String> {
    let declared = &file.settings.environment;
    let tmp = work.to_string_lossy().into_owned();
    let passed = [
        "PATH",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "LLVM_PROFILE_FILE",
        "ASAN_OPTIONS",
        "UBSAN_OPTIONS",
    ];
    let mut env: BTreeMap<String, String> = passed
        .iter()
        .map(|n| (*n).to_owned())
        .chain(declared.pass.iter().cloned())
        .filter_map(|name| std::env::var(&name).ok().map(|value| (name, value)))
        .collect();
    env.insert("LC_ALL".to_owned(), "C.UTF-8".to_owned());
    env.insert("HOME".to_owned(), tmp.clone());
    env.insert("TMPDIR".to_owned(), tmp);
    env.extend(declared.set.iter().map(|(k, v)| (k.clone(), v.clone())));
    env
}

/// The bytes of a file that this run made.
fn fresh_bytes(path: &Path, started: u64) -> Result<Vec<u8>, String> {
    let metadata = std::fs::metadata(path).map_err(|e| e.to_string())?;
    let changed = metadata
        .modified()
        .ok()
        .and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX));
    // File systems keep coarser times than the clock: a tick of the kernel is allowed for.
    if changed.saturating_add(10_000_000) < started {
        return Err("what is there is older than this run".to_owned());
    }
    std::fs::read(path).map_err(|e| e.to_string())
}

fn difference(expected: &[u8], produced: &[u8]) -> String {
    let (a, b) = (crate::report::visible(expected), crate::report::visible(produced));
    let diff = similar::TextDiff::from_lines(&a, &b);
    let text = diff.unified_diff().context_radius(2).header("golden", "produced").to_string();
    text.lines().take(60).map(|l| format!("{l}\n")).collect()
}
