//! The primes below a number, by a sieve that works segment by segment.

use heist_bench_workloads::{fingerprint, Request};
use rayon::prelude::*;

use crate::demo::Demo;

/// Flags of one segment: they stay in a core's own cache.
const SEGMENT: usize = 1 << 15;

pub(crate) struct Sieve {
    /// How many odd numbers are sieved.
    odd: usize,
}

impl Demo for Sieve {
    /// How many odd primes each segment has.
    type Output = Vec<u64>;

    fn new(request: &Request) -> Result<Self, String> {
        let odd = request.len("below")? / 2;
        Ok(Self { odd })
    }

    fn serial(&self) -> Vec<u64> {
        let small = self.small_primes();
        let mut flags = vec![true; self.odd];
        let segments = flags.chunks_mut(SEGMENT).enumerate();
        segments
            .map(|(index, segment)| sieve(&small, index * SEGMENT, segment))
            .collect()
    }

    fn parallel(&self) -> Vec<u64> {
        let small = self.small_primes();
        let mut flags = vec![true; self.odd];
        let segments = flags.par_chunks_mut(SEGMENT).enumerate();
        segments
            .map(|(index, segment)| sieve(&small, index * SEGMENT, segment))
            .collect()
    }

    fn checksum(output: Vec<u64>) -> u64 {
        fingerprint(output)
    }
}

impl Sieve {
    /// The odd primes whose squares are in reach, found by division.
    fn small_primes(&self) -> Vec<usize> {
        let mut primes: Vec<usize> = Vec::new();
        let candidates = (3..).step_by(2);
        for candidate in candidates.take_while(|candidate| candidate * candidate / 2 < self.odd) {
            let mut divisors = primes
                .iter()
                .take_while(|&&prime| prime * prime <= candidate);
            if divisors.all(|prime| candidate % prime != 0) {
                primes.push(candidate);
            }
        }
        primes
    }
}

/// Crosses out what the small primes divide and counts what is left. The flag
/// `index` of all stands for the number `2 * index + 1`; the segment's first is `first`.
fn sieve(small: &[usize], first: usize, segment: &mut [bool]) -> u64 {
    let end = first + segment.len();
    if first == 0 {
        // One is no prime.
        segment[0] = false;
    }
    for &prime in small {
        // Smaller multiples have a smaller divisor.
        let square = prime * prime / 2;
        if square >= end {
            break;
        }
        let from = square.max(first);
        let next = from + (prime - (from - square) % prime) % prime;
        let mut place = next - first;
        while place < segment.len() {
            segment[place] = false;
            place += prime;
        }
    }
    segment.iter().map(|&is_prime| u64::from(is_prime)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_find_all_odd_primes() {
        for (below, primes) in [(4, 1), (100, 24), (1_000_000, 78_497)] {
            let (demo, _) = agreed::<Sieve>(&format!("below={below}"));
            assert_eq!(demo.parallel().into_iter().sum::<u64>(), primes);
        }
    }
}
