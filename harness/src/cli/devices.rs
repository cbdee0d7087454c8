//! `devices`: what is here, what is declared, how they agree, and why a device is unusable.

use super::args::{DevicesArgs, SelectArgs};
use super::{Failed, print, setup};
use crate::device::fleet::FleetFile;
use crate::device::survey::Survey;
use crate::device::{self, Inventory, Kinds};
use crate::exit::Status;
use runproof_records::record::Host;
use serde_json::json;
use std::fmt::Write as _;

/// Prints the survey. Status 0 also when nothing is here: it is the answer.
pub fn run(args: &DevicesArgs) -> Result<Status, Failed> {
    let select = SelectArgs { suite: args.suite.clone(), ..SelectArgs::default() };
    let fleet = match &args.fleet {
        Some(path) => setup::fleet_file(Some(path), &[])?,
        None => match setup::suites(&select) {
            Ok((suites, _)) => setup::fleet_file(None, &suites)?,
            // Without suites there is no fleet, and what is here can be shown all the same.
            Err(_) if args.suite.is_empty() => FleetFile::default(),
            Err(failed) => return Err(failed),
        },
    };
    let kinds = Kinds::new(args.probe_dir.as_deref(), &fleet.fleet);
    let survey = kinds.survey(&fleet);
    let host = device::host::probe(&fleet);
    if args.json {
        print(&format!("{}\n", as_json(&kinds, &survey, &host)));
    } else {
        print(&as_text(&kinds, &survey, &host));
    }
    Ok(Status::Held)
}

fn as_text(kinds: &Kinds, survey: &Survey, host: &Host) -> String {
    let mut text = format!(
        "host: {} {} (kernel {} {}), {}\n",
        host.os, host.arch, host.kernel_arch, host.kernel, host.cpu
    );
    for sign in &host.emulation {
        let _ = writeln!(text, "  emulated: {sign}");
    }
    for kind in kinds.names() {
        let line = match survey.kinds().get(&kind) {
            Some(Inventory::Found(devices)) => format!("{} here", devices.len()),
            Some(Inventory::Absent { detail, .. }) => format!("absent: {detail}"),
            Some(Inventory::Failed { why }) => format!("probe failed: {why}"),
            None => "this build has no probe for it: it can neither find such a device nor see work on it"
                .to_owned(),
        };
        let _ = writeln!(text, "{kind}: {line}");
        if let Some(Inventory::Found(_)) = survey.kinds().get(&kind)
            && let Err(missing) = kinds.arm(&kind)
        {
            let _ = writeln!(text, "  not usable: {missing}");
        }
        for present in survey.present().iter().filter(|p| p.kind == kind) {
            let record = survey.record(present);
            let declared = if record.declared { "declared" } else { "not declared" };
            let software = if record.software { ", computes on a CPU: never above T1" } else { "" };
            let _ = writeln!(
                text,
                "  {}: {} ({}, {declared}{software})\n    capability {}, memory {} bytes, driver {}, identity {}",
                present.id,
                record.name,
                record.class,
                record.capability,
                record.memory,
                record.driver,
                record.identity.strength
            );
            if let Some(why) = &present.unlisted {
                let _ = writeln!(text, "    not usable: {why}");
            }
            for fact in &record.agreement {
                let word = if fact.agrees { "agrees" } else { "DISAGREES" };
                let _ = writeln!(
                    text,
                    "    {word}: {} declared {}, observed {}",
                    fact.fact, fact.declared, fact.observed
                );
            }
            for name in &record.undeclared_overrides {
                let _ = writeln!(text, "    tainted: {name} is set and not declared as an allowed override");
            }
        }
        for declared in survey.fleet().device.iter().filter(|d| d.kind == kind) {
            if !survey.present().iter().any(|p| p.declaration.as_ref().is_some_and(|d| d.id == declared.id)) {
                let _ = writeln!(text, "  {}: declared ({}), not here", declared.id, declared.name);
            }
        }
    }
    text
}

fn as_json(kinds: &Kinds, survey: &Survey, host: &Host) -> serde_json::Value {
    let states: Vec<_> = kinds
        .names()
        .into_iter()
        .map(|kind| {
            let (state, why) = match survey.kinds().get(&kind) {
                Some(Inventory::Found(_)) => ("present", String::new()),
                Some(Inventory::Absent { detail, .. }) => ("absent", detail.clone()),
                Some(Inventory::Failed { why }) => ("probe-failed", why.clone()),
                None => ("probe-missing", "this build has no probe for it".to_owned()),
            };
            json!({"kind": kind, "state": state, "why": why})
        })
        .collect();
    let devices: Vec<_> = survey
        .present()
        .iter()
        .map(|p| json!({"record": survey.record(p), "facts": device::facts(&p.device), "unlisted": p.unlisted}))
        .collect();
    json!({"host": host, "kinds": states, "devices": devices})
}
