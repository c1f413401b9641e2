//! The naive Fibonacci recursion: nothing but joins, so it shows the cost of one.

use std::io;

use heist_workloads::{fib, Sequential};

use super::contract::{Fact, Profile, Setup, Size, Workload};
use super::join::Heist;
use crate::strategy::{Bag, Pieces, Serial};

/// The bag form expands the recursion this deep, into about 1,600 tasks.
const BAG_DEPTH: u64 = 12;

pub(crate) struct Fib {
    n: u64,
}

impl Workload for Fib {
    const PROFILE: Profile = Profile {
        name: "fib",
        about: "The naive Fibonacci recursion, a join per call: the price of a join",
        tasks: "a subtree of the recursion; to stealing every join is one",
        size: Some(Size {
            what: "the number whose Fibonacci number is computed",
            default: 40,
            accepted: 0..=60,
        }),
        flags: &[],
    };

    type Scratch = ();
    type Output = u64;

    fn prepare(setup: &Setup) -> anyhow::Result<Self> {
        Ok(Self { n: setup.size })
    }

    fn input(&self) -> String {
        format!("fib({})", self.n)
    }

    fn fresh(&self) {}

    fn serial(&self, (): (), serial: &mut Serial<'_>) -> u64 {
        serial.item(|| self.input(), || fib::<Sequential>(self.n))
    }

    fn bagged(&self, (): (), bag: &mut Bag<'_>) -> io::Result<u64> {
        let leaf = self.n.saturating_sub(BAG_DEPTH);
        let sums = bag.run(
            expand(self.n, bag.workers as u64),
            |n| format!("fib({n})"),
            |n, sum: &mut u64, push| {
                if n <= leaf.max(1) {
                    *sum += fib::<Sequential>(n);
                } else {
                    push.extend([n - 1, n - 2]);
                }
            },
        )?;
        Ok(sums.into_iter().sum())
    }

    fn stealing(&self, (): (), _: Pieces<'_>) -> u64 {
        fib::<Heist>(self.n)
    }

    fn facts(&self, output: &u64) -> Vec<Fact> {
        vec![Fact::new("value", *output)]
    }
}

/// Terms that sum up to fib(n), at least one for each of `count` threads where
/// n is large enough.
fn expand(n: u64, count: u64) -> Vec<u64> {
    let mut terms = vec![n];
    while (terms.len() as u64) < count && terms.iter().all(|&term| term > 2) {
        terms = terms
            .into_iter()
            .flat_map(|term| [term - 1, term - 2])
            .collect();
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expanded_terms_sum_up_to_the_whole() {
        for count in [1, 2, 5, 100] {
            for n in 0..15 {
                let sum: u64 = expand(n, count).into_iter().map(fib::<Sequential>).sum();
                assert_eq!(sum, fib::<Sequential>(n));
            }
        }
    }
}
