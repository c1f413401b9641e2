//! Jobs that block: others work in their place, and nothing waits for a worker that blocks (BL-1).
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use heist_core::{
    blocking, current_thread_index, join, scope, spawn, submit, with_context, with_waiting,
    ThreadPool, ThreadPoolBuilder, Waiting,
};

fn pool(workers: usize, compensation: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .compensation_workers(compensation)
        .build()
        .expect("a pool")
}

/// Jobs that each wait until all others have started.
fn meet(pool: &ThreadPool, jobs: usize) {
    let all = Barrier::new(jobs);
    pool.scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|_| blocking(|| _ = all.wait()));
        }
    });
}

#[test]
fn as_many_jobs_can_block_at_a_time_as_there_are_workers_of_both_kinds() {
    for (workers, compensation) in [(1, 1), (1, 3), (2, 2), (4, 12)] {
        let pool = pool(workers, compensation);
        for _ in 0..20 {
            meet(&pool, workers + compensation);
        }
    }
}

#[test]
fn a_strict_pool_lets_as_many_block_as_it_has_workers_and_as_many_again() {
    let builder = ThreadPoolBuilder::new().num_threads(2);
    let pool = builder.waiting(Waiting::Descendants).build().unwrap();
    for _ in 0..20 {
        // The scope itself holds a worker, whose place is taken too when it waits.
        meet(&pool, 3);
    }
}

#[test]
fn the_jobs_of_a_worker_that_blocks_are_stolen() {
    let pool = pool(2, 0);
    for jobs in 1..50 {
        let ran = AtomicUsize::new(0);
        pool.scope(|scope| {
            scope.spawn(|scope| {
                let (say, heard) = channel();
                for _ in 0..jobs {
                    let say = say.clone();
                    let ran = &ran;
                    scope.spawn(move |_| {
                        ran.fetch_add(1, Ordering::Relaxed);
                        say.send(()).unwrap();
                    });
                }
                // Only the other worker can run them.
                blocking(|| (0..jobs).for_each(|_| heard.recv().unwrap()));
            });
        });
        assert_eq!(ran.into_inner(), jobs);
    }
}

#[test]
fn a_job_that_is_injected_while_all_workers_block_is_run() {
    let pool = pool(2, 1);
    for _ in 0..100 {
        let (say, heard) = channel();
        let heard = Mutex::new(heard);
        let both = Barrier::new(3);
        thread::scope(|threads| {
            threads.spawn(|| {
                pool.scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|_| {
                            blocking(|| {
                                both.wait();
                                heard.lock().unwrap().recv().unwrap();
                            });
                        });
                    }
                });
            });
            both.wait();
            pool.spawn({
                let say = say.clone();
                move || (0..2).for_each(|_| say.send(()).unwrap())
            });
        });
    }
}

#[test]
fn an_operation_inside_takes_the_worker_back() {
    for compensation in [0, 2] {
        let pool = pool(2, compensation);
        let sum = pool.install(|| {
            let index = current_thread_index();
            let sum = blocking(|| {
                assert_eq!(current_thread_index(), index, "it is still that worker");
                let (a, b) = join(|| 1, || blocking(|| join(|| 2, || 3)));
                spawn(|| ());
                a + b.0 + b.1 + blocking(|| blocking(|| 4))
            });
            assert_eq!(current_thread_index(), index);
            sum + submit(|| 5).join() + join(|| 6, || 7).1
        });
        assert_eq!(sum, 22);
    }
}

#[test]
fn contexts_and_strict_frames_go_on_after_a_call_that_blocks() {
    for compensation in [0, 1] {
        let pool = pool(1, compensation);
        let sum = pool.install(|| {
            with_context(|mut cx| {
                let (a, b) = cx.join(
                    |mut cx| {
                        let inside = blocking(|| cx.join(|_| 1, |_| 2));
                        let after = cx.join(|_| 3, |_| blocking(|| 4));
                        inside.0 + inside.1 + after.0 + after.1
                    },
                    |_| blocking(|| 5),
                );
                a + b
            })
        });
        assert_eq!(sum, 15);
        let sum = pool.install(|| {
            with_waiting(Waiting::Descendants, || {
                spawn(|| ());
                let mut sum = 0;
                scope(|scope| {
                    scope.spawn(|_| sum = blocking(|| join(|| 1, || 2)).1);
                    blocking(|| ());
                });
                sum
            })
        });
        assert_eq!(sum, 2);
    }
}

#[test]
fn a_panic_leaves_the_worker_at_work() {
    let pool = pool(1, 1);
    for _ in 0..100 {
        let panicked = pool.install(|| catch_unwind(|| blocking(|| panic!("while it blocks"))));
        assert!(panicked.is_err());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| blocking(|| join(|| panic!("in a job of a call that blocks"), || ())))
        }));
        assert!(panicked.is_err());
        meet(&pool, 2);
    }
}

#[test]
fn a_caller_that_participates_may_block() {
    let pool = pool(2, 1);
    for _ in 0..100 {
        let (say, heard) = channel();
        let say = &say;
        pool.participate(move || {
            scope(move |scope| {
                scope.spawn(move |_| say.send(1).unwrap());
                assert_eq!(blocking(|| heard.recv()), Ok(1));
            });
        });
    }
    assert_eq!(blocking(|| 1), 1, "no worker");
}

/// Workers that block and come back while callers and other jobs come and go.
#[test]
fn nothing_is_lost_when_many_block_and_return() {
    let rounds = if cfg!(debug_assertions) { 200 } else { 2000 };
    for (workers, compensation) in [(1, 0), (1, 2), (2, 1), (3, 4)] {
        let pool = pool(workers, compensation);
        let ran = AtomicUsize::new(0);
        thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    for round in 0..rounds {
                        let job = || {
                            if round % 3 == 0 {
                                blocking(thread::yield_now);
                            }
                            ran.fetch_add(1, Ordering::Relaxed);
                        };
                        let twice = || join(job, job);
                        match round % 4 {
                            0 => _ = pool.install(|| join(twice, twice)),
                            1 => _ = pool.participate(|| join(twice, twice)),
                            2 => pool.scope(|scope| {
                                (0..4).for_each(|_| scope.spawn(|_| job()));
                            }),
                            _ => _ = pool.install(|| blocking(|| join(twice, twice))),
                        }
                    }
                });
            }
        });
        assert_eq!(ran.into_inner(), 3 * 4 * rounds);
    }
}

#[test]
fn more_workers_of_both_kinds_than_there_can_be_are_refused() {
    let builder = ThreadPoolBuilder::new().num_threads(2);
    let error = builder.compensation_workers(usize::MAX).build();
    let text = error.map(|_| ()).unwrap_err().to_string();
    let asked = format!("{} compensation workers was asked for", usize::MAX);
    assert!(text.contains(&format!("2 workers and {asked}")), "{text}");
    assert!(text.contains("at most 65535 of both"), "{text}");
}

/// Calls of `start` and `exit` in the handlers of a pool's workers, whose index they are given.
fn pool_with_handlers(
    compensation: usize,
    start: impl Fn(usize) + Send + Sync + 'static,
    exit: impl Fn(usize) + Send + Sync + 'static,
) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(1)
        .compensation_workers(compensation)
        .start_handler(start)
        .exit_handler(exit)
        .build()
        .expect("a pool")
}

#[test]
fn a_compensation_worker_that_blocks_in_its_start_handler_is_not_counted_on() {
    for _ in 0..20 {
        let (go, gone) = channel::<()>();
        let (enter, entered) = channel();
        let gone = Mutex::new(gone);
        let start = move |index| {
            if index == 1 {
                enter.send(()).unwrap();
                blocking(|| gone.lock().unwrap().recv().unwrap());
            }
        };
        let pool = pool_with_handlers(2, start, |_| ());
        let (end, ended) = channel::<()>();
        pool.spawn(move || blocking(|| ended.recv().unwrap()));
        // The second worker is called for this one.
        pool.spawn(|| ());
        entered.recv().unwrap();
        // Only the third can run them.
        pool.spawn(move || go.send(()).unwrap());
        pool.spawn(move || end.send(()).unwrap());
        pool.shutdown();
    }
}

#[test]
fn handlers_may_block() {
    let handlers = Arc::new(AtomicUsize::new(0));
    let count = || {
        let handlers = Arc::clone(&handlers);
        move |_| _ = blocking(|| handlers.fetch_add(1, Ordering::Relaxed))
    };
    for _ in 0..50 {
        let pool = pool_with_handlers(2, count(), count());
        meet(&pool, 2);
        pool.shutdown();
    }
    let calls = handlers.load(Ordering::Relaxed);
    assert!((200..=300).contains(&calls), "{calls}");
}

/// Blocks when it is dropped, until a job of its pool has run.
struct Blocks;

impl Drop for Blocks {
    fn drop(&mut self) {
        let (say, heard) = channel();
        spawn(move || say.send(()).unwrap());
        blocking(|| heard.recv().unwrap());
    }
}

#[test]
fn a_drop_may_block_also_of_what_a_panic_unwinds() {
    for workers in [1, 2] {
        let pool = pool(workers, 1);
        for _ in 0..20 {
            pool.install(|| drop(Blocks));
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                pool.install(|| {
                    let _blocks = Blocks;
                    blocking(|| panic!("while it blocks"));
                });
            }));
            assert!(panicked.is_err());
            // A closure that is dropped after it has run, or with the job.
            let blocks = Blocks;
            pool.submit(move || _ = &blocks).join();
        }
    }
}

#[test]
fn the_last_handle_can_be_dropped_by_a_job_that_blocks() {
    for compensation in [0, 2] {
        for _ in 0..50 {
            let pool = pool(1, compensation);
            let (give, given) = channel::<ThreadPool>();
            let (say, heard) = channel();
            pool.spawn(move || {
                blocking(|| drop(given.recv().unwrap()));
                spawn(move || say.send(()).unwrap());
            });
            give.send(pool).unwrap();
            assert_eq!(heard.recv(), Ok(()));
        }
    }
}

#[test]
fn a_pool_says_which_worker_blocks_when_it_cannot_end() {
    let pool = pool(1, 1);
    let (go, gone) = channel::<()>();
    let (enter, entered) = channel();
    let job = pool.submit(move || {
        blocking(|| {
            enter.send(()).unwrap();
            gone.recv().unwrap();
        });
    });
    entered.recv().unwrap();
    let still_running = pool.shutdown_within(Duration::ZERO).unwrap_err();
    let workers = &still_running.workers;
    let blocked = workers.iter().find(|worker| worker.index == 0);
    assert!(blocked.is_some_and(|worker| worker.working_for.is_some()));
    go.send(()).unwrap();
    job.join();
}

/// In a scope, as in rayon's issues 396 and 835: its jobs wait for each other and for its body.
#[test]
fn jobs_of_a_scope_may_wait_for_each_other_and_for_its_body() {
    let pool = pool(1, 8);
    for _ in 0..50 {
        let (say, heard) = channel();
        let heard = Mutex::new(heard);
        let links: Vec<_> = (0..8).map(|_| channel::<usize>()).collect();
        let (senders, receivers): (Vec<_>, Vec<_>) = links.into_iter().unzip();
        let sum = pool.install(|| {
            scope(|scope| {
                let mut nexts = senders.iter().skip(1).cloned();
                for receiver in receivers {
                    let (next, say) = (nexts.next(), say.clone());
                    scope.spawn(move |_| {
                        let n = blocking(|| receiver.recv().unwrap());
                        _ = match next {
                            Some(next) => next.send(n + 1).is_ok(),
                            None => say.send(n + 1).is_ok(),
                        };
                    });
                }
                senders[0].send(0).unwrap();
                blocking(|| heard.lock().unwrap().recv().unwrap())
            })
        });
        assert_eq!(sum, 8);
    }
}

/// scala#10810: the place of the only worker of a pool was not taken while it blocked.
#[test]
fn the_only_worker_may_wait_for_a_job_of_its_own_pool_also_inside_another_such_call() {
    let pool = pool(1, 1);
    for _ in 0..50 {
        let answer = pool.install(|| {
            let (say, heard) = channel();
            spawn(move || blocking(|| say.send(7).unwrap()));
            blocking(|| blocking(|| heard.recv()))
        });
        assert_eq!(answer, Ok(7));
    }
}

/// evitaDB#1117: with no thread left to take a place, a job that blocks was refused.
#[test]
fn more_jobs_may_block_than_there_are_threads_and_the_rest_wait_for_their_turn() {
    let pool = pool(1, 1);
    let ended = AtomicUsize::new(0);
    let (give, taken) = channel();
    let taken = Mutex::new(taken);
    thread::scope(|threads| {
        threads.spawn(|| (0..100).for_each(|_| give.send(()).unwrap()));
        pool.scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|_| {
                    blocking(|| taken.lock().unwrap().recv().unwrap());
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
    });
    assert_eq!(ended.into_inner(), 100);
}

#[test]
fn hundreds_may_block_at_a_time_and_their_threads_are_kept() {
    let pool = pool(2, 300);
    (0..3).for_each(|_| meet(&pool, 302));
    pool.shutdown();
}

/// Where jobs block at once some workers are called before they are wanted. Afterwards no more jobs
/// run at a time than there are workers.
#[test]
fn those_who_were_called_ahead_have_gone_when_nobody_blocks() {
    let (pool, started) = pool_that_counts(32);
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for _ in 0..3 {
        pool.scope(|scope| {
            for _ in 0..200 {
                scope.spawn(|_| blocking(|| thread::sleep(Duration::from_micros(200))));
            }
        });
        assert!(started.load(Ordering::SeqCst) > 1, "some have come out");
        loop {
            most.store(0, Ordering::SeqCst);
            pool.scope(|scope| {
                for _ in 0..100 {
                    scope.spawn(|_| {
                        let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(now, Ordering::SeqCst);
                        thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                    });
                }
            });
            // Each of them may run a job before it goes.
            if most.load(Ordering::SeqCst) == 1 {
                break;
            }
        }
    }
    pool.shutdown();
}

/// How many workers a pool has started, as its start handler counts.
fn pool_that_counts(compensation: usize) -> (ThreadPool, Arc<AtomicUsize>) {
    let started = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&started);
    let start = move |_| _ = count.fetch_add(1, Ordering::SeqCst);
    (pool_with_handlers(compensation, start, |_| ()), started)
}

#[test]
fn nobody_comes_out_for_a_call_that_blocks_while_there_is_no_job() {
    let (pool, started) = pool_that_counts(4);
    for _ in 0..100 {
        pool.install(|| blocking(|| ()));
    }
    pool.install(|| (0..100).for_each(|_| blocking(thread::yield_now)));
    assert_eq!(started.load(Ordering::SeqCst), 1);
    // A job that comes while the worker blocks, one at a time.
    for _ in 0..100 {
        let (end, ended) = channel::<()>();
        let (enter, entered) = channel();
        pool.spawn(move || {
            blocking(|| {
                enter.send(()).unwrap();
                ended.recv().unwrap();
            });
        });
        entered.recv().unwrap();
        pool.install(|| ());
        end.send(()).unwrap();
    }
    pool.shutdown();
    assert!(started.load(Ordering::SeqCst) > 1, "some have come out");
}

/// Those that nobody calls have no thread to wait for.
#[test]
fn a_pool_ends_while_some_are_in_reserve() {
    for _ in 0..100 {
        let (pool, started) = pool_that_counts(3);
        pool.install(|| blocking(|| ()));
        pool.shutdown();
        assert_eq!(started.load(Ordering::SeqCst), 1);
    }
}

/// Jobs from outside that each find the worker blocked, or on its way to that or back.
#[test]
fn a_job_that_comes_while_the_worker_begins_to_block_or_ends_it_is_run() {
    let rounds = if cfg!(debug_assertions) {
        2_000
    } else {
        20_000
    };
    for compensation in [1, 2] {
        let pool = pool(1, compensation);
        let (say, heard) = channel();
        let (go, gone) = channel::<()>();
        pool.spawn(move || {
            // Ends when the sender is gone.
            while blocking(|| gone.recv()).is_ok() {}
        });
        for round in 0..rounds {
            if round % 2 == 0 {
                go.send(()).unwrap();
            }
            let say = say.clone();
            pool.spawn(move || say.send(round).unwrap());
            // The worker may block again before.
            assert_eq!(heard.recv(), Ok(round));
        }
        drop(go);
        pool.shutdown();
    }
}
