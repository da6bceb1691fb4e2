//! The Mersenne Twister as used by Ruby's `Random`. Main type: [`RubyRandom`].

const WORDS: usize = 624;
const MIDDLE: usize = 397;

/// Ruby's `Random`: numbers determined by a seed.
#[derive(Debug)]
pub struct RubyRandom(MersenneTwister);

impl RubyRandom {
    /// `Random.new(seed)`; the seed is a number in big-endian bytes.
    #[must_use]
    pub fn new(seed: &[u8]) -> Self {
        let mut key: Vec<u32> = seed
            .rchunks(4)
            .map(|it| it.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)))
            .collect();
        while key.len() > 1 && key.last() == Some(&0) {
            key.pop();
        }
        Self(if key.len() > 1 {
            // Ruby treats a leading one as a guard and drops it
            if key.last() == Some(&1) {
                key.pop();
            }
            MersenneTwister::from_key(&key)
        } else {
            MersenneTwister::from_seed(key.first().copied().unwrap_or_default())
        })
    }

    /// `rand(limit)`: a number from 0 to `limit - 1`; the limit is at least 1.
    pub fn random_below(&mut self, limit: u64) -> u64 {
        self.0.word_below(limit.saturating_sub(1))
    }
}

#[derive(Debug)]
struct MersenneTwister {
    state: Vec<u32>,
    next: usize,
}

impl MersenneTwister {
    fn from_seed(seed: u32) -> Self {
        let mut state = vec![seed];
        for index in 1..WORDS {
            let last = state[index - 1];
            let mixed = 1_812_433_253_u32.wrapping_mul(last ^ (last >> 30));
            state.push(mixed.wrapping_add(index as u32));
        }
        Self { state, next: WORDS }
    }

    fn from_key(key: &[u32]) -> Self {
        let mut twister = Self::from_seed(19_650_218);
        let state = &mut twister.state;
        let (mut index, mut place) = (1, 0);
        for _ in 0..WORDS.max(key.len()) {
            let last = state[index - 1];
            state[index] = (state[index] ^ (last ^ (last >> 30)).wrapping_mul(1_664_525))
                .wrapping_add(key[place])
                .wrapping_add(place as u32);
            index += 1;
            place = (place + 1) % key.len();
            if index >= WORDS {
                state[0] = state[WORDS - 1];
                index = 1;
            }
        }
        for _ in 0..WORDS - 1 {
            let last = state[index - 1];
            state[index] = (state[index] ^ (last ^ (last >> 30)).wrapping_mul(1_566_083_941))
                .wrapping_sub(index as u32);
            index += 1;
            if index >= WORDS {
                state[0] = state[WORDS - 1];
                index = 1;
            }
        }
        state[0] = 0x8000_0000;
        twister
    }

    fn twist(&mut self) {
        for index in 0..WORDS {
            let high = self.state[index] & 0x8000_0000;
            let low = self.state[(index + 1) % WORDS] & 0x7fff_ffff;
            let mixed = high | low;
            let matrix = if low & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[index] = self.state[(index + MIDDLE) % WORDS] ^ (mixed >> 1) ^ matrix;
        }
        self.next = 0;
    }

    fn next_word(&mut self) -> u32 {
        if self.next >= WORDS {
            self.twist();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// A number from 0 to `limit`; as in Ruby, drawn again until it fits.
    fn word_below(&mut self, limit: u64) -> u64 {
        if limit == 0 {
            return 0;
        }
        let mask = u64::MAX >> limit.leading_zeros();
        'again: loop {
            let mut value = 0;
            for half in [1, 0] {
                if (mask >> (half * 32)) & 0xffff_ffff != 0 {
                    value |= u64::from(self.next_word()) << (half * 32);
                    value &= mask;
                    if limit < value {
                        continue 'again;
                    }
                }
            }
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Random.new(seed).rand(limit)` of Ruby 3.1.
    #[test]
    fn numbers_are_rubys() {
        let below =
            |number: u128, limit| RubyRandom::new(&number.to_be_bytes()).random_below(limit);
        assert_eq!(below(42, 100), 51);
        assert_eq!(
            below(0xd41d_8cd9_8f00_b204_e980_0998_ecf8_427e, 1000),
            RUBY_MD5
        );
        assert_eq!(below(1 << 64, 1 << 40), RUBY_WIDE);
        assert_eq!(below(7, 1), 0);
    }

    const RUBY_MD5: u64 = 88;
    const RUBY_WIDE: u64 = 1_002_288_311_029;
}
