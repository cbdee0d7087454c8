//! The shape of a directive's beginning: word, brackets, colon. Lexical only.

use crate::source::Span;

/// What follows the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// `:`
    Colon,
    /// Blanks and then `:`
    SpacedColon,
    /// `::`
    DoubleColon,
    /// `://`
    Url,
    /// `=`, `;` or a full-width colon, where a colon is meant.
    Wrong,
    /// Other characters, without a blank, and then the colon: `A-NEXT#:`, `A-DAG,B-DAG:`.
    Late,
    /// `.` at the end of the text.
    FullStop,
    /// A blank, or the end.
    Blank,
    /// Anything else: the word goes on or is part of something.
    Other,
}

/// The first word of a comment with what follows it. Spans are offsets in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    /// The word.
    pub word: &'a str,
    /// Where it stands.
    pub span: Span,
    /// What stands in brackets right behind it, without them; `Err` is an opening bracket that nothing closes.
    pub brackets: Option<Result<Span, Span>>,
    /// What stands in braces behind it, without them.
    pub braces: Option<Span>,
    /// What follows.
    pub separator: Separator,
    /// First byte behind the separator.
    pub rest: usize,
}

/// Reads the head of `bytes[from..end]`.
pub(crate) fn head(bytes: &[u8], from: usize, end: usize) -> Option<Head<'_>> {
    let word = word_at(bytes, from, end)?;
    let mut at = from + word.len();
    let span = Span::new(from, at);
    let mut brackets = None;
    let mut braces = None;
    if bytes[at..end].starts_with(b"(") {
        match closing(bytes, at, end, b')') {
            Some(close) => {
                brackets = Some(Ok(Span::new(at + 1, close)));
                at = close + 1;
            }
            None => brackets = Some(Err(Span::new(at, at + 1))),
        }
    } else if bytes[at..end].starts_with(b"{")
        && let Some(close) = closing(bytes, at, end, b'}')
    {
        braces = Some(Span::new(at + 1, close));
        at = close + 1;
    }
    let (separator, length) = separator(&bytes[at..end]);
    Some(Head { word, span, brackets, braces, separator, rest: at + length })
}

/// The word that begins at `from`: a letter, then letters, digits, `-`, `_`.
pub(crate) fn word_at(bytes: &[u8], from: usize, end: usize) -> Option<&str> {
    let text = bytes.get(from..end)?;
    if !text.first()?.is_ascii_alphabetic() {
        return None;
    }
    let length = text.iter().take_while(|b| is_word_byte(**b)).count();
    std::str::from_utf8(&text[..length]).ok()
}

/// Whether a byte can be part of a word.
pub(crate) const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

/// Longest text between brackets, bytes: a line of nothing but brackets must not cost its square.
const LONGEST_BRACKETS: usize = 4096;

fn closing(bytes: &[u8], open: usize, end: usize, close: u8) -> Option<usize> {
    let end = end.min(open + LONGEST_BRACKETS);
    let mut quoted = false;
    let mut at = open + 1;
    while at < end {
        match bytes[at] {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b if b == close && !quoted => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

fn separator(text: &[u8]) -> (Separator, usize) {
    const FULL_WIDTH: &[u8] = "：".as_bytes();
    let blanks = text.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let rest = &text[blanks..];
    if rest.is_empty() {
        return (Separator::Blank, blanks);
    }
    if rest.starts_with(b"::") && blanks == 0 {
        return (Separator::DoubleColon, 2);
    }
    if rest.starts_with(b"://") && blanks == 0 {
        return (Separator::Url, 1);
    }
    if rest.starts_with(b":") && !rest.starts_with(b"::") {
        return (if blanks == 0 { Separator::Colon } else { Separator::SpacedColon }, blanks + 1);
    }
    if rest.starts_with(FULL_WIDTH) {
        return (Separator::Wrong, blanks + FULL_WIDTH.len());
    }
    let next_is_blank = rest.get(1).is_none_or(|b| matches!(b, b' ' | b'\t'));
    if (rest.starts_with(b"=") || rest.starts_with(b";"))
        && (blanks == 0 || next_is_blank)
        && !rest.starts_with(b"==")
    {
        return (Separator::Wrong, blanks + 1);
    }
    if rest.starts_with(b".") && blanks == 0 && rest[1..].iter().all(u8::is_ascii_whitespace) {
        return (Separator::FullStop, 1);
    }
    if blanks > 0 {
        return (Separator::Blank, blanks);
    }
    let joins = |b: &u8| {
        is_word_byte(*b) || matches!(b, b',' | b'#' | b'.' | b'+' | b'&' | b'|' | b'*' | b'!' | b'?')
    };
    let length = rest.iter().take_while(|b| joins(b)).count();
    if rest.get(length) == Some(&b':') && !matches!(rest.get(length + 1), Some(b':' | b'/')) {
        return (Separator::Late, length + 1);
    }
    (Separator::Other, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, word: &str, separator: Separator, rest: &str) {
        let head = head(text.as_bytes(), 0, text.len()).expect("a head");
        assert_eq!((head.word, head.separator, &text[head.rest..]), (word, separator, rest), "{text}");
    }

    #[test]
    fn shapes() {
        check("RUN: a", "RUN", Separator::Colon, " a");
        check("CHECK : a", "CHECK", Separator::SpacedColon, " a");
        check("CHECK= a", "CHECK", Separator::Wrong, " a");
        check("CHECK： a", "CHECK", Separator::Wrong, " a");
        check("Outer::x", "Outer", Separator::DoubleColon, "x");
        check("XFAIL(reason=\"a)b\"): *", "XFAIL", Separator::Colon, " *");
        check("CHECK{LITERAL}: a", "CHECK", Separator::Colon, " a");
        check("XFAIL clang", "XFAIL", Separator::Blank, "clang");
        check("END.", "END", Separator::FullStop, "");
        check("https://a", "https", Separator::Url, "//a");
    }
}
