//! What a run of checks found, as data. Places are byte ranges of the input as it was given; text is made elsewhere.

use super::near::Near;
use crate::source::Span;

/// Matches of one check that are kept; more are counted.
pub(super) const KEPT_MATCHES: usize = 64;

/// Outcome of all checks of a file on one input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The input is empty and may not be; nothing was matched.
    pub empty_input: bool,
    /// What failed, in the order in which it was met. None: the checks hold.
    pub failures: Vec<Failure>,
    /// What is worth saying and changes no verdict.
    pub notes: Vec<Note>,
    /// One for each of [`super::CheckFile::directives`].
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// The exit status of LLVM's program: 0 the checks hold, 1 some do not, 2 the input is empty.
    pub fn exit_status(&self) -> u8 {
        match (self.empty_input, self.failures.is_empty()) {
            (true, _) => 2,
            (false, false) => 1,
            (false, true) => 0,
        }
    }

    /// Whether the checks hold.
    pub fn holds(&self) -> bool {
        self.exit_status() == 0
    }
}

/// What became of one check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Times that it was searched for. A check that was never searched for decided nothing.
    pub executed: u32,
    /// Times that it matched. For a `-NOT` each is a failure.
    pub matched: u32,
    /// The first matches.
    pub matches: Vec<Matched>,
    /// The last range that was searched.
    pub searched: Option<Span>,
}

/// One match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matched {
    /// Where.
    pub span: Span,
    /// Variables that it gave a value: name, and where the value is.
    pub captures: Vec<(String, Span)>,
}

/// A check that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Index into [`super::CheckFile::directives`].
    pub directive: usize,
    /// What happened.
    pub kind: FailureKind,
    /// LLVM's program ends before it meets this one: an earlier failure left the place open.
    pub after_failure: bool,
}

/// How a check fails.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// A wanted text is not there.
    NotFound {
        /// Range that was searched.
        searched: Span,
        /// The check and match before it, if any: the range starts behind it.
        after: Option<(usize, Span)>,
        /// Matches before this one and matches wanted, for a `-COUNT-n`.
        counted: Option<(u32, u32)>,
        /// Values that were put into the pattern.
        values: Vec<Binding>,
        /// What nearly matches, and how it differs.
        near: Option<Near>,
    },
    /// A `-NEXT`, `-SAME` or `-EMPTY` whose match is on another line.
    WrongLine {
        /// The match.
        found: Span,
        /// The match before it ended here; 0 if it is the first of its block.
        previous: Span,
        /// Line ends between the two.
        line_ends: usize,
    },
    /// A forbidden text is there.
    Forbidden {
        /// The match.
        found: Span,
        /// Range that was searched.
        searched: Span,
        /// The check that ends the range was not found, so the range goes on to the end of the block.
        open_ended: bool,
    },
    /// It cannot be searched for.
    Unsearchable {
        /// Range that would have been searched.
        searched: Span,
        /// Why.
        reasons: Vec<Reason>,
    },
}

/// A value that a pattern used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Why a pattern cannot be searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A variable without a value.
    Undefined(String),
    /// A negative number in a format without a sign.
    Negative(String),
    /// A division by zero.
    DivisionByZero,
    /// A number with more than 10,000 digits.
    TooLarge,
    /// Back-references that take too many steps, or values that make the pattern too large.
    TooComplex,
}

/// Worth saying, without any weight for the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// A `-NOT` whose range has nothing in it but white space: it cannot fail there.
    LookedAtNothing {
        /// Index of the check.
        directive: usize,
        /// The range.
        searched: Span,
        /// The match that it starts behind.
        after: Option<Span>,
        /// The range goes up to the end of the input.
        at_end: bool,
    },
    /// Not searched for, since an earlier failure left its place open.
    NotTried {
        /// Index of the check.
        directive: usize,
    },
}

impl Report {
    /// Every span, for turning them into places of the original input.
    pub(super) fn spans_mut(&mut self) -> Vec<&mut Span> {
        let mut spans = Vec::new();
        for outcome in &mut self.outcomes {
            spans.extend(&mut outcome.searched);
            for matched in &mut outcome.matches {
                spans.push(&mut matched.span);
                spans.extend(matched.captures.iter_mut().map(|(_, span)| span));
            }
        }
        for failure in &mut self.failures {
            match &mut failure.kind {
                FailureKind::NotFound { searched, after, near, .. } => {
                    spans.push(searched);
                    spans.extend(after.as_mut().map(|(_, span)| span));
                    spans.extend(near.as_mut().map(Near::span_mut));
                }
                FailureKind::WrongLine { found, previous, .. } => spans.extend([found, previous]),
                FailureKind::Forbidden { found, searched, .. } => spans.extend([found, searched]),
                FailureKind::Unsearchable { searched, .. } => spans.push(searched),
            }
        }
        for note in &mut self.notes {
            if let Note::LookedAtNothing { searched, after, .. } = note {
                spans.push(searched);
                spans.extend(after);
            }
        }
        spans
    }
}
