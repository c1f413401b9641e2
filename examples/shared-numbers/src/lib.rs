//! The remote part of `shared-numbers`: questions about a list of numbers that all nodes share.

#![forbid(unsafe_code)]

use heist::prelude::*;
use heist_cluster::{job, remote, Job, JobContext, Remote, Stop};
use serde::{Deserialize, Serialize};

heist_cluster::export!();

/// The numbers from `first` to `last`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Band {
    /// The smallest of them.
    pub first: u64,
    /// The largest, which is one of them.
    pub last: u64,
}

/// A few figures about numbers that were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// How many they are.
    pub count: u64,
    /// All of them added up.
    pub sum: u64,
}

impl Tally {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
        }
    }

    fn one(number: u64) -> Self {
        Self {
            count: 1,
            sum: number,
        }
    }
}

/// A call: those of the shared numbers that lie in a band, found on two processors.
#[remote(cpus = 2)]
pub fn within(numbers: Remote<Vec<u64>>, band: Band) -> Result<Tally, String> {
    let numbers = numbers.get().map_err(|error| error.to_string())?;
    let found = numbers
        .par_iter()
        .filter(|number| (band.first..=band.last).contains(*number))
        .map(|number| Tally::one(*number));
    Ok(found.reduce(Tally::default, Tally::and))
}

/// A job: it goes through the shared numbers, and its fields are its state. Wherever it is
/// moved, it goes on at `next`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Walk {
    /// All nodes have these.
    pub numbers: Remote<Vec<u64>>,
    /// The index of the first that it has not seen.
    pub next: usize,
    /// Those before that.
    pub found: Tally,
}

#[job]
impl Job for Walk {
    type Out = Tally;
    const VERSION: u32 = 1;

    fn run(&mut self, context: &JobContext) -> Result<Tally, Stop> {
        let numbers = self.numbers.get();
        let numbers = numbers.map_err(|error| Stop::fail(error.to_string()))?;
        while self.next < numbers.len() {
            context.safe_point(self)?; // it may end here, and go on elsewhere
            context.set_progress(self.next as f64 / numbers.len() as f64);
            let end = numbers.len().min(self.next + 100_000);
            for number in &numbers[self.next..end] {
                self.found = self.found.and(Tally::one(*number));
            }
            self.next = end;
        }
        Ok(self.found)
    }
}
