//! Numbers that look random and are the same for the same seed: [`Random`].

/// Marsaglia's xorshift: enough to choose places.
pub(crate) struct Random(u64);

impl Random {
    /// A generator; 0 is not a seed of xorshift and stands for another.
    pub(crate) fn new(seed: u64) -> Self {
        Self(if seed == 0 {
            0x9E37_79B9_7F4A_7C15
        } else {
            seed
        })
    }

    /// A number from 0, below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let high = usize::try_from(self.0 >> 33).expect("31 bits");
        high % end.max(1)
    }

    /// One of them.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
