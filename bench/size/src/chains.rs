// Five ordinary chains, which the compiler turns into code: what that costs is measured, not what
// they do. The file is read twice, below each of the two libraries (`library` is its name here).

use std::collections::HashMap;
use std::process::ExitCode;

use library::prelude::*;

fn sum_of_squares(numbers: &[u64]) -> u64 {
    numbers.par_iter().map(|n| n * n).sum()
}

fn long_names(numbers: &[u64]) -> Vec<String> {
    numbers
        .par_iter()
        .filter(|n| **n % 3 == 0)
        .map(u64::to_string)
        .filter(|name| name.len() > 2)
        .collect()
}

fn add(to: &mut [f64], what: &[f64]) {
    to.par_iter_mut()
        .zip(what)
        .for_each(|(to, what)| *to += what * 0.5);
}

fn pairs(end: u32) -> Vec<(u32, u32)> {
    (0..end)
        .into_par_iter()
        .flat_map_iter(|row| (0..row).map(move |column| (row, column)))
        .filter_map(|(row, column)| (row % 5 == column % 5).then_some((row, column)))
        .collect()
}

fn lengths(words: &[String]) -> HashMap<usize, u32> {
    words
        .par_iter()
        .fold(HashMap::new, |mut counts, word| {
            *counts.entry(word.len()).or_insert(0) += 1;
            counts
        })
        .reduce(HashMap::new, |mut left, right| {
            for (length, count) in right {
                *left.entry(length).or_insert(0) += count;
            }
            left
        })
}

fn main() -> ExitCode {
    let len = std::env::args().count() as u64 * 1000;
    let numbers: Vec<u64> = (0..len).collect();
    let names = long_names(&numbers);
    let mut sums: Vec<f64> = vec![0.0; numbers.len()];
    let floats: Vec<f64> = numbers.iter().map(|n| *n as f64).collect();
    add(&mut sums, &floats);
    let is_right = sum_of_squares(&numbers) == numbers.iter().map(|n| n * n).sum()
        && names.len() == numbers.iter().filter(|n| **n % 3 == 0 && **n > 99).count()
        && sums[10] == 5.0
        && pairs(20).len() == 30
        && lengths(&names).len() == (len - 1).ilog10() as usize - 1;
    if is_right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
