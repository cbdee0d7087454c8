//! The check lines that the reader found, as the matcher reads them: what it could not match is refused with the
//! file, before anything runs.

use crate::check::{CheckError, CheckErrorKind, CheckFile, Options, Place};
use crate::checkers::Checker;
use crate::codes;
use crate::finding::Finding;
use crate::model::CheckLine;
use crate::source::Source;

/// The file with every letter and digit blanked that belongs to no check line. All positions stay, and the matcher
/// takes nothing in a link, in code or in prose for a check.
pub fn only_checks(source: &Source, checks: &[CheckLine]) -> Vec<u8> {
    let bytes = &source.bytes;
    let mut masked: Vec<u8> =
        bytes.iter().map(|b| if b.is_ascii_alphanumeric() { b' ' } else { *b }).collect();
    for check in checks {
        let start = check.span.start;
        let end = bytes[start..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| start + n);
        masked[start..end].copy_from_slice(&bytes[start..end]);
    }
    masked
}

/// What the matcher would refuse, once for each place. `checkers` are those that surely read this file.
pub fn refused(source: &Source, checks: &[CheckLine], checkers: &[&Checker]) -> Vec<Finding> {
    if checks.is_empty() {
        return Vec::new();
    }
    let masked = Source::new(&source.name, only_checks(source, checks));
    let known = checkers.iter().filter(|checker| !checker.opaque && checker.singular_commas.is_empty());
    let mut findings: Vec<Finding> = known
        .flat_map(|checker| {
            let options = Options {
                check_prefixes: checker.prefixes.iter().map(|(prefix, _)| prefix.clone()).collect(),
                comment_prefixes: checker.comment_prefixes.clone(),
                allow_unused_prefixes: true,
                ..Options::default()
            };
            CheckFile::parse(&masked, &options).err().unwrap_or_default()
        })
        .filter_map(|error| finding(&error))
        .collect();
    findings.sort_by_key(|f| f.span);
    findings.dedup();
    findings
}

/// Faults of one line, whatever options the command has. The others are told when it runs.
fn finding(error: &CheckError) -> Option<Finding> {
    let Place::File(span) = error.place else { return None };
    if matches!(error.kind, CheckErrorKind::NameTaken(..) | CheckErrorKind::Numeric(_)) {
        return None;
    }
    let finding = Finding::refusal(codes::BAD_PATTERN, span, error.message(), "cannot be matched");
    Some(match error.help() {
        Some(help) => finding.help(help),
        None => finding,
    })
}
