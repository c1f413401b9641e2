// The kinds: each an ordinary loop, as one writes it first, in its serial and its parallel form.
// The file is read twice, below each of the two libraries (`library` is its name here).

use std::collections::{BTreeMap, HashMap, HashSet};

use library::prelude::*;

use crate::clock::{Clock, Kind};
use crate::data::{probe, Data};

/// A step of work that the compiler cannot shorten.
fn stir(mut state: u64, times: u64) -> u64 {
    for _ in 0..times {
        state = state.wrapping_mul(6_364_136_223_846_793_005).rotate_left(13) ^ 1;
    }
    state
}

fn escape(column: usize, row: usize) -> u64 {
    let (a, b) = (column as f64 / 128.0 - 1.5, row as f64 / 128.0 - 1.0);
    let (mut x, mut y, mut steps) = (0.0_f64, 0.0_f64, 0);
    while steps < 200 && x * x + y * y < 4.0 {
        (x, y) = (x * x - y * y + a, 2.0 * x * y + b);
        steps += 1;
    }
    steps
}

fn tree_of_loops(items: &[u32]) -> u64 {
    if items.len() <= 256 {
        return items.par_iter().map(|n| u64::from(*n)).sum();
    }
    let (left, right) = items.split_at(items.len() / 2);
    let (left, right) = library::join(|| tree_of_loops(left), || tree_of_loops(right));
    left + right
}

/// A number that allocates.
struct Polynomial(Vec<u64>);

impl Polynomial {
    fn of(n: &u32) -> Self {
        Self((0..8).map(|place| u64::from(n >> place & 1)).collect())
    }

    fn at_one(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl std::iter::Sum for Polynomial {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self(vec![0; 8]), |mut sum, next| {
            sum.0.iter_mut().zip(next.0).for_each(|(sum, next)| *sum += next);
            sum
        })
    }
}

fn histogram(mut bins: [u32; 256], byte: &u8) -> [u32; 256] {
    bins[usize::from(*byte)] += 1;
    bins
}

fn both(mut left: [u32; 256], right: [u32; 256]) -> [u32; 256] {
    for (left, right) in left.iter_mut().zip(right) {
        *left += right;
    }
    left
}

/// Sorts a copy.
fn sorted(items: &[u64], clock: &mut Clock, sort: impl Fn(&mut [u64])) -> u64 {
    let mut all = items.to_vec();
    clock.restart();
    sort(&mut all);
    probe(&all, |n| *n)
}

macro_rules! kinds {
    ($($name:ident: |$data:ident, $clock:ident| $serial:expr, $parallel:expr;)*) => {
        /// All kinds, on this library.
        pub(crate) const KINDS: &[Kind] = &[$(Kind {
            name: stringify!($name),
            serial: |$data: &Data, $clock: &mut Clock| { let _ = (&$data, &$clock); $serial },
            parallel: |$data: &Data, $clock: &mut Clock| { let _ = (&$data, &$clock); $parallel },
        }),*];
    };
}

kinds! {
    // Sums, products, extremes
    sum_of_integers: |d, c| d.integers.iter().sum(), d.integers.par_iter().sum();
    sum_of_floats: |d, c|
        d.floats.iter().sum::<f64>().to_bits(), d.floats.par_iter().sum::<f64>().to_bits();
    sum_of_squares: |d, c| d.integers.iter().map(|n| n * n).sum(),
        d.integers.par_iter().map(|n| n * n).sum();
    sum_of_bytes: |d, c| d.bytes.iter().map(|n| u64::from(*n)).sum(),
        d.bytes.par_iter().map(|n| u64::from(*n)).sum();
    sum_of_wide: |d, c| d.integers.iter().map(|n| i128::from(*n)).sum::<i128>() as u64,
        d.integers.par_iter().map(|n| i128::from(*n)).sum::<i128>() as u64;
    sum_of_roots: |d, c| d.floats.iter().map(|n| n.sqrt().floor()).sum::<f64>().to_bits(),
        d.floats.par_iter().map(|n| n.sqrt().floor()).sum::<f64>().to_bits();
    sum_of_polynomials: |d, c| d.small[..1 << 14].iter().map(Polynomial::of).sum::<Polynomial>().at_one(),
        d.small[..1 << 14].par_iter().map(Polynomial::of).sum::<Polynomial>().at_one();
    product_wrapping: |d, c|
        d.integers.iter().map(|n| std::num::Wrapping(n | 1)).product::<std::num::Wrapping<u64>>().0,
        d.integers.par_iter().map(|n| std::num::Wrapping(n | 1)).product::<std::num::Wrapping<u64>>().0;
    count_filtered: |d, c| d.integers.iter().filter(|n| *n % 3 == 0).count() as u64,
        d.integers.par_iter().filter(|n| *n % 3 == 0).count() as u64;
    max_of_integers: |d, c| *d.integers.iter().max().unwrap(), *d.integers.par_iter().max().unwrap();
    min_by_key: |d, c| d.pairs.iter().min_by_key(|pair| stir(pair.1, 2)).unwrap().1,
        d.pairs.par_iter().min_by_key(|pair| stir(pair.1, 2)).unwrap().1;
    max_by_partial: |d, c| d.floats.iter().max_by(|a, b| a.partial_cmp(b).unwrap()).unwrap().to_bits(),
        d.floats.par_iter().max_by(|a, b| a.partial_cmp(b).unwrap()).unwrap().to_bits();
    min_by_total: |d, c| d.floats.iter().min_by(|a, b| a.total_cmp(b)).unwrap().to_bits(),
        d.floats.par_iter().min_by(|a, b| a.total_cmp(b)).unwrap().to_bits();

    // Folds and reduces by value
    reduce_singles_max: |d, c| d.singles.iter().copied().fold(f32::MIN, f32::max).to_bits().into(),
        d.singles.par_iter().copied().reduce(|| f32::MIN, f32::max).to_bits().into();
    reduce_floats_min: |d, c| d.floats.iter().copied().fold(f64::MAX, f64::min).to_bits(),
        d.floats.par_iter().copied().reduce(|| f64::MAX, f64::min).to_bits();
    reduce_bits: |d, c| d.integers.iter().copied().fold(0, |a, b| a ^ b),
        d.integers.par_iter().copied().reduce(|| 0, |a, b| a ^ b);
    reduce_with_max: |d, c| d.integers.iter().copied().reduce(u64::max).unwrap(),
        d.integers.par_iter().copied().reduce_with(u64::max).unwrap();
    reduce_pairs: |d, c| {
            let (low, high) = d.integers.iter().fold((u64::MAX, 0), |(a, b), n| (a.min(*n), b.max(*n)));
            low ^ high
        }, {
            let (low, high) = d.integers.par_iter().map(|n| (*n, *n))
                .reduce(|| (u64::MAX, 0), |a, b| (a.0.min(b.0), a.1.max(b.1)));
            low ^ high
        };
    fold_sum: |d, c| d.small.iter().fold(0, |sum, n| sum + u64::from(*n)),
        d.small.par_iter().fold(|| 0, |sum, n| sum + u64::from(*n)).sum();
    fold_array: |d, c| probe(&d.bytes.iter().fold([0; 256], histogram), |n| u64::from(*n)),
        probe(&d.bytes.par_iter().fold(|| [0; 256], histogram).reduce(|| [0; 256], both),
            |n| u64::from(*n));
    fold_map: |d, c| {
            let mut counts: HashMap<u64, u32> = HashMap::new();
            d.integers[..1 << 14].iter().for_each(|n| *counts.entry(n % 97).or_default() += 1);
            u64::from(counts[&5])
        }, {
            let counts = d.integers[..1 << 14].par_iter()
                .fold(HashMap::<u64, u32>::new, |mut counts, n| {
                    *counts.entry(n % 97).or_default() += 1;
                    counts
                })
                .reduce(HashMap::new, |mut left, right| {
                    right.into_iter().for_each(|(key, count)| *left.entry(key).or_default() += count);
                    left
                });
            u64::from(counts[&5])
        };
    fold_vectors: |d, c| {
            let odd: Vec<u64> = d.integers.iter().copied().filter(|n| n % 2 == 1).collect();
            probe(&odd, |n| *n)
        }, {
            let odd = d.integers.par_iter().copied()
                .fold(Vec::new, |mut odd, n| {
                    if n % 2 == 1 {
                        odd.push(n);
                    }
                    odd
                })
                .reduce(Vec::new, |mut left, mut right| {
                    left.append(&mut right);
                    left
                });
            probe(&odd, |n| *n)
        };
    try_reduce: |d, c| d.small.iter().try_fold(0_u64, |sum, n| sum.checked_add(u64::from(*n))).unwrap(),
        d.small.par_iter().map(|n| Some(u64::from(*n))).try_reduce(|| 0, u64::checked_add).unwrap();

    // Windows and chunks
    windows_of_two: |d, c| d.integers.windows(2).filter(|pair| pair[0] < pair[1]).count() as u64,
        d.integers.par_windows(2).filter(|pair| pair[0] < pair[1]).count() as u64;
    windows_of_eight: |d, c| d.small.windows(8).map(|w| u64::from(w[0].max(w[7]))).sum(),
        d.small.par_windows(8).map(|w| u64::from(w[0].max(w[7]))).sum();
    chunks_of_slices: |d, c| d.integers.chunks(64).map(|chunk| chunk.iter().max().unwrap()).sum(),
        d.integers.par_chunks(64).map(|chunk| chunk.iter().max().unwrap()).sum();
    exact_chunks: |d, c| d.integers.chunks_exact(4).map(|chunk| chunk[0] ^ chunk[3]).sum(),
        d.integers.par_chunks_exact(4).map(|chunk| chunk[0] ^ chunk[3]).sum();
    chunks_from_the_end: |d, c| d.integers.rchunks(32).map(|chunk| chunk[0]).sum(),
        d.integers.par_rchunks(32).map(|chunk| chunk[0]).sum();
    chunks_of_iterators: |d, c|
        d.integers.chunks(16).map(|chunk| chunk.iter().copied().max().unwrap()).sum(),
        d.integers.par_iter().copied().chunks(16).map(|chunk| chunk.into_iter().max().unwrap()).sum();
    fold_chunks: |d, c| d.integers.chunks(256).map(|chunk| chunk.iter().sum::<u64>() % 7).sum(),
        d.integers.par_iter().fold_chunks(256, || 0, |sum, n| sum + n).map(|sum| sum % 7).sum();
    chunks_by: |d, c| d.pairs.chunk_by(|a, b| a.0 < b.0).count() as u64,
        d.pairs.par_chunk_by(|a, b| a.0 < b.0).count() as u64;

    // Collections
    map_collect: |d, c| {
            let all: Vec<u64> = d.integers.iter().map(|n| n ^ 5).collect();
            probe(&all, |n| *n)
        }, {
            let all: Vec<u64> = d.integers.par_iter().map(|n| n ^ 5).collect();
            probe(&all, |n| *n)
        };
    filter_collect: |d, c| {
            let some: Vec<u64> = d.integers.iter().copied().filter(|n| n % 3 == 0).collect();
            probe(&some, |n| *n)
        }, {
            let some: Vec<u64> = d.integers.par_iter().copied().filter(|n| n % 3 == 0).collect();
            probe(&some, |n| *n)
        };
    filter_map_collect: |d, c| {
            let some: Vec<u32> = d.integers.iter().filter_map(|n| u32::try_from(n << 14).ok()).collect();
            probe(&some, |n| u64::from(*n))
        }, {
            let some: Vec<u32> = d.integers.par_iter().filter_map(|n| u32::try_from(n << 14).ok()).collect();
            probe(&some, |n| u64::from(*n))
        };
    flat_map_vectors: |d, c| {
            let all: Vec<u32> = d.small[..1 << 14].iter().flat_map(|n| vec![*n, n + 1, n + 2]).collect();
            probe(&all, |n| u64::from(*n))
        }, {
            let all: Vec<u32> = d.small[..1 << 14].par_iter().flat_map(|n| vec![*n, n + 1, n + 2]).collect();
            probe(&all, |n| u64::from(*n))
        };
    flat_map_iterators: |d, c| d.small.iter().flat_map(|n| 0..n % 8).map(u64::from).sum(),
        d.small.par_iter().flat_map_iter(|n| 0..n % 8).map(u64::from).sum();
    flatten: |d, c| d.nested.iter().flatten().map(|n| u64::from(*n)).sum(),
        d.nested.par_iter().flatten().map(|n| u64::from(*n)).sum();
    collect_results: |d, c| {
            let all: Result<Vec<u64>, ()> = d.integers.iter().map(|n| Ok(n + 1)).collect();
            probe(&all.unwrap(), |n| *n)
        }, {
            let all: Result<Vec<u64>, ()> = d.integers.par_iter().map(|n| Ok(n + 1)).collect();
            probe(&all.unwrap(), |n| *n)
        };
    collect_set: |d, c| {
            let set: HashSet<u64> = d.integers[..1 << 14].iter().copied().collect();
            set.len() as u64
        }, {
            let set: HashSet<u64> = d.integers[..1 << 14].par_iter().copied().collect();
            set.len() as u64
        };
    collect_tree: |d, c| {
            let map: BTreeMap<u64, u32> = d.integers[..1 << 14].iter().map(|n| (*n, 1)).collect();
            map.len() as u64
        }, {
            let map: BTreeMap<u64, u32> = d.integers[..1 << 14].par_iter().map(|n| (*n, 1)).collect();
            map.len() as u64
        };
    collect_string: |d, c| {
            let upper: String = d.text.chars().map(|char| char.to_ascii_uppercase()).collect();
            upper.len() as u64
        }, {
            let upper: String = d.text.par_chars().map(|char| char.to_ascii_uppercase()).collect();
            upper.len() as u64
        };
    collect_strings: |d, c| {
            let all: Vec<String> = d.integers[..1 << 13].iter().map(u64::to_string).collect();
            probe(&all, |s| s.len() as u64)
        }, {
            let all: Vec<String> = d.integers[..1 << 13].par_iter().map(u64::to_string).collect();
            probe(&all, |s| s.len() as u64)
        };
    collect_into_vector: |d, c| {
            let mut all = Vec::new();
            all.extend(d.floats.iter().map(|n| n * 0.5));
            probe(&all, |n| n.to_bits())
        }, {
            let mut all = Vec::new();
            d.floats.par_iter().map(|n| n * 0.5).collect_into_vec(&mut all);
            probe(&all, |n| n.to_bits())
        };
    extend_vector: |d, c| {
            let mut all = vec![1];
            all.extend(d.integers.iter().filter(|n| *n % 2 == 0));
            probe(&all, |n| *n)
        }, {
            let mut all = vec![1];
            all.par_extend(d.integers.par_iter().copied().filter(|n| n % 2 == 0));
            probe(&all, |n| *n)
        };
    partition: |d, c| {
            let (odd, even): (Vec<u64>, Vec<u64>) = d.integers.iter().copied().partition(|n| n % 2 == 1);
            probe(&odd, |n| *n) ^ probe(&even, |n| *n)
        }, {
            let (odd, even): (Vec<u64>, Vec<u64>) = d.integers.par_iter().copied().partition(|n| n % 2 == 1);
            probe(&odd, |n| *n) ^ probe(&even, |n| *n)
        };
    unzip: |d, c| {
            let (first, second): (Vec<u32>, Vec<u64>) = d.pairs.iter().copied().unzip();
            probe(&first, |n| u64::from(*n)) ^ probe(&second, |n| *n)
        }, {
            let (first, second): (Vec<u32>, Vec<u64>) = d.pairs.par_iter().copied().unzip();
            probe(&first, |n| u64::from(*n)) ^ probe(&second, |n| *n)
        };
    vector_by_value: |d, c| {
            let strings = d.strings.clone();
            c.restart();
            strings.into_iter().map(|string| string.len() as u64).sum()
        }, {
            let strings = d.strings.clone();
            c.restart();
            strings.into_par_iter().map(|string| string.len() as u64).sum()
        };
    vector_of_numbers_by_value: |d, c| {
            let integers = d.integers.clone();
            c.restart();
            integers.into_iter().map(|n| n ^ 3).sum()
        }, {
            let integers = d.integers.clone();
            c.restart();
            integers.into_par_iter().map(|n| n ^ 3).sum()
        };
    drain: |d, c| {
            let mut integers = d.integers.clone();
            c.restart();
            integers.drain(100..200_000).map(|n| n ^ 3).sum()
        }, {
            let mut integers = d.integers.clone();
            c.restart();
            integers.par_drain(100..200_000).map(|n| n ^ 3).sum()
        };

    // Loops over places
    for_each_place: |d, c| {
            let mut all = d.integers.clone();
            c.restart();
            all.iter_mut().for_each(|n| *n = *n * 3 + 1);
            probe(&all, |n| *n)
        }, {
            let mut all = d.integers.clone();
            c.restart();
            all.par_iter_mut().for_each(|n| *n = *n * 3 + 1);
            probe(&all, |n| *n)
        };
    two_vectors: |d, c| {
            let mut all = d.floats.clone();
            c.restart();
            all.iter_mut().zip(&d.floats).for_each(|(a, b)| *a = *a * 0.5 + *b);
            probe(&all, |n| n.to_bits())
        }, {
            let mut all = d.floats.clone();
            c.restart();
            all.par_iter_mut().zip(&d.floats).for_each(|(a, b)| *a = *a * 0.5 + *b);
            probe(&all, |n| n.to_bits())
        };
    rows_of_a_picture: |d, c| {
            let mut picture = vec![0_u8; 256 * 256];
            picture.chunks_mut(256).enumerate().for_each(|(row, line)| {
                for (column, pixel) in line.iter_mut().enumerate() {
                    *pixel = escape(column, row) as u8;
                }
            });
            probe(&picture, |n| u64::from(*n))
        }, {
            let mut picture = vec![0_u8; 256 * 256];
            picture.par_chunks_mut(256).enumerate().for_each(|(row, line)| {
                for (column, pixel) in line.iter_mut().enumerate() {
                    *pixel = escape(column, row) as u8;
                }
            });
            probe(&picture, |n| u64::from(*n))
        };
    dot_product: |d, c| d.integers.iter().zip(&d.small).map(|(a, b)| a * u64::from(*b)).sum(),
        d.integers.par_iter().zip(&d.small).map(|(a, b)| a * u64::from(*b)).sum();
    enumerate: |d, c| d.small.iter().enumerate().map(|(i, n)| i as u64 ^ u64::from(*n)).sum(),
        d.small.par_iter().enumerate().map(|(i, n)| i as u64 ^ u64::from(*n)).sum();
    zip_of_three: |d, c| d.integers.iter().zip(&d.small).zip(&d.bytes)
            .map(|((a, b), c)| a + u64::from(*b) + u64::from(*c)).sum(),
        d.integers.par_iter().zip(&d.small).zip(&d.bytes)
            .map(|((a, b), c)| a + u64::from(*b) + u64::from(*c)).sum();
    reversed: |d, c| {
            let all: Vec<u64> = d.integers.iter().rev().copied().collect();
            probe(&all, |n| *n)
        }, {
            let all: Vec<u64> = d.integers.par_iter().rev().copied().collect();
            probe(&all, |n| *n)
        };
    skip_and_take: |d, c| d.integers.iter().skip(1_000).take(200_000).sum(),
        d.integers.par_iter().skip(1_000).take(200_000).sum();
    step_by: |d, c| d.integers.iter().step_by(3).sum(), d.integers.par_iter().step_by(3).sum();
    chain: |d, c| d.integers.iter().chain(&d.integers).sum(),
        d.integers.par_iter().chain(&d.integers).sum();
    interleave: |d, c| {
            let mut all = Vec::with_capacity(2 * d.small.len());
            d.small.iter().zip(&d.small).for_each(|(a, b)| all.extend([*a, *b]));
            probe(&all, |n| u64::from(*n))
        }, {
            let all: Vec<u32> = d.small.par_iter().interleave(&d.small).copied().collect();
            probe(&all, |n| u64::from(*n))
        };
    update_and_inspect: |d, c| d.integers.iter().copied().map(|n| n + 1).inspect(|n| assert!(*n > 0)).sum(),
        d.integers.par_iter().copied().update(|n| *n += 1).inspect(|n| assert!(*n > 0)).sum();
    map_init: |d, c| d.integers.iter().map(|n| stir(*n, 3) & 1).sum(),
        d.integers.par_iter().map_init(|| 3, |times, n| stir(*n, *times) & 1).sum();
    map_with: |d, c| d.integers.iter().map(|n| stir(*n, 3) & 1).sum(),
        d.integers.par_iter().map_with(3, |times, n| stir(*n, *times) & 1).sum();
    heavy_items: |d, c| d.integers[..2_000].iter().map(|n| stir(*n, 500) & 1).sum(),
        d.integers[..2_000].par_iter().map(|n| stir(*n, 500) & 1).sum();
    skewed_items: |d, c| (0..2_000_u64).map(|n| stir(n, n) & 1).sum(),
        (0..2_000_u64).into_par_iter().map(|n| stir(n, n) & 1).sum();

    // Ranges
    range_sum: |d, c| (0..1_u64 << 18).map(|n| n & 7).sum(),
        (0..1_u64 << 18).into_par_iter().map(|n| n & 7).sum();
    range_inclusive: |d, c| (0..=1_u64 << 18).filter(|n| n % 5 == 0).sum(),
        (0..=1_u64 << 18).into_par_iter().filter(|n| n % 5 == 0).sum();
    range_collect: |d, c| {
            let all: Vec<f64> = (0..1_u32 << 17).map(|n| f64::from(n).sqrt()).collect();
            probe(&all, |n| n.to_bits())
        }, {
            let all: Vec<f64> = (0..1_u32 << 17).into_par_iter().map(|n| f64::from(n).sqrt()).collect();
            probe(&all, |n| n.to_bits())
        };

    // Searches
    any: |d, c| u64::from(d.integers.iter().any(|n| *n > 1 << 40)),
        u64::from(d.integers.par_iter().any(|n| *n > 1 << 40));
    all: |d, c| u64::from(d.integers.iter().all(|n| *n < u64::MAX)),
        u64::from(d.integers.par_iter().all(|n| *n < u64::MAX));
    find_any: |d, c| u64::from(d.bytes.iter().find(|n| **n == 77).is_some()),
        u64::from(d.bytes.par_iter().find_any(|n| **n == 77).is_some());
    find_first_late: |d, c| d.pairs.iter().find(|pair| stir(pair.1, 1) == 9).map_or(3, |pair| pair.1),
        d.pairs.par_iter().find_first(|pair| stir(pair.1, 1) == 9).map_or(3, |pair| pair.1);
    position_first: |d, c| d.integers.iter().position(|n| *n == 1 << 40).map_or(7, |n| n as u64),
        d.integers.par_iter().position_first(|n| *n == 1 << 40).map_or(7, |n| n as u64);
    equal: |d, c| u64::from(d.integers.iter().eq(d.integers.iter())),
        u64::from(d.integers.par_iter().eq(d.integers.par_iter()));

    // Small loops in loops and joins
    loops_in_a_loop: |d, c| d.nested.iter().map(|row| row.iter().map(|n| u64::from(*n)).sum::<u64>()).sum(),
        d.nested.par_iter().map(|row| row.par_iter().map(|n| u64::from(*n)).sum::<u64>()).sum();
    loops_in_joins: |d, c| d.small[..1 << 16].iter().map(|n| u64::from(*n)).sum(),
        tree_of_loops(&d.small[..1 << 16]);
    many_small_loops: |d, c| d.integers[..100_000].chunks(200).map(|chunk| chunk.iter().sum::<u64>() & 3).sum(),
        d.integers[..100_000].chunks(200).map(|chunk| chunk.par_iter().sum::<u64>() & 3).sum();
    loops_of_few_items: |d, c| d.integers[..3_000].chunks(3).map(|c| c.iter().map(|n| n ^ 5).sum::<u64>() & 3).sum(),
        d.integers[..3_000].chunks(3).map(|c| c.par_iter().map(|n| n ^ 5).sum::<u64>() & 3).sum();
    matrix_product: |d, c| {
            let rows: Vec<f64> = (0..64).flat_map(|row| (0..64).map(move |column| (row, column)))
                .map(|(row, column)| (0..64).map(|k| d.floats[row * 64 + k] * d.floats[k * 64 + column]).sum())
                .collect();
            probe(&rows, |n| n.to_bits())
        }, {
            let rows: Vec<f64> = (0..64).into_par_iter()
                .flat_map_iter(|row| (0..64).map(move |column| (row, column)))
                .map(|(row, column)| (0..64).map(|k| d.floats[row * 64 + k] * d.floats[k * 64 + column]).sum())
                .collect();
            probe(&rows, |n| n.to_bits())
        };

    // Text
    lines: |d, c| d.text.lines().map(|line| line.len() as u64).sum(),
        d.text.par_lines().map(|line| line.len() as u64).sum();
    words: |d, c| d.text.split_whitespace().count() as u64,
        d.text.par_split_whitespace().count() as u64;
    characters: |d, c| d.text.chars().filter(|char| *char == '7').count() as u64,
        d.text.par_chars().filter(|char| *char == '7').count() as u64;
    split_at_spaces: |d, c| d.text.split(' ').filter(|word| word.starts_with('9')).count() as u64,
        d.text.par_split(' ').filter(|word| word.starts_with('9')).count() as u64;

    // Bridges
    bridge_of_lines: |d, c| d.text.lines().map(|line| stir(line.len() as u64, 50) & 1).sum(),
        d.text.lines().par_bridge().map(|line| stir(line.len() as u64, 50) & 1).sum();
    bridge_of_numbers: |d, c| (0..20_000_u64).map(|n| stir(n, 1) & 1).sum(),
        (0..20_000_u64).par_bridge().map(|n| stir(n, 1) & 1).sum();

    // Sorts
    sort_floats_unstable: |d, c| {
            let mut all = d.floats[..1 << 16].to_vec();
            c.restart();
            all.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap());
            probe(&all, |n| n.to_bits())
        }, {
            let mut all = d.floats[..1 << 16].to_vec();
            c.restart();
            all.par_sort_unstable_by(|a, b| a.partial_cmp(b).unwrap());
            probe(&all, |n| n.to_bits())
        };
    sort_floats: |d, c| {
            let mut all = d.floats[..1 << 16].to_vec();
            c.restart();
            all.sort_by(f64::total_cmp);
            probe(&all, |n| n.to_bits())
        }, {
            let mut all = d.floats[..1 << 16].to_vec();
            c.restart();
            all.par_sort_by(f64::total_cmp);
            probe(&all, |n| n.to_bits())
        };
    sort_nearly_sorted: |d, c| sorted(&d.nearly_sorted, c, <[u64]>::sort_unstable),
        sorted(&d.nearly_sorted, c, ParallelSliceMut::par_sort_unstable);
    sort_many_equal: |d, c| sorted(&d.many_equal, c, <[u64]>::sort_unstable),
        sorted(&d.many_equal, c, ParallelSliceMut::par_sort_unstable);
    sort_organ_pipes: |d, c| sorted(&d.organ_pipes, c, <[u64]>::sort_unstable),
        sorted(&d.organ_pipes, c, ParallelSliceMut::par_sort_unstable);
    sort_killer: |d, c| sorted(&d.killer, c, <[u64]>::sort_unstable),
        sorted(&d.killer, c, ParallelSliceMut::par_sort_unstable);
    sort_stable_organ_pipes: |d, c| sorted(&d.organ_pipes, c, <[u64]>::sort),
        sorted(&d.organ_pipes, c, ParallelSliceMut::par_sort);
    sort_integers: |d, c| {
            let mut all = d.integers[..1 << 16].to_vec();
            c.restart();
            all.sort_unstable();
            probe(&all, |n| *n)
        }, {
            let mut all = d.integers[..1 << 16].to_vec();
            c.restart();
            all.par_sort_unstable();
            probe(&all, |n| *n)
        };
    sort_pairs_by_key: |d, c| {
            let mut all = d.pairs[..1 << 16].to_vec();
            c.restart();
            all.sort_by_key(|pair| pair.0);
            probe(&all, |pair| pair.1)
        }, {
            let mut all = d.pairs[..1 << 16].to_vec();
            c.restart();
            all.par_sort_by_key(|pair| pair.0);
            probe(&all, |pair| pair.1)
        };
    sort_by_cached_key: |d, c| {
            let mut all = d.integers[..1 << 14].to_vec();
            c.restart();
            all.sort_by_cached_key(u64::to_string);
            probe(&all, |n| *n)
        }, {
            let mut all = d.integers[..1 << 14].to_vec();
            c.restart();
            all.par_sort_by_cached_key(u64::to_string);
            probe(&all, |n| *n)
        };
    sort_strings: |d, c| {
            let mut all = d.strings.clone();
            c.restart();
            all.sort();
            probe(&all, |s| u64::from(s.as_bytes()[9]))
        }, {
            let mut all = d.strings.clone();
            c.restart();
            all.par_sort();
            probe(&all, |s| u64::from(s.as_bytes()[9]))
        };
    sort_strings_unstable: |d, c| {
            let mut all = d.strings.clone();
            c.restart();
            all.sort_unstable();
            probe(&all, |s| u64::from(s.as_bytes()[9]))
        }, {
            let mut all = d.strings.clone();
            c.restart();
            all.par_sort_unstable();
            probe(&all, |s| u64::from(s.as_bytes()[9]))
        };
}
