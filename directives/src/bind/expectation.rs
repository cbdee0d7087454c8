//! Directives about one command: expectations, placements, controls.

use super::Binder;
use crate::codes;
use crate::finding::Finding;
use crate::model::{
    CommandStep, ExitExpectation, GoldenFile, Payload, Placed, Spanned, StdoutExpectation, Step, TextLine,
};
use crate::payload;
use crate::raw::Raw;
use crate::source::Span;
use crate::syntax::ExpectMode;
use crate::table::{Directive, Keyword, PayloadKind};
use crate::text::{TextPattern, Tolerance};

impl Binder<'_> {
    pub(super) fn expectation(&mut self, raw: &Raw, directive: &Directive, step: usize) {
        match directive.id {
            Keyword::Placed => self.placed(raw, step),
            Keyword::ControlRun => {
                if let Some(payload) = raw.joined(self.source, &mut self.file.findings) {
                    if payload.text.is_empty() {
                        let message = "CONTROL_RUN has no command".to_owned();
                        self.bad_payload(raw.span, message, "write a command behind the colon");
                    } else if let Some(command) = self.command(step) {
                        command.controls.push(payload);
                    }
                }
            }
            _ => {
                self.compared.push(step);
                match directive.payload {
                    PayloadKind::Text => self.text_line(raw, directive, step),
                    _ => self.value(raw, directive, step),
                }
            }
        }
    }

    fn command(&mut self, step: usize) -> Option<&mut CommandStep> {
        match self.file.steps.get_mut(step) {
            Some(Step::Command(command)) => Some(command),
            _ => None,
        }
    }

    fn text_line(&mut self, raw: &Raw, directive: &Directive, step: usize) {
        let (bytes, start) = raw.text(self.source);
        let contains = directive.id == Keyword::ExpectContains
            || directive.id == Keyword::Expect && self.syntax.expect == ExpectMode::Contains;
        let whole = matches!(directive.id, Keyword::Expect | Keyword::ExpectNear) && !contains;
        let tolerance = match (directive.id, raw.attributes.number("rel"), raw.attributes.number("abs")) {
            (Keyword::ExpectNear, None, None) => {
                let message = "EXPECT(near) has no tolerance".to_owned();
                self.file.findings.push(
                    Finding::refusal(codes::BAD_ATTRIBUTE, raw.span, message, "rel or abs is missing")
                        .help("write `EXPECT(near, rel=1e-5)` or `EXPECT(near, abs=0.01)`"),
                );
                return;
            }
            (Keyword::ExpectNear, rel, abs) => {
                Some(Tolerance { rel: rel.unwrap_or(0.0), abs: abs.unwrap_or(0.0) })
            }
            _ => None,
        };
        // Text that may stand anywhere: blanks at its ends belong to the writing, not to the claim.
        let bytes = if whole { bytes } else { bytes.trim_ascii_end() };
        let pattern = match TextPattern::new(bytes, tolerance) {
            Ok(pattern) => pattern,
            Err(error) => {
                let span = Span::new(start + error.span.start, start + error.span.end);
                self.bad_payload(
                    span,
                    format!("{}: {}", directive.title(), error.message),
                    "see `explain EXPECT`",
                );
                return;
            }
        };
        if !whole && pattern.accepts_every_text() {
            let message = format!("{} accepts every text", directive.title());
            let help = "write what must be there; for the exit status alone there is `EXPECT(exit)`";
            self.file
                .findings
                .push(Finding::refusal(codes::ALWAYS_TRUE, raw.span, message, "can never fail").help(help));
            return;
        }
        let line = TextLine {
            text: String::from_utf8_lossy(bytes).into_owned(),
            pattern,
            span: raw.span,
            line: raw.line,
            keyword: directive.title(),
        };
        let Some(command) = self.command(step) else {
            return;
        };
        match (directive.id, &mut command.stdout, contains) {
            (Keyword::ExpectStderr, ..) => command.stderr.push(line),
            (Keyword::ExpectRefused, ..) => command.refused.push(line),
            (_, StdoutExpectation::Whole(lines), false) | (_, StdoutExpectation::Contains(lines), true) => {
                lines.push(line);
            }
            (_, stdout @ StdoutExpectation::Unchecked, true) => {
                *stdout = StdoutExpectation::Contains(vec![line]);
            }
            (_, stdout @ StdoutExpectation::Unchecked, false) => {
                *stdout = StdoutExpectation::Whole(vec![line]);
            }
            (_, StdoutExpectation::Whole(lines) | StdoutExpectation::Contains(lines), _) => {
                let first = lines.first().map(|l| l.span);
                self.mixed(raw.span, first);
            }
        }
    }

    fn mixed(&mut self, span: Span, first: Option<Span>) {
        let message =
            "EXPECT(contains) and whole-stdout lines contradict each other for one command".to_owned();
        let mut finding = Finding::refusal(codes::CONTRADICTION, span, message, "part or whole?")
            .help("use one kind for the command");
        if let Some(first) = first {
            finding = finding.related(first, "the other kind");
        }
        self.file.findings.push(finding);
    }

    fn value(&mut self, raw: &Raw, directive: &Directive, step: usize) {
        let Some(payload) = raw.joined(self.source, &mut self.file.findings) else {
            return;
        };
        let text = payload.text.as_str();
        match directive.id {
            Keyword::ExpectExit => {
                if let Some(code) = self.fault(raw, &payload, payload::exit_code(text)) {
                    let end = match code {
                        Some(value) => ExitExpectation::Code(Spanned { value, span: raw.span }),
                        None => ExitExpectation::Nonzero(raw.span),
                    };
                    self.end(raw, directive, step, end);
                }
            }
            Keyword::ExpectSignal => {
                if let Some(value) = self.fault(raw, &payload, payload::signal(text)) {
                    self.end(
                        raw,
                        directive,
                        step,
                        ExitExpectation::Signal(Spanned { value, span: raw.span }),
                    );
                }
            }
            Keyword::ExpectFile => {
                if text.is_empty() {
                    let message = "EXPECT(file) names no golden file".to_owned();
                    self.bad_payload(raw.span, message, "write `EXPECT(file=PATH): golden file`");
                    return;
                }
                let golden = GoldenFile {
                    produced: raw.attributes.value("file").map(|v| v.value).unwrap_or_default(),
                    golden: text.to_owned(),
                    span: raw.span,
                    line: raw.line,
                };
                if let Some(command) = self.command(step) {
                    command.files.push(golden);
                }
            }
            Keyword::ExpectIdentical => {
                if let Some(value) = self.fault(raw, &payload, payload::identical(text)) {
                    let span = raw.span;
                    if let Some(command) = self.command(step) {
                        command.identical.push(Spanned { value, span });
                    }
                    if self.file.variants.is_empty() {
                        let message =
                            "EXPECT(identical) can never be compared: the file has no VARIANTS".to_owned();
                        self.file.findings.push(
                            Finding::refusal(codes::UNBOUND, raw.span, message, "one variant equals itself")
                                .help("write a VARIANTS line, or take this out"),
                        );
                    }
                }
            }
            Keyword::ExpectLink => self.link(raw, directive, step, &payload),
            _ => {}
        }
    }

    fn end(&mut self, raw: &Raw, directive: &Directive, step: usize, end: ExitExpectation) {
        let Some(command) = self.command(step) else {
            return;
        };
        let first = match &command.exit {
            ExitExpectation::Default => {
                command.exit = end;
                return;
            }
            ExitExpectation::Code(c) => c.span,
            ExitExpectation::Nonzero(span) => *span,
            ExitExpectation::Signal(s) => s.span,
        };
        let both =
            matches!(command.exit, ExitExpectation::Signal(_)) != matches!(end, ExitExpectation::Signal(_));
        if both {
            let message = "an exit code and a signal contradict each other for one command".to_owned();
            self.file.findings.push(
                Finding::refusal(codes::CONTRADICTION, raw.span, message, "a program ends one way")
                    .related(first, "the other")
                    .help("take one of them out"),
            );
        } else {
            self.duplicate(directive, raw.span, first, "one command");
        }
    }

    fn link(&mut self, raw: &Raw, directive: &Directive, step: usize, payload: &Payload) {
        let Some(fields) = self.fault(raw, payload, payload::assignments(&payload.text)) else {
            return;
        };
        let number =
            |name: &str| fields.iter().find(|(k, ..)| k == name).and_then(|(_, v, _)| v.parse().ok());
        let (Some(messages), Some(bytes), 2) = (number("messages"), number("bytes"), fields.len()) else {
            let message = "EXPECT(link) is `messages=N bytes=N`".to_owned();
            self.bad_payload(payload.span, message, "write both, as whole numbers");
            return;
        };
        if self.file.peers.is_empty() {
            let message = "EXPECT(link) can never be compared: the file has no PEERS".to_owned();
            self.file.findings.push(
                Finding::refusal(codes::UNBOUND, raw.span, message, "there is no link")
                    .help("write a PEERS line, or take this out"),
            );
        }
        let span = raw.span;
        let first = self.command(step).and_then(|command| {
            let first = command.link.as_ref().map(|l| l.span);
            command.link = Some(Spanned { value: (messages, bytes), span });
            first
        });
        if let Some(first) = first {
            self.duplicate(directive, raw.span, first, "one command");
        }
    }

    fn placed(&mut self, raw: &Raw, step: usize) {
        let Some(payload) = raw.joined(self.source, &mut self.file.findings) else {
            return;
        };
        let Some((record, fields, count)) = self.fault(raw, &payload, payload::placed(&payload.text)) else {
            return;
        };
        let placed = Placed {
            kind: raw.attributes.first_word().map(|w| w.value),
            record,
            fields,
            count,
            text: payload.text,
            span: raw.span,
            line: raw.line,
        };
        if let Some(command) = self.command(step) {
            command.placed.push(placed);
        }
    }
}
