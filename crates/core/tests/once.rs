//! Values that are made once, in parallel: who makes them, who helps, and that nobody waits in
//! vain (ON-1, ON-2).
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use heist_core::{
    broadcast, current_thread_index, in_place_scope, join, scope, spawn, with_cancellation,
    with_context, with_waiting, CancellationToken, Cancelled, Lazy, Once, ThreadPool,
    ThreadPoolBuilder, Waiting,
};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

/// Joins all the way down.
fn leaves(depth: u32) -> usize {
    if depth == 0 {
        return 1;
    }
    let (a, b) = join(|| leaves(depth - 1), || leaves(depth - 1));
    a + b
}

fn text(panic: Box<dyn std::any::Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => other.downcast::<&str>().expect("a text").to_string(),
    }
}

#[test]
fn many_that_want_the_value_at_the_same_time_get_the_one_that_was_made() {
    for workers in [1, 2, 3, 8] {
        let pool = pool(workers);
        for _ in 0..100 {
            let (once, runs) = (Once::new(), AtomicUsize::new(0));
            pool.scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|_| {
                        let value = once.get_or_init(|| {
                            runs.fetch_add(1, Ordering::Relaxed);
                            leaves(8)
                        });
                        assert_eq!(*value, 256);
                    });
                }
            });
            assert_eq!(runs.into_inner(), 1);
        }
    }
}

/// rayon#1251: each item wants the value, whose initialiser is parallel too. The winner waits for a
/// stolen half and begins another item.
#[test]
fn a_tree_of_joins_whose_leaves_want_the_value_of_another_tree_ends() {
    fn tree(depth: u32, once: &Once<usize>) {
        if depth == 0 {
            assert_eq!(*once.get_or_init(|| leaves(10)), 1024);
            return;
        }
        join(|| tree(depth - 1, once), || tree(depth - 1, once));
    }
    for workers in [1, 2, 4, 8] {
        let pool = pool(workers);
        for _ in 0..50 {
            let once = Once::new();
            pool.install(|| tree(6, &once));
        }
    }
}

/// oneTBB#712 hangs here: several values, one after the other and one inside the other, wanted by
/// all workers and by threads outside.
#[test]
fn values_that_need_other_values_are_made_whoever_asks_first() {
    let rounds = if cfg!(debug_assertions) { 50 } else { 300 };
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        for _ in 0..rounds {
            let values: Vec<Once<usize>> = (0..5).map(|_| Once::new()).collect();
            let runs = AtomicUsize::new(0);
            // Each needs those before it, in the halves of its joins.
            fn value(of: usize, values: &[Once<usize>], runs: &AtomicUsize) -> usize {
                *values[of].get_or_init(|| {
                    runs.fetch_add(1, Ordering::Relaxed);
                    let below = |halves: std::ops::Range<usize>| {
                        halves
                            .map(|below| value(below, values, runs))
                            .sum::<usize>()
                    };
                    let (low, high) = join(
                        || below(0..of / 2) + leaves(3),
                        || below(of / 2..of) + leaves(4),
                    );
                    low + high
                })
            }
            thread::scope(|threads| {
                for from in 0..3 {
                    let (pool, values, runs) = (&pool, &values, &runs);
                    threads.spawn(move || {
                        pool.scope(|scope| {
                            for of in 0..5 {
                                scope.spawn(move |_| {
                                    value((of + from) % 5, values, runs);
                                });
                            }
                        });
                    });
                }
            });
            assert_eq!(runs.into_inner(), 5);
            let sums: Vec<_> = values.into_iter().map(Once::into_inner).collect();
            assert_eq!(sums, [24, 48, 96, 192, 384].map(Some));
        }
    }
}

/// A worker that waits for the value and could begin what its frame holds a lock for, would wait
/// for ever.
#[test]
fn nothing_unrelated_runs_on_those_who_wait() {
    thread_local! { static IS_WAITING: Cell<bool> = const { Cell::new(false) } }
    let pool = pool(4);
    for _ in 0..200 {
        let once = Once::new();
        pool.scope(|scope| {
            for _ in 0..32 {
                scope.spawn(|_| {
                    assert!(
                        !IS_WAITING.replace(true),
                        "on a frame that waits for the value"
                    );
                    once.get_or_init(|| leaves(6));
                    IS_WAITING.set(false);
                });
            }
        });
    }
}

/// Parts of the initialiser run on those who wait: with two workers nobody else can.
#[test]
fn a_worker_that_waits_helps() {
    let pool = pool(2);
    let once = Once::new();
    let both = Barrier::new(2);
    let helper = Mutex::new(None);
    pool.scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|_| {
                both.wait();
                let winner = current_thread_index();
                once.get_or_init(|| {
                    // Until somebody has come, who may have fallen asleep before.
                    while helper.lock().unwrap().is_none() {
                        join(thread::yield_now, || {
                            *helper.lock().unwrap() =
                                Some(current_thread_index()).filter(|&index| index != winner);
                        });
                    }
                    winner
                });
            });
        }
    });
    assert_ne!(helper.into_inner().unwrap(), once.into_inner());
}

/// As above, with other jobs in the deque of the winner, which are older than the parts: spawned
/// ones and halves of joins.
#[test]
fn a_worker_that_waits_helps_where_older_jobs_lie_in_its_way() {
    let pool = pool(2);
    for is_lent in [false, true] {
        let (once, helped) = (Once::new(), AtomicBool::new(false));
        let (both, ran) = (Barrier::new(2), AtomicUsize::new(0));
        let value = || {
            both.wait();
            let winner = current_thread_index();
            while !helped.load(Ordering::Relaxed) {
                join(thread::yield_now, || {
                    let is_help = current_thread_index() != winner;
                    helped.fetch_or(is_help, Ordering::Relaxed);
                });
            }
            assert_eq!(ran.load(Ordering::Relaxed), 0, "nobody runs an older job");
        };
        let older = || _ = ran.fetch_add(1, Ordering::Relaxed);
        let wins = || _ = once.get_or_init(value);
        pool.install(|| {
            scope(|scope| {
                scope.spawn(|_| {
                    both.wait();
                    once.get_or_init(|| unreachable!("it is being made"));
                });
                scope.spawn(|_| older());
                scope.spawn(|_| older());
                match is_lent {
                    true => _ = join(|| join(wins, older), older),
                    false => wins(),
                }
            });
        });
        assert_eq!(ran.into_inner(), if is_lent { 4 } else { 2 });
    }
}

#[test]
fn after_a_panic_another_call_makes_the_value() {
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        for _ in 0..50 {
            let (once, runs) = (Once::new(), AtomicUsize::new(0));
            let panics = AtomicUsize::new(0);
            pool.scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|_| {
                        let value = || {
                            leaves(4);
                            let run = runs.fetch_add(1, Ordering::Relaxed);
                            assert!(run >= 3, "not yet");
                            run
                        };
                        match catch_unwind(AssertUnwindSafe(|| *once.get_or_init(value))) {
                            Ok(value) => assert_eq!(value, 3),
                            Err(panic) => {
                                assert_eq!(text(panic), "not yet");
                                panics.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    });
                }
            });
            assert_eq!((panics.into_inner(), runs.into_inner()), (3, 4));
        }
    }
}

#[test]
fn a_panic_in_a_stolen_piece_reaches_the_winner_once() {
    let pool = pool(3);
    for _ in 0..100 {
        let (once, panics) = (Once::new(), AtomicUsize::new(0));
        pool.scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|_| {
                    let value = || {
                        join(|| leaves(5), || panic!("in a piece"));
                        0
                    };
                    let result = catch_unwind(AssertUnwindSafe(|| *once.get_or_init(value)));
                    assert_eq!(text(result.unwrap_err()), "in a piece");
                    panics.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(panics.into_inner(), 3);
        assert_eq!(once.set(7), Ok(()));
    }
}

#[test]
fn an_initialiser_that_needs_its_own_value_says_so() {
    let needs_itself: [fn(&Once<i32>) -> i32; 6] = [
        |once| *once.get_or_init(|| 0),
        |once| join(|| *once.get_or_init(|| 0), || 1).0,
        |once| join(|| leaves(3), || *once.get_or_init(|| 0)).1,
        |once| {
            // At the first level of a scope, on the worker itself.
            let mut value = 0;
            in_place_scope(|_| value = *once.get_or_init(|| 0));
            value
        },
        |once| once.set(0).map_or(1, |()| 2),
        |once| {
            // By way of another value.
            let other = Once::new();
            *other.get_or_init(|| join(|| *once.get_or_init(|| 0), || leaves(3)).0)
        },
    ];
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        for needs_itself in needs_itself {
            for _ in 0..20 {
                let once = Once::new();
                let call = || pool.install(|| *once.get_or_init(|| needs_itself(&once)));
                let said = text(catch_unwind(AssertUnwindSafe(call)).unwrap_err());
                assert!(
                    said.contains("needs the value that it is to make"),
                    "{said}"
                );
                assert_eq!(once.get(), None);
                assert_eq!(pool.install(|| *once.get_or_init(|| 5)), 5);
            }
        }
    }
}

/// The piece runs on a thief, which knows whose it is.
#[test]
fn a_stolen_piece_that_needs_the_value_says_so() {
    let pool = pool(2);
    for _ in 0..50 {
        let once: Once<usize> = Once::new();
        let call = || {
            pool.install(|| {
                once.get_or_init(|| {
                    // Each half waits for the other, so that a thief takes the second.
                    let both = Barrier::new(2);
                    let piece = || {
                        both.wait();
                        *once.get_or_init(|| 0)
                    };
                    join(|| both.wait(), piece).1
                });
            });
        };
        let said = text(catch_unwind(AssertUnwindSafe(call)).unwrap_err());
        assert!(
            said.contains("needs the value that it is to make"),
            "{said}"
        );
    }
}

#[test]
fn threads_outside_and_workers_want_the_value_at_the_same_time() {
    static TREE: [Once<usize>; 40] = [const { Once::new() }; 40];
    thread::scope(|threads| {
        for thread in 0..8 {
            threads.spawn(move || {
                for once in &TREE {
                    let value = match thread % 4 {
                        0 => *once.get_or_init(|| leaves(7)),
                        1 => join(|| (), || *once.get_or_init(|| leaves(7))).1,
                        2 => heist_core::participate(|| *once.get_or_init(|| leaves(7))),
                        _ => heist_core::submit(|| *once.get_or_init(|| leaves(7))).join(),
                    };
                    assert_eq!(value, 128);
                }
            });
        }
    });
}

/// The value is wanted in two pools; the initialiser runs in either.
#[test]
fn a_worker_of_another_pool_waits_for_the_value() {
    let pools = [pool(2), pool(2)];
    for _ in 0..100 {
        let once = Once::new();
        thread::scope(|threads| {
            for pool in &pools {
                threads.spawn(|| {
                    pool.join(
                        || assert_eq!(*once.get_or_init(|| leaves(6)), 64),
                        || assert_eq!(*once.get_or_init(|| leaves(6)), 64),
                    )
                });
            }
        });
    }
}

/// The part that runs in the other pool is a piece, too: it is not buried under somebody who waits
/// for it.
#[test]
fn an_initialiser_may_move_into_another_pool() {
    let pools = [pool(2), pool(3)];
    for _ in 0..100 {
        let once = Once::new();
        pools[0].scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|_| {
                    let value = *once.get_or_init(|| pools[1].install(|| leaves(8)));
                    assert_eq!(value, 256);
                });
            }
            // One worker of the other pool wants it too, and not all.
            scope.spawn(|_| {
                pools[1].install(|| assert_eq!(*once.get_or_init(|| leaves(8)), 256));
            });
        });
    }
}

#[test]
fn every_operation_works_in_an_initialiser() {
    for workers in [1, 3] {
        let pool = pool(workers);
        for _ in 0..30 {
            let once = Once::new();
            let value = || {
                let sum = AtomicUsize::new(leaves(4));
                scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|_| _ = sum.fetch_add(leaves(2), Ordering::Relaxed));
                    }
                });
                sum.fetch_add(broadcast(|_| leaves(2)).len(), Ordering::Relaxed);
                let with = with_context(|mut cx| cx.join(|_| 1, |_| leaves(2)).1);
                let strict = with_waiting(Waiting::Descendants, || leaves(4));
                let submitted = heist_core::submit(|| leaves(2)).join();
                let blocked = heist_core::blocking(|| leaves(2));
                sum.into_inner() + with + strict + submitted + blocked
            };
            pool.scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|_| {
                        assert_eq!(*once.get_or_init(value), 16 + 16 + workers + 4 + 16 + 8);
                    });
                }
            });
        }
    }
}

/// Jobs that the initialiser leaves behind may want the value, when it is there.
#[test]
fn a_job_that_is_left_behind_gets_the_value() {
    let pool = pool(2);
    for _ in 0..100 {
        let (say, heard) = channel();
        let once = Arc::new(Once::new());
        pool.install(|| {
            once.get_or_init(|| {
                let once = Arc::clone(&once);
                spawn(move || say.send(*once.get_or_init(|| 8)).unwrap());
                7
            });
        });
        assert_eq!(heard.recv(), Ok(7));
    }
}

#[test]
fn a_strict_pool_and_one_with_compensation_workers_make_values_too() {
    let strict = ThreadPoolBuilder::new().waiting(Waiting::Descendants);
    let compensated = ThreadPoolBuilder::new().compensation_workers(2);
    for builder in [strict, compensated] {
        let pool = builder.num_threads(2).build().unwrap();
        for _ in 0..100 {
            let once = Once::new();
            let account = Mutex::new(0);
            pool.scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|_| assert_eq!(*once.get_or_init(|| leaves(6)), 64));
                    scope.spawn(|_| {
                        let halves = || join(|| leaves(2), || leaves(2)).0;
                        let mut account = account.lock().unwrap();
                        *account += with_waiting(Waiting::Descendants, halves);
                    });
                }
            });
            assert_eq!(account.into_inner().unwrap(), 32);
        }
    }
}

#[test]
fn the_value_is_dropped_once() {
    struct Counted<'a>(&'a AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let drops = AtomicUsize::new(0);
    let mut once = Once::new();
    assert!(once.take().is_none());
    once.get_or_init(|| Counted(&drops));
    assert!(once.set(Counted(&drops)).is_err());
    assert_eq!(
        drops.load(Ordering::Relaxed),
        1,
        "the one that came too late"
    );
    drop(once.take());
    assert_eq!(drops.load(Ordering::Relaxed), 2);
    once.get_or_init(|| Counted(&drops));
    drop(once);
    assert_eq!(drops.into_inner(), 3);
}

#[test]
fn a_lazy_value_is_made_when_it_is_used_and_once() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    static LAZY: Lazy<usize> = Lazy::new(|| {
        RUNS.fetch_add(1, Ordering::Relaxed);
        leaves(5)
    });
    assert_eq!(format!("{LAZY:?}"), "Lazy(<no value>)");
    let pool = pool(3);
    let all = pool.broadcast(|_| *LAZY);
    assert_eq!(all, [32; 3]);
    assert_eq!((*LAZY, RUNS.load(Ordering::Relaxed)), (32, 1));
    assert_eq!(format!("{LAZY:?}"), "Lazy(32)");
}

#[test]
fn a_lazy_value_whose_initialiser_has_panicked_says_so_from_then_on() {
    let lazy: Lazy<i32, _> = Lazy::new(|| panic!("the first time"));
    let said = || text(catch_unwind(AssertUnwindSafe(|| *lazy)).unwrap_err());
    assert_eq!(said(), "the first time");
    assert!(said().contains("has panicked when it ran before"));
}

/// The first to come is cancelled in the middle of the initialiser.
#[test]
fn a_lazy_value_is_made_for_all_if_the_first_who_wants_it_is_cancelled() {
    let token = CancellationToken::new();
    let lazy = Lazy::new(|| {
        token.cancel();
        scope(|scope| scope.spawn(|_| ()));
        leaves(5)
    });
    let first = pool(2).install(|| with_cancellation(&token, || *lazy));
    assert!(matches!(first, Ok(32) | Err(Cancelled)));
    assert_eq!(*lazy, 32);
}
