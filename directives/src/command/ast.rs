//! A command line, parsed. Spans are byte ranges of the text that was parsed.

use crate::source::Span;

/// Pipelines joined by `&&`, `||`, `;`. `&&` and `||` bind equally, to the left; `;` binds weakest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// First pipeline.
    pub first: Pipeline,
    /// The others, each with what joins it to what stands before it.
    pub rest: Vec<(Join, Pipeline)>,
}

impl Script {
    /// Every pipeline in order.
    pub fn pipelines(&self) -> impl Iterator<Item = &Pipeline> {
        std::iter::once(&self.first).chain(self.rest.iter().map(|(_, p)| p))
    }
}

/// What joins two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;`
    Then,
}

/// Commands joined by `|`, possibly negated by `!`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Number of leading `!`.
    pub negations: u32,
    /// Commands, at least one.
    pub stages: Vec<Simple>,
    /// The whole pipeline.
    pub span: Span,
}

/// One command: assignments, words, redirections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simple {
    /// `VAR=value` before the first word.
    pub assignments: Vec<(String, Word)>,
    /// Words, the command's name first; empty only when there are assignments or redirections alone.
    pub words: Vec<Word>,
    /// Redirections in order.
    pub redirections: Vec<Redirection>,
    /// The whole command.
    pub span: Span,
}

/// A word: parts that are joined without blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Parts in order; empty for `''`.
    pub parts: Vec<Part>,
    /// The whole word.
    pub span: Span,
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text outside quotes, backslashes already taken out. In it `*`, `?` and `[…]` that were not quoted
    /// are separate parts.
    Bare(String),
    /// Text that stood in quotes or behind a backslash: never a glob.
    Quoted(String),
    /// An unquoted glob: `*`, `?` or a bracket expression.
    Glob(String),
}

impl Word {
    /// The text with quotes taken out; globs as written.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .map(|p| match p {
                Part::Bare(t) | Part::Quoted(t) | Part::Glob(t) => t.as_str(),
            })
            .collect()
    }
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// What is redirected.
    pub stream: Stream,
    /// To or from what.
    pub target: RedirectionTarget,
    /// The whole redirection.
    pub span: Span,
}

/// Which streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// `<`, `0<`
    Stdin,
    /// `>`, `1>`
    Stdout,
    /// `2>`
    Stderr,
    /// `&>`, `>&file`
    Both,
}

/// To or from what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedirectionTarget {
    /// From this file.
    Read(Word),
    /// To this file, emptied first.
    Write(Word),
    /// To the end of this file.
    Append(Word),
    /// To where the other output stream goes now: `2>&1`, `1>&2`.
    Same(Stream),
    /// `<<<`: this text and a newline.
    HereString(Word),
}
