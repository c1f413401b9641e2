//! A loop whose iterations cost ever more, with a cluster of very dear ones at the end.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::HumanCount;

use super::contract::{Fact, Profile, Setup, Size, Workload};
use crate::strategy::{Bag, Pieces, Serial};

pub(crate) struct SkewedLoop {
    iterations: usize,
}

impl Workload for SkewedLoop {
    const PROFILE: Profile = Profile {
        name: "loop",
        about: "A loop: iteration i costs i steps, the last hundredth 100 times as much",
        tasks: "an iteration; to stealing a part of the loop that was offered to thieves",
        size: Some(Size {
            what: "iterations",
            default: 20_000,
            accepted: 1..=1_000_000,
        }),
        flags: &[],
    };

    type Scratch = ();
    /// The wrapping sum over all iterations: the same in whatever order.
    type Output = u64;

    fn prepare(setup: &Setup) -> anyhow::Result<Self> {
        let iterations = setup.len();
        Ok(Self { iterations })
    }

    fn input(&self) -> String {
        let iterations = HumanCount(self.iterations as u64);
        format!("a loop of {iterations} iterations, the last hundredth 100 times as dear")
    }

    fn fresh(&self) {}

    fn serial(&self, (): (), serial: &mut Serial<'_>) -> u64 {
        let mut sum = 0_u64;
        for index in 0..self.iterations {
            let value = serial.item(|| name(index), || self.iteration(index));
            sum = sum.wrapping_add(value);
        }
        sum
    }

    fn bagged(&self, (): (), bag: &mut Bag<'_>) -> io::Result<u64> {
        let sums = bag.run(
            (0..self.iterations).collect(),
            |&index| name(index),
            |index, sum: &mut u64, _| *sum = sum.wrapping_add(self.iteration(index)),
        )?;
        Ok(sums.into_iter().fold(0, u64::wrapping_add))
    }

    fn stealing(&self, (): (), pieces: Pieces<'_>) -> u64 {
        let sum = AtomicU64::new(0);
        heist::parallel_for(0..self.iterations, |indices| {
            let part = indices.fold(0_u64, |part, index| {
                let value = pieces.item(|| name(index), || self.iteration(index));
                part.wrapping_add(value)
            });
            // Only the sum is read, after the loop has ended.
            sum.fetch_add(part, Ordering::Relaxed);
        });
        sum.into_inner()
    }

    fn facts(&self, output: &u64) -> Vec<Fact> {
        vec![Fact::new("checksum", format!("{output:016x}"))]
    }
}

impl SkewedLoop {
    fn iteration(&self, index: usize) -> u64 {
        let in_cluster = index >= self.iterations - self.iterations / 100;
        let steps = if in_cluster { 100 * index } else { index };
        // Each step needs the one before, so none can be optimised away.
        (0..steps).fold(index as u64, |state, _| {
            (state ^ (state >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
        })
    }
}

fn name(index: usize) -> String {
    format!("iteration {index}")
}
