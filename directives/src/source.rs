//! A test file as bytes, and places in it.

/// A half-open range of bytes in a [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The range `start..end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The smallest range that covers both.
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A file's name and bytes. The bytes are kept as they are: a test in Latin-1 is still a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name for messages: the path relative to the suite's root.
    pub name: String,
    /// Content, with its byte-order mark if it had one.
    pub bytes: Vec<u8>,
}

impl Source {
    /// Wraps content.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }

    /// The bytes of a span.
    pub fn slice(&self, span: Span) -> &[u8] {
        &self.bytes[span.start.min(self.bytes.len())..span.end.min(self.bytes.len())]
    }

    /// Line (from 1) and column (from 1, in characters; a byte that is no UTF-8 is one character) of a byte.
    pub fn position(&self, offset: usize) -> (u32, u32) {
        let before = &self.bytes[..offset.min(self.bytes.len())];
        let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        let mut column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
        if line == 1 && self.bytes.starts_with(b"\xef\xbb\xbf") && offset >= 3 {
            column -= 1;
        }
        (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    }

    /// Line of a byte, from 1.
    pub fn line(&self, offset: usize) -> u32 {
        self.position(offset).0
    }
}
