//! Tests of chunks.

#![expect(clippy::missing_panics_doc, reason = "they panic if a test fails")]

use std::ops::Range;
use std::time::Duration;

use heist_cluster::{remote, Cluster, RemoteError};

use crate::work::{mix, sum_of_mix};

/// Sums a part of a range.
#[remote(cpus = 2)]
pub fn sum_of_range(range: Range<u64>) -> u64 {
    sum_of_mix(range)
}

/// Joins numbers, times a factor, to text: the order shows.
#[remote]
pub fn to_text(factor: u64, numbers: Vec<u64>) -> String {
    numbers
        .iter()
        .map(|number| format!("{} ", factor * number))
        .collect()
}

/// Panics if a number is among its own.
#[remote]
pub fn trip_over(stone: u64, range: Range<u64>) -> u64 {
    assert!(!range.contains(&stone), "tripped over {stone}");
    range.end - range.start
}

/// A range is covered, once.
pub fn a_range_is_covered_once(cluster: &Cluster) {
    for end in [0, 1, 5, 300_000] {
        let chunks = cluster.chunks(0..end).target(Duration::from_millis(5));
        let sum = chunks.map(sum_of_range).reduce(0, u64::wrapping_add);
        assert_eq!(sum, Ok(sum_of_mix(0..end)));
    }
}

/// Lists keep their order, and what is shared reaches each chunk.
pub fn a_list_keeps_its_order(cluster: &Cluster) {
    let numbers: Vec<u64> = (0..500).map(mix).map(|number| number % 1000).collect();
    let expected: String = numbers
        .iter()
        .map(|number| format!("{} ", 3 * number))
        .collect();
    let text = cluster
        .chunks(numbers)
        .map_with(3, to_text)
        .reduce(String::new(), |a, b| a + &b);
    assert_eq!(text, Ok(expected));
}

/// Progress never goes back, ends with all, and counts each chunk.
pub fn progress_grows_to_the_whole(cluster: &Cluster) {
    let mut seen = Vec::new();
    let chunks = cluster.chunks(0..50_000).target(Duration::from_millis(2));
    let chunks = chunks.on_progress(|progress| seen.push(progress.clone()));
    let sum = chunks.map(sum_of_range).reduce(0, u64::wrapping_add);
    assert_eq!(sum, Ok(sum_of_mix(0..50_000)));
    for (at, progress) in (1..).zip(&seen) {
        assert_eq!((progress.chunks_done, progress.items), (at, 50_000));
        assert!(progress.items_done <= 50_000);
    }
    assert!(seen.is_sorted_by(|a, b| a.items_done < b.items_done && a.elapsed <= b.elapsed));
    let last = seen.last().expect("there were chunks");
    assert_eq!((last.items_done, last.chunks_open), (50_000, 0));
    assert_eq!(last.remaining, Some(Duration::ZERO));
}

/// A chunk that panics ends all.
pub fn a_chunk_that_panics_ends_all(cluster: &Cluster) {
    let result = cluster
        .chunks(0..10_000)
        .map_with(7777, trip_over)
        .reduce(0, |a, b| a + b);
    assert_eq!(
        result,
        Err(RemoteError::Panicked("tripped over 7777".to_owned()))
    );
}
