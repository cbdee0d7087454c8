//! `audit`: verifies bundles with the independent verifier, and proves the verifier by mutation.

use super::args::AuditArgs;
use super::{Failed, print};
use crate::diag::Problem;
use crate::exit::Status;
use crate::suite::discover::show;
use runproof_audit::{AuditReport, Options, audit};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Audits every bundle; 1 when one does not hold.
pub fn run(args: &AuditArgs) -> Result<Status, Failed> {
    let mut options = Options::default();
    for key in &args.key {
        let pem = std::fs::read_to_string(key)
            .map_err(|e| Problem::new("bundle", format!("key `{}` cannot be read: {e}", key.display())))?;
        options.trust(&pem).map_err(|e| Problem::new("bundle", format!("key `{}`: {e}", key.display())))?;
    }
    let mut status = Status::Held;
    for bundle in bundles(&args.bundle)? {
        let bundle = std::fs::canonicalize(&bundle).unwrap_or(bundle);
        let report = audit(&bundle, &options);
        let unsigned = !args.key.is_empty() && !matches!(report.signed, runproof_audit::Signed::By(_));
        if args.json {
            print(&format!("{}\n", as_json(&bundle, &report)));
        } else {
            print(&as_text(&bundle, &report));
        }
        if !report.is_clean() || unsigned {
            status = status.and(Status::Failed);
        }
        if args.self_test {
            status = status.and(self_test(&bundle, &report)?);
        }
    }
    Ok(status)
}

/// Bundles below the places that are named: a folder with a `run.json` is one, else its folders are looked at.
///
/// # Errors
/// A place without any bundle.
pub fn bundles(places: &[PathBuf]) -> Result<Vec<PathBuf>, Failed> {
    let mut all = Vec::new();
    for place in places {
        if place.join("run.json").exists() {
            all.push(place.clone());
            continue;
        }
        let entries = std::fs::read_dir(place).map_err(|e| {
            Problem::new(
                "bundle",
                format!("`{}` is no bundle and no folder of bundles: {e}", place.display()),
            )
            .help("a bundle is the folder that a run leaves, below `runproof-out`")
        })?;
        let mut found: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .filter(|e| e.file_type().is_ok_and(|t| t.is_dir()))
            .map(|e| e.path())
            .filter(|p| p.join("run.json").exists())
            .collect();
        if found.is_empty() {
            return Err(Problem::new("bundle", format!("no bundle in `{}`", place.display()))
                .help("a bundle is the folder that a run leaves, below `runproof-out`; it has a `run.json`")
                .into());
        }
        found.sort();
        all.extend(found);
    }
    Ok(all)
}

fn as_text(bundle: &Path, report: &AuditReport) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        text.push_str(&format!("{}/{finding}\n", show(bundle)));
    }
    for part in &report.partial {
        text.push_str(&format!("{}: partial: {part}\n", show(bundle)));
    }
    let word = match (report.is_clean(), report.partial.is_empty()) {
        (true, true) => "holds",
        (true, false) => "holds as a partial bundle",
        (false, _) => "does not hold",
    };
    text.push_str(&format!(
        "{}: {word}: {} checks, {} findings, {}\n",
        show(bundle),
        report.checks.len(),
        report.findings.len(),
        report.signed
    ));
    text
}

fn as_json(bundle: &Path, report: &AuditReport) -> serde_json::Value {
    json!({
        "bundle": bundle,
        "holds": report.is_clean(),
        "checks": report.checks,
        "findings": report.findings.iter().map(|f| json!({
            "check": f.check, "path": f.path, "line": f.line, "message": f.message,
        })).collect::<Vec<_>>(),
        "partial": report.partial,
        "signed": report.signed.to_string(),
    })
}

fn self_test(bundle: &Path, report: &AuditReport) -> Result<Status, Failed> {
    if !report.is_clean() || !report.partial.is_empty() {
        return Err(Problem::new("bundle", format!("`{}` is not a good and complete bundle", show(bundle)))
            .help("the self-test spoils a good bundle: name one that holds")
            .into());
    }
    let scratch =
        tempfile::tempdir().map_err(|e| Problem::new("bundle", format!("no temporary folder: {e}")))?;
    let result = runproof_audit::selftest(bundle, scratch.path())
        .map_err(|e| Problem::new("bundle", format!("the self-test could not be done: {e}")))?;
    print(&self_test_text(&result));
    Ok(if result.escapes.is_empty() && result.unproved.is_empty() { Status::Held } else { Status::Failed })
}

fn self_test_text(result: &runproof_audit::SelfTest) -> String {
    let mut text = format!(
        "self-test: mutations caught {}/{}, checks proved {}/{} ({} needed)\n",
        result.caught, result.mutations, result.proved, result.checks, result.needed
    );
    for escape in &result.escapes {
        text.push_str(&format!("  escaped {}: {} ({})\n", escape.killer, escape.mutation, escape.why));
    }
    for check in &result.unproved {
        text.push_str(&format!("  not proved by this bundle: {check}\n"));
    }
    for what in &result.inapplicable {
        text.push_str(&format!("  nothing in this bundle for: {what}\n"));
    }
    text.push_str(&format!("  left out: {}\n", result.left_out));
    text
}
