//! Check prefixes of a file: which are named, which have lines, and what does not fit.

use crate::checkers::{Checker, LineReport};
use crate::classify::{Unnamed, split_suffix};
use crate::codes;
use crate::finding::{Finding, Severity};
use crate::model::CheckLine;
use crate::raw::keyword_of;
use crate::source::{Source, Span};
use crate::syntax::{Dialect, Syntax};
use std::collections::{BTreeMap, BTreeSet};

/// The checkers that may read the file itself.
pub(crate) fn of_file<'a>(reports: &'a [LineReport], name: &str) -> Vec<&'a Checker> {
    reports.iter().flat_map(|r| &r.checkers).filter(|c| c.may_read(name)).collect()
}

/// Prefixes that cannot be used, each refused where it is named. Returns those that are a directive's name:
/// lines with them are not read a second time.
pub(crate) fn refuse_bad(
    checkers: &[&Checker],
    syntax: &Syntax,
    findings: &mut Vec<Finding>,
) -> BTreeSet<String> {
    let mut clashing = BTreeSet::new();
    let mut seen: BTreeSet<(String, Span)> = BTreeSet::new();
    for checker in checkers {
        if !checker.fed {
            findings.push(
                Finding::refusal(
                    codes::NO_INPUT,
                    checker.span,
                    "this FileCheck is fed by nothing",
                    "no pipe, no `<`, no --input-file",
                )
                .help("pipe the output into it: `tool %s | FileCheck %s`"),
            );
        }
        for (given, span) in &checker.singular_commas {
            let message = format!("--check-prefix takes one prefix, not '{given}'");
            findings.push(
                Finding::refusal(codes::BAD_PREFIX, *span, message, "several prefixes in the singular flag")
                    .help(format!("write --check-prefixes={given}")),
            );
        }
        let mut own: BTreeSet<&str> = BTreeSet::new();
        for (prefix, span) in &checker.prefixes {
            let twice = !own.insert(prefix);
            if !seen.insert((prefix.clone(), *span)) && !twice {
                continue;
            }
            findings.extend(one(prefix, *span, twice, syntax));
            if keyword_of(prefix, syntax).is_some() {
                clashing.insert(prefix.clone());
            }
        }
    }
    clashing
}

fn one(prefix: &str, span: Span, twice: bool, syntax: &Syntax) -> Option<Finding> {
    if twice {
        let message = format!("prefix {prefix} is named twice for one FileCheck");
        return Some(
            Finding::refusal(codes::BAD_PREFIX, span, message, "a second time").help("name it once"),
        );
    }
    if keyword_of(prefix, syntax).is_some() {
        let message = format!("prefix {prefix} is reserved for a directive");
        return Some(
            Finding::refusal(codes::RESERVED_PREFIX, span, message, "would have two meanings")
                .help("choose another prefix"),
        );
    }
    if let Some((_, suffix)) = split_suffix(prefix) {
        let message = format!("prefix {prefix} ends in {suffix}, so a line with it is ambiguous");
        return Some(
            Finding::refusal(codes::AMBIGUOUS_PREFIX, span, message, "prefix or suffix?")
                .help("choose another prefix"),
        );
    }
    let valid = prefix.starts_with(|c: char| c.is_ascii_alphabetic())
        && prefix.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if valid {
        return None;
    }
    let message = format!("`{prefix}` is no check prefix");
    Some(
        Finding::refusal(codes::BAD_PREFIX, span, message, "FileCheck refuses it")
            .help("begin with a letter; letters, digits, `-` and `_` may follow"),
    )
}

/// Prefixes that the file's own commands name and no line has.
pub(crate) fn unused(
    checkers: &[&Checker],
    lines: &[CheckLine],
    others: &BTreeSet<String>,
    syntax: &Syntax,
) -> Vec<Finding> {
    let used: BTreeSet<&str> = lines.iter().map(|l| l.prefix.as_str()).collect();
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    let named = checkers.iter().filter(|c| !c.may_be_unused).flat_map(|c| &c.prefixes);
    for (prefix, span) in named {
        if prefix.is_empty()
            || used.contains(prefix.as_str())
            || others.contains(prefix)
            || !seen.insert(prefix)
        {
            continue;
        }
        let message = format!("prefix {prefix} has no check line in this file");
        findings.push(if syntax.prefixes.contains(prefix) {
            Finding::note(codes::UNUSED_PREFIX, *span, message, "the suite names it for every file")
        } else if syntax.dialect == Dialect::Lit {
            Finding::note(codes::UNUSED_PREFIX, *span, message, "FileCheck decides whether it may be")
        } else {
            Finding::refusal(codes::UNUSED_PREFIX, *span, message, "checks nothing")
                .help("take the prefix out, or write its check lines")
                .help("a prefix that the suite hands to every file belongs under `[directives] prefixes`")
        });
    }
    findings
}

/// Lines whose prefix no command names, one finding per prefix with all its places.
pub(crate) fn unnamed(
    lines: &[Unnamed],
    has_checker: bool,
    opaque: bool,
    noted: &dyn Fn(Span) -> bool,
    named: &BTreeSet<String>,
) -> Vec<Finding> {
    let mut by_prefix: BTreeMap<(&str, bool), Vec<Span>> = BTreeMap::new();
    // One line that looks like a check makes its namesakes checks too.
    let checks: BTreeSet<&str> = lines.iter().filter(|l| l.is_check).map(|l| l.prefix.as_str()).collect();
    for line in lines.iter().filter(|l| checks.contains(l.prefix.as_str())) {
        by_prefix.entry((&line.prefix, noted(line.span))).or_default().push(line.span);
    }
    let mut findings = Vec::new();
    for ((prefix, in_generated), places) in by_prefix {
        let Some((first, rest)) = places.split_first() else {
            continue;
        };
        let mut finding = if has_checker {
            let message = format!("{prefix} is no directive, and no RUN line names this prefix");
            let mut finding =
                Finding::refusal(codes::UNNAMED_PREFIX, *first, message, "never compared with anything");
            if let Some(near) = crate::spelling::nearest(prefix, named.iter().map(String::as_str)) {
                finding = finding.help(format!("did you mean {near}?"));
            }
            finding
                .help(format!("name it in a RUN line: `--check-prefixes=…,{prefix}`"))
                .help("if it is prose, write it in lower case or list it under `[directives] prose`")
        } else {
            let message = format!("{prefix}: no RUN line checks this file");
            Finding::refusal(codes::NO_CHECKER, *first, message, "never compared with anything")
                .help("pipe the output into `FileCheck %s`, or take the check lines out")
        };
        if in_generated || opaque {
            finding.severity = Severity::Note;
        }
        findings.push(rest.iter().fold(finding, |f, span| f.related(*span, "and here")));
    }
    findings
}

/// Lines of blocks that a tool's notice heads: each a range of the file. A block ends at the first line that is
/// empty or no comment of the same kind.
pub(crate) fn generated_blocks(source: &Source, syntax: &Syntax) -> Vec<Span> {
    const NOTICES: &[&str] = &["do not edit", "prefixes are unused"];
    let mut blocks = Vec::new();
    let mut open: Option<(Span, u8)> = None;
    for line in crate::comment::lines(source) {
        let text = String::from_utf8_lossy(source.slice(line));
        let trimmed = text.trim_start();
        let Some(first) = trimmed.bytes().next().filter(|b| !b.is_ascii_alphanumeric()) else {
            blocks.extend(open.take().map(|(span, _)| span));
            continue;
        };
        let lower = trimmed.to_lowercase();
        let is_notice = NOTICES.iter().any(|n| lower.contains(n))
            || syntax.generated.iter().any(|n| !n.is_empty() && trimmed.contains(n.as_str()));
        open = match open {
            Some((span, mark)) if mark == first => Some((span.to(line), mark)),
            other => {
                blocks.extend(other.map(|(span, _)| span));
                is_notice.then_some((line, first))
            }
        };
    }
    blocks.extend(open.map(|(span, _)| span));
    blocks
}
