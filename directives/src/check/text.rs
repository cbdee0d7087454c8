//! Reports and refusals in words. Deciding is done elsewhere; what is said here is all in the data.

use std::fmt::Write as _;

use super::error::{CheckError, Place};
use super::file::{CheckFile, Directive};
use super::near::{Difference, Near};
use super::place::{line, line_column, line_span, shown, width};
use super::report::{Failure, FailureKind, Note, Reason, Report};
use super::scan::Kind;
use crate::source::{Source, Span};

/// The names and texts that a report is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The check file's text.
    pub checks: &'a Source,
    /// The checks.
    pub file: &'a CheckFile,
    /// Name of the input.
    pub input_name: &'a str,
    /// The input that the report is about.
    pub input: &'a [u8],
}

/// Refusals in words, one paragraph each.
pub fn errors_text(checks: &Source, errors: &[CheckError]) -> String {
    let mut text = String::new();
    for error in errors {
        let message = error.message();
        let _ = match &error.place {
            Place::File(span) => {
                let _ = writeln!(text, "error: {}:{} {message}", checks.name, error.line);
                excerpt(&mut text, &checks.name, &checks.bytes, *span);
                Ok(())
            }
            Place::Option(option, _) => writeln!(text, "error: {option}: {message}"),
            Place::Request => writeln!(text, "error: {}: {message}", checks.name),
        };
        if let Some(help) = error.help() {
            let _ = writeln!(text, "  = help: {help}");
        }
    }
    text
}

/// Failures and notes in words, one paragraph each.
pub fn report_text(subject: &Subject<'_>, report: &Report) -> String {
    let mut text = String::new();
    if report.empty_input {
        let _ = writeln!(text, "error: {} is empty", subject.input_name);
        let _ = writeln!(text, "  = help: if nothing is what is expected, pass '--allow-empty'");
    }
    for failure in &report.failures {
        subject.failure(&mut text, failure);
    }
    for note in &report.notes {
        let _ = writeln!(text, "note: {}", subject.note(note));
    }
    text
}

/// `--> file:line:column`, the line, and a mark under the span.
fn excerpt(text: &mut String, name: &str, bytes: &[u8], span: Span) {
    let whole = line_span(bytes, span.start);
    let _ = writeln!(text, "  --> {name}:{}", line_column(bytes, span.start));
    let _ = writeln!(text, "   | {}", shown(&bytes[whole.start..whole.end]));
    let from = 1 + width(&bytes[whole.start..span.start.clamp(whole.start, whole.end)]);
    let marked = &bytes[span.start.min(whole.end)..span.end.clamp(span.start.min(whole.end), whole.end)];
    let marked = width(marked).max(1);
    if from + marked <= super::place::SHOWN_COLUMNS {
        let _ = writeln!(text, "   | {}{}", " ".repeat(from - 1), "^".repeat(marked));
    }
}

impl Subject<'_> {
    fn directive(&self, index: usize) -> &Directive {
        &self.file.directives()[index]
    }

    /// `t.chk:3`, or the option.
    pub(super) fn check_place(&self, index: usize) -> String {
        let directive = self.directive(index);
        match directive.implicit {
            Some(_) => "--implicit-check-not".to_owned(),
            None => format!("{}:{}", self.checks.name, directive.line),
        }
    }

    fn input_place(&self, at: usize) -> String {
        format!("{}:{}", self.input_name, line(self.input, at))
    }

    /// What a check looks for, in quotes.
    fn wanted(&self, index: usize) -> String {
        let directive = self.directive(index);
        match directive.kind {
            Kind::Empty => "an empty line".to_owned(),
            _ => format!("'{}'", shown(directive.pattern.as_bytes())),
        }
    }

    /// What failed, in one sentence.
    pub fn headline(&self, failure: &Failure) -> String {
        let (check, wanted) = (self.check_place(failure.directive), self.wanted(failure.directive));
        match &failure.kind {
            FailureKind::NotFound { counted: Some((done, count)), .. } => {
                format!("{check} {wanted} found {done} times in a row, {count} wanted")
            }
            FailureKind::NotFound { .. } => format!("{check} {wanted} not found"),
            FailureKind::WrongLine { found, line_ends, .. } => {
                let place = self.input_place(found.start);
                let apart = match line_ends {
                    0 => "on the line of the match before it, not on the next".to_owned(),
                    1 => "on the line after the match before it, not on the same".to_owned(),
                    _ => format!("{line_ends} lines after the match before it"),
                };
                format!("{check} {wanted} found at {place}, {apart}")
            }
            FailureKind::Forbidden { found, .. } => {
                format!("{check} {wanted} found at {}", self.input_place(found.start))
            }
            FailureKind::Unsearchable { reasons, .. } => {
                let reasons: Vec<String> = reasons.iter().map(reason).collect();
                format!("{check} {wanted} cannot be searched for: {}", reasons.join(", "))
            }
        }
    }

    fn failure(&self, text: &mut String, failure: &Failure) {
        let directive = self.directive(failure.directive);
        let _ = writeln!(text, "error: {} ({})", self.headline(failure), directive.name());
        if directive.implicit.is_none() {
            excerpt(text, &self.checks.name, &self.checks.bytes, directive.pattern_span);
        }
        match &failure.kind {
            FailureKind::NotFound { searched, after, values, near, .. } => {
                if let Some((index, span)) = after {
                    let (check, place) = (self.check_place(*index), self.input_place(span.start));
                    let _ = writeln!(text, "  = the match before it: {check}, at {place}");
                }
                self.range(text, *searched);
                for binding in values {
                    let _ =
                        writeln!(text, "  = with {} = '{}'", binding.name, shown(binding.value.as_bytes()));
                }
                if let Some(near) = near {
                    self.near(text, failure.directive, near);
                }
                if let Some(habit) = habit(&directive.pattern).filter(|_| !directive.literal) {
                    let _ = writeln!(text, "  = help: {habit}");
                }
            }
            FailureKind::WrongLine { found, previous, .. } => {
                let _ = writeln!(text, "  = the match before it ends at {}", self.input_place(previous.end));
                self.input_line(text, *found);
            }
            FailureKind::Forbidden { found, searched, open_ended } => {
                self.input_line(text, *found);
                self.range(text, *searched);
                if *open_ended {
                    let _ = writeln!(
                        text,
                        "  = the check that ends its range was not found, so the range is the rest of the block"
                    );
                }
            }
            FailureKind::Unsearchable { searched, .. } => self.range(text, *searched),
        }
        if failure.after_failure {
            let _ = writeln!(text, "  = behind an earlier failure of its block: mend that one first");
        }
    }

    fn range(&self, text: &mut String, searched: Span) {
        // The range ends with its last byte's line, not with what would follow a last line end.
        let last = searched.end.saturating_sub(1).max(searched.start);
        let (start, end) = (line(self.input, searched.start), line(self.input, last));
        let rest = if searched.end >= self.input.len() { ", the end" } else { "" };
        let place = format!("{}:{}", self.input_name, line_column(self.input, searched.start));
        let _ = if start == end {
            writeln!(text, "  = searched from {place} on that line{rest}")
        } else {
            writeln!(text, "  = searched from {place} to line {end}{rest}")
        };
    }

    fn input_line(&self, text: &mut String, span: Span) {
        excerpt(text, self.input_name, self.input, span);
    }

    fn near(&self, text: &mut String, index: usize, near: &Near) {
        let found = line_span(self.input, near.span.start);
        let place = self.input_place(near.span.start);
        let how = match near.how {
            Difference::Before => "is there, but in front of the range".to_owned(),
            Difference::Behind => "is there, but behind the range".to_owned(),
            Difference::PartOfLine => {
                format!("{} is not the whole line", self.wanted(index))
            }
            Difference::LetterCase => "is there in another letter case: '--ignore-case' takes it".to_owned(),
            Difference::WhiteSpace => {
                let found = &self.input[near.span.start..near.span.end];
                blanks(self.directive(index).pattern.as_bytes(), found)
                    .unwrap_or_else(|| "other white space".to_owned())
            }
            Difference::Alike => "looks like it".to_owned(),
        };
        let _ = writeln!(text, "  = near: {how}: {place} {}", shown(&self.input[found.start..found.end]));
    }

    /// A note in words.
    pub fn note(&self, note: &Note) -> String {
        match note {
            Note::LookedAtNothing { directive, after, at_end, .. } => {
                let start = after
                    .map(|span| format!("it starts after '{}'", shown(&self.input[span.start..span.end])));
                let start = start.unwrap_or_else(|| "it starts where it ends".to_owned());
                let end = if *at_end { ", the end of the output" } else { ", right before the next match" };
                format!("{} looked at nothing: {start}{end}", self.check_place(*directive))
            }
            Note::NotTried { directive } => {
                let check = self.check_place(*directive);
                format!("{check} was not tried: it depends on a check that failed")
            }
        }
    }
}

fn reason(reason: &Reason) -> String {
    match reason {
        Reason::Undefined(name) => format!("'{name}' has no value"),
        Reason::Negative(value) => format!("{value} is negative and the format has no sign"),
        Reason::DivisionByZero => "division by zero".to_owned(),
        Reason::TooLarge => "a number has more than 10,000 digits".to_owned(),
        Reason::TooComplex => "the pattern takes too many steps".to_owned(),
    }
}

/// The first difference in white space of two texts that have the same words.
fn blanks(wanted: &[u8], found: &[u8]) -> Option<String> {
    let (mut left, mut right) = (wanted, found);
    loop {
        let (wanted, found) = (blank_run(left), blank_run(right));
        if wanted != found {
            return Some(format!("{} wanted, {} found", run_name(wanted), run_name(found)));
        }
        left = &left[wanted.len()..];
        right = &right[found.len()..];
        let word = left.iter().take_while(|b| !matches!(b, b' ' | b'\t')).count();
        if word == 0 || right.len() < word {
            return None;
        }
        (left, right) = (&left[word..], &right[word..]);
    }
}

fn blank_run(text: &[u8]) -> &[u8] {
    &text[..text.iter().take_while(|b| matches!(b, b' ' | b'\t')).count()]
}

fn run_name(run: &[u8]) -> String {
    let tabs = run.iter().filter(|b| **b == b'\t').count();
    let blanks = run.len() - tabs;
    let count = |number: usize, one: &str| match number {
        1 => format!("a {one}"),
        _ => format!("{number} {one}s"),
    };
    match (blanks, tabs) {
        (0, 0) => "nothing".to_owned(),
        (_, 0) => count(blanks, "blank"),
        (0, _) => count(tabs, "tab"),
        _ => format!("{} and {}", count(blanks, "blank"), count(tabs, "tab")),
    }
}

/// A habit from another dialect, which means something else here.
fn habit(pattern: &str) -> Option<String> {
    let inside = pattern.split("{{").skip(1).chain(pattern.split("[[").skip(1));
    let escape = inside.flat_map(|part| {
        ['d', 'w', 's', 'b', 'D', 'W', 'S']
            .into_iter()
            .filter(move |letter| part.contains(&format!("\\{letter}")))
    });
    let letter = escape.into_iter().next()?;
    let instead = match letter {
        'd' => "[0-9]",
        'w' => "[[:alnum:]_]",
        's' => "[[:space:]]",
        _ => "a bracket expression",
    };
    Some(format!("'\\{letter}' is the letter {letter} in POSIX expressions: write {instead}"))
}
