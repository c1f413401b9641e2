//! Yields: which jobs they find.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::sync::atomic::{AtomicBool, Ordering};

use heist_core::{join, yield_local, yield_now, ThreadPoolBuilder, Yield};

#[test]
fn the_first_half_of_a_join_can_yield_to_the_second() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.expect("a pool");
    for yields in [yield_now, yield_local] {
        let has_run = AtomicBool::new(false);
        let first = || {
            let yielded = [yields(), yields()];
            assert!(has_run.load(Ordering::Relaxed), "it lay in this deque");
            yielded
        };
        let second = || assert!(!has_run.swap(true, Ordering::Relaxed), "it runs once");
        let (yielded, ()) = pool.install(|| join(first, second));
        assert_eq!(yielded, [Some(Yield::Executed), Some(Yield::Idle)]);
    }
}

#[test]
fn a_local_yield_takes_newer_jobs_before_what_lies_below_the_second_half_of_a_join() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build();
    let order = std::sync::Mutex::new(Vec::new());
    let note = |name| order.lock().expect("no panic").push(name);
    pool.expect("a pool").scope(|scope| {
        scope.spawn(|_| note("older"));
        let first = || {
            scope.spawn(|_| note("newer"));
            while yield_local() == Some(Yield::Executed) {}
        };
        join(first, || note("second half"));
    });
    let order = order.into_inner().expect("no panic");
    assert_eq!(order[0], "newer");
    assert_eq!(order.len(), 3);
}
