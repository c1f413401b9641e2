//! Counting and summing primes: a segmented sieve of Eratosthenes over the odd numbers, the
//! segments in parallel.

use std::ops::{Add, Range};

use heist::prelude::*;
use serde::{Deserialize, Serialize};

/// The end of the largest range. With it, the primes up to the root of every number that is
/// sieved take milliseconds.
pub const NUMBER_MAX: u64 = 1_000_000_000_000_000;

/// Bits, and therefore odd numbers, of a segment: 32 KiB stay in the nearest cache.
const SEGMENT_BITS: u64 = 1 << 18;

/// How many primes there are in a range, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Primes {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: u128,
}

impl Add for Primes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
        }
    }
}

/// The primes in `range`.
pub(crate) fn in_range(range: Range<u64>) -> Primes {
    let two = match range.contains(&2) {
        true => Primes { count: 1, sum: 2 },
        false => Primes::default(),
    };
    // The odd number 2i + 1 has the index i; 1 is no prime.
    let indices = (range.start / 2).max(1)..(range.end / 2).max(1);
    let small = up_to(range.end.isqrt());
    // For large numbers, marking must cost more than finding out where to begin.
    let step = SEGMENT_BITS.max(small.len() as u64 * 8);
    let segments = indices.end.saturating_sub(indices.start).div_ceil(step);
    let odd = (0..segments)
        .into_par_iter()
        .map(|segment| {
            let start = indices.start + segment * step;
            in_segment(start..indices.end.min(start + step), &small)
        })
        .reduce(Primes::default, Add::add);
    two + odd
}

/// The primes among the odd numbers of these indices; `small` are the odd primes up to the
/// root of the last.
fn in_segment(indices: Range<u64>, small: &[u64]) -> Primes {
    let bits = (indices.end - indices.start) as usize;
    let mut composite = vec![0_u64; bits.div_ceil(64)];
    for &prime in small {
        // Smaller multiples have a smaller factor.
        let square = prime * prime / 2;
        if square >= indices.end {
            break;
        }
        // Odd multiples of a prime are as many indices apart as the prime is large.
        let first = match square.checked_sub(indices.start) {
            Some(ahead) => ahead,
            None => (prime - (indices.start - square) % prime) % prime,
        };
        for bit in (first as usize..bits).step_by(prime as usize) {
            composite[bit / 64] |= 1 << (bit % 64);
        }
    }
    let mut found = Primes::default();
    for (at, word) in composite.iter().enumerate() {
        let left = bits - at * 64;
        let mut prime = match left {
            0..64 => !word & ((1 << left) - 1),
            _ => !word,
        };
        found.count += u64::from(prime.count_ones());
        let first = 2 * (indices.start + at as u64 * 64) + 1;
        while prime != 0 {
            found.sum += u128::from(first + 2 * u64::from(prime.trailing_zeros()));
            prime &= prime - 1;
        }
    }
    found
}

/// The odd primes up to `last`.
fn up_to(last: u64) -> Vec<u64> {
    let odd = last.div_ceil(2) as usize;
    let mut is_prime = vec![true; odd];
    let mut primes = Vec::new();
    for index in 1..odd {
        if is_prime[index] {
            let prime = 2 * index + 1;
            primes.push(prime as u64);
            for multiple in (prime * prime / 2..odd).step_by(prime) {
                is_prime[multiple] = false;
            }
        }
    }
    primes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_primes_lie_below_powers_of_ten_as_is_known() {
        let counts = [0, 4, 25, 168, 1229, 9592, 78_498, 664_579];
        for (power, count) in counts.into_iter().enumerate() {
            let end = 10_u64.pow(u32::try_from(power).expect("few"));
            assert_eq!(in_range(0..end).count, count, "below {end}");
        }
    }

    #[test]
    fn the_sum_of_the_primes_below_two_million_is_right() {
        assert_eq!(in_range(0..2_000_000).sum, 142_913_828_922);
    }

    #[test]
    fn ranges_agree_with_trial_division() {
        let is_prime = |n: u64| n >= 2 && (2..=n.isqrt()).all(|divisor| !n.is_multiple_of(divisor));
        for start in 0..40 {
            for end in start..160 {
                let primes = (start..end).filter(|n| is_prime(*n));
                let expected = primes.fold(Primes::default(), |found, prime| {
                    found
                        + Primes {
                            count: 1,
                            sum: prime.into(),
                        }
                });
                assert_eq!(in_range(start..end), expected, "{start}..{end}");
            }
        }
    }

    #[test]
    fn parts_of_a_range_add_up() {
        let whole = in_range(0..3_000_000);
        let cuts = [0, 1, 2, 3, 64, 65, 524_288, 1_048_577, 2_999_999, 3_000_000];
        let parts = cuts.windows(2).map(|cut| in_range(cut[0]..cut[1]));
        assert_eq!(parts.fold(Primes::default(), Add::add), whole);
    }

    #[test]
    fn large_numbers_are_sieved_too() {
        // The three largest primes below 10^12 end in 959, 961 and 989.
        let end = 1_000_000_000_000;
        assert_eq!(in_range(end - 11..end).count, 1);
        assert_eq!(in_range(end - 39..end).count, 2);
        assert_eq!(in_range(end - 41..end).count, 3);
    }
}
