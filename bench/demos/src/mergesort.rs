//! A merge sort whose merges are parallel too.

use heist_bench_workloads::rng::numbers;
use heist_bench_workloads::{fingerprint, Request};

use crate::demo::Demo;
use crate::join::{Join, Parallel, Serial};

/// Up to so many numbers nothing is worth a join.
const SERIAL_LEN: usize = 4096;
/// Up to so many numbers a sort by insertion is quicker.
const INSERTION_LEN: usize = 20;

pub(crate) struct Mergesort {
    numbers: Vec<u64>,
}

/// Where the sorted numbers shall lie.
#[derive(Clone, Copy)]
enum Target {
    Data,
    Spare,
}

impl Demo for Mergesort {
    type Output = Vec<u64>;

    fn new(request: &Request) -> Result<Self, String> {
        let numbers = numbers(request.len("len")?);
        Ok(Self { numbers })
    }

    fn serial(&self) -> Vec<u64> {
        self.sorted::<Serial>()
    }

    fn parallel(&self) -> Vec<u64> {
        self.sorted::<Parallel>()
    }

    fn checksum(output: Vec<u64>) -> u64 {
        fingerprint(output)
    }
}

impl Mergesort {
    fn sorted<J: Join>(&self) -> Vec<u64> {
        let mut data = self.numbers.clone();
        let mut spare = vec![0; data.len()];
        sort::<J>(&mut data, &mut spare, Target::Data);
        data
    }
}

/// Sorts `data` with `spare`, which is as long, as the place for merging.
fn sort<J: Join>(data: &mut [u64], spare: &mut [u64], into: Target) {
    if data.len() <= INSERTION_LEN {
        insertion_sort(data);
        if let Target::Spare = into {
            spare.copy_from_slice(data);
        }
        return;
    }
    let middle = data.len() / 2;
    let (left, right) = data.split_at_mut(middle);
    let (spare_left, spare_right) = spare.split_at_mut(middle);
    // The halves go where the whole will not lie.
    let halves_into = match into {
        Target::Data => Target::Spare,
        Target::Spare => Target::Data,
    };
    join_if_long::<J>(
        left.len() + right.len(),
        || sort::<J>(left, spare_left, halves_into),
        || sort::<J>(right, spare_right, halves_into),
    );
    match into {
        Target::Data => merge::<J>(spare_left, spare_right, data),
        Target::Spare => merge::<J>(left, right, spare),
    }
}

/// Merges two sorted lists into `out`, which is as long as both.
fn merge<J: Join>(a: &[u64], b: &[u64], out: &mut [u64]) {
    if out.len() <= SERIAL_LEN {
        return merge_serially(a, b, out);
    }
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let (long_low, long_high) = long.split_at(long.len() / 2);
    let cut = short.partition_point(|&number| number < long_high[0]);
    let (short_low, short_high) = short.split_at(cut);
    let (out_low, out_high) = out.split_at_mut(long_low.len() + cut);
    J::join(
        || merge::<J>(long_low, short_low, out_low),
        || merge::<J>(long_high, short_high, out_high),
    );
}

fn merge_serially<'a>(mut a: &'a [u64], mut b: &'a [u64], out: &mut [u64]) {
    for place in out {
        let from = match (a, b) {
            ([], _) => &mut b,
            (_, []) => &mut a,
            ([x, ..], [y, ..]) if y < x => &mut b,
            _ => &mut a,
        };
        *place = from[0];
        *from = &from[1..];
    }
}

fn join_if_long<J: Join>(len: usize, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
    if len <= SERIAL_LEN {
        Serial::join(a, b);
    } else {
        J::join(a, b);
    }
}

fn insertion_sort(data: &mut [u64]) {
    for end in 1..data.len() {
        let number = data[end];
        let place = data[..end].partition_point(|&other| other <= number);
        data.copy_within(place..end, place + 1);
        data[place] = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_sort() {
        for len in [0, 1, 20, 21, 50_000] {
            let (demo, _) = agreed::<Mergesort>(&format!("len={len}"));
            assert!(demo.parallel().is_sorted());
        }
    }
}
