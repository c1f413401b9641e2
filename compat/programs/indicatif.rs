//! Loops over small and over larger items count on a progress bar.

use std::time::Instant;

use indicatif::{ParallelProgressIterator, ProgressBar};
use rayon::prelude::*;

const SMALL: u64 = 100_000;
const LARGE: u64 = 10_000;

fn main() {
    let start = Instant::now();
    let bar = ProgressBar::hidden();
    let small: u64 = (0..SMALL)
        .into_par_iter()
        .progress_with(bar.clone())
        .map(|x| work(x, 1_000))
        .reduce(|| 0, u64::wrapping_add);
    let items: Vec<u64> = (0..LARGE).collect();
    let large: Vec<u64> = items
        .par_iter()
        .progress_with(bar.clone())
        .filter(|&x| x % 7 > 0)
        .map(|&x| work(x, 20_000 + x % 100 * 100))
        .collect();
    let wall_ns = start.elapsed().as_nanos();
    println!("wall_ns {wall_ns}");
    let large_sum = large.iter().fold(0, |sum: u64, &x| sum.rotate_left(5) ^ x);
    println!(
        "position {} small {small:016x} large {large_sum:016x}",
        bar.position()
    );
}

fn work(x: u64, steps: u64) -> u64 {
    (0..steps).fold(x, |x, step| {
        (x ^ step)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(17)
    })
}
