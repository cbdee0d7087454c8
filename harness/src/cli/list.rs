//! `list`: what would run, and why what would not.

use super::args::ListArgs;
use super::{Failed, print, setup};
use crate::exit::Status;
use crate::plan::{Fate, Plan};
use crate::report::id;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Prints one line per test and target.
pub fn run(args: &ListArgs) -> Result<Status, Failed> {
    let setup = setup::setup(&args.select, true)?;
    let mut text = String::new();
    for item in &setup.plan.items {
        let file = setup.plan.file(item);
        if args.json {
            let (word, skip, reason) = match &item.fate {
                Fate::Run => ("run", None, ""),
                Fate::Settled { state, skip, reason } => (state.as_str(), *skip, reason.as_str()),
            };
            let value = json!({
                "test": id(&item.key), "key": item.key, "file": setup.plan.path(item), "fate": word, "skip": skip,
                "reason": reason, "goal": item.goal, "digest": file.digest,
            });
            let _ = writeln!(text, "{value}");
        } else {
            let _ = match &item.fate {
                Fate::Run => writeln!(text, "{} (goal {})", id(&item.key), item.goal),
                Fate::Settled { state, skip, reason } => {
                    let kind = skip.map(|k| format!(" ({k})")).unwrap_or_default();
                    writeln!(text, "{}: {state}{kind}: {reason}", id(&item.key))
                }
            };
        }
    }
    for loaded in &setup.plan.suites {
        for file in &loaded.suite.unclaimed {
            if !args.json {
                let _ = writeln!(text, "{}/{file}: claimed by no pattern of the suite", loaded.suite.name);
            }
        }
    }
    if args.explain {
        explain(&setup.plan, &mut text);
    }
    print(&text);
    Ok(Status::Held)
}

/// The merged settings of each folder that differs, with the file that each value is from.
fn explain(plan: &Plan, text: &mut String) {
    for loaded in &plan.suites {
        let mut seen = BTreeSet::new();
        for file in &loaded.files {
            if !seen.insert(std::sync::Arc::as_ptr(&file.settings)) {
                continue;
            }
            let folder = file.path.rsplit_once('/').map_or(".", |(f, _)| f);
            let _ = writeln!(text, "\n{}/{folder}: settings", loaded.suite.name);
            for (key, value, from) in &file.settings.provenance {
                let _ = writeln!(text, "  {key} = {value}  ({from})");
            }
            let present: Vec<&str> = file.features.present.iter().map(String::as_str).collect();
            let _ = writeln!(text, "  features here: {}", present.join(" "));
        }
    }
}
