//! What came out of a command, read back and compared; and the runs that must not be accepted.

use super::attempt::Stopped;
use super::command::{Once, Steps};
use super::compare::{self, Compared};
use super::judge::{Trouble, ended_by_itself};
use super::strength::{self, Oracle, Trial};
use crate::report::failure::Point;
use crate::shell::{CommandOutcome, Program};
use runproof_directives::Span;
use runproof_directives::model::{CommandStep, IdenticalWhat, Payload};
use runproof_evidence::bundle::Place;
use runproof_records::Digest;
use runproof_records::record::{Check, CommandRole, Exit, NotRecorded, Placement, Strength};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Output that is compared, bytes; a longer one is kept whole in the bundle and does not hold.
const COMPARED_BYTES: u64 = 64 << 20;
/// Outputs that are tried on checks are at most this long, bytes.
const TRIED_BYTES: usize = 64 << 10;

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

impl Steps<'_, '_> {
    pub(super) fn compare(&self, step: &CommandStep, once: &mut Once) -> Result<Ran, Stopped> {
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
            let stdout = if reads_stdout {
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
            if compared.points.is_empty() {
                strength = self.strength(self.trials(step, once, stdout));
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
    pub(super) fn who(&self, keyword: &str, step: &CommandStep, outcome: &CommandOutcome) -> String {
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

    pub(super) fn read(
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
    pub(super) fn files(&self, step: &CommandStep, once: &Once, compared: &mut Compared) -> bool {
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
    pub(super) fn identical(&self, step: &CommandStep, stdout: &Digest, compared: &mut Compared) {
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

    /// The checks of a command that held, each with what it accepted.
    fn trials(&self, step: &CommandStep, once: &mut Once, stdout: Vec<u8>) -> Vec<Trial> {
        let file = self.run.plan.file(self.item);
        let trial = |oracle, line, output| Trial {
            test: crate::report::id(&self.item.key),
            suite: self.item.suite,
            file: file.path.clone(),
            line,
            oracle,
            output,
        };
        let mut trials = Vec::new();
        if let Some(first) = compare::stdout_lines(&step.stdout).first() {
            trials.push(trial(Oracle::Expect(step.stdout.clone()), first.line, stdout));
        }
        for matched in &mut once.matched {
            let Some((checks, input)) = matched.accepted.take() else { continue };
            let line = checks.directives().iter().map(|d| d.line).find(|line| *line > 0);
            trials.push(trial(Oracle::Checks(checks), line.unwrap_or(step.line), input));
        }
        trials.retain(|t| t.output.len() <= TRIED_BYTES);
        trials
    }

    /// Tries the empty output and another test's on what held, and leaves this output for the next test.
    fn strength(&self, trials: Vec<Trial>) -> Option<Strength> {
        let mut all = Vec::new();
        for trial in trials {
            let other = self.run.foreign_to(&trial);
            let other = other.iter().map(|(file, bytes)| (file.as_str(), bytes.as_slice()));
            let tried = strength::against_foreign(&trial, other);
            self.run.note_accepted(&trial, &tried);
            all.extend(tried);
            self.run.leave(trial);
        }
        strength::sum(&all)
    }

    /// A run whose output the expectations must reject.
    pub(super) fn control(
        &mut self,
        step: &CommandStep,
        payload: &Payload,
        ran: &mut Ran,
    ) -> Result<(), Stopped> {
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
}

/// Whether the matcher's own exit status ended a command line.
fn decided_by_matcher(outcome: &CommandOutcome) -> bool {
    outcome.exit.stage.is_some_and(|stage| {
        let stage = &outcome.stages[stage];
        stage.program == Program::Builtin && stage.argv.first().is_some_and(|name| name == "FileCheck")
    })
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
