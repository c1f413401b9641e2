//! Sorts random numbers in place, both sides of each partition in parallel.

use std::io;

use heist_workloads::{Join, Sequential};

use super::contract::{Fact, Flag, Profile, Setup, Size, Workload};
use super::join::Heist;
use crate::strategy::{Bag, Pieces, Serial};

/// Up to here the standard library's sort takes over.
const LEAF: usize = 64;

/// The bag form sorts a part of this length without pushing further tasks.
const BAG_LEAF: usize = 1 << 14;

pub(crate) struct Quicksort {
    numbers: Vec<u64>,
}

impl Workload for Quicksort {
    const PROFILE: Profile = Profile {
        name: "quicksort",
        about: "Sorts random numbers in place, a join per partition",
        tasks: "a stretch of the numbers; to stealing every partition above 64 makes one",
        size: Some(Size {
            what: "how many numbers",
            default: 8_000_000,
            accepted: 1..=1_000_000_000,
        }),
        flags: &[Flag::Seed],
    };

    type Scratch = Vec<u64>;
    type Output = Vec<u64>;

    fn prepare(setup: &Setup) -> anyhow::Result<Self> {
        let mut random = fastrand::Rng::with_seed(setup.seed);
        let numbers = (0..setup.len()).map(|_| random.u64(..)).collect();
        Ok(Self { numbers })
    }

    fn input(&self) -> String {
        format!("{} random numbers", self.numbers.len())
    }

    fn fresh(&self) -> Vec<u64> {
        self.numbers.clone()
    }

    fn serial(&self, mut numbers: Vec<u64>, serial: &mut Serial<'_>) -> Vec<u64> {
        let name = name(&numbers);
        serial.item(|| name, || sort::<Sequential>(&mut numbers));
        numbers
    }

    fn bagged(&self, mut numbers: Vec<u64>, bag: &mut Bag<'_>) -> io::Result<Vec<u64>> {
        let parts = split(&mut numbers, bag.workers);
        bag.run(
            parts,
            |part| name(part),
            |part, (): &mut (), push| {
                if part.len() <= BAG_LEAF {
                    sort::<Sequential>(part);
                } else {
                    push.extend(<[_; 2]>::from(partition(part)));
                }
            },
        )?;
        Ok(numbers)
    }

    fn stealing(&self, mut numbers: Vec<u64>, _: Pieces<'_>) -> Vec<u64> {
        sort::<Heist>(&mut numbers);
        numbers
    }

    fn facts(&self, output: &Vec<u64>) -> Vec<Fact> {
        super::mergesort::order_facts(output)
    }
}

fn name(part: &[u64]) -> String {
    format!("sort {}", part.len())
}

fn sort<J: Join>(part: &mut [u64]) {
    if part.len() <= LEAF {
        part.sort_unstable();
    } else {
        let (left, right) = partition(part);
        J::join(|| sort::<J>(left), || sort::<J>(right));
    }
}

/// Partitions the longest part until there is one for each of `count` threads,
/// or all are short.
fn split(numbers: &mut [u64], count: usize) -> Vec<&mut [u64]> {
    let mut parts = vec![numbers];
    while parts.len() < count {
        let lengths = parts.iter().map(|part| part.len()).enumerate();
        let Some((longest, length)) = lengths.max_by_key(|&(_, length)| length) else {
            break;
        };
        if length <= BAG_LEAF {
            break;
        }
        let (left, right) = partition(parts.swap_remove(longest));
        parts.extend([left, right]);
    }
    parts
}

/// Splits `part` so that nothing on the left is larger than anything on the
/// right; what equals the pivot may go to both sides. Neither side is empty.
///
/// `part` must be longer than [`LEAF`].
fn partition(part: &mut [u64]) -> (&mut [u64], &mut [u64]) {
    let last = part.len() - 1;
    let mut probes = [part[0], part[last / 2], part[last]];
    probes.sort_unstable();
    let pivot = probes[1];
    // A probe on either side stops each scan within the slice.
    let (mut low, mut high) = (0, last);
    loop {
        while part[low] < pivot {
            low += 1;
        }
        while part[high] > pivot {
            high -= 1;
        }
        if low >= high {
            break;
        }
        part.swap(low, high);
        low += 1;
        high -= 1;
    }
    part.split_at_mut(low.clamp(1, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_keeps_all_numbers_and_orders_the_sides_whatever_the_input() {
        let mut random = fastrand::Rng::with_seed(1);
        for distinct in [1, 2, 3, 10, u64::MAX] {
            for length in [LEAF + 1, 100, 1_001] {
                let mut numbers: Vec<u64> = (0..length).map(|_| random.u64(0..distinct)).collect();
                let mut expected = numbers.clone();
                let (left, right) = partition(&mut numbers);
                assert!(!left.is_empty() && !right.is_empty());
                assert!(left.iter().max() <= right.iter().min());
                sort::<Sequential>(&mut numbers);
                expected.sort_unstable();
                assert_eq!(numbers, expected);
            }
        }
    }

    #[test]
    fn ordered_numbers_are_sorted_too() {
        let ordered: Vec<u64> = (0..5_000).collect();
        let mut up = ordered.clone();
        let mut down: Vec<u64> = ordered.iter().rev().copied().collect();
        sort::<Sequential>(&mut up);
        sort::<Sequential>(&mut down);
        assert_eq!(up, ordered);
        assert_eq!(down, ordered);
    }
}
