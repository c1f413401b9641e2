//! Random numbers of the distributions that fleets are made of.

use heist_core::policy::Rng;

/// A source of random numbers that a seed brings back.
#[derive(Clone, Debug)]
pub struct Draw(Rng);

impl Draw {
    /// A source for this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// A source for one thing at one time: all rules find the same there, whatever they did before.
    pub(super) fn of(seed: u64, purpose: u64, which: u64, when: u64) -> Self {
        let mut key = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ purpose;
        for part in [which, when] {
            key = key.rotate_left(23).wrapping_mul(0xD134_2543_DE82_EF95) ^ part;
        }
        Self::new(key)
    }

    /// From 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From `from` to `to`, without `to`.
    pub fn real(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    /// A number below `bound`, which is from 1 to 2^32.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    /// True with this probability.
    pub fn is(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A normal number of mean 0 and deviation 1, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        // The logarithm of 0 is never taken.
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A number whose logarithm is normal.
    pub fn lognormal(&mut self, median: f64, deviation: f64) -> f64 {
        median * (deviation * self.normal()).exp()
    }

    /// A number of Pareto's distribution.
    pub fn pareto(&mut self, least: f64, exponent: f64) -> f64 {
        least / (1.0 - self.unit()).powf(1.0 / exponent)
    }

    /// An exponential number: the time to the next event of a Poisson process.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}
