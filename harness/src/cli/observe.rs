//! `test --observe FILE`: runs one test file on a device and prints what the probe saw, as `PLACED` lines to
//! choose from. It writes nothing into the file and earns no tier: its bundle is thrown away.

use super::args::TestArgs;
use super::setup::setup_for;
use super::{Failed, print};
use crate::device::host;
use crate::diag::Problem;
use crate::exit::Status;
use crate::plan::Fate;
use crate::process::Interrupt;
use crate::report::{Silent, id};
use crate::run::Run;
use runproof_records::record::Record;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;

/// Runs and prints.
pub fn run(args: &TestArgs, file: &Path) -> Result<Status, Failed> {
    let mut args = args.clone();
    args.select.filter = vec![file.to_string_lossy().into_owned()];
    if args.select.device.iter().all(|d| d == "host") {
        return Err(Problem::new("device-unusable", "`--observe` needs the device to look at")
            .help("add `--device NAME`; `runproof devices` shows what is here")
            .into());
    }
    if !file.exists() {
        return Err(Problem::new("nothing-selected", format!("`{}` is no file", file.display())).into());
    }
    let setup = setup_for(&args.select, true, true)?;
    let scratch =
        tempfile::tempdir().map_err(|e| Problem::new("bundle", format!("no temporary folder: {e}")))?;
    let interrupt = Interrupt::on_signals()
        .map_err(|e| Problem::new("bundle", format!("signals cannot be handled: {e}")))?;
    let mut options = super::test::options(&args, &setup)?;
    options.out = scratch.path().to_path_buf();
    let run = Run::open(&setup.plan, &setup.kinds, host::probe(&setup.fleet), options, interrupt)?;
    let reporter = Mutex::new(Silent);
    let mut seen = false;
    for item in &setup.plan.items {
        let Some(finished) = run.item(item, &reporter) else { continue };
        if item.fate == Fate::Run {
            seen = true;
            print(&observed(&finished.record));
        } else if let Fate::Settled { reason, .. } = &item.fate
            && !reason.starts_with("collected, ")
        {
            print(&format!("{}: not run: {reason}\n", id(&item.key)));
        }
    }
    Ok(if seen { Status::Held } else { Status::Usage })
}

fn observed(record: &Record) -> String {
    let mut text = format!("{}\n", id(&record.key));
    let Some(placement) = &record.placement else {
        text.push_str("  no command was observed\n");
        return text;
    };
    for command in &placement.commands {
        let line = record.commands.iter().find(|c| c.index == command.command).map_or(0, |c| c.line);
        let _ = writeln!(
            text,
            "  EXEC_RUN of line {line}: {} lines from {} processes",
            command.lines,
            command.processes.len()
        );
        for process in command.processes.iter().filter(|p| !p.accepted) {
            let _ = writeln!(text, "    process {} does not count: {}", process.peer, process.why);
        }
        for sign in &command.inconclusive {
            let _ = writeln!(text, "    inconclusive: {sign}");
        }
        if command.work.is_empty() {
            let _ = writeln!(text, "    no work on any device was seen");
        }
        for work in &command.work {
            let name = if work.name.is_empty() { String::new() } else { format!(" {}", work.name) };
            let _ = writeln!(
                text,
                "    {}{name} on {}: {} times, {} ns, {} bytes",
                work.record, work.device, work.count, work.ns, work.bytes
            );
        }
        for work in &command.work {
            let _ = match work.record.as_str() {
                "kernel" => {
                    writeln!(text, "  candidate: PLACED: kernel name={} count>={}", work.name, work.count)
                }
                "plan" => {
                    writeln!(text, "  candidate: PLACED: plan op={} count>={}", work.name, work.count)
                }
                "energy_delta" => writeln!(text, "  candidate: PLACED: energy_delta rail={}", work.name),
                _ => continue,
            };
        }
    }
    text.push_str("  nothing was written; a candidate says what ran, not what should: choose\n");
    text
}
