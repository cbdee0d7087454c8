//! What happened while matching, step by step as LLVM's program goes: the material of its messages. Places are those of
//! the texts with white space made canonical, which is what that program shows. Nothing here decides.

use super::expression::{NoValue, lossy};
use super::file::CheckFile;
use super::pattern::{Body, Match, Obstacle, Part, Pattern, Why};
use super::variables::Values;
use crate::source::Span;

/// The steps of a run, as many as a verbosity asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// 0 keeps failures; 1 matches, too; 2 all.
    pub(super) level: u8,
    pub(super) events: Vec<Event>,
}

/// One search.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// The check; none for the end of the input, which a trailing `-NOT` or `-DAG` implies.
    pub(super) directive: Option<usize>,
    /// The range that was searched.
    pub(super) searched: Span,
    /// Which of the matches of a `-COUNT-n` this is, from 1, and how many there have to be.
    pub(super) round: Option<(u32, u32)>,
    /// The values that the pattern used: the text of each use, and its value.
    pub(super) values: Vec<Used>,
    pub(super) what: What,
}

/// A use of a value in a pattern: how it is written, and the value.
#[derive(Clone, Debug)]
pub(super) struct Used {
    pub(super) text: Vec<u8>,
    pub(super) value: Vec<u8>,
}

/// What came of a search.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// A match, the variables that it gave a value, and what became of it.
    Found { span: Span, captures: Vec<(String, Span)>, then: Then },
    /// A wanted text is not there; where it may have been meant.
    Missing { intended: Option<usize> },
    /// A forbidden text is not there.
    Absent,
    /// The pattern could not be searched for: the bytes of the pattern that are at fault, and why each is.
    Unsearchable { reasons: Vec<(usize, String)>, intended: Option<usize> },
}

/// What became of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Good,
    /// It overlaps this earlier match of a `-DAG`.
    Discarded(Span),
    /// It is on another line than it has to be: where the match before it ended.
    WrongLine(usize),
    Forbidden,
}

impl Event {
    pub(super) fn found(directive: Option<usize>, searched: Span, span: Span, then: Then) -> Self {
        let what = What::Found { span, captures: Vec::new(), then };
        Self { directive, searched, round: None, values: Vec::new(), what }
    }
}

/// The variables that a match gave a value, in the order in which their values stand.
pub(super) fn captures(file: &CheckFile, index: usize, found: &Match) -> Vec<(String, Span)> {
    let Body::Parts(parts) = &file.patterns[index].body else { return Vec::new() };
    let mut strings: Vec<_> =
        parts.strings.iter().map(|(name, _)| name.as_slice()).zip(&found.strings).collect();
    strings.sort_unstable_by_key(|(name, _)| *name);
    let numbers = parts.numbers.iter().map(|(id, ..)| file.names.numeric(*id).name.as_slice());
    let both = strings.into_iter().chain(numbers.zip(&found.numbers));
    let mut captures: Vec<(String, Span)> =
        both.map(|(name, (start, end))| (lossy(name), Span::new(*start, *end))).collect();
    captures.sort_by_key(|(_, span)| span.start);
    captures
}

/// Every use of a value in a pattern, with its value.
pub(super) fn values(pattern: &Pattern, values: &Values<'_>) -> Vec<Used> {
    let Body::Parts(parts) = &pattern.body else { return Vec::new() };
    let used = parts.parts.iter().filter_map(|part| match part {
        Part::String(name, _) => Some(Used { text: name.clone(), value: values.string(name)?.to_vec() }),
        Part::Number(number) => {
            let digits = number.digits(values).ok()?;
            Some(Used { text: number.content.clone(), value: digits.into_bytes() })
        }
        Part::Regex(_) | Part::Text(_) => None,
    });
    used.collect()
}

/// What kept a pattern from being searched for, in the words of LLVM's program.
pub(super) fn reasons(file: &CheckFile, obstacles: &[Obstacle]) -> Vec<(usize, String)> {
    let said = |why: &Why| match why {
        Why::UndefinedString(name) => format!("undefined variable: {}", lossy(name)),
        Why::NoValue(NoValue::Undefined(id, _)) => {
            format!("undefined variable: {}", lossy(&file.names.numeric(*id).name))
        }
        Why::NoValue(_) | Why::Negative(_) => {
            "unable to substitute variable or numeric expression: overflow error".to_owned()
        }
        Why::TooComplex => "the pattern takes too many steps".to_owned(),
    };
    obstacles.iter().map(|obstacle| (obstacle.at, said(&obstacle.why))).collect()
}
