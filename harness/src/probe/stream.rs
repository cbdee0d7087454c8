//! Bytes to lines: what a peer sends is foreign, so each line is bounded and none can stop the reader.

use runproof_records::wire::Line;

/// A longer line is not kept whole.
const LINE_CAP: usize = 64 * 1024;
/// What is kept of a line that cannot be read.
const GARBLED_CAP: usize = 1024;

/// One line as far as it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// A line of the protocol.
    Line(Box<Line>),
    /// Anything else, its beginning kept.
    Garbled(String),
}

/// Cuts a byte stream into lines.
#[derive(Debug, Default)]
pub struct Lines {
    partial: Vec<u8>,
    /// The line being read is beyond the cap; the rest of it is dropped.
    overlong: bool,
}

impl Lines {
    /// The lines that `bytes` complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Read> {
        let mut read = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = piece.strip_suffix(b"\n").map_or((piece, false), |text| (text, true));
            let room = LINE_CAP.saturating_sub(self.partial.len());
            self.overlong |= text.len() > room;
            self.partial.extend_from_slice(&text[..text.len().min(room)]);
            if ends {
                read.extend(self.end_line());
            }
        }
        read
    }

    /// The line that the stream ended in, if it ended inside one: a killed process may leave half a line.
    pub fn finish(mut self) -> Option<Read> {
        self.end_line()
    }

    fn end_line(&mut self) -> Option<Read> {
        let line = std::mem::take(&mut self.partial);
        let overlong = std::mem::take(&mut self.overlong);
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        match serde_json::from_slice::<Line>(&line) {
            Ok(line) if !overlong => Some(Read::Line(Box::new(line))),
            _ => Some(Read::Garbled(beginning(&line))),
        }
    }
}

fn beginning(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(GARBLED_CAP)]).into_owned();
    // Replacement characters are longer than what they replace.
    let mut end = text.len().min(GARBLED_CAP);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&[u8]], expect: &[&str]) {
        let mut lines = Lines::default();
        let mut read: Vec<_> = pieces.iter().flat_map(|piece| lines.push(piece)).collect();
        read.extend(lines.finish());
        let seen: Vec<_> = read
            .iter()
            .map(|r| match r {
                Read::Line(line) => format!("line {}", line.seq),
                Read::Garbled(text) => format!("garbled {text}"),
            })
            .collect();
        assert_eq!(seen, expect);
    }

    const LINE: &[u8] = b"{\"seq\":7,\"pid\":1,\"msg\":{\"k\":\"error\",\"what\":\"x\"}}\n";

    #[test]
    fn lines_come_out_however_the_bytes_come_in() {
        check(&[LINE], &["line 7"]);
        check(&[&LINE[..9], &LINE[9..]], &["line 7"]);
        check(&[LINE, b"\n \n", LINE], &["line 7", "line 7"]);
        check(&[&LINE[..LINE.len() - 1]], &["line 7"]);
    }

    #[test]
    fn foreign_bytes_are_kept_and_do_not_stop_the_reader() {
        check(&[b"hello\n", LINE], &["garbled hello", "line 7"]);
        check(&[b"\xff\xfe\n"], &["garbled \u{fffd}\u{fffd}"]);
        check(
            &[b"{\"seq\":7,\"pid\":1,\"msg\":{\"k\":\"wish\"}}\n"],
            &["garbled {\"seq\":7,\"pid\":1,\"msg\":{\"k\":\"wish\"}}"],
        );
        check(&[&LINE[..20]], &[&format!("garbled {}", String::from_utf8_lossy(&LINE[..20]))]);
    }

    #[test]
    fn unknown_fields_are_refused_inside_a_message_too() {
        let extra = b"{\"seq\":0,\"pid\":1,\"msg\":{\"k\":\"context\",\"dev\":0,\"t\":1,\"uuid\":\"u\"}}\n";
        check(&[extra], &[&format!("garbled {}", String::from_utf8_lossy(&extra[..extra.len() - 1]))]);
    }

    #[test]
    fn an_endless_line_is_bounded() {
        let mut lines = Lines::default();
        for _ in 0..100 {
            assert_eq!(lines.push(&[b'a'; 4096]), vec![]);
        }
        assert_eq!(lines.push(b"\n"), vec![Read::Garbled("a".repeat(GARBLED_CAP))]);
        assert_eq!(lines.push(LINE).len(), 1);
    }
}
