//! Strands: one job of each at a time, in order (ST-1), whoever submits and whatever the jobs do.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::cell::UnsafeCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

use heist_core::{JoinHandle, Strand, ThreadPool, ThreadPoolBuilder, Waiting, Yield};

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("a pool")
}

/// The jobs that a strand has run, each the submitter and its number, in a place that has no lock:
/// the strand is all there is, and the thread sanitizer looks.
#[derive(Default)]
struct Log(UnsafeCell<Vec<(usize, usize)>>);

// SAFETY: the jobs of one strand use it one at a time, and the test when it has waited for all.
unsafe impl Sync for Log {}
// SAFETY: numbers.
unsafe impl Send for Log {}

impl Log {
    fn push(&self, submitter: usize, n: usize) {
        // SAFETY: one job at a time is what is tested.
        unsafe { (*self.0.get()).push((submitter, n)) };
    }

    /// So many jobs of each submitter have run, in order.
    fn assert_whole(&self, submitters: usize, jobs: usize) {
        // SAFETY: the callers have waited for all jobs.
        let ran = unsafe { &*self.0.get() };
        assert_eq!(ran.len(), submitters * jobs);
        for submitter in 0..submitters {
            let of_it = ran.iter().filter(|(by, _)| *by == submitter);
            assert!(of_it.map(|&(_, n)| n).eq(0..jobs), "of {submitter}");
        }
    }
}

/// Eight threads: some are workers, some come from outside.
#[test]
fn jobs_of_each_submitter_run_in_order_and_one_at_a_time() {
    const JOBS: usize = 5_000;
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        let strand = Strand::new_in(&pool);
        let log = Arc::new(Log::default());
        let submit = |submitter: usize| {
            for n in 0..JOBS {
                let log = Arc::clone(&log);
                strand.spawn(move || log.push(submitter, n));
            }
        };
        thread::scope(|threads| {
            for submitter in 0..4 {
                threads.spawn(move || submit(submitter));
            }
            pool.scope(|scope| {
                for submitter in 4..8 {
                    scope.spawn(move |_| submit(submitter));
                }
            });
        });
        strand.wait();
        log.assert_whole(8, JOBS);
        pool.shutdown();
    }
}

#[test]
fn a_job_that_comes_after_another_has_been_heard_of_runs_after_it() {
    let pool = pool(3);
    let strand = Strand::new_in(&pool);
    let log = Arc::new(Log::default());
    let (say, heard) = channel();
    for n in 0..1_000 {
        // Each is submitted by another job of the pool, which learns that the one before was.
        let (strand, log, say) = (strand.clone(), Arc::clone(&log), say.clone());
        pool.spawn(move || {
            strand.spawn(move || log.push(0, n));
            say.send(()).expect("the test listens");
        });
        heard.recv().expect("a job was submitted");
    }
    strand.wait();
    log.assert_whole(1, 1_000);
}

/// Its worker runs other jobs on top of it, and other workers are free.
#[test]
fn the_next_job_does_not_begin_while_one_waits_or_yields() {
    for workers in [1, 3] {
        let pool = pool(workers);
        let strand = Strand::new_in(&pool);
        let is_busy = Arc::new(AtomicBool::new(false));
        for n in 0..100 {
            let is_busy = Arc::clone(&is_busy);
            strand.spawn(move || {
                assert!(!is_busy.swap(true, Ordering::Relaxed), "one at a time");
                match n % 4 {
                    0 => while heist_core::yield_now() == Some(Yield::Executed) {},
                    1 => drop(heist_core::join(|| fib(8), || fib(8))),
                    2 => heist_core::scope(|scope| (0..10).for_each(|_| scope.spawn(|_| ()))),
                    _ => assert_eq!(heist_core::submit(|| fib(8)).join(), 21),
                }
                is_busy.store(false, Ordering::Relaxed);
            });
        }
        strand.wait();
    }
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist_core::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn a_panic_goes_to_the_handler_or_the_handle_and_the_strand_goes_on() {
    let (say, heard) = channel();
    let say = std::sync::Mutex::new(say);
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .panic_handler(move |payload| {
            let text: &&str = payload.downcast_ref().expect("a message");
            say.lock().unwrap().send(*text).expect("the test listens");
        })
        .build()
        .expect("a pool");
    let strand = Strand::new_in(&pool);
    strand.spawn(|| panic!("spawned"));
    let submitted = strand.submit(|| panic!("submitted"));
    let dropped = strand.submit(|| panic!("dropped"));
    drop(dropped);
    let next = strand.submit(|| 4);
    assert_eq!(next.join(), 4);
    let payload = catch_unwind(AssertUnwindSafe(|| submitted.join())).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"submitted"));
    assert_eq!(heard.recv(), Ok("spawned"));
    assert_eq!(heard.recv(), Ok("dropped"));
    pool.shutdown();
    assert!(heard.try_recv().is_err(), "no other panic");
}

#[test]
fn the_last_handle_can_go_inside_a_job_of_its_own_and_what_is_queued_still_runs() {
    let pool = pool(2);
    let token = Arc::new(());
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let strand = Strand::new_in(&pool);
        let (handle, held) = (strand.clone(), Arc::clone(&token));
        strand.spawn(move || {
            drop(handle);
            drop(held);
        });
        for _ in 0..3 {
            let (ran, held) = (Arc::clone(&ran), Arc::clone(&token));
            strand.spawn(move || {
                let _held = held;
                ran.fetch_add(1, Ordering::Relaxed);
            });
        }
    }
    pool.shutdown();
    assert_eq!(ran.load(Ordering::Relaxed), 300);
    assert_eq!(Arc::strong_count(&token), 1, "each closure was dropped");
}

#[test]
fn queued_jobs_keep_the_pool_and_an_idle_strand_does_not() {
    let pool = pool(1);
    let strand = Strand::new_in(&pool);
    let (say, heard) = channel::<()>();
    let blocked = strand.clone();
    strand.spawn(move || {
        heard.recv().expect_err("nothing is sent");
        // The handle of the pool is gone by now.
        blocked.spawn(|| ());
    });
    drop(pool);
    let last = strand.submit(|| 1);
    drop(say);
    assert_eq!(last.join(), 1);
    // The drainer may still be on its way out, and the pool is not ended before.
    let payload = loop {
        match catch_unwind(AssertUnwindSafe(|| strand.spawn(|| ()))) {
            Ok(()) => thread::yield_now(),
            Err(payload) => break payload,
        }
    };
    let text: &&str = payload.downcast_ref().expect("a message");
    assert!(text.contains("a pool that has ended"), "{text}");
    assert!(strand.is_idle());
    strand.wait();
}

/// Runs `test` beside a strand that never comes to an end by itself.
fn beside_an_endless_strand(workers: usize, test: impl FnOnce(&ThreadPool)) {
    fn again(strand: Strand, is_over: Arc<AtomicBool>) {
        if !is_over.load(Ordering::Relaxed) {
            strand.clone().spawn(move || again(strand, is_over));
        }
    }
    let pool = pool(workers);
    let is_over = Arc::new(AtomicBool::new(false));
    for _ in 0..workers {
        again(Strand::new_in(&pool), Arc::clone(&is_over));
    }
    test(&pool);
    is_over.store(true, Ordering::Relaxed);
    pool.shutdown();
}

#[test]
fn a_strand_without_end_lets_all_others_have_their_turn() {
    for workers in [1, 2] {
        // From outside: a job, a job of another strand, mail.
        beside_an_endless_strand(workers, |pool| {
            for n in 0..10 {
                assert_eq!(pool.submit(move || n).join(), n);
                assert_eq!(Strand::new_in(pool).submit(move || n).join(), n);
            }
            assert_eq!(pool.broadcast(|_| 1).len(), workers);
        });
        // From inside: older jobs of the worker that serves the strand.
        let (say, heard) = channel();
        beside_an_endless_strand(workers, move |pool| {
            pool.spawn(move || {
                for n in 0..10 {
                    let (say, other) = (say.clone(), say.clone());
                    heist_core::spawn(move || say.send(n).expect("the test listens"));
                    Strand::new().spawn(move || other.send(n).expect("the test listens"));
                }
            });
            assert_eq!(heard.iter().sum::<usize>(), 90);
        });
    }
}

#[test]
fn two_strands_that_send_each_other_messages_for_ever_let_a_third_have_its_turn() {
    fn ping(to: Strand, from: Strand, is_over: Arc<AtomicBool>) {
        if !is_over.load(Ordering::Relaxed) {
            to.clone().spawn(move || ping(from, to, is_over));
        }
    }
    let pool = pool(1);
    let is_over = Arc::new(AtomicBool::new(false));
    let (say, heard) = channel();
    pool.spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            Strand::new().spawn(move || say.send(3).expect("the test listens"));
            ping(Strand::new(), Strand::new(), is_over);
        }
    });
    assert_eq!(heard.recv(), Ok(3));
    is_over.store(true, Ordering::Relaxed);
    pool.shutdown();
}

/// A frame waits, on top of which the strand is served.
#[test]
fn a_strand_without_end_lets_a_frame_go_on_that_has_what_it_waits_for() {
    for workers in [1, 2] {
        for waiting in [Waiting::Any, Waiting::Descendants] {
            beside_an_endless_strand(workers, |pool| {
                let sum = pool.install(|| {
                    heist_core::with_waiting(waiting, || {
                        let joined: u64 = (0..10).map(|_| fib(10)).sum();
                        let strand = Strand::new();
                        joined + strand.submit(|| 1).join()
                    })
                });
                assert_eq!(sum, 551);
            });
        }
    }
}

#[test]
fn a_thousand_strands_on_two_workers_each_keep_their_order() {
    const JOBS: usize = 100;
    let pool = pool(2);
    let strands: Vec<_> = (0..1_000).map(|_| Strand::new_in(&pool)).collect();
    let logs: Vec<_> = strands.iter().map(|_| Arc::new(Log::default())).collect();
    for n in 0..JOBS {
        for (strand, log) in strands.iter().zip(&logs) {
            let log = Arc::clone(log);
            strand.spawn(move || log.push(0, n));
        }
    }
    strands.iter().for_each(Strand::wait);
    logs.iter().for_each(|log| log.assert_whole(1, JOBS));
}

/// `call` panics, and says why it cannot be.
fn assert_refused<R>(call: impl FnOnce() -> R) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(call)) else {
        panic!("a wait that would never end was not refused")
    };
    let text = match payload.downcast_ref::<String>() {
        Some(text) => text,
        None => *payload.downcast_ref::<&str>().expect("a message"),
    };
    assert!(
        text.starts_with("could not wait for a job of a strand"),
        "{text}"
    );
}

#[test]
fn a_job_that_waits_for_a_later_one_of_its_strand_panics() {
    let pool = pool(1);
    let strand = Strand::new_in(&pool);
    let earlier = strand.submit(|| 1);
    let inner = strand.clone();
    let job = strand.submit(move || {
        let later = inner.submit(|| 2);
        assert_refused(|| inner.wait());
        // In a piece of the job, and in another job on top of it.
        heist_core::join(|| assert_refused(|| inner.wait()), || ());
        let (on_top, other) = (inner.clone(), inner.submit(|| 3));
        heist_core::submit(move || {
            assert_refused(|| on_top.wait());
            assert_refused(|| other.join());
        })
        .join();
        assert_refused(|| later.join());
        // A job that has ended can be joined anywhere.
        earlier.join()
    });
    assert_eq!(job.join(), 1);
    assert_eq!(strand.submit(|| 4).join(), 4, "the strand goes on");
    strand.wait();
}

#[test]
fn a_job_may_wait_for_one_of_another_strand_and_not_back() {
    let pool = pool(1);
    let (a, b) = (Strand::new_in(&pool), Strand::new_in(&pool));
    let job = a.submit({
        let (a, b) = (a.clone(), b.clone());
        move || {
            let from_b = a.clone();
            let sent = b.submit(move || {
                from_b.spawn(|| ());
                7
            });
            assert_eq!(sent.join(), 7);
            // On one stack it is noticed; on two it would wait for ever.
            b.submit(move || assert_refused(|| a.submit(|| ()).join()))
                .join();
            8
        }
    });
    assert_eq!(job.join(), 8);
    a.wait();
}

#[test]
fn a_worker_that_waits_for_descendants_only_runs_the_strand_that_it_has_started() {
    for workers in [1, 2] {
        let pool = ThreadPoolBuilder::new()
            .num_threads(workers)
            .waiting(Waiting::Descendants)
            .build()
            .expect("a pool");
        for _ in 0..10 {
            let sum = pool.install(|| {
                let (first, second) = (Strand::new(), Strand::new());
                // More than a turn.
                let submit = |strand: &Strand| {
                    let jobs = (0..200).map(|_| strand.submit(|| fib(3)));
                    jobs.collect::<Vec<_>>()
                };
                let (first, second) = (submit(&first), submit(&second));
                first
                    .into_iter()
                    .chain(second)
                    .map(JoinHandle::join)
                    .sum::<u64>()
            });
            assert_eq!(sum, 800);
        }
    }
}

#[test]
fn a_job_that_blocks_holds_up_its_strand_and_nobody_else() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .compensation_workers(1)
        .build()
        .expect("a pool");
    let (first, second) = (Strand::new_in(&pool), Strand::new_in(&pool));
    let (say, heard) = channel();
    let blocked = first.submit(move || heist_core::blocking(|| heard.recv()));
    let after = first.submit(|| 1);
    second.spawn(move || say.send(2).expect("the job listens"));
    assert_eq!(after.join(), 1);
    assert!(blocked.is_finished());
    assert_eq!(blocked.join(), Ok(2));
}

#[test]
fn strands_of_two_pools_work_for_each_other() {
    let (left, right) = (pool(1), pool(1));
    let (a, b) = (Strand::new_in(&left), Strand::new_in(&right));
    let job = a.submit(move || {
        let here = heist_core::current_num_threads();
        b.submit(move || here + 1).join()
    });
    assert_eq!(job.join(), 2);
    assert_eq!(right.install(|| a.submit(|| 3).join()), 3);
    a.wait();
}

#[test]
fn waiters_inside_and_outside_see_what_all_jobs_before_have_done() {
    let pool = pool(2);
    let strand = Strand::new_in(&pool);
    let all = Barrier::new(4);
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                all.wait();
                for _ in 0..50 {
                    let ran = Arc::new(AtomicBool::new(false));
                    let job = Arc::clone(&ran);
                    strand.spawn(move || job.store(true, Ordering::Relaxed));
                    pool.participate(|| strand.wait());
                    assert!(ran.load(Ordering::Relaxed));
                }
            });
        }
    });
}

/// Smaller than a slot, as large, and larger.
#[test]
fn a_closure_of_any_size_runs_whole_and_is_dropped_once() {
    fn check<const WORDS: usize>(strand: &Strand) {
        let token = Arc::new(());
        let words: [u64; WORDS] = std::array::from_fn(|word| word as u64 + 1);
        let held = Arc::clone(&token);
        let sum = strand.submit(move || {
            let (words, _held) = (words, held);
            words.iter().sum::<u64>()
        });
        assert_eq!(sum.join(), (WORDS * (WORDS + 1) / 2) as u64);
        strand.wait();
        assert_eq!(Arc::strong_count(&token), 1);
    }
    let pool = pool(2);
    let strand = Strand::new_in(&pool);
    check::<0>(&strand);
    check::<4>(&strand);
    check::<5>(&strand);
    check::<6>(&strand);
    check::<7>(&strand);
    check::<40>(&strand);
}

/// Long enough for all the kinds of memory that a queue has.
#[test]
fn a_burst_runs_in_order_however_long_it_is() {
    const JOBS: usize = 100_000;
    let pool = pool(2);
    let strand = Strand::new_in(&pool);
    let log = Arc::new(Log::default());
    let (say, heard) = channel::<()>();
    strand.spawn(move || {
        heard.recv().expect_err("nothing is sent");
    });
    for n in 0..JOBS {
        let log = Arc::clone(&log);
        strand.spawn(move || log.push(0, n));
    }
    drop(say);
    strand.wait();
    log.assert_whole(1, JOBS);
}

/// A strand that lets others go first on top of a join whose frame runs its descendants only: the
/// frame takes it over, above the second closure.
#[test]
fn a_strand_with_many_jobs_in_the_first_closure_of_a_strict_join_runs_them_all() {
    for workers in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(workers);
        let pool = pool.waiting(Waiting::Descendants).build().expect("a pool");
        let ran = Arc::new(AtomicUsize::new(0));
        pool.install(|| {
            let strand = Strand::new();
            let fill = || {
                for _ in 0..1_000 {
                    let ran = Arc::clone(&ran);
                    strand.spawn(move || _ = ran.fetch_add(1, Ordering::Relaxed));
                }
            };
            assert_eq!(heist_core::join(fill, || 6 * 7).1, 42);
            strand.wait();
        });
        assert_eq!(ran.load(Ordering::Relaxed), 1_000, "{workers} workers");
        pool.shutdown();
    }
}
