//! Line numbers of places in a text that may be large: counted once, block by block.

/// Bytes of a block whose line ends are counted together.
const BLOCK: usize = 1 << 16;

/// A text whose lines can be asked for.
pub(super) struct Lines<'t> {
    pub(super) text: &'t [u8],
    /// Line ends before each block.
    before: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        let mut count = 0;
        let before = text
            .chunks(BLOCK)
            .map(|block| {
                let so_far = count;
                count += memchr::memchr_iter(b'\n', block).count();
                so_far
            })
            .collect();
        Self { text, before }
    }

    /// Line and column of a place, from 1. Columns also begin anew behind a carriage return.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let at = at.min(self.text.len());
        let start = memchr::memrchr2(b'\n', b'\r', &self.text[..at]).map_or(0, |end| end + 1);
        (self.line(at), at - start + 1)
    }

    /// The line of a place, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        let at = at.min(self.text.len());
        let block = (at / BLOCK).min(self.before.len().saturating_sub(1));
        let before = self.before.get(block).copied().unwrap_or(0);
        1 + before + memchr::memchr_iter(b'\n', &self.text[block * BLOCK..at]).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_places() {
        let check = |text: &[u8], at, expect| assert_eq!(Lines::new(text).line(at), expect);
        check(b"", 0, 1);
        check(b"ab\nc", 2, 1);
        check(b"ab\nc", 3, 2);
        check(b"ab\n", 3, 2);
        let long = [vec![b'\n'; BLOCK], b"ab".to_vec()].concat();
        check(&long, BLOCK + 1, BLOCK + 1);
        check(&long[..BLOCK], BLOCK, BLOCK + 1);
    }
}
