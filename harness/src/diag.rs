//! Rendering of problems in rustc's look, so that editors' and CI's problem matchers work. The only room
//! that knows how a message is drawn; what it says is decided where the problem is found.

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use runproof_directives::{Finding, Severity, Source, Span};

/// A problem outside a test file: configuration, fleet, command line, bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Code, as `explain` takes it.
    pub code: &'static str,
    /// What is wrong, one sentence.
    pub message: String,
    /// Where, when it is in a file with text to point at.
    pub place: Option<Box<Place>>,
    /// Ways out, one per line.
    pub help: Vec<String>,
}

/// A range in a file outside the suites' tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub source: Source,
    /// The range.
    pub span: Span,
    /// A few words for the underline.
    pub label: String,
}

impl Problem {
    /// A problem without a place.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), place: None, help: Vec::new() }
    }

    /// Adds the place.
    #[must_use]
    pub fn at(mut self, source: &Source, span: Span, label: impl Into<String>) -> Self {
        self.place = Some(Box::new(Place { source: source.clone(), span, label: label.into() }));
        self
    }

    /// Adds a way out.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }
}

/// How to draw: with colours on a terminal, without elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours.
    pub colour: bool,
}

impl Style {
    fn renderer(self) -> Renderer {
        if self.colour { Renderer::styled() } else { Renderer::plain() }
    }
}

/// Renders a finding of a test file.
pub fn finding(source: &Source, finding: &Finding, style: Style) -> String {
    let text = Text::of(source, finding);
    let level = match finding.severity {
        Severity::Refusal => Level::ERROR,
        Severity::Note | Severity::Known => Level::NOTE,
    };
    let mut snippet = text
        .snippet(source)
        .annotation(AnnotationKind::Primary.span(text.range(finding.span)).label(finding.label.as_str()));
    for (span, label) in &finding.related {
        snippet = snippet.annotation(AnnotationKind::Context.span(text.range(*span)).label(label.as_str()));
    }
    let mut first = level.primary_title(finding.message.as_str()).id(finding.code).element(snippet);
    for help in &finding.help {
        first = first.element(Level::HELP.message(help.as_str()));
    }
    let mut groups: Vec<Group<'_>> = vec![first];
    if let Some(suggestion) = &finding.suggestion {
        groups.push(Level::HELP.secondary_title("write it like this").element(
            text.snippet(source).patch(Patch::new(text.range(suggestion.span), suggestion.text.as_str())),
        ));
    }
    style.renderer().render(&groups)
}

/// Renders a place in a test file with a title: the head of a failure report.
pub fn marked(source: &Source, span: Span, title: &str, label: &str, style: Style) -> String {
    let finding = Finding::refusal("", span, title, label);
    let text = Text::of(source, &finding);
    let group = Level::ERROR.primary_title(title).element(
        text.snippet(source).annotation(AnnotationKind::Primary.span(text.range(span)).label(label)),
    );
    style.renderer().render(&[group])
}

/// Renders a problem outside test files.
pub fn problem(problem: &Problem, style: Style) -> String {
    let title = Level::ERROR.primary_title(problem.message.as_str()).id(problem.code);
    let text;
    let mut group =
        match &problem.place {
            Some(place) => {
                let finding = Finding::refusal("", place.span, "", "");
                text = Text::of(&place.source, &finding);
                title.element(text.snippet(&place.source).annotation(
                    AnnotationKind::Primary.span(text.range(place.span)).label(place.label.as_str()),
                ))
            }
            None => Group::with_title(title),
        };
    for help in &problem.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    style.renderer().render(&[group])
}

/// The part of a file that a message shows, as UTF-8: a byte that is none is shown as U+FFFD. Only the
/// lines around the places are taken, so a message about a huge file stays cheap.
struct Text {
    text: String,
    first_line: usize,
    /// (offset in the file, offset in `text`) at each place where the two drift apart.
    drift: Vec<(usize, usize)>,
}

impl Text {
    fn of(source: &Source, finding: &Finding) -> Self {
        let bytes = &source.bytes;
        let spans = std::iter::once(finding.span)
            .chain(finding.related.iter().map(|(span, _)| *span))
            .chain(finding.suggestion.iter().map(|s| s.span));
        let (mut start, mut end) = (bytes.len(), 0);
        for span in spans {
            start = start.min(span.start);
            end = end.max(span.end);
        }
        let start = bytes[..start.min(bytes.len())].iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        let end = end.clamp(start, bytes.len());
        let end = bytes[end..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |i| end + i);
        let mut text = String::new();
        let mut drift = vec![(start, 0)];
        let mut at = start;
        for chunk in bytes[start..end].utf8_chunks() {
            text.push_str(chunk.valid());
            at += chunk.valid().len();
            if !chunk.invalid().is_empty() {
                text.push('\u{FFFD}');
                at += chunk.invalid().len();
                drift.push((at, text.len()));
            }
        }
        Self { text, first_line: source.line(start) as usize, drift }
    }

    fn snippet<'a, T: Clone>(&'a self, source: &'a Source) -> Snippet<'a, T> {
        Snippet::source(self.text.as_str()).line_start(self.first_line).path(source.name.as_str())
    }

    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let map = |offset: usize| {
            let (from, to) =
                self.drift.iter().rev().find(|(from, _)| *from <= offset).copied().unwrap_or((offset, 0));
            let mut at = (to + offset - from).min(self.text.len());
            while !self.text.is_char_boundary(at) {
                at += 1;
            }
            at
        };
        let start = map(span.start);
        start..map(span.end).max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { colour: false };

    #[test]
    fn a_finding_reads_like_rustc() {
        let source = Source::new("t.vx", "// RUN: true\n// CHEKC: divu\n");
        let f = Finding::refusal(
            "near-miss",
            Span::new(16, 21),
            "`CHEKC` is no directive",
            "did you mean CHECK?",
        )
        .help("write it in lower case when it is prose")
        .suggest(Span::new(16, 21), "CHECK");
        let text = finding(&source, &f, PLAIN);
        assert!(text.starts_with("error[near-miss]: `CHEKC` is no directive\n"), "{text}");
        assert!(text.contains("--> t.vx:2:4"), "{text}");
        assert!(text.contains("^^^^^ did you mean CHECK?"), "{text}");
        assert!(text.contains("CHECK: divu"), "{text}");
    }

    #[test]
    fn bytes_that_are_no_utf8_move_nothing() {
        let source = Source::new("t.vx", b"// \xff\xfe CHEKC: a\n".to_vec());
        let f = Finding::refusal("near-miss", Span::new(6, 11), "m", "here");
        let text = finding(&source, &f, PLAIN);
        assert!(text.contains("^^^^^ here"), "{text}");
        // The marker stands under the word: two replacement characters before it, as in the file.
        let lines: Vec<&str> = text.lines().collect();
        let word = lines.iter().find(|l| l.contains("CHEKC")).unwrap();
        let mark = lines.iter().find(|l| l.contains("^^^^^")).unwrap();
        let column = |line: &str, needle: &str| line[..line.find(needle).unwrap()].chars().count();
        assert_eq!(column(word, "CHEKC"), column(mark, "^^^^^"));
    }

    #[test]
    fn a_span_past_the_end_is_drawn_at_the_end() {
        let source = Source::new("t.vx", "abc");
        let text = marked(&source, Span::new(10, 20), "title", "label", PLAIN);
        assert!(text.contains("title"), "{text}");
    }
}
