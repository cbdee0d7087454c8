//! Bytes of a program as text that every reader accepts.

use std::fmt::Write as _;

/// UTF-8 with everything that XML or a terminal would stumble over written out: control characters but newline and
/// tab as `\x1b`, bytes that are no UTF-8 as `\xff`, the two non-characters U+FFFE and U+FFFF as `\u{fffe}`.
/// A CR before a newline is dropped.
pub fn visible(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let mut chars = chunk.valid().chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\n' | '\t' => out.push(c),
                '\r' if chars.peek() == Some(&'\n') => {}
                '\u{fffe}' | '\u{ffff}' => {
                    let _ = write!(out, "\\u{{{:x}}}", c as u32);
                }
                c if c.is_control() => {
                    let _ = write!(out, "\\x{:02x}", c as u32);
                }
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_invisible_is_left() {
        for (input, expect) in [
            (&b"\x1b[31mred\x1b[0m"[..], "\\x1b[31mred\\x1b[0m"),
            (b"a\x00\x08b", "a\\x00\\x08b"),
            (b"\xef\xbf\xbe", "\\u{fffe}"),
            (b"\xff\xfe", "\\xff\\xfe"),
            (b"a\r\nb\tc\rd", "a\nb\tc\\x0dd"),
            ("ä\u{85}".as_bytes(), "ä\\x85"),
        ] {
            assert_eq!(visible(input), expect);
        }
    }
}
