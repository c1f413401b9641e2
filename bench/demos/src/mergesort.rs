//! A merge sort whose merges are parallel too.

use heist_bench_workloads::rng::numbers;
use heist_bench_workloads::{fingerprint, Request};
use heist_workloads::Merge;

use crate::demo::Demo;
use crate::join::{Join, Parallel, Sequential};

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
        self.sorted::<Sequential>()
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
    let (left, right, to) = match into {
        Target::Data => (&*spare_left, &*spare_right, data),
        Target::Spare => (&*left, &*right, spare),
    };
    Merge { left, right, to }.run_joined::<J>(SERIAL_LEN);
}

fn join_if_long<J: Join>(len: usize, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
    if len <= SERIAL_LEN {
        Sequential::join(a, b);
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
