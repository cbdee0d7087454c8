//! Where comments stand: a file's bytes to the places at which a directive can begin.
//!
//! What must not enter: which words are directives.

use crate::source::{Source, Span};

/// Where the text of a [`Slot`] stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the beginning of a comment that begins its line.
    Comment,
    /// As [`Place::Comment`], behind a doubled marker.
    Doubled,
    /// In a comment behind code or behind another comment.
    Trailing,
    /// At column 1 of a text file.
    Bare,
    /// In no comment of this kind of file: column 1, or behind another language's marker.
    Foreign,
}

/// A place at which a directive can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Line, from 1.
    pub line: u32,
    /// From the first character behind marker and blanks to the end of the comment or line.
    pub span: Span,
    /// Where.
    pub place: Place,
    /// The marker (empty for [`Place::Bare`]).
    pub marker: Span,
}

struct Kind {
    line: &'static [&'static str],
    block: &'static [(&'static str, &'static str)],
    /// Directives may stand at column 1 without a marker.
    bare: bool,
    /// A word before a colon at column 1 is ordinary text (keys, labels).
    keys: bool,
}

const C_BLOCK: &[(&str, &str)] = &[("/*", "*/")];
const X_BLOCK: &[(&str, &str)] = &[("<!--", "-->")];
const ALL_BLOCKS: &[(&str, &str)] = &[("/*", "*/"), ("<!--", "-->")];

fn kind_of(name: &str) -> Kind {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let extension = file.rsplit_once('.').map_or("", |(_, e)| e);
    let (line, block): (&'static [&'static str], _) = match extension {
        "c" | "cc" | "cpp" | "cxx" | "c++" | "h" | "hh" | "hpp" | "hxx" | "inc" | "def" | "cu" | "cuh"
        | "hip" | "cl" | "clcpp" | "m" | "mm" | "rs" | "swift" | "go" | "java" | "js" | "ts" | "vx"
        | "mlir" | "metal" | "glsl" | "hlsl" | "td" | "proto" | "zig" | "d" | "kt" | "scala" | "cs"
        | "cppm" | "v" | "sv" | "fir" | "modulemap" | "pdll" | "gi" => (&["//"], C_BLOCK),
        "ll" | "lisp" | "el" | "clj" | "scm" => (&[";"], &[]),
        "mir" => (&["#", ";", "//"], &[]),
        "s" | "S" | "asm" => (&["#", "//", ";", "!", "@"], C_BLOCK),
        "py" | "sh" | "bash" | "yaml" | "yml" | "toml" | "cmake" | "rb" | "pl" | "pm" | "mk" | "jl" | "r"
        | "R" | "ps1" | "tcl" | "nix" => (&["#"], &[]),
        "ini" | "cfg" | "conf" => (&["#", ";"], &[]),
        "sql" | "vhdl" | "vhd" => (&["--"], C_BLOCK),
        "lua" | "hs" | "adb" | "ads" | "elm" => (&["--"], &[]),
        "tex" | "erl" | "hrl" => (&["%"], &[]),
        "f" | "f90" | "f95" | "f03" | "f08" | "for" | "F90" | "F" => (&["!"], &[]),
        "bat" | "cmd" => (&["REM", "rem"], &[]),
        "html" | "xml" | "svg" | "md" | "xhtml" => (&[], X_BLOCK),
        _ => {
            return Kind {
                line: &["//", "#", ";", "--", "%", "!", "REM", "rem"],
                block: ALL_BLOCKS,
                bare: true,
                keys: false,
            };
        }
    };
    let keys = matches!(extension, "yaml" | "yml" | "mir" | "ini" | "cfg" | "conf" | "toml" | "md");
    Kind { line, block, bare: false, keys }
}

/// Markers that begin a line comment in some language and ordinary text in few.
const FOREIGN_MARKERS: &[&str] = &["//", "#", ";", "--"];

/// Lines as spans, without their ends (`\n`, `\r\n`) and without a byte-order mark.
pub(crate) fn lines(source: &Source) -> impl Iterator<Item = Span> + '_ {
    let bytes = &source.bytes;
    let mut start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    std::iter::from_fn(move || {
        if start >= bytes.len() {
            return None;
        }
        let end = bytes[start..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |i| start + i);
        let text_end = if end > start && bytes[end - 1] == b'\r' { end - 1 } else { end };
        let span = Span::new(start, text_end);
        start = end + 1;
        Some(span)
    })
}

/// Every place at which a directive can begin, in file order.
pub(crate) fn scan(source: &Source) -> Vec<Slot> {
    let mut scanner =
        Scanner { bytes: &source.bytes, kind: kind_of(&source.name), open: None, slots: Vec::new() };
    for (index, line) in lines(source).enumerate() {
        scanner.line(u32::try_from(index + 1).unwrap_or(u32::MAX), line);
    }
    scanner.slots
}

struct Scanner<'a> {
    bytes: &'a [u8],
    kind: Kind,
    /// Closing text of the block comment that is open.
    open: Option<&'static str>,
    slots: Vec<Slot>,
}

impl Scanner<'_> {
    fn line(&mut self, number: u32, line: Span) {
        let mut at = line.start;
        let mut place = Place::Comment;
        if let Some(close) = self.open {
            let body = self.skip_blanks(at, line.end);
            let stars = self.bytes[body..line.end].iter().take_while(|b| **b == b'*').count();
            let closes_here = self.starts(body, line.end, close);
            let text =
                if close == "*/" && !closes_here { self.skip_blanks(body + stars, line.end) } else { body };
            match self.block(number, text, line.end, close, Span::new(body, text), place) {
                Some(after) => at = after,
                None => return,
            }
            place = Place::Trailing;
        }
        let first = self.skip_blanks(at, line.end);
        if first == line.end {
            return;
        }
        if place == Place::Comment {
            if let Some(marker) = self.marker_at(self.kind.line, first, line.end) {
                self.comment(number, first, marker, line.end);
                return;
            }
            if self.block_at(first, line.end).is_none() {
                self.uncommented(number, first, line);
                place = Place::Trailing;
            }
        }
        self.behind_code(number, first, line.end, place);
    }

    /// A line comment from `start`, the only one of its line.
    fn comment(&mut self, number: u32, start: usize, marker: &str, end: usize) {
        let mut at = start + marker.len();
        let mut doubled = false;
        // `///`, `//!` and `;;` are single markers with a custom of their own.
        let extra = match marker {
            "//" if at < end && matches!(self.bytes[at], b'/' | b'!') => 1,
            ";" if at < end && self.bytes[at] == b';' => 1,
            _ => 0,
        };
        at += extra;
        loop {
            let text = self.skip_blanks(at, end);
            let again = self.starts(text, end, marker)
                || (text == at && marker == "//" && self.starts(text, end, "/"));
            if !again {
                let place = if doubled { Place::Doubled } else { Place::Comment };
                self.push(number, text, end, place, Span::new(start, at));
                return;
            }
            doubled = true;
            at = text + if self.starts(text, end, marker) { marker.len() } else { 1 };
        }
    }

    /// A line without a comment at its beginning.
    fn uncommented(&mut self, number: u32, first: usize, line: Span) {
        if first == line.start && self.kind.bare {
            self.push(number, first, line.end, Place::Bare, Span::new(first, first));
        } else if let Some(marker) = self.marker_at(FOREIGN_MARKERS, first, line.end) {
            let text = self.skip_blanks(first + marker.len(), line.end);
            self.push(number, text, line.end, Place::Foreign, Span::new(first, first + marker.len()));
        } else if first == line.start && !self.kind.keys {
            self.push(number, first, line.end, Place::Foreign, Span::new(first, first));
        }
    }

    /// Comments in the rest of a line.
    fn behind_code(&mut self, number: u32, from: usize, end: usize, mut place: Place) {
        let mut quoted = false;
        let mut at = from;
        while at < end {
            if let Some((open, close)) = self.block_at(at, end).filter(|_| !quoted) {
                let body = at + open.len();
                let stars = self.bytes[body..end].iter().take_while(|b| **b == b'*' && close == "*/").count();
                let stars = if self.starts(body + stars, end, "/") { 0 } else { stars };
                let text = self.skip_blanks(body + stars, end);
                match self.block(number, text, end, close, Span::new(at, body), place) {
                    Some(after) => at = after,
                    None => return,
                }
                place = Place::Trailing;
                continue;
            }
            let after_blank = at == from || self.bytes[at - 1].is_ascii_whitespace();
            if let Some(marker) = self
                .marker_at(self.kind.line, at, end)
                .filter(|m| !quoted && (after_blank || (*m == "//" && self.bytes[at - 1] != b':')))
            {
                let text = self.skip_blanks(at + marker.len(), end);
                self.push(number, text, end, Place::Trailing, Span::new(at, at + marker.len()));
                return;
            }
            match self.bytes[at] {
                b'\\' if quoted => at += 1,
                b'"' => quoted = !quoted,
                _ => {}
            }
            at += 1;
        }
    }

    /// A block comment's text in this line; where the line goes on behind its end.
    fn block(
        &mut self,
        number: u32,
        text: usize,
        end: usize,
        close: &'static str,
        marker: Span,
        place: Place,
    ) -> Option<usize> {
        let from = text.min(end);
        let closed = self.bytes[from..end].windows(close.len()).position(|w| w == close.as_bytes());
        let mut text_end = closed.map_or(end, |i| from + i);
        if closed.is_some() {
            while text_end > from && self.bytes[text_end - 1].is_ascii_whitespace() {
                text_end -= 1;
            }
        }
        self.push(number, from, text_end, place, marker);
        self.open = if closed.is_some() { None } else { Some(close) };
        closed.map(|i| from + i + close.len())
    }

    fn push(&mut self, line: u32, start: usize, end: usize, place: Place, marker: Span) {
        if start < end {
            self.slots.push(Slot { line, span: Span::new(start, end), place, marker });
        }
    }

    fn skip_blanks(&self, from: usize, end: usize) -> usize {
        self.bytes[from.min(end)..end]
            .iter()
            .position(|b| !matches!(b, b' ' | b'\t'))
            .map_or(end, |i| from.min(end) + i)
    }

    fn starts(&self, at: usize, end: usize, text: &str) -> bool {
        at <= end && self.bytes[at..end].starts_with(text.as_bytes())
    }

    fn marker_at(&self, markers: &'static [&'static str], at: usize, end: usize) -> Option<&'static str> {
        markers.iter().copied().find(|m| {
            self.starts(at, end, m)
                && (!m.starts_with(['R', 'r'])
                    || self.bytes[at..end].get(m.len()).is_none_or(u8::is_ascii_whitespace))
        })
    }

    fn block_at(&self, at: usize, end: usize) -> Option<(&'static str, &'static str)> {
        self.kind.block.iter().copied().find(|(open, _)| self.starts(at, end, open))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, text: &str, expect: &[(u32, &str, Place)]) {
        let source = Source::new(name, text);
        let got: Vec<(u32, String, Place)> = scan(&source)
            .iter()
            .map(|s| (s.line, String::from_utf8_lossy(source.slice(s.span)).into_owned(), s.place))
            .collect();
        let expect: Vec<(u32, String, Place)> =
            expect.iter().map(|(l, t, p)| (*l, (*t).to_owned(), *p)).collect();
        assert_eq!(got, expect, "{text:?}");
    }

    #[test]
    fn line_comments() {
        check(
            "a.vx",
            "// A\r\n/// B\n//C",
            &[(1, "A", Place::Comment), (2, "B", Place::Comment), (3, "C", Place::Comment)],
        );
        check("a.ll", ";; A\n;;; B", &[(1, "A", Place::Comment), (2, "B", Place::Doubled)]);
        check(
            "a.test",
            "## A\n# # B\nC",
            &[(1, "A", Place::Doubled), (2, "B", Place::Doubled), (3, "C", Place::Bare)],
        );
        check("a.bat", "REM A\nREMARK B", &[(1, "A", Place::Comment), (2, "REMARK B", Place::Foreign)]);
    }

    #[test]
    fn block_comments() {
        check(
            "a.c",
            "/*\n * A: x\n */\n/* B */ /* C */",
            &[(2, "A: x", Place::Comment), (4, "B", Place::Comment), (4, "C", Place::Trailing)],
        );
        check("a.html", "<!-- A -->\n<!--\nB\n-->", &[(1, "A", Place::Comment), (3, "B", Place::Comment)]);
        check("a.c", "/** A */ f(); // B", &[(1, "A", Place::Comment), (1, "B", Place::Trailing)]);
    }

    #[test]
    fn trailing_comments() {
        check("a.vx", "  f(\"a // b\"); // C", &[(1, "C", Place::Trailing)]);
        check("a.vx", "\u{feff}// A", &[(1, "A", Place::Comment)]);
    }
}
