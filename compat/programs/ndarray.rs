//! Arithmetic on a large array, element by element and row by row.

use std::time::Instant;

use ndarray::parallel::prelude::*;
use ndarray::{par_azip, Array1, Array2, Axis};

const SIDE: usize = 1500;
const STEPS: usize = 30;

fn main() {
    let mut state = Array2::from_shape_fn((SIDE, SIDE), |(row, column)| {
        ((row * 31 + column * 17) % 1009) as f64 / 1009.0
    });
    let weights = Array2::from_shape_fn((SIDE, SIDE), |(row, column)| {
        ((row ^ column) % 127) as f64 / 127.0
    });
    let start = Instant::now();
    let mut sums = Array1::<f64>::zeros(SIDE);
    for _ in 0..STEPS {
        state.par_mapv_inplace(|x| (3.0 * x).sin().abs());
        par_azip!((x in &mut state, &weight in &weights) *x = 0.5 * (*x + (weight * *x).exp() / 3.0));
        par_azip!((sum in &mut sums, row in state.rows()) *sum += row.sum());
        state
            .axis_iter_mut(Axis(0))
            .into_par_iter()
            .zip(sums.axis_iter(Axis(0)))
            .for_each(|(mut row, sum)| {
                let scale = 1.0 / (1.0 + sum.sum() / SIDE as f64);
                row.mapv_inplace(|x| x * scale);
            });
    }
    // Comparisons of numbers are exact in any order, unlike their sum.
    let largest = state.par_iter().copied().reduce(|| f64::MIN, f64::max);
    let wall_ns = start.elapsed().as_nanos();
    let hash = state.iter().chain(&sums).fold(0_u64, |hash, x| {
        (hash.rotate_left(5) ^ x.to_bits()).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    println!("wall_ns {wall_ns}");
    println!("largest {largest} hash {hash:016x}");
}
