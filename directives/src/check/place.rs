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

/// A line as it can be shown, long ones cut.
pub(super) fn shown(line: &[u8]) -> String {
    // A character has up to four bytes.
    let line = &line[..line.len().min(SHOWN_COLUMNS * 4)];
    let text = visible(line.strip_suffix(b"\r").unwrap_or(line));
    match text.char_indices().nth(SHOWN_COLUMNS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Columns that bytes of a line take where they are shown.
pub(super) fn width(bytes: &[u8]) -> usize {
    visible(bytes).chars().count()
}

/// Bytes as text in which nothing moves the cursor: control characters and bytes that are no UTF-8 become `\xNN`.
fn visible(bytes: &[u8]) -> String {
    let mut text = String::new();
    let escape = |text: &mut String, byte: u8| text.push_str(&format!("\\x{byte:02x}"));
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\t' => text.push(' '),
                c if c.is_control() => {
                    c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| escape(&mut text, byte));
                }
                c => text.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| escape(&mut text, *byte));
    }
    text
}
