//! `lint`: refusals and findings. Nothing is run, unless `--weak` asks what the checks can reject.

use super::args::{Format, LintArgs};
use super::{Failed, print, setup};
use crate::diag::{self, Style};
use crate::exit::Status;
use crate::plan::Plan;
use crate::report::json::annotation;
use runproof_directives::{Finding, Severity, Source};
use serde_json::json;

/// Prints every finding; 2 when one refuses a file or a file is claimed by no suite, 1 when weak checks are denied.
pub fn run(args: &LintArgs, style: Style) -> Result<Status, Failed> {
    let setup = setup::setup(&args.select, args.weak)?;
    let (mut refusals, mut notes, mut files) = (0usize, 0usize, 0usize);
    for (source, finding) in findings(&setup.plan) {
        match finding.severity {
            Severity::Refusal => refusals += 1,
            Severity::Note | Severity::Known => notes += 1,
        }
        print(&format!("{}\n", render(source, finding, args.format, style)));
    }
    for loaded in &setup.plan.suites {
        files += loaded.files.len();
        for file in &loaded.suite.unclaimed {
            refusals += 1;
            print(&format!(
                "error[unclaimed-file]: `{file}` lies in suite `{}` and no pattern claims it\n",
                loaded.suite.name
            ));
        }
    }
    if args.format != Format::Json {
        print(&format!("{files} files, {refusals} refusals, {notes} notes\n"));
    }
    let found = if refusals > 0 { Status::Usage } else { Status::Held };
    if !args.weak {
        return Ok(found);
    }
    Ok(found.and(super::weak::run(args, &setup)?))
}

/// Every finding of the selected files, each file once.
pub fn findings(plan: &Plan) -> impl Iterator<Item = (&Source, &Finding)> {
    let selected: std::collections::BTreeSet<(usize, usize)> = plan
        .items
        .iter()
        .filter(|i| {
            !matches!(
                &i.fate,
                crate::plan::Fate::Settled { skip: Some(runproof_records::verdict::SkipKind::Filtered), .. }
            )
        })
        .map(|i| (i.suite, i.file))
        .collect();
    selected.into_iter().flat_map(|(s, f)| {
        let file = &plan.suites[s].files[f];
        file.test.findings.iter().map(move |finding| (&file.source, finding))
    })
}

/// One finding in a format.
pub fn render(source: &Source, finding: &Finding, format: Format, style: Style) -> String {
    let level = if finding.severity == Severity::Refusal { "error" } else { "notice" };
    match format {
        Format::Pretty | Format::Terse => format!("{}\n", diag::finding(source, finding, style)),
        Format::Github => annotation(level, source, finding.span.start, finding.code, &finding.message),
        Format::Json => {
            let (line, column) = source.position(finding.span.start);
            let related = finding.related.iter().map(|(span, label)| {
                let (line, column) = source.position(span.start);
                json!({ "line": line, "column": column, "label": label })
            });
            let related: Vec<_> = related.collect();
            json!({
                "file": source.name, "line": line, "column": column, "code": finding.code, "level": level,
                "message": finding.message, "label": finding.label, "help": finding.help, "related": related,
            })
            .to_string()
        }
    }
}
