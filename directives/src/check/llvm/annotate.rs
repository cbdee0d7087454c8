//! Steps of a run to what stands under the lines of the input.

use std::collections::BTreeMap;

use super::super::log::{Event, Then, What};
use super::super::scan::Kind;
use super::Scene;
use super::lines::Lines;
use super::matches::value_text;
use super::message::{CYAN, GREEN, MAGENTA, RED};
use crate::source::Span;

/// Something to be shown under the lines of a range.
pub(super) struct Annotation {
    /// Its label, once all of its check are known.
    pub(super) label: String,
    /// First and last line, from 1.
    pub(super) lines: (usize, usize),
    /// First column that is marked in the first line, and the one past the last in the last; none for all of it.
    pub(super) columns: (usize, Option<usize>),
    /// Nothing is marked for a value.
    pub(super) mark: Option<u8>,
    pub(super) note: String,
    pub(super) colour: &'static str,
    pub(super) is_good_match: bool,
}

impl Annotation {
    /// Whether it tells of a failure, or of what helps with one.
    pub(super) fn is_error(&self) -> bool {
        matches!(self.colour, RED | MAGENTA)
    }
}

/// Steps of a run to annotations.
struct Annotator<'a> {
    scene: &'a Scene<'a>,
    lines: &'a Lines<'a>,
    made: Vec<Annotation>,
    /// The check of each annotation; none for the end of the input.
    keys: Vec<Option<usize>>,
}

/// The annotations of a run, in the order in which they came about.
pub(super) fn annotations(scene: &Scene<'_>, lines: &Lines<'_>) -> Vec<Annotation> {
    Annotator { scene, lines, made: Vec::new(), keys: Vec::new() }.annotations()
}

impl Annotator<'_> {
    fn annotations(mut self) -> Vec<Annotation> {
        self.scene.log.events.iter().for_each(|event| self.event(event));
        // What is at one place is numbered together, be it of one check or of an empty one and the end.
        let places: Vec<_> = self.keys.iter().map(|key| self.scene.place(*key)).collect();
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        places.iter().for_each(|place| *counts.entry(*place).or_default() += 1);
        let mut numbers: BTreeMap<_, usize> = BTreeMap::new();
        let checks = self.scene.check_lines();
        for ((annotation, key), place) in self.made.iter_mut().zip(&self.keys).zip(&places) {
            annotation.label = self.scene.label(*key, &checks);
            if counts.get(place).is_some_and(|count| *count > 1) {
                let number = numbers.entry(*place).or_default();
                annotation.label.push_str(&format!("'{number}"));
                *number += 1;
            }
        }
        self.made
    }

    fn event(&mut self, event: &Event) {
        let start = Span::new(event.searched.start, event.searched.start);
        let key = event.directive;
        match &event.what {
            What::Found { span, captures, then } => {
                let (mark, colour, note) = match then {
                    Then::Good => (b'^', GREEN, ""),
                    Then::Discarded(_) => (b'!', CYAN, "discard: overlaps earlier match"),
                    Then::WrongLine(_) => (b'!', RED, "error: match on wrong line"),
                    Then::Forbidden => (b'!', RED, "error: no match expected"),
                };
                self.add(key, *span, Some(mark), colour, note);
                if let Some(last) = self.made.last_mut() {
                    last.is_good_match = *then == Then::Good;
                }
                for value in &event.values {
                    let at = Span::new(span.start, span.start);
                    self.add(key, at, None, colour, &value_text(value));
                }
                for (name, span) in captures {
                    self.add(key, *span, Some(mark), colour, &format!("captured var \"{name}\""));
                    if let Some(last) = self.made.last_mut() {
                        last.is_good_match = *then == Then::Good;
                        if last.lines.0 == last.lines.1 && last.columns.1 == Some(last.columns.0) {
                            last.mark = None;
                        }
                    }
                }
            }
            What::Absent => self.searched(event, start, GREEN, "", &[]),
            What::Missing { intended } => {
                self.searched(event, start, RED, "error: no match found", &[]);
                self.intended(key, *intended);
            }
            What::Unsearchable { reasons, intended, .. } => {
                self.searched(event, start, RED, "error: match failed for invalid pattern", reasons);
                self.intended(key, *intended);
            }
        }
    }

    fn searched(
        &mut self,
        event: &Event,
        start: Span,
        colour: &'static str,
        note: &str,
        reasons: &[(usize, String)],
    ) {
        self.add(event.directive, event.searched, Some(b'X'), colour, note);
        for (_, reason) in reasons {
            self.add(event.directive, start, None, colour, reason);
        }
        for value in &event.values {
            self.add(event.directive, start, None, colour, &value_text(value));
        }
    }

    fn intended(&mut self, key: Option<usize>, intended: Option<usize>) {
        if let Some(at) = intended {
            self.add(key, Span::new(at, at), Some(b'?'), MAGENTA, "possible intended match");
        }
    }

    fn add(&mut self, key: Option<usize>, span: Span, mark: Option<u8>, colour: &'static str, note: &str) {
        let (first, first_column) = self.lines.place(span.start);
        let (last, last_column) = self.lines.place(span.end);
        // A range that ends where a line begins does not reach into that line.
        let (last, end) =
            if last > first && last_column == 1 { (last - 1, None) } else { (last, Some(last_column - 1)) };
        self.keys.push(key);
        self.made.push(Annotation {
            label: String::new(),
            lines: (first, last),
            columns: (first_column - 1, end),
            mark,
            note: note.to_owned(),
            colour,
            is_good_match: false,
        });
    }
}

impl Scene<'_> {
    /// Where a check is: the number of an option, or the byte of the check file that its pattern starts at.
    fn place(&self, key: Option<usize>) -> (Option<usize>, usize) {
        let Some(index) = key else { return (None, self.file.end) };
        (self.file.directives()[index].implicit, self.file.starts[index].1)
    }

    /// `check:3`, `not:imp1`.
    fn label(&self, key: Option<usize>, checks: &Lines<'_>) -> String {
        let Some(index) = key else { return format!("eof:{}", checks.line(self.file.end)) };
        let directive = &self.file.directives()[index];
        let kind = match directive.kind {
            Kind::Plain if directive.count > 1 => "count",
            Kind::Plain => "check",
            Kind::Next => "next",
            Kind::Same => "same",
            Kind::Empty => "empty",
            Kind::Not => "not",
            Kind::Dag => "dag",
            Kind::Label => "label",
        };
        match directive.implicit {
            Some(number) => format!("{kind}:imp{number}"),
            None => format!("{kind}:{}", directive.line),
        }
    }
}
