//! Why a check that was not found was nearly found, and what a pattern was with its values. Nothing here decides.

use super::ere::{Ere, Scratch};
use super::expression::{NoValue, lossy};
use super::file::CheckFile;
use super::pattern::{Body, Obstacle, Part, Parts, Why, find_fixed};
use super::report::{Binding, Reason};
use super::run::Runner;
use super::variables::Values;
use crate::source::Span;

/// Lines that are compared with a pattern for likeness.
const COMPARED_LINES: usize = 2_000;

/// Something that a pattern nearly matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// Where, in the input.
    pub span: Span,
    /// How it differs.
    pub how: Difference,
}

/// How a text differs from what was wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// It is there, but in front of the range that was searched.
    Before,
    /// It is there, but behind the range: in a later block.
    Behind,
    /// It is there, but is not the whole line that `--match-full-lines` wants.
    PartOfLine,
    /// Only blanks and tabs differ, which `--strict-whitespace` minds.
    WhiteSpace,
    /// Only the case of letters differs.
    LetterCase,
    /// It looks like it.
    Alike,
}

impl Near {
    pub(super) fn span_mut(&mut self) -> &mut Span {
        &mut self.span
    }
}

/// Looks for what a pattern nearly matches.
pub(super) fn look(runner: &mut Runner<'_>, index: usize, searched: Span) -> Option<Near> {
    let pattern = &runner.file.patterns[index];
    let text = runner.text;
    let inside = &text[searched.start..searched.end];
    let found = |span: (usize, usize), base: usize, how| {
        Some(Near { span: Span::new(span.0 + base, span.1 + base), how })
    };
    let (values, scratch) = (&runner.values, &mut runner.scratch);
    if runner.file.options.match_full_lines
        && let Body::Parts(parts) = &pattern.body
        && let Some(span) = without_line_ends(parts, values, pattern.fold_case, inside, scratch)
    {
        return found(span, searched.start, Difference::PartOfLine);
    }
    if let Body::Fixed(wanted) = &pattern.body
        && runner.file.options.strict_whitespace
        && let Some(span) = loose_blanks(inside, wanted.needle())
    {
        return found(span, searched.start, Difference::WhiteSpace);
    }
    if let Some(span) = find(&pattern.body, values, inside, true, scratch) {
        return found(span, searched.start, Difference::LetterCase);
    }
    let wanted = literal_text(&pattern.body, values);
    if let Some(span) = alike(inside, &wanted) {
        return found(span, searched.start, Difference::Alike);
    }
    if let Some(span) = find(&pattern.body, values, &text[..searched.start], pattern.fold_case, scratch) {
        return found(span, 0, Difference::Before);
    }
    let span = find(&pattern.body, values, &text[searched.end..], pattern.fold_case, scratch)?;
    found(span, searched.end, Difference::Behind)
}

fn find(
    body: &Body,
    values: &Values<'_>,
    text: &[u8],
    fold_case: bool,
    scratch: &mut Scratch,
) -> Option<(usize, usize)> {
    match body {
        Body::EmptyLine => None,
        Body::Fixed(wanted) => find_fixed(text, wanted, fold_case).map(|found| (found.start, found.end)),
        Body::Parts(parts) => {
            let ere = Ere::new(&parts.as_regex(values).ok()?, fold_case).ok()?;
            ere.find(text, false, scratch).ok()?.map(|found| found.range)
        }
    }
}

fn without_line_ends(
    parts: &Parts,
    values: &Values<'_>,
    fold_case: bool,
    text: &[u8],
    scratch: &mut Scratch,
) -> Option<(usize, usize)> {
    let whole = parts.as_regex(values).ok()?;
    let regex = whole.strip_prefix(b"^")?.strip_suffix(b"$")?;
    let regex = regex.strip_prefix(b" *").unwrap_or(regex);
    let regex = regex.strip_suffix(b" *").unwrap_or(regex);
    Ere::new(regex, fold_case).ok()?.find(text, false, scratch).ok()?.map(|found| found.range)
}

/// Where a text stands if runs of blanks and tabs are all the same.
fn loose_blanks(text: &[u8], wanted: &[u8]) -> Option<(usize, usize)> {
    let mut regex = Vec::new();
    for word in wanted.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty()) {
        if !regex.is_empty() {
            regex.extend_from_slice(b"[ \t]+");
        }
        super::pattern::escape(&mut regex, word);
    }
    Ere::new(&regex, false).ok()?.find(text, false, &mut Scratch::default()).ok()?.map(|found| found.range)
}

/// What of a pattern stands for itself.
fn literal_text(body: &Body, values: &Values<'_>) -> Vec<u8> {
    match body {
        Body::EmptyLine => Vec::new(),
        Body::Fixed(text) => text.needle().to_vec(),
        Body::Parts(parts) => {
            let mut whole = Vec::new();
            for part in &parts.parts {
                match part {
                    Part::Text(text) => whole.extend_from_slice(text),
                    Part::String(name, _) => whole.extend_from_slice(values.string(name).unwrap_or_default()),
                    Part::Regex(_) | Part::Number(_) => {}
                }
            }
            whole
        }
    }
}

/// The line that shares most pairs of neighbouring bytes with a text, if it is more than half of them.
fn alike(text: &[u8], wanted: &[u8]) -> Option<(usize, usize)> {
    let mut pairs: Vec<&[u8]> = wanted.windows(2).collect();
    pairs.sort_unstable();
    pairs.dedup();
    if pairs.len() < 3 || pairs.len() > 400 {
        return None;
    }
    let mut best: Option<(usize, (usize, usize))> = None;
    let mut start = 0;
    for line in text.split(|b| *b == b'\n').take(COMPARED_LINES) {
        let mut shared: Vec<&[u8]> =
            line.windows(2).take(1_000).filter(|pair| pairs.binary_search(pair).is_ok()).collect();
        shared.sort_unstable();
        shared.dedup();
        if shared.len() * 2 > pairs.len() && best.is_none_or(|(most, _)| shared.len() > most) {
            best = Some((shared.len(), (start, start + line.len())));
        }
        start += line.len() + 1;
    }
    best.map(|(_, span)| span)
}

/// The values that a pattern uses.
pub(super) fn bindings(runner: &Runner<'_>, index: usize) -> Vec<Binding> {
    let Body::Parts(parts) = &runner.file.patterns[index].body else { return Vec::new() };
    let mut bindings: Vec<Binding> = Vec::new();
    for part in &parts.parts {
        let binding = match part {
            Part::String(name, _) => runner
                .values
                .string(name)
                .map(|value| Binding { name: lossy(name), value: lossy(&value[..value.len().min(200)]) }),
            Part::Number(number) => {
                let digits = number.digits(&runner.values).ok();
                digits.map(|value| Binding { name: lossy(&number.text), value })
            }
            Part::Regex(_) | Part::Text(_) => None,
        };
        bindings.extend(binding.filter(|binding| !bindings.contains(binding)));
    }
    bindings
}

pub(super) fn reasons(file: &CheckFile, obstacles: &[Obstacle]) -> Vec<Reason> {
    let reason = |obstacle: &Obstacle| match &obstacle.why {
        Why::UndefinedString(name) => Reason::Undefined(lossy(name)),
        Why::NoValue(NoValue::Undefined(id, _)) => Reason::Undefined(lossy(&file.names.numeric(*id).name)),
        Why::NoValue(NoValue::DivisionByZero) => Reason::DivisionByZero,
        Why::NoValue(NoValue::TooLarge) => Reason::TooLarge,
        Why::Negative(value) => Reason::Negative(format!("-{}", value.digits(10))),
        Why::TooComplex => Reason::TooComplex,
    };
    obstacles.iter().map(reason).collect()
}
