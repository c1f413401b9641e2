//! Items of a loop that wait for each other, as programs on rayon have them.

use std::sync::{mpsc, Barrier};
use std::thread;

use rayon::prelude::*;
use rayon::ThreadPoolBuilder;

/// IT-1: a thread of its own for each item, so to speak; they meet.
#[test]
fn as_many_items_as_workers_meet() {
    for workers in [2, 3, 4, 6] {
        let pool = ThreadPoolBuilder::new().num_threads(workers).build();
        let pool = pool.expect("a pool");
        let barrier = Barrier::new(workers);
        for _ in 0..50 {
            pool.install(|| {
                (0..workers).into_par_iter().for_each(|_| {
                    barrier.wait();
                });
            });
        }
    }
}

/// One item takes what the others give.
#[test]
fn the_first_item_hears_from_the_last() {
    let pool = ThreadPoolBuilder::new().num_threads(3).build();
    pool.expect("a pool").install(|| {
        for _ in 0..50 {
            let (says, hears) = mpsc::channel();
            let mut parts = vec![Err(hears), Ok(says.clone()), Ok(says.clone()), Ok(says)];
            let heard = parts.par_drain(..).map(|part| match part {
                Ok(says) => says.send(1).map_or(0, |()| 0),
                Err(hears) => hears.iter().sum(),
            });
            assert_eq!(heard.sum::<i32>(), 3);
        }
    });
}

/// Lengths below `chunks` are those of items, as the lower iterator counts them.
#[test]
fn chunks_of_as_many_items_as_a_part_may_have_meet() {
    let pool = ThreadPoolBuilder::new().num_threads(4).build();
    pool.expect("a pool").install(|| {
        let meet = |chunks: usize| {
            let all = Barrier::new(chunks);
            move || _ = all.wait()
        };
        let items = || (0..400).into_par_iter().with_min_len(100);
        let wait = meet(4);
        items().chunks(100).for_each(|_| wait());
        let wait = meet(4);
        items().step_by(100).for_each(|_| wait());
        let wait = meet(4);
        let sums = items().fold_chunks(100, || 0, |sum, item| sum + item);
        sums.for_each(|_| wait());
    });
}

/// As on rayon, where the only item is not split off.
#[test]
fn the_only_item_and_a_short_sort_run_on_the_calling_thread() {
    let here = thread::current().id();
    let one = vec![1].into_par_iter().map(|_| thread::current().id());
    assert_eq!(one.collect::<Vec<_>>(), [here]);
    let one = Some(()).into_par_iter().map(|()| thread::current().id());
    assert_eq!(one.find_any(|_| true), Some(here));
    let mut few: Vec<_> = (0..2000).rev().collect();
    few.par_sort_by(|a, b| {
        assert_eq!(thread::current().id(), here);
        a.cmp(b)
    });
    assert_eq!((few[0], few[1999]), (0, 1999));
}
