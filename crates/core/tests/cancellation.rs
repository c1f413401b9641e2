//! Calls that a token stops: they are left as a whole, and each closure runs or is dropped, once.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::panic::{catch_unwind, panic_any, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use heist_core::{checkpoint, is_cancelled, join, scope, spawn, submit, with_cancellation};
use heist_core::{with_context, with_waiting, yield_now};
use heist_core::{
    CancellationToken, Cancelled, JoinContext, TaskGroup, ThreadPool, ThreadPoolBuilder, Waiting,
};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

/// Another pool than that of a test.
fn elsewhere() -> &'static ThreadPool {
    static ELSEWHERE: OnceLock<ThreadPool> = OnceLock::new();
    ELSEWHERE.get_or_init(|| pool(1))
}

fn caught<R>(op: impl FnOnce() -> R) -> thread::Result<R> {
    catch_unwind(AssertUnwindSafe(op))
}

/// Counts the closures that hold it and have not been dropped.
#[derive(Clone, Default)]
struct Held(Arc<()>);

impl Held {
    /// Waits until none does: one may still be on its way out of a box.
    fn all_dropped(&self) {
        while Arc::strong_count(&self.0) > 1 {
            thread::yield_now();
        }
    }
}

#[test]
fn a_call_whose_token_is_set_before_does_not_begin() {
    let token = CancellationToken::new();
    token.cancel();
    let held = Held::default();
    let inner = held.clone();
    let left = pool(1).install(|| with_cancellation(&token, move || drop(inner)));
    assert_eq!(left, Err(Cancelled));
    held.all_dropped();
}

#[test]
fn a_call_that_comes_to_its_end_has_succeeded() {
    let token = CancellationToken::new();
    let done = pool(2).install(|| {
        with_cancellation(&token, || {
            token.cancel();
            7
        })
    });
    assert_eq!(done, Ok(7));
}

/// A tree of joins without an end of its own.
fn endless(depth: u64, begun: &AtomicUsize, token: &CancellationToken) {
    checkpoint();
    if begun.fetch_add(1, Ordering::Relaxed) == 2_000 {
        token.cancel();
    }
    if depth == 0 {
        return;
    }
    join(
        || endless(depth - 1, begun, token),
        || endless(depth - 1, begun, token),
    );
}

#[test]
fn a_tree_of_joins_is_left_wherever_its_parts_run() {
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        for _ in 0..50 {
            let (token, begun) = (CancellationToken::new(), AtomicUsize::new(0));
            let left = pool.install(|| with_cancellation(&token, || endless(60, &begun, &token)));
            assert_eq!(left, Err(Cancelled));
            assert!(!pool.install(is_cancelled));
        }
    }
}

fn endless_with(
    mut cx: JoinContext<'_>,
    depth: u64,
    begun: &AtomicUsize,
    token: &CancellationToken,
) {
    checkpoint();
    if begun.fetch_add(1, Ordering::Relaxed) == 2_000 {
        token.cancel();
    }
    if depth > 0 {
        cx.join(
            |cx| endless_with(cx, depth - 1, begun, token),
            |cx| endless_with(cx, depth - 1, begun, token),
        );
    }
}

#[test]
fn a_tree_of_joins_with_a_context_is_left() {
    let pool = pool(3);
    for _ in 0..50 {
        let (token, begun) = (CancellationToken::new(), AtomicUsize::new(0));
        let tree = || with_context(|cx| endless_with(cx, 60, &begun, &token));
        let left = pool.install(|| with_cancellation(&token, tree));
        assert_eq!(left, Err(Cancelled));
    }
}

#[test]
fn an_external_caller_is_left_too() {
    let (token, begun) = (CancellationToken::new(), AtomicUsize::new(0));
    let left = with_cancellation(&token, || endless(60, &begun, &token));
    assert_eq!(left, Err(Cancelled));
    assert!(!is_cancelled());
    checkpoint();
}

#[test]
fn another_thread_may_cancel() {
    let (token, begun) = (CancellationToken::new(), AtomicBool::new(false));
    thread::scope(|threads| {
        threads.spawn(|| {
            while !begun.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            token.cancel();
        });
        let left: Result<(), _> = pool(2).install(|| {
            with_cancellation(&token, || loop {
                begun.store(true, Ordering::Relaxed);
                join(checkpoint, checkpoint);
            })
        });
        assert_eq!(left, Err(Cancelled));
    });
}

#[test]
fn a_deadline_leaves_the_call() {
    let token = CancellationToken::new();
    let hurried = token.with_deadline(Instant::now() + Duration::from_millis(2));
    let left: Result<(), _> = pool(2).install(|| {
        with_cancellation(&hurried, || loop {
            join(checkpoint, || ());
        })
    });
    assert_eq!(left, Err(Cancelled));
    assert!(!token.is_cancelled());
}

#[test]
fn the_stolen_half_of_a_join_is_of_the_call() {
    let pool = pool(2);
    let token = CancellationToken::new();
    let both = Barrier::new(2);
    let seen = pool.install(|| {
        with_cancellation(&token, || {
            join(
                || both.wait(),
                || {
                    both.wait();
                    assert!(!is_cancelled());
                    token.cancel();
                    is_cancelled()
                },
            )
            .1
        })
    });
    assert_eq!(seen, Ok(true));
}

#[test]
fn jobs_that_have_not_begun_are_dropped_and_the_scope_is_left() {
    let (token, held, ran) = (
        CancellationToken::new(),
        Held::default(),
        AtomicUsize::new(0),
    );
    let left = pool(1).install(|| {
        with_cancellation(&token, || {
            scope(|scope| {
                for _ in 0..10 {
                    let small = held.clone();
                    scope.spawn(|_| {
                        ran.fetch_add(1, Ordering::Relaxed);
                        drop(small);
                    });
                    let large = (held.clone(), [1_u64; 20]);
                    scope.spawn(|_| {
                        ran.fetch_add(1, Ordering::Relaxed);
                        drop(large);
                    });
                }
                token.cancel();
            });
            unreachable!("the scope was left");
        })
    });
    assert_eq!(left, Err::<(), _>(Cancelled));
    assert_eq!(ran.into_inner(), 0);
    held.all_dropped();
}

#[test]
fn a_scope_does_not_begin_in_a_cancelled_call() {
    let token = CancellationToken::new();
    let left = pool(1).install(|| {
        with_cancellation(&token, || {
            token.cancel();
            scope(|_| unreachable!("the call was left"));
        })
    });
    assert_eq!(left, Err(Cancelled));
}

#[test]
fn a_panic_beside_a_cancellation_wins() {
    for workers in [1, 3] {
        let pool = pool(workers);
        for _ in 0..50 {
            let token = CancellationToken::new();
            let panicked = caught(|| {
                pool.install(|| {
                    with_cancellation(&token, || {
                        scope(|scope| {
                            scope.spawn(|_| {
                                token.cancel();
                                checkpoint();
                            });
                            token.cancel();
                            panic_any("the scope's own");
                        });
                    })
                })
            });
            let payload = panicked.expect_err("a panic").downcast::<&str>();
            assert_eq!(*payload.expect("a word"), "the scope's own");
        }
        let (token, both) = (CancellationToken::new(), Barrier::new(2));
        if workers > 1 {
            let panicked = caught(|| {
                pool.install(|| {
                    with_cancellation(&token, || {
                        join(
                            || {
                                both.wait();
                                token.cancel();
                                checkpoint();
                            },
                            || {
                                both.wait();
                                panic_any("the second half's");
                            },
                        )
                    })
                })
            });
            let payload = panicked.expect_err("a panic").downcast::<&str>();
            assert_eq!(*payload.expect("a word"), "the second half's");
        }
    }
}

#[test]
fn an_inner_call_is_left_alone_and_with_the_outer_one() {
    let (outer, inner) = (CancellationToken::new(), CancellationToken::new());
    let pool = pool(2);
    let results = pool.install(|| {
        with_cancellation(&outer, || {
            let left = with_cancellation(&inner, || {
                inner.cancel();
                checkpoint();
            });
            assert_eq!(left, Err(Cancelled));
            checkpoint();
            let other = CancellationToken::new();
            let _: Result<(), _> = with_cancellation(&other, || {
                outer.cancel();
                assert!(is_cancelled());
                join(checkpoint, checkpoint);
            });
            unreachable!("the outer one was left");
        })
    });
    assert_eq!(results, Err::<(), _>(Cancelled));
}

#[test]
fn what_a_call_has_spawned_is_dropped_although_the_call_has_ended() {
    let pool = pool(1);
    let (token, held, ran) = (
        CancellationToken::new(),
        Held::default(),
        Arc::new(AtomicUsize::new(0)),
    );
    pool.install(|| {
        let count = || {
            let (held, ran) = (held.clone(), Arc::clone(&ran));
            move || {
                ran.fetch_add(1, Ordering::Relaxed);
                drop(held);
            }
        };
        spawn(count());
        heist_core::spawn_fifo(count());
        let handle = with_cancellation(&token, || {
            spawn(count());
            heist_core::spawn_fifo(count());
            submit(count())
        });
        heist_core::spawn_fifo(count());
        spawn(count());
        token.cancel();
        assert!(caught(|| handle.expect("it has ended").join()).is_err());
        while yield_now() == Some(heist_core::Yield::Executed) {}
    });
    assert_eq!(ran.load(Ordering::Relaxed), 4, "those of no call");
    held.all_dropped();
    pool.shutdown();
}

#[test]
fn a_job_of_another_call_that_runs_on_top_is_not_cancelled_and_what_it_spawns_is_not() {
    let pool = pool(1);
    let token = CancellationToken::new();
    let (say, heard) = channel();
    pool.install(|| {
        let inner = say.clone();
        spawn(move || {
            let later = inner.clone();
            spawn(move || later.send(("its own", is_cancelled())).unwrap());
            inner.send(("foreign", is_cancelled())).unwrap();
            checkpoint();
        });
        let left = with_cancellation(&token, || {
            let dropped = say.clone();
            token.cancel();
            yield_now();
            spawn(move || dropped.send(("dropped", true)).unwrap());
            checkpoint();
        });
        assert_eq!(left, Err(Cancelled));
        while yield_now() == Some(heist_core::Yield::Executed) {}
    });
    drop(say);
    let heard: Vec<_> = heard.iter().collect();
    assert_eq!(heard, [("foreign", false), ("its own", false)]);
}

/// The call's jobs lie lower than the slot that came next when it began.
#[test]
fn a_job_that_lies_lower_than_the_call_began_is_of_the_call() {
    let pool = pool(2);
    for _ in 0..200 {
        let token = CancellationToken::new();
        let seen = pool.install(|| {
            spawn(|| ());
            spawn(|| ());
            with_cancellation(&token, || {
                while yield_now() == Some(heist_core::Yield::Executed) {}
                let both = Barrier::new(2);
                join(
                    || both.wait(),
                    || {
                        both.wait();
                        token.cancel();
                        is_cancelled()
                    },
                )
                .1
            })
        });
        assert_eq!(seen, Ok(true));
    }
}

#[test]
fn a_call_that_a_panic_leaves_while_thieves_take_its_jobs_loses_none() {
    let pool = pool(4);
    let held = Held::default();
    for round in 0..500 {
        let token = CancellationToken::new();
        let panicked = caught(|| {
            pool.install(|| {
                with_cancellation(&token, || {
                    for n in 0..20 {
                        let (held, token) = (held.clone(), token.clone());
                        spawn(move || {
                            token.cancel();
                            assert!(is_cancelled());
                            drop(held);
                            if n % 5 == 0 {
                                checkpoint();
                                unreachable!("was left");
                            }
                        });
                    }
                    panic_any(round)
                })
            })
        });
        let payload = panicked.expect_err("a panic").downcast::<i32>();
        assert_eq!(*payload.expect("a number"), round);
    }
    held.all_dropped();
    pool.shutdown();
}

#[test]
fn another_pool_takes_the_token_along() {
    let (here, there) = (pool(1), pool(2));
    let token = CancellationToken::new();
    let (say, heard) = channel();
    let left = here.install(|| {
        with_cancellation(&token, || {
            there.spawn(move || heard.recv().unwrap());
            there.install(|| {
                token.cancel();
                assert!(is_cancelled());
                join(checkpoint, checkpoint);
            });
        })
    });
    assert_eq!(left, Err(Cancelled));
    assert!(!there.install(is_cancelled));
    // Had begun, or was dropped with the token.
    let _ = say.send(());
    there.shutdown();
}

#[test]
fn a_caught_cancellation_comes_back() {
    let token = CancellationToken::new();
    let kept = pool(2).install(|| {
        let mut kept = None;
        let left = with_cancellation(&token, || {
            token.cancel();
            kept = caught(checkpoint).err();
            checkpoint();
        });
        assert_eq!(left, Err(Cancelled));
        kept
    });
    // Carried out of its call it is a payload like any other.
    let payload = kept.expect("it was left");
    assert!(caught(|| pool(1).install(|| resume_unwind(payload))).is_err());
}

#[test]
fn destructors_come_to_their_end() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            checkpoint();
            let ran = AtomicUsize::new(0);
            let run = || {
                ran.fetch_add(1, Ordering::Relaxed);
                checkpoint();
            };
            scope(|scope| scope.spawn(|_| run()));
            join(run, || join(run, run));
            heist_core::broadcast(|_| run());
            elsewhere().install(run);
            assert_eq!(ran.into_inner(), 5 + heist_core::current_num_threads());
        }
    }
    for workers in [1, 4] {
        let pool = pool(workers);
        for _ in 0..100 {
            let token = CancellationToken::new();
            let left = pool.install(|| {
                with_cancellation(&token, || {
                    let _loud = Loud;
                    token.cancel();
                    checkpoint();
                })
            });
            assert_eq!(left, Err(Cancelled));
        }
    }
}

#[test]
fn a_dropped_closure_may_panic_and_spawn() {
    struct Hostile(std::sync::mpsc::Sender<()>);
    impl Drop for Hostile {
        fn drop(&mut self) {
            let say = self.0.clone();
            elsewhere().spawn(move || say.send(()).unwrap());
            spawn(|| ());
            panic_any("in a drop");
        }
    }
    elsewhere();
    let token = CancellationToken::new();
    let (say, heard) = channel();
    let hostile = Hostile(say);
    let panicked = caught(|| {
        pool(1).install(|| {
            with_cancellation(&token, || {
                scope(|scope| {
                    scope.spawn(move |_| drop(hostile));
                    token.cancel();
                });
            })
        })
    });
    let payload = panicked.expect_err("a panic").downcast::<&str>();
    assert_eq!(*payload.expect("a word"), "in a drop");
    // The job that it has begun is of the cancelled call.
    assert!(heard.recv().is_err());
}

#[test]
fn a_scope_around_the_call_does_not_mind_that_its_job_is_dropped() {
    let token = CancellationToken::new();
    let ran = AtomicUsize::new(0);
    let value = pool(1).install(|| {
        scope(|scope| {
            let ended = with_cancellation(&token, || {
                scope.spawn(|_| {
                    ran.fetch_add(1, Ordering::Relaxed);
                });
            });
            token.cancel();
            ended
        })
    });
    assert_eq!(value, Ok(()));
    assert_eq!(ran.into_inner(), 0);
}

#[test]
fn groups_and_broadcasts_are_of_the_call() {
    let pool = pool(2);
    let token = CancellationToken::new();
    let ran = Arc::new(AtomicUsize::new(0));
    let group = TaskGroup::new_in(&pool);
    let left = pool.install(|| {
        with_cancellation(&token, || {
            let seen = heist_core::broadcast(|_| is_cancelled());
            assert_eq!(seen, [false, false]);
            token.cancel();
            let count = Arc::clone(&ran);
            group.run(move || {
                count.fetch_add(1, Ordering::Relaxed);
            });
            let refused = caught(|| heist_core::broadcast(|_| ()));
            assert!(refused.is_err());
            group.wait();
        })
    });
    assert_eq!(left, Err(Cancelled));
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    group.wait();
    assert_eq!(pool.broadcast(|_| is_cancelled()), [false, false]);
}

#[test]
fn strict_waits_and_tokens_hold_together() {
    let pool = pool(3);
    for _ in 0..50 {
        let (token, begun) = (CancellationToken::new(), AtomicUsize::new(0));
        let left = pool.install(|| {
            with_waiting(Waiting::Descendants, || {
                with_cancellation(&token, || {
                    with_waiting(Waiting::Any, || endless(60, &begun, &token));
                })
            })
        });
        assert_eq!(left, Err(Cancelled));
    }
}
