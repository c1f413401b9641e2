//! A quicksort of random numbers, with no help of a library's sort.

use heist_bench_workloads::rng::numbers;
use heist_bench_workloads::{fingerprint, partition, Request};

use crate::demo::Demo;
use crate::join::{Join, Parallel, Sequential};

/// Up to so many numbers nothing is worth a join.
const SERIAL_LEN: usize = 4096;

pub(crate) struct Quicksort {
    numbers: Vec<u64>,
}

impl Demo for Quicksort {
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

impl Quicksort {
    fn sorted<J: Join>(&self) -> Vec<u64> {
        let mut data = self.numbers.clone();
        sort::<J>(&mut data);
        data
    }
}

fn sort<J: Join>(data: &mut [u64]) {
    if data.len() <= 1 {
        return;
    }
    let is_short = data.len() <= SERIAL_LEN;
    let middle = partition(data);
    let (low, high) = data.split_at_mut(middle);
    // The pivot stands at the head of the upper part already.
    let high = &mut high[1..];
    if is_short {
        sort::<Sequential>(low);
        sort::<Sequential>(high);
    } else {
        J::join(|| sort::<J>(low), || sort::<J>(high));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_sort() {
        for len in [0, 1, 2, 50_000] {
            let (demo, _) = agreed::<Quicksort>(&format!("len={len}"));
            assert!(demo.parallel().is_sorted());
        }
    }
}
