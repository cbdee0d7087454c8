//! Problems are data: a code, a place, what, why and the way out. Rendering is elsewhere.

use crate::source::Span;

/// What a finding does to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Listed; the file is run.
    Note,
    /// A refusal that the suite's baseline knows: listed; the file is run.
    Known,
    /// The file is refused: nothing of it is run.
    Refusal,
}

/// One problem in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Code, as `explain` takes it: `unknown-directive`, `near-miss`, …
    pub code: &'static str,
    /// What it does to the file.
    pub severity: Severity,
    /// Where.
    pub span: Span,
    /// What is wrong, one sentence without a full stop, with the word that is wrong in back quotes.
    pub message: String,
    /// Why, for the underline: a few words.
    pub label: String,
    /// Ways out, one per line.
    pub help: Vec<String>,
    /// Other places that belong to it, each with a few words.
    pub related: Vec<(Span, String)>,
    /// Text that would mend it, for the place [`Suggestion::span`].
    pub suggestion: Option<Suggestion>,
}

/// A replacement that would mend a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What to replace.
    pub span: Span,
    /// With what.
    pub text: String,
}

impl Finding {
    /// A refusal with the three things every message has.
    pub fn refusal(
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity: Severity::Refusal,
            span,
            message: message.into(),
            label: label.into(),
            help: Vec::new(),
            related: Vec::new(),
            suggestion: None,
        }
    }

    /// A note: listed, not refused.
    pub fn note(
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Note, ..Self::refusal(code, span, message, label) }
    }

    /// Adds a way out.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }

    /// Adds a replacement.
    #[must_use]
    pub fn suggest(mut self, span: Span, text: impl Into<String>) -> Self {
        self.suggestion = Some(Suggestion { span, text: text.into() });
        self
    }
}
