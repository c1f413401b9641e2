//! Ordinary loops that the compiler vectorises, each in its plain form and on heist.
//!
//! `cargo lab vectors` counts the vector instructions of both. A form is known by the name of its
//! function, which is also in the names of all code that is compiled for its closures.
#![forbid(unsafe_code)]
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "code for a function without a closure does not bear the name of the form"
)]

use std::process::ExitCode;

use heist::prelude::*;

/// Inputs of every type that the loops need.
struct Data {
    small: Vec<u32>,
    large: Vec<u64>,
    singles: Vec<f32>,
    floats: Vec<f64>,
}

macro_rules! loops {
    ($($plain:ident, $heist:ident($data:ident) -> $result:ty: $serial:expr, $parallel:expr;)*) => {
        $(
            #[inline(never)]
            fn $plain($data: &Data) -> $result {
                $serial
            }

            #[inline(never)]
            fn $heist($data: &Data) -> $result {
                $parallel
            }
        )*

        /// Whether both forms of each loop have the same result.
        fn agree(data: &Data) -> bool {
            [$($plain(data) == $heist(data)),*].into_iter().all(|equal| equal)
        }
    };
}

loops! {
    plain_sum, heist_sum(d) -> u32:
        d.small.iter().map(|n| n.wrapping_mul(*n) & 7).sum(),
        d.small.par_iter().map(|n| n.wrapping_mul(*n) & 7).sum();
    plain_maximum, heist_maximum(d) -> f32:
        d.singles.iter().copied().fold(f32::MIN, |a, b| a.max(b)),
        d.singles.par_iter().copied().reduce(|| f32::MIN, |a, b| a.max(b));
    plain_count, heist_count(d) -> usize:
        d.small.iter().filter(|n| **n > 1_000).count(),
        d.small.par_iter().filter(|n| **n > 1_000).count();
    plain_collect, heist_collect(d) -> Vec<u64>:
        d.large.iter().map(|n| n ^ 5).collect(),
        d.large.par_iter().map(|n| n ^ 5).collect();
    plain_places, heist_places(d) -> Vec<u32>:
        {
            let mut all = d.small.clone();
            all.iter_mut().for_each(|n| *n = (*n << 1) + 1);
            all
        },
        {
            let mut all = d.small.clone();
            all.par_iter_mut().for_each(|n| *n = (*n << 1) + 1);
            all
        };
    plain_two_vectors, heist_two_vectors(d) -> Vec<f64>:
        {
            let mut all = d.floats.clone();
            all.iter_mut().zip(&d.floats).for_each(|(a, b)| *a = *a * 0.5 + *b);
            all
        },
        {
            let mut all = d.floats.clone();
            all.par_iter_mut().zip(&d.floats).for_each(|(a, b)| *a = *a * 0.5 + *b);
            all
        };
    plain_dot_product, heist_dot_product(d) -> u64:
        d.large.iter().zip(&d.small).map(|(a, b)| a ^ u64::from(*b)).sum(),
        d.large.par_iter().zip(&d.small).map(|(a, b)| a ^ u64::from(*b)).sum();
    plain_enumerate, heist_enumerate(d) -> u64:
        d.large.iter().enumerate().map(|(i, n)| i as u64 ^ n).sum(),
        d.large.par_iter().enumerate().map(|(i, n)| i as u64 ^ n).sum();
    plain_range, heist_range(d) -> u64:
        (0..d.large.len() as u64).map(|n| n & 7).sum(),
        (0..d.large.len() as u64).into_par_iter().map(|n| n & 7).sum();
    plain_windows, heist_windows(d) -> usize:
        d.small.windows(2).filter(|pair| pair[0] < pair[1]).count(),
        d.small.par_windows(2).filter(|pair| pair[0] < pair[1]).count();
    plain_by_value, heist_by_value(d) -> u64:
        d.large.clone().into_iter().map(|n| n ^ 3).sum(),
        d.large.clone().into_par_iter().map(|n| n ^ 3).sum();
    plain_fold, heist_fold(d) -> u64:
        d.small.iter().fold(0, |sum, n| sum + u64::from(*n)),
        d.small.par_iter().fold(|| 0, |sum, n| sum + u64::from(*n)).sum();
    // No division is vectorised: if this loop seemed to be, the count would mean nothing.
    plain_scalar, heist_scalar(d) -> u64:
        d.large.iter().map(|n| 1_000_003 / (n | 1)).sum(),
        d.large.par_iter().map(|n| 1_000_003 / (n | 1)).sum();
}

fn main() -> ExitCode {
    let len = 1_000 * std::env::args().count();
    let large: Vec<u64> = (0..len as u64).map(|n| n * n % 4_099).collect();
    let data = Data {
        small: large.iter().map(|n| *n as u32).collect(),
        singles: large.iter().map(|n| *n as f32).collect(),
        floats: large.iter().map(|n| *n as f64).collect(),
        large,
    };
    if agree(&data) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
