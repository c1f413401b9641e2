//! Sums and products: one call for a piece, whatever a type makes of the items.

use std::iter::{Product, Sum};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use heist_par::prelude::*;
use heist_par::Granularity;

use crate::pieces::pool;

static OPERATIONS: AtomicUsize = AtomicUsize::new(0);
static PIECES: AtomicUsize = AtomicUsize::new(0);

/// A number modulo a prime, whose additions and multiplications are counted.
#[derive(Debug, PartialEq)]
struct Counted(u64);

impl Counted {
    fn operate(op: fn(u64, u64) -> u64) -> impl Fn(Self, Self) -> Self {
        move |a, b| {
            OPERATIONS.fetch_add(1, Relaxed);
            Self(op(a.0, b.0) % 1_000_003)
        }
    }
}

impl Sum for Counted {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self(0), Self::operate(|a, b| a + b))
    }
}

impl Sum<u64> for Counted {
    fn sum<I: Iterator<Item = u64>>(iter: I) -> Self {
        PIECES.fetch_add(1, Relaxed);
        iter.map(Self).sum()
    }
}

impl Product for Counted {
    fn product<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self(1), Self::operate(|a, b| a * b))
    }
}

impl Product<u64> for Counted {
    fn product<I: Iterator<Item = u64>>(iter: I) -> Self {
        PIECES.fetch_add(1, Relaxed);
        iter.map(Self).product()
    }
}

/// The additions or multiplications, and the pieces.
fn counts() -> (usize, usize) {
    (OPERATIONS.swap(0, Relaxed), PIECES.swap(0, Relaxed))
}

#[test]
fn an_item_is_added_once_and_a_piece_twice_at_most() {
    const LEN: usize = 10_000;
    let numbers: Vec<u64> = (1..=LEN as u64).collect();
    let serial: (Counted, Counted) = (
        numbers.iter().copied().sum(),
        numbers.iter().copied().product(),
    );
    counts();
    let ways = [Granularity::Automatic, Granularity::Static(100)];
    for way in ways {
        let numbers = || numbers.par_iter().copied().with_granularity(way);
        for is_sum in [true, false] {
            let total: Counted = pool().install(|| match is_sum {
                true => numbers().sum(),
                false => numbers().product(),
            });
            assert_eq!(&total, if is_sum { &serial.0 } else { &serial.1 });
            let (operations, pieces) = counts();
            assert!(operations <= LEN + 2 * pieces, "{operations}, {pieces}");
            // Halves of halves have at most 100 items.
            assert!(way == Granularity::Automatic || pieces == 128, "{pieces}");
        }
    }
}

/// Adds by a loop, and not by `fold`.
#[derive(Debug, PartialEq)]
struct Looped(usize);

impl Sum<usize> for Looped {
    fn sum<I: Iterator<Item = usize>>(iter: I) -> Self {
        let mut sum = 0;
        for n in iter {
            sum += n;
        }
        Self(sum)
    }
}

impl Sum for Looped {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.map(|Looped(n)| n).sum()
    }
}

#[test]
fn a_type_that_asks_for_one_item_after_the_other_gets_all() {
    fn check(
        iter: impl ParallelIterator<Item = usize> + Clone,
        serial: impl Iterator<Item = usize>,
    ) {
        let serial = Looped(serial.sum());
        for way in [Granularity::Automatic, Granularity::Static(7)] {
            let iter = iter.clone().with_granularity(way);
            assert_eq!(pool().install(|| iter.sum::<Looped>()), serial);
        }
    }
    for n in [0, 1, 2, 100, 10_000] {
        let numbers = (0..n).into_par_iter();
        check(numbers.clone(), 0..n);
        check(
            numbers.clone().filter(|i| i % 97 == 5),
            (0..n).filter(|i| i % 97 == 5),
        );
        check(
            numbers.clone().flat_map_iter(|i| i..i + i % 4),
            (0..n).flat_map(|i| i..i + i % 4),
        );
        check(
            numbers.clone().flat_map(|i| i..i + i % 4),
            (0..n).flat_map(|i| i..i + i % 4),
        );
        check(numbers.clone().chain(3..n), (0..n).chain(3..n));
        check(numbers.fold(|| 0, |a, b| a + b), 0..n);
        check((0..n).par_bridge(), 0..n);
    }
}

/// Is content with the first item.
struct First;

impl<T> Sum<T> for First {
    fn sum<I: Iterator<Item = T>>(mut iter: I) -> Self {
        iter.next();
        Self
    }
}

#[test]
fn items_that_a_type_leaves_are_made_and_dropped() {
    let (item, made) = (Arc::new(()), AtomicUsize::new(0));
    let items = (0..10_000).into_par_iter().flat_map_iter(|_| {
        made.fetch_add(2, Relaxed);
        [Arc::clone(&item), Arc::clone(&item)]
    });
    let First = pool().install(|| items.sum());
    assert_eq!((made.into_inner(), Arc::strong_count(&item)), (20_000, 1));
}

#[test]
fn a_sum_of_options_is_none_if_one_is() {
    for none in [None, Some(0), Some(4_321), Some(9_999)] {
        let numbers = (0..10_000_u64).collect::<Vec<_>>().into_par_iter();
        let options = numbers.map(|n| (Some(n) != none).then_some(n));
        let sum: Option<u64> = pool().install(|| options.sum());
        assert_eq!(sum, none.is_none().then_some(49_995_000));
    }
}
