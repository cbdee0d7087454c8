//! POSIX extended regular expressions over bytes: leftmost, then longest; lines are bounded; back-references.
//!
//! Ours, since no library has this dialect: Rust's takes the first branch, not the longest, knows no back-reference and
//! reads `\d` as a digit. Nothing about directives enters here.

mod backtrack;
mod bracket;
mod bytes;
mod dissect;
mod program;
mod search;
mod syntax;
#[cfg(test)]
mod tests;

pub(super) use backtrack::TooManySteps;
pub(super) use search::Scratch;

use program::Program;
use search::Run;

/// Why a text is no expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EreError {
    /// A `(` or `)` without its partner.
    Parenthesis,
    /// A `[` without its `]`.
    Bracket,
    /// A `{` without its `}`.
    Brace,
    /// A repetition with nothing to repeat, or two of them.
    Repetition,
    /// A repetition count that is no number up to 255, or `{m,n}` with m above n.
    Count,
    /// Nothing where something has to stand: an empty expression or an empty branch.
    Empty,
    /// A backslash at the end.
    Backslash,
    /// A back-reference to a group that is not closed before it.
    BackReference,
    /// A range in brackets whose end is before its start.
    Range,
    /// An unknown `[:class:]`.
    Class,
    /// An unknown `[.name.]` or `[=name=]`.
    Collating,
    /// Brackets nested deeper than the matcher goes.
    Depth,
    /// Repetition counts that multiply to more than the matcher takes.
    Size,
}

impl std::fmt::Display for EreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Depth => {
                return write!(f, "is nested deeper than {} brackets", syntax::MAX_DEPTH);
            }
            Self::Parenthesis => "has a parenthesis without its partner",
            Self::Bracket => "has an open bracket",
            Self::Brace => "has an open brace",
            Self::Repetition => "has a repetition ('*', '+', '?', '{n}') with nothing to repeat",
            Self::Count => "has a repetition count that is not 0 to 255, or not in order",
            Self::Empty => "has an empty part",
            Self::Backslash => "ends in a backslash",
            Self::BackReference => "refers back to a group that is not closed before it",
            Self::Range => "has a range whose end is before its start",
            Self::Class => "has an unknown character class",
            Self::Collating => "has an unknown collating element",
            Self::Size => "has repetition counts that multiply to more than 100,000 steps",
        }
        .fmt(f)
    }
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) struct Ere {
    program: Program,
}

/// A match: the whole, then each group from 1 on.
pub(super) struct Found {
    pub(super) range: (usize, usize),
    groups: dissect::Spans,
}

impl Found {
    /// What a group took; a group that took no part took nothing, at the match's start.
    pub(super) fn group(&self, number: usize) -> (usize, usize) {
        match self.groups.get(number) {
            Some((Some(start), Some(end))) if start <= end => (*start, *end),
            _ => (self.range.0, self.range.0),
        }
    }
}

impl Ere {
    /// Compiles `text`; with `fold_case` an ASCII letter stands for both its cases.
    pub(super) fn new(text: &[u8], fold_case: bool) -> Result<Self, EreError> {
        Ok(Self { program: Program::compile(text, fold_case)? })
    }

    /// Number of groups in a text, if it is an expression.
    pub(super) fn count_groups(text: &[u8]) -> Result<usize, EreError> {
        syntax::parse(text, false).map(|(_, counts)| counts.groups as usize)
    }

    /// The leftmost of the longest matches in `text`, with its groups if they are wanted.
    pub(super) fn find(
        &self,
        text: &[u8],
        groups_wanted: bool,
        scratch: &mut Scratch,
    ) -> Result<Option<Found>, TooManySteps> {
        let program = &self.program;
        if program.refers_back {
            return program.find_back(text, scratch);
        }
        let Some(range) = program.find(text, 0, scratch) else { return Ok(None) };
        let mut groups = Vec::new();
        if groups_wanted {
            groups = vec![(None, None); program.counts.groups as usize + 1];
            let run = Run { program, steps: (0, program.ops.len()), text };
            run.dissect(range.0, range.1, &mut groups, scratch);
        }
        Ok(Some(Found { range, groups }))
    }
}
