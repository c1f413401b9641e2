//! An ordered map is filled, sorted by its values and by its keys, walked and compared.

use std::time::Instant;

use indexmap::{IndexMap, IndexSet};
use rayon::prelude::*;

const ENTRIES: u64 = 500_000;
const STEPS: u64 = 3;

fn main() {
    let start = Instant::now();
    let mut found = Vec::new();
    for step in 0..STEPS {
        let mut map: IndexMap<u64, u64> = (0..ENTRIES)
            .into_par_iter()
            .map(|x| (mix(x), x ^ step))
            .collect();
        map.par_sort_by(|_, a, _, b| mix(*a).cmp(&mix(*b)));
        let by_value = hash(&map);
        map.par_values_mut().for_each(|x| *x = mix(*x) % 1000);
        map.par_sort_unstable_keys();
        let by_key = hash(&map);
        let set: IndexSet<u64> = map
            .par_iter()
            .filter(|(_, &x)| x < 500)
            .map(|(&key, _)| key)
            .collect();
        let equal = map.par_eq(&map.clone());
        let first = map.par_keys().position_first(|key| !set.contains(key));
        let sum: u64 = map.into_par_iter().map(|(key, x)| (key >> 32) * x).sum();
        found.push((by_value, by_key, set.len(), equal, first, sum));
    }
    let wall_ns = start.elapsed().as_nanos();
    println!("wall_ns {wall_ns}");
    println!("{found:?}");
}

/// A hash of the entries in their order.
fn hash(map: &IndexMap<u64, u64>) -> u64 {
    let step = |hash: u64, x: u64| (hash.rotate_left(5) ^ x).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    map.iter()
        .fold(0, |hash, (&key, &x)| step(step(hash, key), x))
}

/// Numbers as if they were random, no two of them equal.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^ (x >> 29)
}
