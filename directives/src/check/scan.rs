//! Check lines in a file: where a prefix stands, and what its suffix makes of it. Patterns are read elsewhere.

use memchr::memmem::Finder;

use super::options::Options;

/// What a check asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// `CHECK:`, and `CHECK-COUNT-n:` with its count.
    Plain,
    /// `-NEXT`: on the line after the last match.
    Next,
    /// `-SAME`: on the line of the last match.
    Same,
    /// `-EMPTY`: the next line is empty.
    Empty,
    /// `-NOT`: absent between its neighbours.
    Not,
    /// `-DAG`: in any order among its like.
    Dag,
    /// `-LABEL`: cuts the input into blocks.
    Label,
}

impl Kind {
    /// The suffix, without its dash.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Next => "NEXT",
            Self::Same => "SAME",
            Self::Empty => "EMPTY",
            Self::Not => "NOT",
            Self::Dag => "DAG",
            Self::Label => "LABEL",
        }
    }
}

/// What stands behind a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Check {
        kind: Kind,
        count: u32,
        literal: bool,
    },
    Comment,
    Underscore,
    StackedNot,
    BadCount,
    /// Strict mode only: what would be skipped in silence.
    Unknown,
}

/// A prefix in the file with something behind it.
pub(super) struct Found<'o> {
    pub(super) prefix: &'o str,
    pub(super) shape: Shape,
    /// Where the prefix starts.
    pub(super) start: usize,
    /// Past the colon.
    pub(super) end: usize,
}

/// Finds the check lines of a file one after the other.
pub(super) struct Scanner<'a, 'o> {
    text: &'a [u8],
    strict: bool,
    /// Longest first, each with where it stands next.
    prefixes: Vec<Prefix<'o>>,
    /// Behind the last prefix that was looked at.
    pub(super) reached: usize,
}

struct Prefix<'o> {
    name: &'o str,
    comment: bool,
    finder: Finder<'o>,
    next: Option<usize>,
}

impl<'a, 'o> Scanner<'a, 'o> {
    pub(super) fn new(text: &'a [u8], options: &'o Options) -> Self {
        let checks = options.check_prefixes().into_iter().map(|name| (name, false));
        let comments = options.comment_prefixes().into_iter().map(|name| (name, true));
        let mut prefixes: Vec<Prefix<'o>> = checks
            .chain(comments)
            .map(|(name, comment)| {
                let finder = Finder::new(name);
                let next = finder.find(text);
                Prefix { name, comment, finder, next }
            })
            .collect();
        prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.name.len()));
        Self { text, strict: options.strict, prefixes, reached: 0 }
    }

    /// The next check line at `from` or behind.
    pub(super) fn next(&mut self, mut from: usize) -> Option<Found<'o>> {
        loop {
            self.reached = from;
            let (start, index) = self.next_prefix(from)?;
            let prefix = &self.prefixes[index];
            let end = start + prefix.name.len();
            if start == from || !is_part_of_word(self.text[start - 1]) {
                let rest = &self.text[end..];
                let shape = if prefix.comment { comment(rest) } else { shape(rest) };
                if let Some((shape, length)) = shape {
                    return Some(Found { prefix: prefix.name, shape, start, end: end + length });
                }
                if self.strict
                    && !prefix.comment
                    && let Some(length) = unknown_shape(rest)
                {
                    let shape = Shape::Unknown;
                    return Some(Found { prefix: prefix.name, shape, start, end: end + length });
                }
            }
            from = end + self.text[end..].iter().take_while(|b| is_part_of_word(**b)).count();
        }
    }

    fn next_prefix(&mut self, from: usize) -> Option<(usize, usize)> {
        let mut best: Option<(usize, usize)> = None;
        for (index, prefix) in self.prefixes.iter_mut().enumerate() {
            if prefix.next.is_some_and(|next| next < from) {
                prefix.next = prefix.finder.find(&self.text[from..]).map(|offset| from + offset);
            }
            if let Some(next) = prefix.next
                && best.is_none_or(|(start, _)| next < start)
            {
                best = Some((next, index));
            }
        }
        best
    }
}

fn is_part_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn comment(rest: &[u8]) -> Option<(Shape, usize)> {
    rest.starts_with(b":").then_some((Shape::Comment, 1))
}

/// What the text behind a check prefix makes of it, and its length with the colon. Nothing if it is no check.
fn shape(rest: &[u8]) -> Option<(Shape, usize)> {
    let check = |kind, count, at: usize| {
        let (literal, length) = modifiers(&rest[at..])?;
        Some((Shape::Check { kind, count, literal }, at + length))
    };
    match rest.first()? {
        b':' | b'{' => return check(Kind::Plain, 1, 0),
        b'-' | b'_' => {}
        _ => return None,
    }
    let found = if let Some(number) = rest[1..].strip_prefix(b"COUNT-") {
        match count(number) {
            Some((count, length)) => check(Kind::Plain, count, 7 + length),
            None => {
                let sign = usize::from(number.starts_with(b"-"));
                let digits = number[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
                Some((Shape::BadCount, if digits > 0 { 7 + sign + digits } else { 7 }))
            }
        }
    } else if STACKED_NOT.iter().any(|stacked| rest[1..].starts_with(stacked.as_bytes())) {
        Some((Shape::StackedNot, 1))
    } else {
        let kind = KINDS.iter().find(|kind| rest[1..].starts_with(kind.suffix().as_bytes()))?;
        check(*kind, 1, 1 + kind.suffix().len())
    };
    match found {
        Some((_, length)) if rest[0] == b'_' => Some((Shape::Underscore, length)),
        other => other,
    }
}

const KINDS: [Kind; 6] = [Kind::Next, Kind::Same, Kind::Not, Kind::Dag, Kind::Label, Kind::Empty];
const STACKED_NOT: [&str; 8] =
    ["DAG-NOT:", "NOT-DAG:", "NEXT-NOT:", "NOT-NEXT:", "SAME-NOT:", "NOT-SAME:", "EMPTY-NOT:", "NOT-EMPTY:"];

/// The number of a `-COUNT-` and its length; a colon or a modifier has to follow.
fn count(text: &[u8]) -> Option<(u32, usize)> {
    let length = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let number: i32 = std::str::from_utf8(&text[..length]).ok()?.parse().ok()?;
    let follows = matches!(text.get(length), Some(b':' | b'{'));
    let number = u32::try_from(number).ok().filter(|number| *number > 0 && follows)?;
    Some((number, length))
}

/// `:` or `{LITERAL}:`; whether it is literal, and the length.
fn modifiers(text: &[u8]) -> Option<(bool, usize)> {
    if text.starts_with(b":") {
        return Some((false, 1));
    }
    let mut rest = text.strip_prefix(b"{")?;
    loop {
        rest = rest.trim_ascii_start().strip_prefix(b"LITERAL")?.trim_ascii_start();
        match rest.strip_prefix(b",") {
            Some(more) => rest = more,
            None => break,
        }
    }
    let rest = rest.strip_prefix(b"}:")?;
    Some((true, text.len() - rest.len()))
}

/// Length of a suffix or modifier with its colon that is none of those known.
fn unknown_shape(rest: &[u8]) -> Option<usize> {
    let length = match rest.first()? {
        b'-' => rest.iter().take_while(|b| is_part_of_word(**b)).count(),
        b'{' => rest.iter().take_while(|b| !matches!(b, b'}' | b'\n')).count() + 1,
        _ => return None,
    };
    let modifier = match rest.get(length) {
        Some(b'{') => rest[length..].iter().take_while(|b| !matches!(b, b'}' | b'\n')).count() + 1,
        _ => 0,
    };
    let end = length + modifier;
    (rest.get(end) == Some(&b':')).then_some(end + 1)
}
