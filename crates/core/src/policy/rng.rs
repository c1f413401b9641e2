//! Each worker's source of randomness.

/// A small generator of pseudo-random numbers: `xorshift64*`.
///
/// Period 2^64 − 1 (shifts 12, 25, 27 and the multiplier by Vigna, "An
/// experimental exploration of Marsaglia's xorshift generators, scrambled",
/// TOMS 2016). The state starts from SplitMix64 of the seed, so that neighbouring seeds
/// give unrelated sequences and no seed gives the one bad state, 0.
///
/// # Examples
///
/// ```
/// use heist_core::policy::Rng;
///
/// let mut rng = Rng::new(1);
/// assert!(rng.below(10) < 10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A generator for this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        // SplitMix64's finaliser is a bijection: only one seed maps to 0.
        let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        Self {
            state: if z == 0 { 1 } else { z },
        }
    }

    /// The next number, uniform over 1 to 2^64 − 1 before the multiplication.
    pub fn next_u64(&mut self) -> u64 {
        let mut x = self.state;
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.state = x;
        x.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `bound`, by multiplication of the high half: no division.
    /// The bias is below `bound` / 2^32.
    ///
    /// # Panics
    ///
    /// Panics in debug builds if `bound` is 0 or above 2^32.
    pub fn below(&mut self, bound: usize) -> usize {
        debug_assert!(bound > 0 && bound as u64 <= 1 << 32);
        let high = self.next_u64() >> 32;
        ((high * bound as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_seed_gives_the_state_that_never_moves() {
        // SplitMix64 maps this seed to 0.
        let seed = 0_u64.wrapping_sub(0x9E37_79B9_7F4A_7C15);
        let mut rng = Rng::new(seed);
        assert_ne!(rng.next_u64(), 0);
        assert_ne!(rng.next_u64(), rng.next_u64());
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = Rng::new(7);
        let mut hits = [0_u32; 7];
        for _ in 0..70_000 {
            hits[rng.below(7)] += 1;
        }
        // Five standard deviations around the mean of 10,000.
        assert!(
            hits.iter().all(|&n| (9_500..10_500).contains(&n)),
            "{hits:?}"
        );
    }
}
