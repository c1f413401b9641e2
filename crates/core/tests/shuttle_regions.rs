//! Regions of calls under shuttle: left by panics, cancelled, and with something around their jobs,
//! while thieves come for what they have begun. A failure prints what replays it.
//!
//! Run with `cargo xtask model`.
#![cfg(heist_shuttle)]

use std::cell::RefCell;
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::sync::Arc;

use heist_core::{
    checkpoint, is_cancelled, join, scope, spawn, with_cancellation, with_propagation, yield_now,
    CancellationToken, Cancelled, ThreadPool, ThreadPoolBuilder,
};
use shuttle::sync::atomic::{AtomicUsize, Ordering};

/// Runs a test under both schedulers.
fn check(test: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(test.clone(), 300);
    shuttle::check_pct(test, 300, 3);
}

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

shuttle::thread_local! {
    /// The spans that the thread is in, outermost first.
    static SPANS: RefCell<Vec<u32>> = RefCell::new(Vec::new());
}

fn spans() -> Vec<u32> {
    SPANS.with(|spans| spans.borrow().clone())
}

fn within<R: Send>(span: u32, op: impl FnOnce() -> R + Send) -> R {
    let around = move |run: &mut dyn FnMut()| {
        SPANS.with(|spans| spans.borrow_mut().push(span));
        run();
        assert_eq!(SPANS.with(|spans| spans.borrow_mut().pop()), Some(span));
    };
    with_propagation(Arc::new(around), op)
}

/// A job that is to see these spans, and no token.
fn job(ran: &Arc<AtomicUsize>, seen: &'static [u32]) -> impl FnOnce() + Send + 'static {
    let ran = Arc::clone(ran);
    move || {
        assert_eq!(spans(), seen);
        assert!(!is_cancelled());
        ran.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn jobs_that_a_panic_leaves_in_a_region_keep_it_while_a_thief_comes() {
    check(|| {
        let pool = pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        pool.install(|| {
            spawn(job(&ran, &[]));
            let left = catch_unwind(AssertUnwindSafe(|| {
                within(1, || {
                    spawn(job(&ran, &[1]));
                    let left = catch_unwind(AssertUnwindSafe(|| {
                        within(2, || {
                            spawn(job(&ran, &[1, 2]));
                            panic_any("in the inner one")
                        })
                    }));
                    assert!(left.is_err());
                    spawn(job(&ran, &[1]));
                    panic_any("in the outer one")
                })
            }));
            assert!(left.is_err());
            spawn(job(&ran, &[]));
        });
        pool.shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), 5);
    });
}

#[test]
fn a_foreign_job_that_spawns_on_top_of_a_region_spawns_outside_of_it() {
    check(|| {
        let pool = pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        let token = CancellationToken::new();
        let left = job(&ran, &[]);
        pool.install(|| {
            spawn(|| spawn(left));
            let result = with_cancellation(&token, || {
                token.cancel();
                yield_now();
                let late = Arc::clone(&ran);
                spawn(move || _ = late.fetch_add(100, Ordering::SeqCst));
                yield_now();
                checkpoint();
            });
            assert_eq!(result, Err(Cancelled));
        });
        pool.shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn the_panic_of_a_scope_wins_over_its_token_and_each_job_is_dropped_once() {
    check(|| {
        let pool = pool(2);
        let (token, held) = (CancellationToken::new(), Arc::new(()));
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                with_cancellation(&token, || {
                    scope(|scope| {
                        for _ in 0..2 {
                            let held = Arc::clone(&held);
                            scope.spawn(move |_| {
                                let _held = held;
                                checkpoint();
                            });
                        }
                        token.cancel();
                        panic_any("the scope's")
                    })
                })
            })
        }));
        let payload = result.map(|_: Result<(), _>| ()).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"the scope's"));
        assert_eq!(Arc::strong_count(&held), 1);
        pool.shutdown();
    });
}

#[test]
fn a_cancelled_scope_runs_or_drops_each_job_once_whoever_has_it() {
    check(|| {
        let pool = pool(2);
        let (held, ran) = (Arc::new(()), AtomicUsize::new(0));
        let value = pool.scope(|scope| {
            for n in 0..3 {
                let (outer, inner, ran) = (Arc::clone(&held), Arc::clone(&held), &ran);
                scope.spawn(move |scope| {
                    let _outer = outer;
                    ran.fetch_add(1, Ordering::SeqCst);
                    scope.spawn(move |_| {
                        let _inner = inner;
                        ran.fetch_add(1, Ordering::SeqCst);
                    });
                    if n == 1 {
                        scope.cancel();
                    }
                });
            }
            7
        });
        assert_eq!(value, 7);
        assert_eq!(Arc::strong_count(&held), 1);
        assert!((1..=6).contains(&ran.load(Ordering::SeqCst)));
        // The next is none of that.
        pool.scope(|scope| {
            (0..2).for_each(|_| scope.spawn(|_| _ = ran.fetch_add(10, Ordering::SeqCst)))
        });
        assert!(ran.load(Ordering::SeqCst) > 20);
        pool.shutdown();
    });
}

#[test]
fn halves_and_jobs_see_the_spans_of_their_call_among_those_of_others() {
    check(|| {
        let pool = pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        let foreign = [job(&ran, &[]), job(&ran, &[])];
        pool.install(|| {
            foreign.into_iter().for_each(spawn);
            within(1, || {
                let both = || join(spans, || within(2, || join(spans, spans)));
                assert_eq!(both(), (vec![1], (vec![1, 2], vec![1, 2])));
                scope(|scope| scope.spawn(|_| assert_eq!(spans(), [1])));
                yield_now();
            });
            assert_eq!(spans(), []);
        });
        pool.shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), 2);
    });
}
