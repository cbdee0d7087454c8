//! A command under the device's probes: armed, started, flushed, decided; and once more with the device hidden.

use super::attempt::Stopped;
use super::command::{Once, Steps};
use super::compare;
use super::judge::{Trouble, ended_by_itself};
use super::locks::Held;
use super::outputs::Ran;
use super::placed;
use crate::placement::{Question, decide, work_records};
use crate::probe::{Session, command_nonce};
use crate::report::failure::Point;
use runproof_directives::command::ast::{Script, Word};
use runproof_directives::model::CommandStep;
use runproof_records::record::{CommandRole, HiddenControl, NotRecorded, Placement};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// One run of a command line under the device's probes.
pub(super) struct Observed {
    pub(super) once: Once,
    pub(super) placement: Option<Placement>,
    /// Records of work, whoever sent them.
    pub(super) records: u64,
}

impl<'r> Steps<'r, '_> {
    pub(super) fn lock_devices(&mut self) -> std::io::Result<Held<'r>> {
        let names: Vec<String> = self.devices().iter().map(|d| crate::placement::label(&d.wire)).collect();
        self.run.devices.hold(&names)
    }

    /// Runs a command line under the device's probes; `steer` points it at the device or hides it.
    pub(super) fn observed(
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
        let artifacts = self.artifacts(step, &kind);
        let witness = self.run.kinds.start_outer(&kind, &devices, &artifacts, &session);
        let once = self.once(step, role, &step.command, &env, &|until: Instant| {
            session.flush(until.saturating_duration_since(Instant::now()));
        })?;
        let witness_failed = witness.stop();
        let observation = session.finish();
        let placement = self.placed(step, &once, &nonce, &kind, &observation, witness_failed.as_deref())?;
        Ok(Observed { once, placement: Some(placement), records: work_records(&observation) })
    }

    /// What the command loads, where its device's observer has to know that: the files so named on its command line.
    fn artifacts(&self, step: &CommandStep, kind: &str) -> Vec<PathBuf> {
        let Some(ending) = self.run.kinds.artifact(kind) else { return Vec::new() };
        let text = self.substitutions.expand_str(&step.command.text);
        let script = text.ok().and_then(|text| runproof_directives::command::parse(&text).ok());
        named(script.as_ref(), ending).into_iter().map(|name| self.shell.cwd.join(name)).collect()
    }

    pub(super) fn placed(
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
        // What an interface says of a file may name its path.
        for text in decided.inconclusive.iter_mut().chain([&mut decided.reason]) {
            *text = self.mask(text);
        }
        Ok(Placement {
            probes: self.run.kinds.probes_used(kind, observation),
            outcome: decided.outcome,
            reason: decided.reason.clone(),
            commands: vec![decided],
            control: None,
        })
    }

    /// The command again with the device hidden: it must leave no record and must not be accepted.
    pub(super) fn hidden(&mut self, step: &CommandStep, ran: &mut Ran) -> Result<(), Stopped> {
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
}

/// The words of a command line that end so, each once; of `--model=PATH` and `MODEL=PATH` the path. Behind a `cd` a
/// relative path is of another folder, and is left out: nobody may take another file for what was loaded.
fn named(script: Option<&Script>, ending: &str) -> Vec<String> {
    let stages = script.into_iter().flat_map(Script::pipelines).flat_map(|pipeline| &pipeline.stages);
    let mut names: Vec<String> = Vec::new();
    let mut moved = false;
    for words in stages.map(|stage| stage.words.iter().map(Word::text)) {
        for (position, word) in words.enumerate() {
            moved |= position == 0 && matches!(word.as_str(), "cd" | "pushd" | "popd");
            let path = word.split_once('=').map_or(word.as_str(), |(_, value)| value).trim_end_matches('/');
            let is_here = !moved || Path::new(path).is_absolute();
            if path.ends_with(ending) && is_here && !names.iter().any(|known| known == path) {
                names.push(path.to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::named;
    use runproof_directives::command::parse;

    #[test]
    fn a_model_is_what_the_command_line_names() {
        let check = |line: &str, expect: &[&str]| {
            assert_eq!(named(parse(line).ok().as_ref(), ".mlmodelc"), expect, "{line}");
        };
        check("prog --model /t/a.mlmodelc --seconds 3", &["/t/a.mlmodelc"]);
        check("prog --model=/t/a.mlmodelc/ | cat", &["/t/a.mlmodelc"]);
        check("env MODEL=a.mlmodelc prog", &["a.mlmodelc"]);
        check("cd sub && prog a.mlmodelc", &[]);
        check("cd sub && prog /t/a.mlmodelc", &["/t/a.mlmodelc"]);
        check("prog '/t/two words.mlmodelc/' && prog b.mlmodelc", &["/t/two words.mlmodelc", "b.mlmodelc"]);
        check("prog a.mlmodelc; prog a.mlmodelc", &["a.mlmodelc"]);
        check("prog a.mlpackage > a.mlmodelc", &[]);
        check("prog (", &[]);
    }
}
