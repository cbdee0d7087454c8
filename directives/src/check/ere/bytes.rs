//! A set of bytes. Nothing about patterns enters here.

/// Which of the 256 bytes are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    pub(super) const EMPTY: Self = Self([0; 4]);

    pub(super) fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    pub(super) fn remove(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] &= !(1 << (byte & 63));
    }

    pub(super) const fn contains(&self, byte: u8) -> bool {
        self.0[(byte >> 6) as usize] >> (byte & 63) & 1 == 1
    }

    pub(super) fn union(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
    }

    #[must_use]
    pub(super) fn complement(&self) -> Self {
        Self(self.0.map(|word| !word))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=u8::MAX).filter(|byte| self.contains(*byte))
    }

    /// The only member, if there is exactly one.
    pub(super) fn single(&self) -> Option<u8> {
        (self.0.iter().map(|word| word.count_ones()).sum::<u32>() == 1).then(|| self.iter().next()).flatten()
    }

    /// Adds the other letter case of every ASCII letter in the set.
    pub(super) fn fold_case(&mut self) {
        for byte in b'a'..=b'z' {
            let upper = byte.to_ascii_uppercase();
            if self.contains(byte) || self.contains(upper) {
                self.insert(byte);
                self.insert(upper);
            }
        }
    }
}
