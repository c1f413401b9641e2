//! In place of those of rayon-core's unit tests that look into the pool from inside: the same
//! promises through the public API.

use std::sync::mpsc::{channel, Receiver};
use std::thread;

use rayon_core::heist::ThreadPoolExt as _;
use rayon_core::{join, ThreadPool, ThreadPoolBuilder};

const WORKERS: usize = 22;

/// A pool, and the indices of those of its workers that have ended.
fn pool() -> (ThreadPool, Receiver<usize>) {
    let (end, ended) = channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(WORKERS)
        .exit_handler(move |index| end.send(index).unwrap())
        .build()
        .unwrap();
    (pool, ended)
}

/// Blocks until all workers have ended; the sender goes with the last.
fn assert_all_end(ended: &Receiver<usize>) {
    let mut indices: Vec<usize> = ended.iter().collect();
    indices.sort_unstable();
    assert!(indices.into_iter().eq(0..WORKERS));
}

fn join_a_lot(depth: usize) {
    if depth > 0 {
        join(|| join_a_lot(depth - 1), || join_a_lot(depth - 1));
    }
}

#[test]
fn a_pool_that_did_work_ends_when_its_handle_goes() {
    let (pool, ended) = pool();
    pool.install(|| join_a_lot(WORKERS));
    drop(pool);
    assert_all_end(&ended);
}

#[test]
fn a_pool_that_sleeps_ends_when_its_handle_goes() {
    let (pool, ended) = pool();
    let has_slept = || {
        let counters = pool.as_heist().counters();
        counters.workers().iter().all(|worker| worker.sleeps > 0)
    };
    while !has_slept() {
        thread::yield_now();
    }
    drop(pool);
    assert_all_end(&ended);
}
