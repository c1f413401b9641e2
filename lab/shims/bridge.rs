//! A bridge over an iterator whose `next` joins, which deadlocks under some schedules (rayon's
//! issue 1142).

use std::iter::once_with;

use rayon::prelude::*;

fn main() {
    let mut all: Vec<u32> = (0..4_u32)
        .into_par_iter()
        .flat_map(|i| once_with(move || rayon::join(|| i, || i).1).par_bridge())
        .collect();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3]);
}
