//! White space as matching sees it, and the way back to places in the file.

use std::borrow::Cow;

use crate::source::Span;

/// A text with CRLF as LF and, unless white space is strict, every run of blanks and tabs as one blank.
pub(super) struct Canonical<'a> {
    original: &'a [u8],
    strict: bool,
    pub(super) text: Cow<'a, [u8]>,
    /// Where in the text each block of the original begins.
    blocks: Vec<usize>,
}

/// Bytes that are looked at together: as many as a mask has bits.
const CHUNK: usize = u64::BITS as usize;

/// Bytes of the original after which it is noted where the text is: the way back begins there.
const BLOCK: usize = 1 << 16;

/// A piece of the original as it goes into the text.
struct Chunk {
    /// The bytes, tabs as blanks unless white space is strict.
    bytes: [u8; CHUNK],
    length: usize,
    /// A bit for each byte that stays.
    kept: u64,
    /// Something differs from the original.
    changed: bool,
}

impl Chunk {
    /// The piece at `at`. Without a branch for each byte, so that many are handled at once.
    fn new(original: &[u8], at: usize, strict: bool) -> Self {
        let length = CHUNK.min(original.len() - at);
        // With the byte before and the one behind.
        let mut around = [0; CHUNK + 2];
        around[0] = if at > 0 { original[at - 1] } else { 0 };
        let end = original.len().min(at + CHUNK + 1);
        around[1..=end - at].copy_from_slice(&original[at..end]);
        let blank = |byte: u8| !strict & ((byte == b' ') | (byte == b'\t'));
        let (mut bytes, mut dropped, mut tabs) = ([0; CHUNK], [0; CHUNK], 0);
        for index in 0..CHUNK {
            let (before, byte, behind) = (around[index], around[index + 1], around[index + 2]);
            let is_dropped = (blank(byte) & blank(before)) | ((byte == b'\r') & (behind == b'\n'));
            let is_tab = !strict & (byte == b'\t');
            dropped[index] = u8::from(is_dropped);
            bytes[index] = if is_tab { b' ' } else { byte };
            tabs |= u8::from(is_tab);
        }
        let dropped = bits(&dropped);
        let all = u64::MAX >> (CHUNK - length);
        Self { bytes, length, kept: all & !dropped, changed: tabs != 0 || all & dropped != 0 }
    }

    /// Appends what stays, run by run.
    fn append(&self, text: &mut Vec<u8>) {
        let mut rest = self.kept;
        while rest != 0 {
            let start = rest.trailing_zeros() as usize;
            let length = (rest >> start).trailing_ones() as usize;
            text.extend_from_slice(&self.bytes[start..start + length]);
            rest = if start + length >= CHUNK { 0 } else { rest >> (start + length) << (start + length) };
        }
    }
}

/// A bit for each byte, which is 0 or 1.
fn bits(flags: &[u8; CHUNK]) -> u64 {
    // The product brings the lowest bits of eight bytes together in the highest one.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (eights, _) = flags.as_chunks::<8>();
    eights.iter().enumerate().fold(0, |mask, (index, eight)| {
        mask | (u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56) << (index * 8)
    })
}

impl<'a> Canonical<'a> {
    pub(super) fn new(original: &'a [u8], strict: bool) -> Self {
        // Nothing is copied before the first change.
        let mut text: Option<Vec<u8>> = None;
        let mut blocks = Vec::new();
        for at in (0..original.len()).step_by(CHUNK) {
            let chunk = Chunk::new(original, at, strict);
            if at % BLOCK == 0 {
                blocks.push(text.as_ref().map_or(at, Vec::len));
            }
            if chunk.changed && text.is_none() {
                let mut begun = Vec::with_capacity(original.len());
                begun.extend_from_slice(&original[..at]);
                text = Some(begun);
            }
            match &mut text {
                Some(text) if chunk.changed => chunk.append(text),
                Some(text) => text.extend_from_slice(&chunk.bytes[..chunk.length]),
                None => {}
            }
        }
        Self { original, strict, text: text.map_or(Cow::Borrowed(original), Cow::Owned), blocks }
    }

    /// The places in the original of places in the text, which must be in ascending order.
    fn originals(&self, places: &[usize]) -> Vec<usize> {
        let mut found = Vec::with_capacity(places.len());
        let (mut at, mut passed) = (0, 0);
        for place in places {
            let block = self.blocks.partition_point(|start| start <= place).saturating_sub(1);
            if block * BLOCK > at {
                (at, passed) = (block * BLOCK, self.blocks[block]);
            }
            loop {
                if at >= self.original.len() {
                    found.push(self.original.len());
                    break;
                }
                let mut rest = Chunk::new(self.original, at, self.strict).kept;
                let upto = passed + rest.count_ones() as usize;
                if *place < upto {
                    (passed..*place).for_each(|_| rest &= rest - 1);
                    found.push(at + rest.trailing_zeros() as usize);
                    break;
                }
                (at, passed) = (at + CHUNK, upto);
            }
        }
        found
    }

    /// Turns spans of the text into spans of the original.
    pub(super) fn restore(&self, spans: &mut [&mut Span]) {
        if matches!(self.text, Cow::Borrowed(_)) {
            return;
        }
        let mut places: Vec<usize> = spans.iter().flat_map(|span| [span.start, span.end]).collect();
        places.sort_unstable();
        places.dedup();
        let originals = self.originals(&places);
        let original = |place| places.binary_search(&place).map_or(place, |index| originals[index]);
        for span in spans {
            let (start, mut end) = (original(span.start), original(span.end));
            // A CRLF belongs to no text that ends in front of it.
            if end > start && self.original[..end].ends_with(b"\r") && self.original[end..].starts_with(b"\n")
            {
                end -= 1;
            }
            **span = Span::new(start, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(original: &str, strict: bool, expect: &str) {
        assert_eq!(Canonical::new(original.as_bytes(), strict).text, expect.as_bytes());
    }

    #[test]
    fn white_space() {
        check("a  b\t\tc d", false, "a b c d");
        check("a  b\t\tc d\r\n", true, "a  b\t\tc d\n");
        check("a\r\nb\rc\r", false, "a\nb\rc\r");
        check("\t", false, " ");
        check("", false, "");
    }

    #[test]
    fn places_of_a_long_text() {
        let original = [b"a  b\r\n".repeat(BLOCK), b"end".to_vec()].concat();
        let canonical = Canonical::new(&original, false);
        let text = canonical.text.len();
        assert_eq!(text, 4 * BLOCK + 3);
        let places = [0, 2, 3, 4 * (BLOCK / 2) + 2, text - 3, text];
        let expect = [0, 3, 5, 6 * (BLOCK / 2) + 3, original.len() - 3, original.len()];
        assert_eq!(canonical.originals(&places), expect);
    }

    proptest! {
        #[test]
        fn places_lead_back(original in "[ab \t\r\n]{0,40}", strict in any::<bool>()) {
            let canonical = Canonical::new(original.as_bytes(), strict);
            let places: Vec<usize> = (0..=canonical.text.len()).collect();
            let found = canonical.originals(&places);
            prop_assert!(found.is_sorted());
            for (place, origin) in places.iter().zip(&found) {
                let (text, original) = (canonical.text.get(*place), original.as_bytes().get(*origin));
                match text {
                    Some(b' ') => prop_assert!(matches!(original, Some(b' ' | b'\t'))),
                    other => prop_assert_eq!(other, original),
                }
            }
        }
    }
}
