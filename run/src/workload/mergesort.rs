//! Sorts random numbers by merging, with merges that are parallel themselves.

use std::io;

use heist_workloads::{Join, Merge, Sequential};

use super::contract::{Fact, Flag, Profile, Setup, Size, Workload};
use super::join::Heist;
use crate::strategy::{Bag, Pieces, Serial};

/// Up to here the standard library's sort takes over.
const LEAF: usize = 2_048;

/// Up to here a merge is not split any further.
const MERGE_LEAF: usize = 8_192;

/// How many chunks per thread the bag form sorts before it begins to merge.
const BAG_CHUNKS: usize = 4;

pub(crate) struct Mergesort {
    numbers: Vec<u64>,
}

/// The numbers, and as much room again.
pub(crate) struct Halves {
    numbers: Vec<u64>,
    room: Vec<u64>,
}

impl Workload for Mergesort {
    const PROFILE: Profile = Profile {
        name: "mergesort",
        about: "Sorts random numbers by merging, joins in the sort and in the merges",
        tasks: "a chunk of the numbers to sort or to merge; to stealing every join is one",
        size: Some(Size {
            what: "how many numbers",
            default: 8_000_000,
            accepted: 1..=1_000_000_000,
        }),
        flags: &[Flag::Seed],
    };

    type Scratch = Halves;
    type Output = Vec<u64>;

    fn prepare(setup: &Setup) -> anyhow::Result<Self> {
        let mut random = fastrand::Rng::with_seed(setup.seed);
        let numbers = (0..setup.len()).map(|_| random.u64(..)).collect();
        Ok(Self { numbers })
    }

    fn input(&self) -> String {
        format!("{} random numbers", self.numbers.len())
    }

    fn fresh(&self) -> Halves {
        Halves {
            numbers: self.numbers.clone(),
            room: self.numbers.clone(),
        }
    }

    fn serial(&self, mut halves: Halves, serial: &mut Serial<'_>) -> Vec<u64> {
        let name = format!("sort {}", halves.numbers.len());
        serial.item(
            || name,
            || sort::<Sequential>(&mut halves.numbers, &mut halves.room, Target::Numbers),
        );
        halves.numbers
    }

    fn bagged(&self, halves: Halves, bag: &mut Bag<'_>) -> io::Result<Vec<u64>> {
        let Halves {
            mut numbers,
            mut room,
        } = halves;
        let len = numbers.len();
        let mut width = len.div_ceil(bag.workers * BAG_CHUNKS).max(LEAF);
        bag.run(
            numbers
                .chunks_mut(width)
                .zip(room.chunks_mut(width))
                .collect(),
            |(chunk, _)| format!("sort {}", chunk.len()),
            |(chunk, room), (): &mut (), _| sort::<Sequential>(chunk, room, Target::Numbers),
        )?;
        let piece = width;
        while width < len {
            let mut merges = Vec::new();
            for (pair, to) in numbers.chunks(2 * width).zip(room.chunks_mut(2 * width)) {
                let (left, right) = pair.split_at(width.min(pair.len()));
                cut_merge(Merge { left, right, to }, piece, &mut merges);
            }
            bag.run(
                merges,
                |merge| format!("merge {}", merge.to.len()),
                |merge, (): &mut (), _| merge.run(),
            )?;
            std::mem::swap(&mut numbers, &mut room);
            width *= 2;
        }
        Ok(numbers)
    }

    fn stealing(&self, mut halves: Halves, _: Pieces<'_>) -> Vec<u64> {
        sort::<Heist>(&mut halves.numbers, &mut halves.room, Target::Numbers);
        halves.numbers
    }

    fn facts(&self, output: &Vec<u64>) -> Vec<Fact> {
        order_facts(output)
    }
}

/// Findings about sorted numbers.
pub(super) fn order_facts(numbers: &[u64]) -> Vec<Fact> {
    let sum = numbers.iter().copied().fold(0, u64::wrapping_add);
    vec![
        Fact::new("numbers", numbers.len()),
        Fact::new(
            "sorted",
            if numbers.is_sorted() { "yes" } else { "no" }.to_owned(),
        ),
        Fact::new("checksum", format!("{sum:016x}")),
    ]
}

/// Where a sort leaves its result. It alternates from level to level, so that
/// a merge never has to copy back.
#[derive(Clone, Copy)]
enum Target {
    Numbers,
    Room,
}

impl Target {
    fn other(self) -> Self {
        match self {
            Self::Numbers => Self::Room,
            Self::Room => Self::Numbers,
        }
    }
}

fn sort<J: Join>(numbers: &mut [u64], room: &mut [u64], target: Target) {
    if numbers.len() <= LEAF {
        return sort_leaf(numbers, room, target);
    }
    let middle = numbers.len() / 2;
    let (left, right) = numbers.split_at_mut(middle);
    let (left_room, right_room) = room.split_at_mut(middle);
    J::join(
        || sort::<J>(left, left_room, target.other()),
        || sort::<J>(right, right_room, target.other()),
    );
    merge_of(numbers, room, middle, target).run_joined::<J>(MERGE_LEAF);
}

fn sort_leaf(numbers: &mut [u64], room: &mut [u64], target: Target) {
    numbers.sort();
    if let Target::Room = target {
        room.copy_from_slice(numbers);
    }
}

/// The merge that ends a sort: its halves lie sorted in the other place.
fn merge_of<'a>(
    numbers: &'a mut [u64],
    room: &'a mut [u64],
    middle: usize,
    target: Target,
) -> Merge<'a> {
    let (from, to) = match target {
        Target::Numbers => (room, numbers),
        Target::Room => (numbers, room),
    };
    let (left, right) = from.split_at(middle);
    Merge { left, right, to }
}

/// Splits a merge until no part is longer than `piece`.
fn cut_merge<'a>(merge: Merge<'a>, piece: usize, parts: &mut Vec<Merge<'a>>) {
    if merge.to.len() <= piece.max(MERGE_LEAF) {
        parts.push(merge);
    } else {
        let (low, high) = merge.split();
        cut_merge(low, piece, parts);
        cut_merge(high, piece, parts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_lies_where_the_target_says() {
        let mut random = fastrand::Rng::with_seed(4);
        let numbers: Vec<u64> = (0..3 * LEAF).map(|_| random.u64(..)).collect();
        let mut expected = numbers.clone();
        expected.sort_unstable();
        let (mut in_numbers, mut in_room) = (numbers.clone(), numbers.clone());
        sort::<Sequential>(&mut in_numbers, &mut numbers.clone(), Target::Numbers);
        sort::<Sequential>(&mut numbers.clone(), &mut in_room, Target::Room);
        assert_eq!(in_numbers, expected);
        assert_eq!(in_room, expected);
    }
}
