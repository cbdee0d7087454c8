//! Runs a script: lists, pipelines, stages. Neighbouring programs run side by side, joined by pipes of the
//! system; a builtin runs by itself, after what stands before it and before what stands behind it.

use super::builtin::Call;
use super::prefix::{self, Negation};
use super::stage::{Runner, Stage};
use super::state::ShellState;
use super::stream::{Input, Output, Sink, Streams};
use super::{Builtins, ExternalCall};
use crate::process::{self, End, Leftover, Patience, Running, Scope};
use runproof_directives::command::Substitutions;
use runproof_directives::command::ast::{Join, Pipeline, Script};
use runproof_records::record::{Exit, Instant};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

/// What a command line runs with.
pub struct RunEnv<'a> {
    /// Marks every process; unique among all tests that may be alive.
    pub marker: &'a str,
    /// The test's own folder. Data that lie between stages are put there in nameless files.
    pub folder: &'a Path,
    /// How long it may take, and how it is ended.
    pub patience: Patience<'a>,
    /// Where standard output goes.
    pub stdout: &'a Rc<Output>,
    /// Where standard error goes.
    pub stderr: &'a Rc<Output>,
    /// Values for words.
    pub substitutions: &'a Substitutions,
    /// Real programs by name; they go before builtins.
    pub tools: &'a BTreeMap<String, PathBuf>,
    /// Programs of the harness.
    pub builtins: &'a dyn Builtins,
    /// Variables on top of the state's environment.
    pub extra_env: &'a BTreeMap<String, String>,
    /// Told of every process that is started.
    pub on_spawn: &'a dyn Fn(u32),
}

/// What ran a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// The harness itself.
    Builtin,
    /// This executable.
    File(PathBuf),
    /// Nothing was found.
    None,
}

/// One stage and how it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageOutcome {
    /// Every word, `not` and `env` included.
    pub argv: Vec<String>,
    /// What ran it.
    pub program: Program,
    /// How the program ended.
    pub exit: Exit,
    /// What that means after `not`.
    pub judged: Exit,
    /// What a reader must know to understand it.
    pub notes: Vec<String>,
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptExit {
    /// Its status.
    pub exit: Exit,
    /// The stage that decided it, an index into [`CommandOutcome::stages`].
    pub stage: Option<usize>,
}

/// A script that was run.
#[derive(Clone, Debug)]
pub struct CommandOutcome {
    /// How it ended.
    pub exit: ScriptExit,
    /// Every stage that was reached, in order.
    pub stages: Vec<StageOutcome>,
    /// Processes that outlived it and were ended.
    pub leftovers: Vec<Leftover>,
    /// Start.
    pub started: Instant,
    /// End.
    pub ended: Instant,
}

/// Runs a script. Nothing that it started is alive afterwards.
pub fn run_script(script: &Script, state: &mut ShellState, env: &RunEnv<'_>) -> CommandOutcome {
    let started = process::now();
    let mut work = Work { env, state, scope: None, stages: Vec::new(), end: End::Ended };
    let exit = work.list(script);
    let leftovers = work.scope.as_ref().map(|s| s.sweep(work.end != End::Ended)).unwrap_or_default();
    CommandOutcome { exit, stages: work.stages, leftovers, started, ended: process::now() }
}

struct Work<'e, 'a> {
    env: &'e RunEnv<'a>,
    state: &'e mut ShellState,
    /// Entered with the first process.
    scope: Option<Scope>,
    stages: Vec<StageOutcome>,
    end: End,
}

/// Whether nothing behind it may run: it is no status of a command.
fn is_final(exit: &Exit) -> bool {
    matches!(exit, Exit::NotStarted { .. } | Exit::TimedOut { .. } | Exit::Interrupted)
}

fn is_success(exit: &Exit) -> bool {
    *exit == Exit::Code { code: 0 }
}

impl<'a> Work<'_, 'a> {
    fn list(&mut self, script: &Script) -> ScriptExit {
        let mut last = self.pipeline(&script.first);
        for (join, pipeline) in &script.rest {
            if is_final(&last.exit) {
                break;
            }
            let reached = match join {
                Join::And => is_success(&last.exit),
                Join::Or => !is_success(&last.exit),
                Join::Then => true,
            };
            if reached {
                last = self.pipeline(pipeline);
            }
        }
        last
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> ScriptExit {
        let first = self.stages.len();
        if self.env.patience.interrupt.is_raised() {
            self.end = End::Interrupted;
            return ScriptExit { exit: Exit::Interrupted, stage: None };
        }
        let stages: Vec<Stage<'a>> =
            pipeline.stages.iter().map(|simple| Stage::prepare(simple, self.state, self.env)).collect();
        let exits = self.run_stages(pipeline, &stages);
        for (stage, mut ran) in stages.into_iter().zip(exits) {
            let negations: &[Negation] = if ran.unjudged { &[] } else { &stage.negations };
            let judged = prefix::judge(ran.exit.clone(), negations, &mut ran.notes);
            self.stages.push(StageOutcome {
                program: stage.program(),
                argv: stage.argv,
                exit: ran.exit,
                judged,
                notes: ran.notes,
            });
        }
        let (index, mut exit) = decisive(&self.stages[first..]);
        if pipeline.negations > 0 {
            let bangs = vec![Negation::Bang; usize::try_from(pipeline.negations).unwrap_or(1)];
            exit = prefix::judge(exit, &bangs, &mut self.stages[first + index].notes);
        }
        ScriptExit { exit, stage: Some(first + index) }
    }

    /// How each stage ended.
    fn run_stages(&mut self, pipeline: &Pipeline, stages: &[Stage<'a>]) -> Vec<Ran> {
        let count = stages.len();
        // Before anything is started: a line of which one program is missing is not run at all.
        if stages.iter().any(|s| matches!(s.runner, Runner::Missing(_))) {
            return stages
                .iter()
                .map(|s| match &s.runner {
                    Runner::Missing(why) => Ran::exit(Exit::NotStarted { why: why.clone() }),
                    _ => Ran::exit(Exit::NotReached),
                })
                .collect();
        }
        let mut ran: Vec<Ran> = Vec::with_capacity(count);
        let mut input = Input::Null;
        while ran.len() < count {
            let at = ran.len();
            if self.end != End::Ended {
                ran.push(Ran::exit(Exit::NotReached));
                continue;
            }
            let is_program = |s: &Stage<'_>| matches!(s.runner, Runner::Program(_));
            let programs = stages[at..].iter().take_while(|s| is_program(s)).count();
            let stdin = std::mem::take(&mut input);
            let result = if programs == 0 {
                self.builtin(pipeline, stages, at, stdin).map(|(one, next)| (vec![one], next))
            } else {
                self.programs(pipeline, stages, (at, at + programs), stdin)
            };
            match result {
                Ok((mut new, next)) => {
                    ran.append(&mut new);
                    input = next;
                }
                Err(error) => {
                    ran.push(not_started(error));
                    ran.resize_with(count, || Ran::exit(Exit::NotReached));
                }
            }
        }
        ran
    }

    /// Streams of a stage; `Err` is the sentence of a redirection that failed.
    fn streams(
        &self,
        pipeline: &Pipeline,
        at: usize,
        stdin: Input,
        stdout: Sink,
    ) -> io::Result<Result<Streams, String>> {
        let mut streams = Streams { stdin, stdout, stderr: Sink::Output(Rc::clone(self.env.stderr)) };
        let done = Stage::redirect(&pipeline.stages[at], &mut streams, self.state, self.env);
        Ok(done.map(|()| streams))
    }

    fn builtin(
        &mut self,
        pipeline: &Pipeline,
        stages: &[Stage<'a>],
        at: usize,
        stdin: Input,
    ) -> io::Result<(Ran, Input)> {
        let stage = &stages[at];
        let last = at + 1 == stages.len();
        let stdout =
            if last { Sink::Output(Rc::clone(self.env.stdout)) } else { Sink::spool(self.env.folder) };
        let kept = stdout.try_clone()?;
        let mut streams = match self.streams(pipeline, at, stdin, stdout)? {
            Ok(streams) => streams,
            Err(why) => return Ok((Ran::refused(why), Input::Null)),
        };
        let stdin = std::mem::take(&mut streams.stdin);
        let words = stage.words();
        let code = match &stage.runner {
            Runner::Builtin(builtin) if builtin.changes_state && stages.len() > 1 => {
                let why = format!(
                    "{} changes what later commands see, so it cannot be part of a pipe",
                    builtin.name
                );
                return Ok((Ran::refused(why), Input::Null));
            }
            Runner::Builtin(builtin) => {
                let (state, env) = (&mut *self.state, &stage.env);
                let mut call = Call { argv: words, state, env, stdin, stdout: &mut streams.stdout };
                (builtin.run)(&mut call).unwrap_or_else(|failure| {
                    // Standard error that cannot be written is seen by nobody.
                    let _ = writeln!(streams.stderr, "{}: {}", builtin.name, failure.why);
                    failure.code
                })
            }
            Runner::Harness(harness) => harness.run(ExternalCall {
                argv: words,
                stdin,
                cwd: &self.state.cwd,
                env: &stage.env,
                stdout: &mut streams.stdout,
                stderr: &mut streams.stderr,
            }),
            _ => 0,
        };
        drop(streams);
        let next = if last { Input::Null } else { kept.into_input()? };
        Ok((Ran::exit(Exit::Code { code }), next))
    }

    /// Runs the programs `from..to`, which stand side by side.
    fn programs(
        &mut self,
        pipeline: &Pipeline,
        stages: &[Stage<'a>],
        (from, to): (usize, usize),
        mut stdin: Input,
    ) -> io::Result<(Vec<Ran>, Input)> {
        let (marker, folder) = (self.env.marker, self.env.folder);
        let scope = self.scope.get_or_insert_with(|| Scope::enter(marker, folder));
        let mut running: Vec<Running> = Vec::new();
        let mut ran: Vec<Ran> = Vec::new();
        let mut places: Vec<Option<usize>> = Vec::new();
        let mut kept = None;
        for at in from..to {
            let last = at + 1 == stages.len();
            // A stage whose streams fail is a stage that was not started: those before it are waited for.
            let started = connect(self.env, last, at + 1 < to).map_err(not_started).and_then(|link| {
                let input = std::mem::replace(&mut stdin, link.next);
                kept = link.kept;
                let mut streams = Streams { stdin: input, stdout: link.stdout, stderr: link.stderr };
                Stage::redirect(&pipeline.stages[at], &mut streams, self.state, self.env)
                    .map_err(Ran::refused)?;
                start(scope, &stages[at], streams, self.state, folder)
            });
            match started {
                Ok(process) => {
                    (self.env.on_spawn)(process.pid());
                    places.push(Some(running.len()));
                    ran.push(Ran::exit(Exit::NotReached));
                    running.push(process);
                }
                Err(failed) => {
                    places.push(None);
                    ran.push(failed);
                }
            }
        }
        self.end = scope.wait(&mut running, &self.env.patience);
        for (one, place) in ran.iter_mut().zip(places) {
            if let Some(place) = place {
                one.exit = running[place].exit();
                if is_broken_pipe(&one.exit) {
                    one.notes.push("the stage behind it stopped reading".to_owned());
                }
            }
        }
        let next = kept.map(|file| Sink::File(file).into_input()).transpose()?;
        Ok((ran, next.unwrap_or_default()))
    }
}

/// What a program writes to, and what the stage behind it reads.
struct Link {
    stdout: Sink,
    stderr: Sink,
    next: Input,
    /// The file to read when the program has ended.
    kept: Option<File>,
}

fn connect(env: &RunEnv<'_>, last: bool, piped: bool) -> io::Result<Link> {
    let stderr = Sink::Output(Rc::clone(env.stderr));
    let (stdout, next, kept) = if last {
        (Sink::Output(Rc::clone(env.stdout)), Input::Null, None)
    } else if piped {
        let (reader, writer) = io::pipe()?;
        (Sink::Pipe(writer), Input::Pipe(reader), None)
    } else {
        let file = tempfile::tempfile_in(env.folder)?;
        (Sink::File(file.try_clone()?), Input::Null, Some(file))
    };
    Ok(Link { stdout, stderr, next, kept })
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn not_started(error: io::Error) -> Ran {
    Ran::exit(Exit::NotStarted { why: format!("the streams of the command could not be made: {error}") })
}

fn is_broken_pipe(exit: &Exit) -> bool {
    matches!(exit, Exit::Signal { name, .. } if name == "SIGPIPE")
}

/// How a stage ended before it is judged.
struct Ran {
    exit: Exit,
    /// It failed before its command did anything: no `not` makes that a success.
    unjudged: bool,
    notes: Vec<String>,
}

impl Ran {
    fn exit(exit: Exit) -> Self {
        Self { exit, unjudged: false, notes: Vec::new() }
    }

    fn refused(why: String) -> Self {
        Self { exit: Exit::Code { code: 1 }, unjudged: true, notes: vec![why] }
    }
}

fn start(
    scope: &Scope,
    stage: &Stage<'_>,
    streams: Streams,
    state: &ShellState,
    scratch: &Path,
) -> Result<Running, Ran> {
    let Runner::Program(path) = &stage.runner else {
        return Err(Ran::exit(Exit::NotReached));
    };
    let words = stage.words();
    let name = words.first().map_or("", String::as_str);
    let failed = |error: io::Error| {
        let folder = if state.cwd.is_dir() {
            String::new()
        } else {
            format!("; the working folder {} does not exist", state.cwd.display())
        };
        let shown = path.display();
        Ran::exit(Exit::NotStarted { why: format!("{name} could not be started ({shown}): {error}{folder}") })
    };
    let mut command = Command::new(path);
    {
        use std::os::unix::process::CommandExt;
        command.arg0(name);
    }
    command.args(words.iter().skip(1)).env_clear().envs(&stage.env).current_dir(&state.cwd);
    command.stdin(streams.stdin.into_stdio(scratch).map_err(failed)?);
    command.stdout(streams.stdout.into_stdio().map_err(failed)?);
    command.stderr(streams.stderr.into_stdio().map_err(failed)?);
    scope.spawn(&mut command, &state.limits).map_err(failed)
}

/// The stage that decides how a pipeline ended: what was not started before a crash before a failure, the
/// last of several as POSIX has it for pipefail; the last stage when all went well.
fn decisive(stages: &[StageOutcome]) -> (usize, Exit) {
    let weight = |exit: &Exit| match exit {
        Exit::Code { code: 0 } => 0,
        Exit::NotReached => 1,
        // Mostly the consequence of how the stage behind it ended.
        exit if is_broken_pipe(exit) => 2,
        Exit::Code { .. } => 3,
        Exit::Signal { .. } => 4,
        Exit::NotStarted { .. } => 5,
        Exit::TimedOut { .. } => 6,
        Exit::Interrupted => 7,
    };
    stages
        .iter()
        .enumerate()
        .max_by_key(|(_, s)| weight(&s.judged))
        .map_or((0, Exit::Code { code: 0 }), |(i, s)| (i, s.judged.clone()))
}
