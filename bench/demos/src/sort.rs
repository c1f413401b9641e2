//! Pairs sorted by their keys, with rayon's stable sort.

use heist_bench_workloads::rng::numbers;
use heist_bench_workloads::{fingerprint, Request};
use rayon::prelude::*;

use crate::demo::Demo;

pub(crate) struct Sort {
    /// Keys, many of which occur twice, with their places.
    pairs: Vec<(u32, u32)>,
}

impl Demo for Sort {
    type Output = Vec<(u32, u32)>;

    fn new(request: &Request) -> Result<Self, String> {
        let len = request.len("len")?;
        let keys = numbers(len).into_iter();
        let pairs = keys.map(|key| (key % len as u64) as u32).zip(0..).collect();
        Ok(Self { pairs })
    }

    fn serial(&self) -> Self::Output {
        let mut pairs = self.pairs.clone();
        pairs.sort_by_key(|pair| pair.0);
        pairs
    }

    fn parallel(&self) -> Self::Output {
        let mut pairs = self.pairs.clone();
        pairs.par_sort_by_key(|pair| pair.0);
        pairs
    }

    fn checksum(output: Self::Output) -> u64 {
        fingerprint(
            output
                .into_iter()
                .flat_map(|(key, from)| [key, from].map(u64::from)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_keep_the_order_of_equal_keys() {
        let (demo, _) = agreed::<Sort>("len=50000");
        assert!(demo.parallel().is_sorted());
    }
}
