//! The facade offers every operation under one name, and they work together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// One computation through every operation of the facade.
#[test]
fn the_operations_work_together_in_one_pool() {
    let pool = heist::ThreadPoolBuilder::new()
        .num_threads(3)
        .record_events(1 << 12)
        .build()
        .expect("a pool");
    let before = pool.counters();
    let sum = Arc::new(AtomicU64::new(0));
    let add = |n: u64| {
        sum.fetch_add(n, Ordering::Relaxed);
    };
    pool.install(|| {
        heist::join(|| add(1), || add(2));
        heist::scope(|scope| scope.spawn(|_| add(4)));
        heist::parallel_for(0..8, |part| add(part.len() as u64));
        let urgent = heist::job().priority(heist::Priority::High);
        add(urgent.submit(|| 16).join());
        let group = heist::TaskGroup::new();
        let shared = Arc::clone(&sum);
        group.run(move || {
            shared.fetch_add(32, Ordering::Relaxed);
        });
        group.wait();
        heist::broadcast(|context| {
            if context.index() == 0 {
                add(64);
            }
        });
    });
    assert_eq!(sum.load(Ordering::Relaxed), 127);

    let done = pool.counters().since(&before);
    assert!(done.total().jobs > 0);
    assert_eq!(done.to_string().lines().count(), 5, "{done}");
    assert_eq!(pool.events().len(), 3);
}

/// A program written for rayon's core moves by renaming the crate.
#[test]
fn a_program_written_for_rayon_compiles_and_gives_the_same() {
    use heist as rayon;

    fn quicksort<T: Ord + Send>(items: &mut [T]) {
        if items.len() <= 1 {
            return;
        }
        let last = items.len() - 1;
        let mut low = 0;
        for i in 0..last {
            if items[i] < items[last] {
                items.swap(i, low);
                low += 1;
            }
        }
        items.swap(low, last);
        let (left, right) = items.split_at_mut(low);
        rayon::join(|| quicksort(left), || quicksort(&mut right[1..]));
    }

    let mut items: Vec<u32> = (0..10_000_u32)
        .map(|i| i.wrapping_mul(2_654_435_761))
        .collect();
    let mut expected = items.clone();
    expected.sort_unstable();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .expect("a pool");
    pool.install(|| quicksort(&mut items));
    assert_eq!(items, expected);
}

/// The guide's program under the name "A value initialised by parallel code hangs" (rayon#1251):
/// each item of a loop wants a value that another loop makes. With std's `OnceLock` a worker that
/// waits for a part of the inner loop begins an item of the outer one, and waits for itself.
#[test]
fn a_value_that_a_loop_makes_is_wanted_by_every_item_of_another() {
    use heist::prelude::*;

    for workers in [1, 2, 4, 8] {
        let pool = heist::ThreadPoolBuilder::new().num_threads(workers).build();
        let pool = pool.expect("a pool");
        for _ in 0..50 {
            let squares = heist::Lazy::new(|| {
                let squares = (0..2_000_u64).into_par_iter().map(|n| n * n);
                squares.collect::<Vec<_>>()
            });
            let sum: u64 = pool.install(|| (0..200).into_par_iter().map(|n| squares[n]).sum());
            assert_eq!(sum, 2_646_700);
        }
    }
}
