//! One message: place, severity, text, and the line with a mark.

use super::lines::Lines;
use crate::source::Span;

/// Columns from one tab stop to the next.
const TAB_STOP: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Error,
    Remark,
    Note,
}

/// Codes of the colours that are used, if any are.
#[derive(Clone, Copy)]
pub(super) struct Paint(pub(super) bool);

impl Paint {
    pub(super) fn code(self, code: &'static str) -> &'static str {
        if self.0 { code } else { "" }
    }

    pub(super) fn reset(self) -> &'static str {
        self.code("\x1b[0m")
    }
}

pub(super) const BOLD: &str = "\x1b[1m";
pub(super) const BLACK: &str = "\x1b[0;1;30m";
pub(super) const RED: &str = "\x1b[0;1;31m";
pub(super) const GREEN: &str = "\x1b[0;1;32m";
pub(super) const BLUE: &str = "\x1b[0;1;34m";
pub(super) const MAGENTA: &str = "\x1b[0;1;35m";
pub(super) const CYAN: &str = "\x1b[0;1;36m";
pub(super) const ON_CYAN: &str = "\x1b[0;1;46m";

/// Writes messages about one text.
pub(super) struct Messages<'t> {
    pub(super) name: &'t str,
    pub(super) lines: Lines<'t>,
    pub(super) paint: Paint,
}

impl Messages<'_> {
    /// Writes a message that points at a place, the bytes of `range` marked as well.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        at: usize,
        severity: Severity,
        message: &str,
        range: Option<Span>,
    ) {
        let text = self.lines.text;
        let at = at.min(text.len());
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let start = text[..at].iter().rposition(is_end).map_or(0, |end| end + 1);
        let end = text[at..].iter().position(is_end).map_or(text.len(), |length| at + length);
        let line = &text[start..end];
        let (word, colour) = match severity {
            Severity::Error => ("error: ", RED),
            Severity::Remark => ("remark: ", BLUE),
            Severity::Note => ("note: ", BLACK),
        };
        let (paint, reset) = (self.paint, self.paint.reset());
        let place = format!("{}:{}:{}: ", self.name, self.lines.line(at), at - start + 1);
        let (bold, colour) = (paint.code(BOLD), paint.code(colour));
        out.extend_from_slice(
            format!("{bold}{place}{reset}{colour}{word}{reset}{bold}{message}\n").as_bytes(),
        );
        out.extend_from_slice(reset.as_bytes());
        expanded(out, line, line);
        out.push(b'\n');
        // Where a byte is not a column, nothing is marked.
        if !line.is_ascii() {
            return;
        }
        let mut marks = vec![b' '; line.len() + 1];
        if let Some(range) = range {
            let (from, to) = (range.start.clamp(start, end), range.end.clamp(start, end));
            marks[from - start..to - start].fill(b'~');
        }
        marks[at - start] = b'^';
        let length = marks.iter().rposition(|mark| *mark != b' ').map_or(0, |last| last + 1);
        out.extend_from_slice(paint.code(GREEN).as_bytes());
        expanded(out, &marks[..length], line);
        out.push(b'\n');
        out.extend_from_slice(reset.as_bytes());
    }
}

/// Writes bytes that stand under those of a line, each as often as its tab is wide.
fn expanded(out: &mut Vec<u8>, bytes: &[u8], line: &[u8]) {
    let mut column = 0;
    for (index, byte) in bytes.iter().enumerate() {
        let is_tab = line.get(index) == Some(&b'\t');
        let width = if is_tab { TAB_STOP - column % TAB_STOP } else { 1 };
        let shown = if *byte == b'\t' { b' ' } else { *byte };
        out.extend(std::iter::repeat_n(shown, width));
        column += width;
    }
}
