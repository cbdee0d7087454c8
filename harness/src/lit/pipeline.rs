//! Runs one pipeline. Neighbouring programs run side by side; a command that is built in runs when everything before it has
//! ended, on what that has written.

use super::builtin::Call;
use super::outcome::Trap;
use super::prepare::{Prepared, Runner, Stage, prepare};
use super::readfile::{contents, open_to_read};
use super::redirect::{Opened, Target, os_error};
use super::shell::{Abort, Ran, Shell, patience, shown};
use crate::process::{Capture, End, Interrupt, Limits, Running, Scope};
use runproof_directives::lit::shell::Command;
use runproof_records::record::Exit;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

/// Why nobody knows all that a command wrote.
const STILL_HELD: &str = "half a minute after the command's end a process still holds an output of it, or writes to a pipe that nobody reads";

/// How Python numbers the end of what was killed.
const KILLED: i32 = -9;
/// What a pipe takes at least without a reader. Many have 16 pages; one that is made when its user has many has one.
const PIPE_ROOM: usize = 1 << 12;

/// What a stage reads.
#[derive(Default)]
enum Input {
    #[default]
    Null,
    File(File),
    Pipe(PipeReader),
    Bytes(Vec<u8>),
}

/// How a stage went.
#[derive(Default)]
struct Done {
    status: i32,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Runs a pipeline and puts what was run into the log; its exit status.
pub(super) fn run(shell: &mut Shell<'_>, commands: &[Command]) -> Result<i32, Abort> {
    let mut opened: Vec<Opened> = Vec::new();
    let mut stages: Vec<Stage<'_>> = Vec::with_capacity(commands.len());
    for command in commands {
        match prepare(shell, command, commands.len(), &mut opened) {
            Ok(Prepared::Stage(stage)) => stages.push(stage),
            Ok(Prepared::Ended(ran)) => {
                // An `env` without a command, behind others: they have been started.
                execute(shell, &stages, &opened)?;
                let code = ran.code;
                shell.log.ran(ran);
                return Ok(code);
            }
            Err(Abort::Error { words: None, message }) => {
                return Err(Abort::Error { words: Some(shown(command)), message });
            }
            Err(other) => return Err(other),
        }
    }
    let done = execute(shell, &stages, &opened)?;
    let mut exit = None;
    for (stage, done) in stages.iter().zip(done) {
        // With a `--crash` all of it is one process, `not`, and was killed as a whole.
        let killed = shell.timed_out && done.status == KILLED && !stage.verdict.programs.is_empty();
        let code = if killed { KILLED } else { stage.verdict.of(done.status) };
        let ran = Ran {
            words: shown(stage.command),
            program: match &stage.runner {
                Runner::Program(path) => Some(path.clone()),
                Runner::Builtin(_) => None,
            },
            status: done.status,
            stdout: done.stdout,
            stderr: done.stderr,
            code,
            timed_out: shell.timed_out,
            files: if code == 0 { Vec::new() } else { written(&opened) },
        };
        shell.log.ran(ran);
        if !shell.pipefail || code != 0 || exit.is_none_or(|e| e == 0) {
            exit = Some(code);
        }
    }
    Ok(exit.unwrap_or(0))
}

/// What the redirected outputs hold, for the account of a failure.
fn written(opened: &[Opened]) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = opened
        .iter()
        .filter(|o| o.written && o.path.is_file())
        .filter_map(|o| Some((o.name.clone(), std::fs::read(&o.path).ok()?)))
        .collect();
    files.sort();
    files
}

/// Runs the stages; how each went.
fn execute(shell: &mut Shell<'_>, stages: &[Stage<'_>], opened: &[Opened]) -> Result<Vec<Done>, Abort> {
    let mut done: Vec<Done> = Vec::with_capacity(stages.len());
    let mut input = Input::Null;
    while done.len() < stages.len() {
        let at = done.len();
        if matches!(stages[at].runner, Runner::Builtin(_)) {
            let (one, next) =
                inside(shell, &stages[at], at + 1 == stages.len(), std::mem::take(&mut input), opened)?;
            done.push(one);
            input = next;
        } else {
            let side_by_side =
                stages[at..].iter().take_while(|s| matches!(s.runner, Runner::Program(_))).count();
            let (mut some, next) =
                programs(shell, stages, (at, at + side_by_side), std::mem::take(&mut input), opened)?;
            done.append(&mut some);
            input = next;
        }
    }
    Ok(done)
}

fn clone(file: &File) -> Result<File, Abort> {
    file.try_clone().map_err(|e| Abort::Exception(format!("OSError: {e}")))
}

/// Why a command did not even begin.
fn not_created(stage: &Stage<'_>, why: &str) -> Abort {
    let program = match &stage.runner {
        Runner::Program(path) => path.display().to_string(),
        Runner::Builtin(_) => stage.args[0].clone(),
    };
    let message = format!("Could not create process ({program}) due to {why}");
    Abort::Error { words: Some(shown(stage.command)), message }
}

/// Runs a command that is built in.
fn inside(
    shell: &mut Shell<'_>,
    stage: &Stage<'_>,
    last: bool,
    input: Input,
    opened: &[Opened],
) -> Result<(Done, Input), Abort> {
    let Runner::Builtin(builtin) = stage.runner else { return Ok((Done::default(), Input::Null)) };
    // As a process that starts there does.
    std::fs::metadata(shell.state.cwd.join(".")).map_err(|e| {
        let why = os_error(&e, &shell.state.cwd);
        not_created(stage, &why)
    })?;
    let patience = shell.patience();
    let input = match stage.streams.stdin {
        Some(index) => Input::File(clone(&opened[index].file)?),
        None => input,
    };
    let mut read = Some(input);
    let mut stdin = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match read.take().unwrap_or_default() {
            Input::Null => {}
            Input::Bytes(all) => bytes = all,
            Input::File(file) => bytes = contents(file, &patience)?,
            Input::Pipe(mut pipe) => {
                pipe.read_to_end(&mut bytes)?;
            }
        }
        Ok(bytes)
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = builtin(&mut Call {
        args: &stage.args,
        cwd: &shell.state.cwd,
        env: &stage.env,
        stdin: &mut stdin,
        read: &|path| contents(open_to_read(path)?, &patience),
        stdout: &mut out,
        stderr: &mut err,
    });
    if shell.interrupt.is_raised() {
        return Err(Abort::Interrupted);
    }
    // What cannot end, a pipe by name that nobody writes to, has used up the time.
    shell.is_over();
    let mut done = Done { status, ..Done::default() };
    let mut next = Input::Null;
    let write = |index: usize, bytes: &[u8]| {
        // As for a program, a full disk is the reader's affair; what it says is in the status.
        (&opened[index].file).write_all(bytes)
    };
    let mut failed = false;
    // Standard error that follows standard output is written behind it.
    let (mut piped, mut to_err) = (Vec::new(), Vec::new());
    match stage.streams.stdout {
        Target::File(index) => failed |= write(index, &out).is_err(),
        _ => piped = out,
    }
    match (stage.streams.stderr, stage.streams.stdout) {
        (Target::File(index), _) => failed |= write(index, &err).is_err(),
        (Target::Stdout, Target::File(_)) if !last => next = Input::Bytes(std::mem::take(&mut err)),
        (Target::Stdout, Target::Reader | Target::Stdout) => piped.extend_from_slice(&err),
        _ => to_err = err,
    }
    if last {
        done.stdout = piped;
    } else if matches!(stage.streams.stdout, Target::Reader | Target::Stdout) {
        next = Input::Bytes(piped);
    }
    done.stderr = to_err;
    if failed && done.status == 0 {
        done.status = 1;
    }
    Ok((done, next))
}

/// A process that is being prepared and where what it writes goes.
struct Started {
    /// Index of the capture of its standard output.
    stdout: Option<usize>,
    stderr: Option<usize>,
}

/// Runs the programs `from..to` side by side.
fn programs(
    shell: &mut Shell<'_>,
    stages: &[Stage<'_>],
    (from, to): (usize, usize),
    input: Input,
    opened: &[Opened],
) -> Result<(Vec<Done>, Input), Abort> {
    let (marker, folder) = (shell.marker, shell.folder);
    let mut scope = shell.scope.take().unwrap_or_else(|| Scope::enter_untied(marker, folder));
    let result = start_all(shell, &mut scope, stages, (from, to), input, opened);
    let outcome = match result {
        Ok((mut running, started, mut captures)) => {
            let end = scope.wait_reading(&mut running, &mut captures, &shell.patience());
            shell.timed_out |= end == End::TimedOut;
            if end == End::Interrupted {
                Err(Abort::Interrupted)
            } else if end == End::TimedOut && captures.iter().any(Capture::is_open) {
                // As if it had been ended itself: what came is not all, whatever its status says.
                let held = collect(shell, &stages[from..to], &running, started, captures, to == stages.len());
                held.map(|(done, next)| {
                    (done.into_iter().map(|d| Done { status: KILLED, ..d }).collect(), next)
                })
            } else if captures.iter().any(Capture::is_open) {
                // lit would wait on; a part of an output must not be taken for all of it.
                Err(Abort::Exception(STILL_HELD.to_owned()))
            } else {
                collect(shell, &stages[from..to], &running, started, captures, to == stages.len())
            }
        }
        Err(abort) => Err(abort),
    };
    shell.scope = Some(scope);
    outcome
}

type AllStarted = (Vec<Running>, Vec<Started>, Vec<Capture>);

fn start_all(
    shell: &Shell<'_>,
    scope: &mut Scope,
    stages: &[Stage<'_>],
    (from, to): (usize, usize),
    mut input: Input,
    opened: &[Opened],
) -> Result<AllStarted, Abort> {
    let mut running: Vec<Running> = Vec::new();
    let mut started = Vec::new();
    let mut captures = Vec::new();
    for at in from..to {
        let stage = &stages[at];
        let piped = at + 1 < to;
        let result = (|| {
            let capture = |captures: &mut Vec<Capture>| -> io::Result<(PipeWriter, usize)> {
                let (reader, writer) = io::pipe()?;
                captures.push(Capture::new(reader)?);
                Ok((writer, captures.len() - 1))
            };
            let mut places = Started { stdout: None, stderr: None };
            let mut next = Input::Null;
            let stdin = match stage.streams.stdin {
                Some(index) => Input::File(opened[index].file.try_clone()?),
                None => std::mem::take(&mut input),
            };
            let mut out_pipe = None;
            let stdout: Stdio = match stage.streams.stdout {
                Target::File(index) => opened[index].file.try_clone()?.into(),
                _ => {
                    let writer = if piped {
                        let (reader, writer) = io::pipe()?;
                        captures.push(Capture::left_over(reader.try_clone()?, at + 1 - from));
                        next = Input::Pipe(reader);
                        writer
                    } else {
                        let (writer, index) = capture(&mut captures)?;
                        places.stdout = Some(index);
                        writer
                    };
                    if stage.streams.stderr == Target::Stdout {
                        out_pipe = Some(writer.try_clone()?);
                    }
                    writer.into()
                }
            };
            let stderr: Stdio = match stage.streams.stderr {
                Target::File(index) => opened[index].file.try_clone()?.into(),
                Target::Stdout if out_pipe.is_some() => out_pipe.take().map_or_else(Stdio::null, Into::into),
                // Standard output goes to a file: the next command reads standard error.
                Target::Stdout if piped => {
                    let (reader, writer) = io::pipe()?;
                    captures.push(Capture::left_over(reader.try_clone()?, at + 1 - from));
                    next = Input::Pipe(reader);
                    writer.into()
                }
                Target::Stdout if at + 1 < stages.len() => {
                    let (writer, index) = capture(&mut captures)?;
                    places.stdout = Some(index);
                    writer.into()
                }
                Target::Reader | Target::Stdout => {
                    let (writer, index) = capture(&mut captures)?;
                    places.stderr = Some(index);
                    writer.into()
                }
            };
            let process = start(shell, scope, stage, stdin, stdout, stderr)?;
            input = next;
            Ok((process, places))
        })();
        match result {
            Ok((process, places)) => {
                running.push(process);
                started.push(places);
            }
            Err(error) => {
                let error: io::Error = error;
                // Those before it have nobody to write to: they are ended, and the line with them.
                drop(captures);
                drop(std::mem::take(&mut input));
                scope.end(&mut running);
                return Err(not_created(stage, &os_error(&error, &stage.args[0])));
            }
        }
    }
    Ok((running, started, captures))
}

fn start(
    shell: &Shell<'_>,
    scope: &Scope,
    stage: &Stage<'_>,
    stdin: Input,
    stdout: Stdio,
    stderr: Stdio,
) -> io::Result<Running> {
    use std::os::unix::process::CommandExt as _;
    let Runner::Program(path) = &stage.runner else { return Err(io::ErrorKind::NotFound.into()) };
    let mut process = Process::new(path);
    process.arg0(&stage.args[0]).args(&stage.args[1..]).env_clear().envs(stage.env.iter());
    process.current_dir(&shell.state.cwd).stdin(stdio(stdin, shell.folder)?).stdout(stdout).stderr(stderr);
    let mut limits = shell.state.limits.clone();
    limits.umask = shell.state.umask;
    scope.spawn(&mut process, &limits)
}

fn stdio(input: Input, folder: &Path) -> io::Result<Stdio> {
    Ok(match input {
        Input::Null => Stdio::null(),
        Input::File(file) => file.into(),
        Input::Pipe(pipe) => pipe.into(),
        Input::Bytes(bytes) if bytes.len() <= PIPE_ROOM => {
            let (reader, mut writer) = io::pipe()?;
            writer.write_all(&bytes)?;
            reader.into()
        }
        Input::Bytes(bytes) => {
            let mut file = tempfile::tempfile_in(folder)?;
            file.write_all(&bytes)?;
            file.rewind()?;
            file.into()
        }
    })
}

fn collect(
    shell: &mut Shell<'_>,
    verdicts: &[Stage<'_>],
    running: &[Running],
    started: Vec<Started>,
    mut captures: Vec<Capture>,
    last: bool,
) -> Result<(Vec<Done>, Input), Abort> {
    let mut take = |index: usize| std::mem::take(&mut captures[index].bytes);
    let mut done = Vec::with_capacity(running.len());
    let mut next = Input::Null;
    let count = running.len();
    for (at, (process, places)) in running.iter().zip(started).enumerate() {
        let exit = process.exit();
        let mut one = Done { status: status(&exit, shell.state.limited), ..Done::default() };
        if shell.state.limited && matches!(exit, Exit::Signal { .. }) && verdicts[at].verdict.nots > 0 {
            shell.state.traps.insert(Trap::CrashUnderLimit);
        }
        one.stderr = places.stderr.map(&mut take).unwrap_or_default();
        let stdout = places.stdout.map(&mut take);
        if at + 1 == count && !last {
            next = match stdout {
                Some(bytes) => Input::Bytes(bytes),
                None => Input::Null,
            };
        } else {
            one.stdout = stdout.unwrap_or_default();
        }
        done.push(one);
    }
    Ok((done, next))
}

/// An end as Python numbers it: a signal is negative. Under a limit lit starts a program through another, which ends by an exit
/// status when the program dies of a signal.
fn status(exit: &Exit, limited: bool) -> i32 {
    match exit {
        Exit::Code { code } => *code,
        Exit::Signal { number, .. } if limited => (256 - number) & 0xFF,
        Exit::Signal { number, .. } => -number,
        Exit::TimedOut { .. } | Exit::Interrupted | Exit::NotReached | Exit::NotStarted { .. } => KILLED,
    }
}

/// A program that is run for itself, with its outputs read.
pub(super) struct Program<'a> {
    pub marker: &'a str,
    pub folder: &'a Path,
    pub argv: &'a [String],
    pub env: BTreeMap<String, String>,
    pub limit: Option<Duration>,
    /// Standard error goes to standard output.
    pub merged: bool,
    pub interrupt: &'a Interrupt,
}

/// How a [`Program`] ended.
pub(super) struct ProgramDone {
    /// As Python numbers it: a signal is negative.
    pub status: i32,
    pub end: End,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs a program in its folder; nothing of it is alive afterwards.
pub(super) fn program(program: &Program<'_>) -> io::Result<ProgramDone> {
    let scope = Scope::enter_untied(program.marker, program.folder);
    let (out, out_writer) = io::pipe()?;
    let (err, mut err_writer) = io::pipe()?;
    if program.merged {
        err_writer = out_writer.try_clone()?;
    }
    let mut captures = [Capture::new(out)?, Capture::new(err)?];
    let mut process = Process::new(&program.argv[0]);
    process.args(&program.argv[1..]).env_clear().envs(&program.env).current_dir(program.folder);
    process.stdin(Stdio::null()).stdout(out_writer).stderr(err_writer);
    let running = scope.spawn(&mut process, &Limits::default())?;
    // The writers are in it: they must be closed here.
    drop(process);
    let mut running = [running];
    let patience =
        patience(program.limit.map(|l| (crate::process::Deadline::after(l).at, l)), program.interrupt);
    let end = scope.wait_reading(&mut running, &mut captures, &patience);
    scope.sweep(end != End::Ended);
    if end == End::Ended && captures.iter().any(Capture::is_open) {
        return Err(io::Error::other(STILL_HELD));
    }
    let [out, err] = captures;
    let status = status(&running[0].exit(), false);
    Ok(ProgramDone { status, end, stdout: out.bytes, stderr: err.bytes })
}
