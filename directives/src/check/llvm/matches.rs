//! Steps of a run to messages.

use super::super::log::{Event, Then, Used, What};
use super::Scene;
use super::lines::Lines;
use super::message::{Messages, Paint, Severity};
use crate::check::scan::Kind;
use crate::source::Span;

/// The messages of a run. Good news are only told if asked for and not shown in a dump.
pub(in crate::check) fn matches_text(scene: &Scene<'_>, out: &mut Vec<u8>, good_news: bool) {
    if scene.log.events.is_empty() {
        return;
    }
    let paint = Paint(scene.options.color);
    let teller = Teller {
        scene,
        checks: Messages { name: scene.check_name, lines: scene.check_lines(), paint },
        input: Messages { name: scene.input_name, lines: scene.input_lines(), paint },
        good_news,
    };
    scene.log.events.iter().for_each(|event| teller.event(out, event));
}

struct Teller<'a> {
    scene: &'a Scene<'a>,
    checks: Messages<'a>,
    input: Messages<'a>,
    good_news: bool,
}

impl Teller<'_> {
    fn event(&self, out: &mut Vec<u8>, event: &Event) {
        let name = event.directive.map_or_else(|| "implicit EOF".to_owned(), |index| self.scene.name(index));
        let round = event.round.map_or_else(String::new, |(round, of)| format!(" ({round} out of {of})"));
        match &event.what {
            What::Found { span, captures, then } => {
                let forbidden = *then == Then::Forbidden;
                if forbidden {
                    let message = format!("{name}: excluded string found in input");
                    self.check(out, event.directive, 0, Severity::Error, &message);
                } else if self.good_news {
                    let message = format!("{name}: expected string found in input{round}");
                    self.check(out, event.directive, 0, Severity::Remark, &message);
                }
                if forbidden || self.good_news {
                    self.note(out, span.start, "found here", Some(*span));
                    self.values(out, span.start, &event.values);
                    for (name, span) in captures {
                        self.note(out, span.start, &format!("captured var \"{name}\""), Some(*span));
                    }
                }
                match then {
                    Then::Discarded(earlier) if self.good_news => {
                        let message = "match discarded, overlaps earlier DAG match here";
                        self.note(out, earlier.start, message, Some(*earlier));
                    }
                    Then::WrongLine(previous) => self.wrong_line(out, event.directive, *span, *previous),
                    _ => {}
                }
            }
            What::Missing { intended } => {
                let message = format!("{name}: expected string not found in input{round}");
                self.check(out, event.directive, 0, Severity::Error, &message);
                self.note(out, event.searched.start, "scanning from here", None);
                self.values(out, event.searched.start, &event.values);
                self.intended(out, *intended);
            }
            What::Absent if self.good_news => {
                let message = format!("{name}: excluded string not found in input");
                self.check(out, event.directive, 0, Severity::Remark, &message);
                self.note(out, event.searched.start, "scanning from here", None);
                self.values(out, event.searched.start, &event.values);
            }
            What::Absent => {}
            What::Unsearchable { reasons, intended, .. } => {
                for (at, reason) in reasons {
                    self.check(out, event.directive, *at, Severity::Error, reason);
                }
                self.values(out, event.searched.start, &event.values);
                self.intended(out, *intended);
            }
        }
    }

    /// A message about a check: the place is a byte of its pattern.
    fn check(
        &self,
        out: &mut Vec<u8>,
        directive: Option<usize>,
        at: usize,
        severity: Severity,
        message: &str,
    ) {
        let Some(index) = directive else {
            return self.checks.write(out, self.scene.file.end, severity, message, None);
        };
        let directive = &self.scene.file.directives()[index];
        if directive.implicit.is_none() {
            return self.checks.write(out, self.scene.file.starts[index].1 + at, severity, message, None);
        }
        implicit(out, &directive.pattern, at, severity, message, self.checks.paint);
    }

    fn note(&self, out: &mut Vec<u8>, at: usize, message: &str, range: Option<Span>) {
        self.input.write(out, at, Severity::Note, message, range);
    }

    fn values(&self, out: &mut Vec<u8>, at: usize, values: &[Used]) {
        for value in values {
            self.note(out, at, &value_text(value), None);
        }
    }

    fn intended(&self, out: &mut Vec<u8>, intended: Option<usize>) {
        if let Some(at) = intended {
            self.note(out, at, "possible intended match here", None);
        }
    }

    fn wrong_line(&self, out: &mut Vec<u8>, directive: Option<usize>, found: Span, previous: usize) {
        let Some(index) = directive else { return };
        let kind = self.scene.file.directives()[index].kind;
        let name = self.scene.file.directives()[index].name();
        let text = &self.input.lines.text[previous..found.start];
        let first_end = memchr::memchr2(b'\n', b'\r', text);
        let message = match (kind, first_end) {
            (Kind::Same, _) => "is not on the same line as the previous match",
            (_, None) => "is on the same line as previous match",
            _ => "is not on the line after the previous match",
        };
        self.check(out, directive, 0, Severity::Error, &format!("{name}: {message}"));
        self.note(out, found.start, "'next' match was here", None);
        self.note(out, previous, "previous match ended here", None);
        if let (Kind::Next | Kind::Empty, Some(end)) = (kind, first_end) {
            let pair = matches!(text[end..], [b'\n', b'\r', ..] | [b'\r', b'\n', ..]);
            let next_line = previous + end + 1 + usize::from(pair);
            self.note(out, next_line, "non-matching line after previous match is here", None);
        }
    }
}

/// A message about a pattern of the options.
pub(super) fn implicit(
    out: &mut Vec<u8>,
    pattern: &str,
    at: usize,
    severity: Severity,
    message: &str,
    paint: Paint,
) {
    let option = "-implicit-check-not='";
    let text = format!("{option}{pattern}'");
    let messages = Messages { name: "command line", lines: Lines::new(text.as_bytes()), paint };
    messages.write(out, option.len() + at, severity, message, None);
}

/// `with "V" equal to "1"`.
pub(super) fn value_text(used: &Used) -> String {
    let value = escaped(&used.value);
    let note = if value.as_bytes() == used.value { "" } else { " (escaped value)" };
    format!("with \"{}\" equal to \"{value}\"{note}", escaped(&used.text))
}

fn escaped(text: &[u8]) -> String {
    let mut escaped = String::new();
    for byte in text {
        match byte {
            b'\\' => escaped.push_str("\\\\"),
            b'\t' => escaped.push_str("\\t"),
            b'\n' => escaped.push_str("\\n"),
            b'"' => escaped.push_str("\\\""),
            b' '..=b'~' => escaped.push(char::from(*byte)),
            _ => escaped.push_str(&format!("\\{byte:03o}")),
        }
    }
    escaped
}
