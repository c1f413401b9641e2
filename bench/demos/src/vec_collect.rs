//! Numbers collected into vectors: all of them in their places, and some of
//! them, whose places nobody knows beforehand.

use heist_bench_workloads::rng::mix;
use heist_bench_workloads::{fingerprint, Request};
use rayon::prelude::*;

use crate::demo::Demo;

pub(crate) struct VecCollect {
    len: u64,
}

impl Demo for VecCollect {
    /// All, and some.
    type Output = [Vec<u64>; 2];

    fn new(request: &Request) -> Result<Self, String> {
        let len = request.size("len")?;
        Ok(Self { len })
    }

    fn serial(&self) -> Self::Output {
        let numbers = || (0..self.len).map(mix);
        [numbers().collect(), numbers().filter(is_wanted).collect()]
    }

    fn parallel(&self) -> Self::Output {
        // A range of 64 bits may be too long to have places, one of `usize` has them.
        let numbers = || {
            (0..self.len as usize)
                .into_par_iter()
                .map(|number| mix(number as u64))
        };
        [numbers().collect(), numbers().filter(is_wanted).collect()]
    }

    fn checksum(output: Self::Output) -> u64 {
        fingerprint(output.into_iter().flatten())
    }
}

/// Three of four.
fn is_wanted(number: &u64) -> bool {
    !number.is_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_keep_the_order() {
        let (demo, _) = agreed::<VecCollect>("len=10000");
        let [all, some] = demo.parallel();
        assert_eq!((all.len(), all[7]), (10_000, mix(7)));
        assert!(some
            .iter()
            .eq(all.iter().filter(|number| **number % 4 != 0)));
    }
}
