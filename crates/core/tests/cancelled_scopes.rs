//! Scopes that are cancelled: what has not begun is dropped, once, and nothing else is.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;

use heist_core::{
    in_place_scope, join, scope, spawn, with_cancellation, CancellationToken, Cancelled, Scope,
    ThreadPool, ThreadPoolBuilder, Waiting,
};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

/// Held by each closure; says how many there are.
fn token() -> (Arc<()>, impl Fn(&Arc<()>) -> usize) {
    (Arc::new(()), |token| Arc::strong_count(token) - 1)
}

#[test]
fn jobs_that_have_not_begun_are_dropped_and_the_scope_gives_its_value() {
    let (token, held) = token();
    pool(1).install(|| {
        let spawned = scope(|scope| {
            for _ in 0..100 {
                let token = Arc::clone(&token);
                scope.spawn(move |_| unreachable!("the only worker is here: {token:?}"));
            }
            assert!(!scope.is_cancelled());
            scope.cancel();
            assert!(scope.is_cancelled());
            let late = Arc::clone(&token);
            scope.spawn(move |_| unreachable!("it was cancelled before: {late:?}"));
            held(&token)
        });
        assert_eq!(spawned, 101);
        assert_eq!(held(&token), 0);
    });
}

#[test]
fn a_running_job_goes_on_and_is_told_while_those_of_others_run() {
    let (others, held) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    pool(1).install(|| {
        let late = Arc::clone(&held);
        scope(|outer| {
            outer.spawn(|_| _ = others.fetch_add(1, Ordering::Relaxed));
            scope(|inner| {
                inner.spawn(|_| unreachable!("it comes after the next"));
                inner.spawn(|inner| {
                    inner.cancel();
                    assert!(inner.is_cancelled());
                    spawn(move || _ = late.fetch_add(1, Ordering::Relaxed));
                    outer.spawn(|_| _ = others.fetch_add(1, Ordering::Relaxed));
                    scope(|own| own.spawn(|_| _ = others.fetch_add(1, Ordering::Relaxed)));
                    assert_eq!(join(|| 1, || 2), (1, 2));
                });
                inner.spawn_broadcast(|_, _| ());
            });
        });
        while heist_core::yield_local() == Some(heist_core::Yield::Executed) {}
    });
    assert_eq!(others.into_inner(), 3);
    assert_eq!(held.load(Ordering::Relaxed), 1);
}

/// Spawns jobs, of which that with this number cancels the scope.
fn fill<'scope>(scope: &Scope<'scope>, last: usize, token: &Arc<()>, ran: &'scope AtomicUsize) {
    for n in 0..100 {
        let token = Arc::clone(token);
        scope.spawn(move |scope| {
            let _token = token;
            ran.fetch_add(1, Ordering::Relaxed);
            if n == last {
                scope.cancel();
            }
        });
    }
}

#[test]
fn each_closure_of_a_cancelled_scope_is_gone_once_it_has_ended() {
    for (workers, waiting) in [
        (1, Waiting::Any),
        (3, Waiting::Any),
        (3, Waiting::Descendants),
    ] {
        let builder = ThreadPoolBuilder::new().num_threads(workers);
        let pool = builder.waiting(waiting).build().expect("a pool");
        for round in 0..50 {
            let ((token, held), ran) = (token(), AtomicUsize::new(0));
            if round % 2 == 0 {
                pool.install(|| in_place_scope(|scope| fill(scope, round, &token, &ran)));
            } else {
                pool.scope(|scope| fill(scope, round, &token, &ran));
            }
            assert_eq!(held(&token), 0);
            assert!((1..=100).contains(&ran.into_inner()));
        }
    }
}

#[test]
fn a_scope_in_order_drops_what_has_not_begun() {
    pool(1).install(|| {
        let ran = AtomicUsize::new(0);
        heist_core::scope_fifo(|scope| {
            for n in 0..10 {
                let ran = &ran;
                scope.spawn_fifo(move |scope| {
                    ran.fetch_add(1, Ordering::Relaxed);
                    if n == 4 {
                        scope.cancel();
                    }
                });
            }
        });
        assert_eq!(ran.into_inner(), 5);
    });
}

#[test]
fn a_panic_and_a_cancelled_call_are_told_also_by_a_cancelled_scope() {
    let pool = pool(2);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|scope| {
            scope.spawn(|_| ());
            scope.spawn(|scope| {
                scope.cancel();
                panic_any(7);
            });
        });
    }));
    if let Err(payload) = result {
        assert_eq!(payload.downcast_ref(), Some(&7));
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|scope| -> () {
            scope.spawn(|_| ());
            scope.cancel();
            panic_any(8);
        });
    }));
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&8));
    // One worker, for a thief that has run the job leaves nothing to be cancelled.
    let token = CancellationToken::new();
    let left = self::pool(1).install(|| {
        with_cancellation(&token, || {
            scope(|scope| {
                scope.spawn(|_| ());
                scope.cancel();
                token.cancel();
            });
        })
    });
    assert_eq!(left, Err(Cancelled));
}

/// The closure's drop panics, in the middle of the drops of the others.
#[test]
fn a_dropped_closure_that_panics_is_a_panic_of_the_scope() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic_any("the drop");
        }
    }
    let (token, held) = token();
    pool(1).install(|| {
        let result = catch_unwind(AssertUnwindSafe(|| {
            scope(|scope| {
                for _ in 0..3 {
                    let token = Arc::clone(&token);
                    scope.spawn(move |_| drop(token));
                }
                let loud = Loud;
                scope.spawn(move |_| drop(loud));
                scope.cancel();
            });
        }));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"the drop"));
        assert_eq!(held(&token), 0);
    });
}

/// A job that a thief has in hand, of a scope that is cancelled from outside the pool.
#[test]
fn jobs_of_workers_that_know_nothing_of_it_are_dropped() {
    let pool = pool(2);
    let ((say, heard), ran) = (channel(), AtomicUsize::new(0));
    pool.in_place_scope(|scope| {
        let ran = &ran;
        scope.spawn(move |scope| {
            for _ in 0..10 {
                scope.spawn(|_| _ = ran.fetch_add(1, Ordering::Relaxed));
            }
            say.send(()).unwrap();
            while !scope.is_cancelled() {
                std::thread::yield_now();
            }
            // It was the only one to run, if no thief has come.
        });
        heard.recv().unwrap();
        scope.cancel();
    });
    assert!(ran.into_inner() <= 10);
}
