//! Work and span of loops whose answers are known, by a clock that only they advance.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use heist_core::insight::{measured, pass, stop_clock, Measured};
use heist_core::ThreadPoolBuilder;
use heist_par::prelude::*;

/// Measures `op` in pools of several sizes, where it takes the same.
fn measure(op: impl Fn() + Send + Sync) -> Measured {
    stop_clock(1000);
    let [first, others @ ..] = [1, 2, 3].map(|workers| {
        let pool = ThreadPoolBuilder::new().num_threads(workers).build();
        let pool = pool.expect("a pool");
        let ((), takes) = measured(|| pool.install(&op));
        let sum: i64 = takes.sites.iter().map(|site| site.2).sum();
        assert_eq!(sum, takes.work, "{takes:?}");
        takes
    });
    for other in others {
        assert_eq!((other.work, other.span), (first.work, first.span));
    }
    first
}

/// The numbers below `end`, each of which is a piece.
fn items(end: usize) -> impl IndexedParallelIterator<Item = usize> {
    (0..end).into_par_iter().with_max_len(1)
}

#[test]
fn the_pieces_of_a_loop_lie_side_by_side_on_any_number_of_workers() {
    let takes = measure(|| {
        pass(5);
        items(101).for_each(|n| pass(n as u64));
        pass(7);
    });
    assert_eq!((takes.work, takes.span), (5 + 5050 + 7, 5 + 100 + 7));
    // The call has moved into the pool, and a hundred pieces are handed out by seven steals.
    assert_eq!(takes.burdened, 112 + (1 + 7) * 1000);
}

#[test]
fn a_loop_is_a_site_with_the_name_of_its_closures() {
    let takes = measure(|| {
        let sum: usize = items(50)
            .map(|n| {
                pass(3);
                n
            })
            .sum();
        assert_eq!(sum, 1225);
    });
    assert_eq!((takes.work, takes.span), (150, 3));
    let site = takes.sites.iter().find(|site| site.1 == "loop");
    let (name, _, work, on_path) = site.expect("the loop");
    assert!(
        name.contains("a_loop_is_a_site_with_the_name_of_its_closures"),
        "{name}"
    );
    assert_eq!((*work, *on_path), (150, 3));
}

#[test]
fn loops_nest_in_items_and_follow_each_other() {
    let takes = measure(|| {
        for _ in 0..2 {
            items(4).for_each(|n| {
                pass(10);
                items(n + 1).for_each(|m| pass(m as u64 + 1));
            });
        }
    });
    assert_eq!(
        (takes.work, takes.span),
        (2 * (40 + 1 + 3 + 6 + 10), 2 * 14)
    );
}

#[test]
fn blocks_come_one_after_the_other() {
    let takes = measure(|| {
        let blocks = items(30).by_uniform_blocks(10);
        blocks.for_each(|_| pass(2));
    });
    assert_eq!((takes.work, takes.span), (60, 3 * 2));
}

#[test]
fn a_loop_that_panics_leaves_the_measurement_whole() {
    let takes = measure(|| {
        let panicked = std::panic::catch_unwind(|| {
            (0..1).into_par_iter().for_each(|_| {
                pass(4);
                panic!("an item");
            });
        });
        assert!(panicked.is_err());
        pass(1);
    });
    assert_eq!((takes.work, takes.span), (5, 5));
}
