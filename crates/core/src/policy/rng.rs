//! Each worker's source of randomness.

/// A small generator of pseudo-random numbers: `xorshift64*`.
///
/// Period 2^64 − 1 (shifts 12, 25, 27 and the multiplier by Vigna, "An experimental exploration of
/// Marsaglia's xorshift generators, scrambled", TOMS 2016). The state starts from SplitMix64 of the
/// seed, so that neighbouring seeds give unrelated sequences and no seed gives the one bad state,
/// 0.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::policy::Rng;
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
        self.state = step(self.state);
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `bound`, by multiplication of the high half: no division. The bias is below
    /// `bound` / 2^32.
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

/// The generator's step: a linear map of 64 bits to 64 bits.
fn step(mut x: u64) -> u64 {
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear map of 64 bits, as the images of the 64 unit vectors.
    #[derive(Clone, Copy, PartialEq)]
    struct Map([u64; 64]);

    impl Map {
        fn of(f: impl Fn(u64) -> u64) -> Self {
            Self(std::array::from_fn(|bit| f(1 << bit)))
        }

        fn apply(&self, x: u64) -> u64 {
            let images = self.0.iter().enumerate();
            images.fold(
                0,
                |sum, (bit, image)| if x >> bit & 1 == 1 { sum ^ image } else { sum },
            )
        }

        fn power(self, mut exponent: u64) -> Self {
            let mut result = Self::of(|x| x);
            let mut square = self;
            while exponent > 0 {
                if exponent & 1 == 1 {
                    result = Self(result.0.map(|image| square.apply(image)));
                }
                square = Self(square.0.map(|image| square.apply(image)));
                exponent >>= 1;
            }
            result
        }
    }

    /// A31 of the errata: shifts taken from the 32-bit generator, whose cycles on 64 bits are
    /// short. The order of the map must be 2^64 − 1: it divides that, and none of that divided by
    /// one of its prime factors.
    #[test]
    fn a31_the_generator_passes_through_every_state_but_zero() {
        let identity = Map::of(|x| x);
        let map = Map::of(step);
        assert!(map.power(u64::MAX) == identity);
        let primes = [3, 5, 17, 257, 641, 65_537, 6_700_417];
        assert_eq!(primes.iter().product::<u64>(), u64::MAX);
        assert!(primes
            .iter()
            .all(|prime| map.power(u64::MAX / prime) != identity));
    }

    #[test]
    fn no_seed_gives_the_state_that_never_moves() {
        // SplitMix64 maps this seed to 0.
        let seed = 0_u64.wrapping_sub(0x9E37_79B9_7F4A_7C15);
        let mut rng = Rng::new(seed);
        assert_ne!(rng.next_u64(), 0);
        assert_ne!(rng.next_u64(), rng.next_u64());
    }

    /// A32 of the errata: no division, and no bias that anybody could measure.
    #[test]
    fn a32_below_is_uniform() {
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
