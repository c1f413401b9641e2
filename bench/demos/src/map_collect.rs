//! Pairs collected into a hash map.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use heist_bench_workloads::rng::mix;
use heist_bench_workloads::Request;
use rayon::prelude::*;

use crate::demo::Demo;

/// The hash of the standard map without its random key, so that every run does the same.
type Map = HashMap<u64, u64, BuildHasherDefault<DefaultHasher>>;

pub(crate) struct MapCollect {
    len: u64,
}

impl Demo for MapCollect {
    type Output = Map;

    fn new(request: &Request) -> Result<Self, String> {
        let len = request.size("len")?;
        Ok(Self { len })
    }

    fn serial(&self) -> Map {
        (0..self.len).filter(is_wanted).map(pair).collect()
    }

    fn parallel(&self) -> Map {
        let numbers = (0..self.len).into_par_iter();
        numbers.filter(is_wanted).map(pair).collect()
    }

    fn checksum(output: Map) -> u64 {
        let entries = output.into_iter();
        entries.fold(0, |sum, (key, value)| {
            sum.wrapping_add(mix(key.wrapping_add(value)))
        })
    }
}

/// Three of four.
fn is_wanted(number: &u64) -> bool {
    !number.is_multiple_of(4)
}

fn pair(number: u64) -> (u64, u64) {
    (number, mix(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_collect_every_wanted_number() {
        let (demo, _) = agreed::<MapCollect>("len=4000");
        let map = demo.parallel();
        assert_eq!((map.len(), map[&5]), (3000, mix(5)));
    }
}
