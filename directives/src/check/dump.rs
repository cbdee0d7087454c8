//! The input with what the checks made of it written under its lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::near::{Difference, Near};
use super::options::{DumpFilter, Options};
use super::place::{SHOWN_COLUMNS, shown, width};
use super::report::{FailureKind, Note, Report};
use super::scan::Kind;
use super::text::Subject;
use crate::source::Span;

/// What is written under a line.
struct Annotation {
    span: Span,
    /// First character of the mark; the rest is `~`.
    mark: char,
    text: String,
    is_error: bool,
}

/// The explanation of the format that `--dump-input=help` asks for.
pub const DUMP_HELP: &str = "\
The input is shown with line numbers; under a line stand marks and the check that they belong to:
  ^~~  a match (with -v)
  =~~  the value that a variable got from it (with -v)
  !~~  a match that is wrong: a forbidden text, or a text on the wrong line
  X    where a search began that found nothing, and < where it ended
  ?~~  what was nearly found
  .~~  the range of a -NOT that found nothing (with -vv), or of one that looked at nothing
  ...  lines left out
--dump-input says when, --dump-input-filter which lines, --dump-input-context how many around them.
";

/// The annotated input.
pub fn dump(subject: &Subject<'_>, report: &Report, options: &Options) -> String {
    let mut annotations = annotations(subject, report, options.verbosity);
    annotations.sort_by_key(|annotation| (annotation.span.start, annotation.span.end));
    let mut text = format!("input {}:\n", subject.input_name);
    let mut by_line: BTreeMap<usize, Vec<&Annotation>> = BTreeMap::new();
    let mut selected: Vec<(usize, usize)> = Vec::new();
    let (mut line, mut counted) = (0, 0);
    for annotation in &annotations {
        let start = annotation.span.start.min(subject.input.len());
        line += memchr::memchr_iter(b'\n', &subject.input[counted..start]).count();
        counted = start;
        let end = annotation.span.end.clamp(start, subject.input.len());
        let last = line + memchr::memchr_iter(b'\n', &subject.input[start..end]).count();
        by_line.entry(line).or_default().push(annotation);
        match options.filter() {
            DumpFilter::All => {}
            DumpFilter::AnnotationFull => selected.push((line, last)),
            DumpFilter::Annotation => selected.push((line, line)),
            DumpFilter::Error if annotation.is_error => selected.push((line, line)),
            DumpFilter::Error => {}
        }
    }
    if options.filter() == DumpFilter::All {
        selected.push((0, usize::MAX));
    }
    lines(&mut text, subject.input, &by_line, selected, options.context());
    text
}

fn lines(
    text: &mut String,
    input: &[u8],
    by_line: &BTreeMap<usize, Vec<&Annotation>>,
    mut selected: Vec<(usize, usize)>,
    context: usize,
) {
    selected.sort_unstable();
    let mut ranges = selected.into_iter().peekable();
    let mut left_out = false;
    let mut start = 0;
    for (number, line) in input.split(|b| *b == b'\n').enumerate() {
        while ranges.peek().is_some_and(|(_, last)| last.saturating_add(context) < number) {
            ranges.next();
        }
        let is_last_end = line.is_empty() && start == input.len();
        let annotations = by_line.get(&number);
        if is_last_end && annotations.is_none() {
            break;
        }
        if ranges.peek().is_some_and(|(first, _)| first.saturating_sub(context) <= number) {
            let _ = writeln!(text, "{:>6} | {}", number + 1, shown(line));
            for annotation in annotations.into_iter().flatten() {
                mark(text, line, start, annotation);
            }
            left_out = false;
        } else if !std::mem::replace(&mut left_out, true) {
            text.push_str("   ...\n");
        }
        start += line.len() + 1;
    }
}

fn mark(text: &mut String, line: &[u8], line_start: usize, annotation: &Annotation) {
    let from = annotation.span.start.saturating_sub(line_start).min(line.len());
    let to = annotation.span.end.saturating_sub(line_start).clamp(from, line.len());
    let columns = |bytes: &[u8]| width(bytes).min(SHOWN_COLUMNS);
    let tail = columns(&line[from..to]).saturating_sub(1);
    let (indent, tail) = (" ".repeat(columns(&line[..from])), "~".repeat(tail));
    let _ = writeln!(text, "       | {indent}{}{tail} {}", annotation.mark, annotation.text);
}

fn annotations(subject: &Subject<'_>, report: &Report, verbosity: u8) -> Vec<Annotation> {
    let mut annotations = Vec::new();
    let check =
        |index: usize| format!("{} {}", subject.check_place(index), subject.file.directives()[index].name());
    let mut add = |span, mark, is_error, text: String| {
        annotations.push(Annotation { span, mark, text, is_error });
    };
    for failure in &report.failures {
        let check = check(failure.directive);
        match &failure.kind {
            FailureKind::NotFound { searched, values, near, .. } => {
                let start = Span::new(searched.start, searched.start);
                add(start, 'X', true, format!("{check}: not found from here"));
                for value in values {
                    add(start, ' ', false, format!("{check}: with {} = '{}'", value.name, value.value));
                }
                add(Span::new(searched.end, searched.end), '<', false, format!("{check}: to here"));
                if let Some(Near { span, how }) = near {
                    add(*span, '?', true, format!("{check}: {}", near_words(*how)));
                }
            }
            FailureKind::WrongLine { found, .. } => {
                add(*found, '!', true, format!("{check}: on the wrong line"));
            }
            FailureKind::Forbidden { found, .. } => add(*found, '!', true, format!("{check}: forbidden")),
            FailureKind::Unsearchable { searched, .. } => {
                add(
                    Span::new(searched.start, searched.start),
                    'X',
                    true,
                    format!("{check}: cannot be searched for"),
                );
            }
        }
    }
    for note in &report.notes {
        if let Note::LookedAtNothing { directive, searched, .. } = note {
            add(*searched, '.', false, format!("{}: looked at nothing", check(*directive)));
        }
    }
    for (index, outcome) in report.outcomes.iter().enumerate() {
        let forbids = subject.file.directives()[index].kind == Kind::Not;
        if verbosity >= 1 && !forbids {
            for matched in &outcome.matches {
                add(matched.span, '^', false, check(index));
                for (name, span) in &matched.captures {
                    add(*span, '=', false, format!("{}: {name}", check(index)));
                }
            }
        }
        if let (2.., true, 0, Some(searched)) = (verbosity, forbids, outcome.matched, outcome.searched) {
            add(searched, '.', false, format!("{}: not found, as wanted", check(index)));
        }
    }
    annotations
}

fn near_words(how: Difference) -> &'static str {
    match how {
        Difference::Before => "is here, in front of the range",
        Difference::Behind => "is here, behind the range",
        Difference::PartOfLine => "is here, but not the whole line",
        Difference::WhiteSpace => "other white space",
        Difference::LetterCase => "other letter case",
        Difference::Alike => "looks like it",
    }
}
