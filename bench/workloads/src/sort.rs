//! Sorting of 64-bit numbers: one quicksort written over a join, the same for
//! every peer, and the sort of the peer's own library.

use crate::peer::ForkJoin;
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

/// Runs the workload `sort_library` with the peer's own `sort`, if it is asked for.
///
/// # Errors
///
/// If the size `len` is missing.
pub fn sort_library(request: &Request, mut sort: impl FnMut(&mut [u64])) -> Outcome {
    if request.workload() != "sort_library" {
        return Ok(false);
    }
    let len = request.len("len")?;
    request.repeat(|| sorted_sample(len, &mut sort))?;
    Ok(true)
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
