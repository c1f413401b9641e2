//! Loops call their bodies with sub-ranges, or tiles, that together are the whole.

use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use heist_core::ThreadPoolBuilder;
use heist_par::iter::plumbing::Part;
use heist_par::prelude::*;
use heist_par::{parallel_for, parallel_reduce, sub_ranges, tiles};
use proptest::prelude::*;

use crate::pieces::pool;

proptest! {
    #[test]
    fn each_index_is_visited_once_whatever_the_iterations_cost(
        start in 0..1000_usize,
        len in 0..3000_usize,
        expensive in prop::collection::vec(0..3000_usize, 0..20),
    ) {
        let visits: Vec<AtomicU8> = (0..len).map(|_| AtomicU8::new(0)).collect();
        pool().install(|| parallel_for(start..start + len, |part| {
            assert!(!part.is_empty());
            for i in part {
                visits[i - start].fetch_add(1, Ordering::Relaxed);
                if expensive.contains(&(i - start)) {
                    std::hint::black_box((0..20_000).fold(0_u64, |a, b| a ^ std::hint::black_box(b)));
                }
            }
        }));
        prop_assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn an_empty_range_calls_nothing_and_builds_no_pool() {
    parallel_for(5..5, |_| panic!("there is nothing to do"));
    #[expect(clippy::reversed_empty_ranges, reason = "what a caller may compute")]
    parallel_for(7..3, |_| panic!("there is nothing to do"));
}

#[test]
fn ranges_at_the_end_of_the_index_space_do_not_overflow() {
    let sum = AtomicUsize::new(0);
    parallel_for(usize::MAX - 10..usize::MAX, |part| {
        sum.fetch_add(part.len(), Ordering::Relaxed);
    });
    assert_eq!(sum.into_inner(), 10);
}

/// Two iterations that wait for each other end only if each runs on its own: the loop does not glue
/// expensive iterations into one piece.
#[test]
fn expensive_iterations_at_one_end_are_spread_over_the_workers() {
    let together = Barrier::new(2);
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .expect("a pool");
    pool.install(|| {
        parallel_for(0..2, |part| {
            for _ in part {
                together.wait();
            }
        });
    });
}

#[test]
fn one_worker_visits_in_ascending_order() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a pool");
    let seen = Mutex::new(Vec::new());
    pool.install(|| parallel_for(0..10_000, |part| seen.lock().unwrap().extend(part)));
    assert!(seen.into_inner().unwrap().into_iter().eq(0..10_000));
}

#[test]
fn loops_nest() {
    let hits = AtomicUsize::new(0);
    pool().install(|| {
        parallel_for(0..50, |outer| {
            for _ in outer {
                parallel_for(0..50, |inner| {
                    hits.fetch_add(inner.len(), Ordering::Relaxed);
                });
            }
        });
    });
    assert_eq!(hits.into_inner(), 2500);
}

#[test]
fn a_panic_in_the_body_reaches_the_caller_and_the_pool_lives_on() {
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool().install(|| {
            parallel_for(0..1000, |part| {
                if part.contains(&500) {
                    panic_any("five hundred");
                }
            });
        });
    }));
    let payload = result.expect_err("the body panics");
    assert_eq!(payload.downcast_ref(), Some(&"five hundred"));
    assert_eq!(pool().join(|| 1, || 2), (1, 2));
}

#[test]
fn a_reduction_puts_the_sub_ranges_together_in_their_order() {
    let digits = |range| {
        pool().install(|| {
            parallel_reduce(
                range,
                String::new,
                |text, part| part.fold(text, |text, i| text + &i.to_string() + " "),
                |lower, upper| lower + &upper,
            )
        })
    };
    let expected: String = (0..3_000).map(|i| format!("{i} ")).collect();
    assert_eq!(digits(0..3_000), expected);
    assert_eq!(digits(4..4), "");
}

#[test]
fn sub_ranges_split_anywhere_are_still_the_whole() {
    fn halves(mut part: heist_par::SubRanges) -> Vec<usize> {
        match part.split() {
            Some(upper) => [halves(part), halves(upper)].concat(),
            None => {
                let mut indices = Vec::new();
                let _ = part.run(&mut { usize::MAX }, |range| {
                    indices.extend(range);
                    std::ops::ControlFlow::Continue(())
                });
                indices
            }
        }
    }
    for len in [0, 1, 2, 3, 100] {
        assert!(halves(sub_ranges(5..5 + len)).into_iter().eq(5..5 + len));
    }
}

/// Marks each cell of the tiles, and panics if one is marked twice.
fn mark(
    marks: &[AtomicU8],
    width: usize,
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
) {
    for y in rows {
        for x in columns.clone() {
            assert_eq!(marks[y * width + x].fetch_add(1, Ordering::Relaxed), 0);
        }
    }
}

#[test]
fn each_cell_is_in_one_tile() {
    for (height, width) in [
        (0, 5),
        (5, 0),
        (1, 1),
        (1, 1_000),
        (77, 1),
        (64, 64),
        (201, 67),
    ] {
        let marks: Vec<_> = (0..height * width).map(|_| AtomicU8::new(0)).collect();
        pool().install(|| {
            tiles([0..height, 0..width])
                .for_each(|[rows, columns]| mark(&marks, width, rows, columns));
        });
        assert!(
            marks.into_iter().all(|mark| mark.into_inner() == 1),
            "{height} x {width}"
        );
    }
}

#[test]
fn tiles_that_are_split_before_they_are_run_are_still_the_whole() {
    let marks: Vec<_> = (0..30 * 20).map(|_| AtomicU8::new(0)).collect();
    let mut parts = vec![tiles([0..30, 0..20])];
    // Steps and splits by turns, so that parts of several blocks are split as well.
    while let Some(mut part) = parts.pop() {
        let _ = part.run(&mut 3, |[rows, columns]| {
            mark(&marks, 20, rows, columns);
            std::ops::ControlFlow::Continue(())
        });
        parts.extend(part.split());
        if part.steps() > 0 {
            parts.push(part);
        }
    }
    assert!(marks.into_iter().all(|mark| mark.into_inner() == 1));
}

#[test]
fn tiles_have_as_many_dimensions_as_asked_for() {
    let cells = tiles([0..7, 3..9, 0..11])
        .map(|sides| sides.iter().map(ExactSizeIterator::len).product::<usize>());
    assert_eq!(pool().install(|| cells.sum::<usize>()), 7 * 6 * 11);
    let most = usize::MAX;
    assert_eq!(tiles([0..most, 0..most]).steps(), most);
    assert_eq!(tiles([0..most, 0..most, 0..0]).steps(), 0);
}
