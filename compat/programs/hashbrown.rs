//! Maps and sets are filled, walked, changed, compared and drained in parallel.

use std::time::Instant;

use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;

const ENTRIES: u64 = 600_000;
const STEPS: u64 = 6;

fn main() {
    let start = Instant::now();
    let mut sums = Vec::new();
    for step in 0..STEPS {
        let mut map: HashMap<u64, u64> =
            (0..ENTRIES).into_par_iter().map(|x| (mix(x), x)).collect();
        map.par_values_mut().for_each(|x| *x = mix(*x + step) >> 20);
        let even = map.par_iter().filter(|(_, &x)| x % 2 == 0).count() as u64;
        map.par_extend((0..ENTRIES / 2).into_par_iter().map(|x| (mix(x), x)));
        let sum = map.par_values().copied().reduce(|| 0, u64::wrapping_add);
        let low: HashSet<u64> = map.par_keys().copied().filter(|x| x % 3 == 0).collect();
        let high: HashSet<u64> = (0..ENTRIES)
            .into_par_iter()
            .map(|x| mix(x + 100_000))
            .collect();
        let both = low.par_intersection(&high).count() as u64;
        let largest = map.par_drain().map(|(key, x)| key ^ x).max().unwrap_or(0);
        sums.push((even, sum, both, largest, map.len()));
    }
    let wall_ns = start.elapsed().as_nanos();
    println!("wall_ns {wall_ns}");
    println!("{sums:?}");
}

/// Numbers as if they were random, no two of them equal.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^ (x >> 29)
}
