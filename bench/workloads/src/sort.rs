//! Sorting: one quicksort of 64-bit numbers written over a join, the same for every
//! peer, and the sorts of the peer's own library, of several types and patterns.

use crate::peer::{ForkJoin, Sort};
use crate::rng::numbers;
use crate::{measure, Outcome, Request, Sample};

/// Below this many elements the quicksort leaves the rest to the standard library.
const SERIAL_LEN: usize = 4096;

/// Measures the quicksort over a join; a unit is the whole sort.
pub(crate) fn run_join<P: ForkJoin>(peer: &mut P, request: &Request) -> Result<(), String> {
    let len = request.len("len")?;
    request.repeat(|| {
        sorted_sample(len, |data| {
            peer.install(|context| quicksort::<P>(context, data));
        })
    })
}

/// The length of a tooth of the pattern `sawtooth`.
const TOOTH: u64 = 4096;
/// How many numbers there are in the pattern `few`.
const FEW: u64 = 16;

/// Runs the workload `sort_stable_WHAT` or `sort_unstable_WHAT`, if it is asked for;
/// `WHAT` is a type of random items, or a pattern of 64-bit numbers.
///
/// # Errors
///
/// If the size `len` is missing.
pub fn sorts<P: Sort>(peer: &mut P, request: &Request) -> Outcome {
    let Some(which) = request.workload().strip_prefix("sort_") else {
        return Ok(false);
    };
    let Some((manner, what)) = which.split_once('_') else {
        return Ok(false);
    };
    let is_stable = manner == "stable";
    if !is_stable && manner != "unstable" {
        return Ok(false);
    }
    let len = request.len("len")?;
    let random = |map: fn(u64) -> u64| numbers(len).into_iter().map(map).collect();
    let mut runner = Runner {
        peer,
        request,
        is_stable,
    };
    match what {
        "u64" => runner.run(|| numbers(len), same)?,
        "few" => runner.run(|| random(|number| number % FEW), same)?,
        "i32" => {
            let make = || {
                numbers(len)
                    .into_iter()
                    .map(|random| random as i32)
                    .collect()
            };
            runner.run(make, |number| number as u64)?;
        }
        "pairs" => runner.run(|| pairs(len), |(key, value)| key ^ u64::from(value) << 32)?,
        "strings" => {
            let text = |random| format!("{random:x}");
            runner.run(|| numbers(len).into_iter().map(text).collect(), text_hash)?;
        }
        "sorted" => runner.run(|| (0..len as u64).collect(), same)?,
        "reversed" => runner.run(|| (0..len as u64).rev().collect(), same)?,
        "sawtooth" => runner.run(|| (0..len as u64).map(|at| at % TOOTH).collect(), same)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn same(number: u64) -> u64 {
    number
}

/// Random keys that occur about twice, so that the second number of a pair counts.
fn pairs(len: usize) -> Vec<(u64, u32)> {
    let keys = numbers(len).into_iter().map(|random| random % len as u64);
    keys.zip(0..).collect()
}

fn text_hash(text: String) -> u64 {
    text.bytes()
        .fold(0, |hash, byte| hash << 5 ^ hash >> 60 ^ u64::from(byte))
}

/// A peer, and the kind of sort that is asked of it.
struct Runner<'a, P> {
    peer: &'a mut P,
    request: &'a Request,
    is_stable: bool,
}

impl<P: Sort> Runner<'_, P> {
    /// Sorts fresh items again and again; only the sort itself is timed.
    fn run<T: Ord + Send>(
        &mut self,
        make: impl Fn() -> Vec<T>,
        hash: impl Fn(T) -> u64 + Copy,
    ) -> Result<(), String> {
        self.request.repeat(|| {
            let mut data = make();
            let sorted = || {
                if self.is_stable {
                    self.peer.sort_stable(&mut data);
                } else {
                    self.peer.sort_unstable(&mut data);
                }
                data
            };
            measure::sample_of(1, sorted, |data| fingerprint(data.into_iter().map(hash)))
        })
    }
}

/// Sorts fresh random numbers; only the sort itself is timed.
fn sorted_sample(len: usize, sort: impl FnOnce(&mut [u64])) -> Sample {
    let mut data = numbers(len);
    let sorted = || {
        sort(&mut data);
        data
    };
    measure::sample_of(1, sorted, fingerprint)
}

/// A hash that depends on the order of the numbers.
pub fn fingerprint(data: impl IntoIterator<Item = u64>) -> u64 {
    data.into_iter()
        .fold(0, |hash, number| hash.wrapping_mul(31).wrapping_add(number))
}

fn quicksort<P: ForkJoin>(context: &mut P::Context<'_>, data: &mut [u64]) {
    if data.len() <= SERIAL_LEN {
        data.sort_unstable();
        return;
    }
    let middle = partition(data);
    let (low, high) = data.split_at_mut(middle);
    // The pivot stands at the head of the upper part already.
    P::join(
        context,
        |context| quicksort::<P>(context, low),
        |context| quicksort::<P>(context, &mut high[1..]),
    );
}

/// Moves what is below a pivot to its left and returns the pivot's place; of
/// one number at least.
pub fn partition(data: &mut [u64]) -> usize {
    let last = data.len() - 1;
    let pivot_at = median_of_three(data, 0, last / 2, last);
    data.swap(pivot_at, last);
    let pivot = data[last];
    let mut place = 0;
    for index in 0..last {
        // Swapping always and advancing by comparison leaves no branch to mispredict.
        data.swap(index, place);
        place += usize::from(data[place] < pivot);
    }
    data.swap(place, last);
    place
}

fn median_of_three(data: &[u64], a: usize, b: usize, c: usize) -> usize {
    let mut places = [a, b, c];
    places.sort_unstable_by_key(|&place| data[place]);
    places[1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_separates_what_is_below_the_pivot() {
        let mut data: Vec<u64> = numbers(1000).iter().map(|number| number % 100).collect();
        let middle = partition(&mut data);
        let pivot = data[middle];
        assert!(data[..middle].iter().all(|&number| number < pivot));
        assert!(data[middle..].iter().all(|&number| number >= pivot));
    }

    #[test]
    fn the_fingerprint_tells_orders_apart() {
        assert_ne!(fingerprint([1, 2]), fingerprint([2, 1]));
    }
}
