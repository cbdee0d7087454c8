//! One command of an attempt: substitution, the script, its run, its entry in the record. What is around an
//! `EXEC_RUN` on a device is in `watch`, what is done with the outputs in `outputs`.

use super::attempt::{Stopped, output};
use super::compare;
use super::judge::ended_by_itself;
use super::matcher::{Matched, Matchers};
use super::outputs::Ran;
use super::surroundings::environment;
use super::{Run, clock};
use crate::plan::Item;
use crate::probe::command_nonce;
use crate::process::{Deadline, Limits, Patience};
use crate::shell::{self, CommandOutcome, Program, RunEnv, ShellState};
use crate::suite::config::Shell;
use runproof_directives::Span;
use runproof_directives::command::{Substitutions, SyntaxError, TextContext, parse};
use runproof_directives::model::{CommandStep, Define, Payload};
use runproof_evidence::bundle::{Place, Stream};
use runproof_records::Digest;
use runproof_records::record::{Command, CommandRole, Exit, Stage};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between asking a process to end and killing it.
const GRACE: Duration = Duration::from_millis(500);

/// The commands of one attempt.
pub struct Steps<'r, 'p> {
    pub(super) run: &'r Run<'p>,
    pub(super) item: &'r Item,
    pub(super) attempt: u32,
    pub(super) work: PathBuf,
    pub(super) shell: ShellState,
    pub(super) substitutions: Substitutions,
    pub(super) tools: BTreeMap<String, PathBuf>,
    pub(super) matchers: Matchers,
    pub(super) marker: String,
    pub(super) limit: Duration,
    pub(super) left: Duration,
    /// Entries for the record, in order.
    pub commands: Vec<Command>,
}

/// One run of a command line.
pub(super) struct Once {
    pub(super) outcome: CommandOutcome,
    pub(super) command: Command,
    pub(super) stdout: Place,
    pub(super) stderr: Place,
    /// Check lines that its matchers evaluated.
    pub(super) matched: Vec<Matched>,
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
        // Behind lit's own lines everything is where those left it.
        let (cwd, env) = match &file.lit {
            Some(test) => (test.places().0, crate::lit::execute::environment(test, &run.lit)),
            None => (work.clone(), environment(file, &work)),
        };
        let mut steps = Self {
            run,
            item,
            attempt,
            shell: ShellState::new(cwd, env, limits),
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

    /// `DEFINE` or `REDEFINE`.
    pub fn define(&mut self, define: &Define) {
        self.substitutions.text(&define.name, &define.text);
    }

    /// Whether an undeclared override of the device was set.
    pub fn tainted(&self) -> bool {
        self.devices().iter().any(|d| !d.record.undeclared_overrides.is_empty())
    }

    pub(super) fn devices(&self) -> &'r [crate::device::Resolved] {
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
        let (mut once, placement) = if let Some(why) = lock_trouble {
            (self.refused_to_start(step, role, &step.command, &why)?, None)
        } else if observe {
            let devices: Vec<_> = self.devices().iter().map(|d| d.wire.clone()).collect();
            let steer = self.run.kinds.point_at(&self.devices()[0].record.kind, &devices);
            let observed = self.observed(step, role, steer)?;
            (observed.once, observed.placement)
        } else {
            (self.once(step, role, &step.command, &BTreeMap::new(), &|_| {})?, None)
        };
        let mut ran = self.compare(step, &mut once)?;
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

    /// Runs a command line once, its outputs going into the bundle.
    pub(super) fn once(
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
    pub(super) fn refused_to_start(
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

    pub(super) fn logs(&self, index: u32) -> Result<(Place, Place), Stopped> {
        let place = |stream| self.bundle(|w| w.log_path(&self.item.key, self.attempt, index, stream));
        Ok((place(Stream::Stdout)?, place(Stream::Stderr)?))
    }

    pub(super) fn next_index(&self) -> u32 {
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
    pub(super) fn shown(&self, payload: &Payload) -> String {
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

    pub(super) fn mask(&self, text: &str) -> String {
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

    pub(super) fn bundle<T>(
        &self,
        ask: impl FnOnce(&runproof_evidence::bundle::BundleWriter) -> T,
    ) -> Result<T, Stopped> {
        self.run.with_writer(ask).ok_or(Stopped::Interrupted)
    }

    pub(super) fn unwritable(&self, path: &Path, error: std::io::Error) -> Stopped {
        Stopped::Bundle(runproof_evidence::bundle::BundleError::io(path, "keeping a command's output", error))
    }
}

/// A command line that is ready to run.
enum Line {
    Script(runproof_directives::command::ast::Script),
    Real(String),
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
