//! A search through numbers for one that is there only late, or not at all.

use heist_bench_workloads::rng::{mix, numbers};
use heist_bench_workloads::{fingerprint, Request};
use rayon::prelude::*;

use crate::demo::Demo;

/// How many of all numbers come before the one that is found, in sixteenths.
const BEFORE: usize = 15;

pub(crate) struct Find {
    numbers: Vec<u64>,
    /// The image of a number that is there once, and late.
    late: u64,
}

impl Demo for Find {
    /// The finds by any, by first, and in a list without a match.
    type Output = [Option<u64>; 3];

    fn new(request: &Request) -> Result<Self, String> {
        let len = request.len("len")?;
        let numbers = numbers(len);
        let place = len / 16 * BEFORE;
        let late = numbers
            .get(place)
            .map(|&number| mix(number))
            .ok_or("cannot search `len=0` numbers; one at least is needed")?;
        Ok(Self { numbers, late })
    }

    fn serial(&self) -> Self::Output {
        let find = |wanted| {
            let mut numbers = self.numbers.iter().copied();
            numbers.find(|&number| mix(number) == wanted)
        };
        [find(self.late), find(self.late), find(self.absent())]
    }

    fn parallel(&self) -> Self::Output {
        let numbers = || self.numbers.par_iter().copied();
        let absent = self.absent();
        [
            numbers().find_any(|&number| mix(number) == self.late),
            numbers().find_first(|&number| mix(number) == self.late),
            numbers().find_any(|&number| mix(number) == absent),
        ]
    }

    fn checksum(output: Self::Output) -> u64 {
        // Zero is not among the numbers, see below.
        fingerprint(output.map(|found| found.unwrap_or(0)))
    }
}

impl Find {
    /// The image of zero, which is not among the numbers: the generator gives
    /// every number once in 2^64 steps, and zero last.
    fn absent(&self) -> u64 {
        mix(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_find_the_late_number_and_no_other() {
        let (demo, _) = agreed::<Find>("len=1600");
        let late = Some(numbers(1600)[1500]);
        assert_eq!(demo.serial(), [late, late, None]);
    }
}
