//! Lines and columns of bytes, and lines made fit to be shown.

use crate::source::Span;

/// Columns of a line that are shown.
pub(super) const SHOWN_COLUMNS: usize = 240;

/// Line of a byte, from 1.
pub(super) fn line(text: &[u8], at: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', &text[..at.min(text.len())]).count()
}

/// The line that a byte is in, without its end.
pub(super) fn line_span(text: &[u8], at: usize) -> Span {
    let at = at.min(text.len());
    let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |offset| at + offset);
    Span::new(start, end)
}

/// Column of a byte, from 1, in characters.
pub(super) fn column(text: &[u8], at: usize) -> usize {
    let at = at.min(text.len());
    let start = line_span(text, at).start;
    1 + String::from_utf8_lossy(&text[start..at]).chars().count()
}

/// `line:column`.
pub(super) fn line_column(text: &[u8], at: usize) -> String {
    format!("{}:{}", line(text, at), column(text, at))
}

/// A line as it can be shown: one column a character, long ones cut.
pub(super) fn shown(line: &[u8]) -> String {
    // A character has up to four bytes.
    let line = &line[..line.len().min(SHOWN_COLUMNS * 4)];
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches('\r');
    let mut shown: String = text
        .chars()
        .take(SHOWN_COLUMNS)
        .map(|c| match c {
            '\t' => ' ',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect();
    if text.chars().nth(SHOWN_COLUMNS).is_some() {
        shown.push('…');
    }
    shown
}
