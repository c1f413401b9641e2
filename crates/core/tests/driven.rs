//! Driven workers: a function of the program's polls their main loops.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use heist_core::{ThreadPool, ThreadPoolBuilder};

/// Wakes a thread of [`drive`].
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls until it is ready; calls `between` before each poll but the first.
fn drive(mut main_loop: Pin<&mut dyn Future<Output = ()>>, between: impl Fn()) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    while main_loop.as_mut().poll(&mut context).is_pending() {
        thread::park();
        between();
    }
}

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    let builder = builder.drive_workers(|main_loop| drive(main_loop, || ()));
    builder.build().expect("a pool")
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist_core::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn jobs_of_every_kind_run() {
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        for round in 0..50 {
            assert_eq!(pool.install(|| fib(12)), 144);
            assert_eq!(pool.submit(move || round).join(), round);
            assert_eq!(pool.broadcast(|it| it.index()).len(), workers);
            let sum = AtomicU64::new(0);
            pool.scope(|scope| {
                for n in 0..20 {
                    let sum = &sum;
                    scope.spawn(move |_| {
                        sum.fetch_add(n, Ordering::Relaxed);
                    });
                }
            });
            assert_eq!(sum.into_inner(), 190);
        }
    }
}

/// Some sleep while others spawn, from inside and outside, at odd times.
#[test]
fn no_job_is_slept_through() {
    let pool = Arc::new(pool(3));
    let ran = Arc::new(AtomicUsize::new(0));
    let outside: Vec<_> = (0..3)
        .map(|thread| {
            let (pool, ran) = (Arc::clone(&pool), Arc::clone(&ran));
            thread::spawn(move || {
                for n in 0..300 {
                    let (inner, done) = (Arc::clone(&ran), channel());
                    let say = done.0.clone();
                    pool.spawn(move || {
                        let say = say.clone();
                        heist_core::spawn(move || {
                            inner.fetch_add(1, Ordering::Relaxed);
                            say.send(()).expect("the test waits");
                        });
                    });
                    done.1.recv().expect("the job runs");
                    if (n + thread) % 7 == 0 {
                        thread::sleep(Duration::from_micros(300));
                    }
                }
            })
        })
        .collect();
    outside
        .into_iter()
        .for_each(|it| it.join().expect("no panic"));
    assert_eq!(ran.load(Ordering::Relaxed), 900);
}

/// SL-4, for what drives a worker as well.
#[test]
fn nothing_is_polled_while_there_is_nothing_to_do() {
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&polls);
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .drive_workers(move |main_loop| {
            drive(main_loop, || {
                counted.fetch_add(1, Ordering::Relaxed);
            });
        })
        .build()
        .expect("a pool");
    pool.install(|| fib(10));
    // The lookout of a system without membarrier may still look.
    thread::sleep(Duration::from_millis(200));
    let before = polls.load(Ordering::Relaxed);
    thread::sleep(Duration::from_millis(100));
    assert_eq!(polls.load(Ordering::Relaxed), before);
}

/// As the waker of a socket does that the function has waited for.
#[test]
fn the_function_may_push_jobs_there() {
    thread_local! {
        static IS_HERE: Cell<bool> = const { Cell::new(false) };
    }
    static EVENTS: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    let (say, heard) = channel();
    let say = Mutex::new(say);
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .drive_workers(move |main_loop| {
            IS_HERE.set(true);
            drive(main_loop, || {
                for event in std::mem::take(&mut *EVENTS.lock().expect("no panic")) {
                    let say = say.lock().expect("no panic").clone();
                    heist_core::spawn(move || {
                        let index = heist_core::current_thread_index();
                        say.send((event, index, IS_HERE.get()))
                            .expect("the test waits");
                    });
                }
            });
        })
        .build()
        .expect("a pool");
    // The thread that is to be unparked as if by an event.
    let worker = pool.install(thread::current);
    for event in 0..2000 {
        EVENTS.lock().expect("no panic").push(event);
        worker.unpark();
        assert_eq!(heard.recv(), Ok((event, Some(0), true)));
        if event % 16 == 0 {
            assert_eq!(pool.install(|| event), event);
        }
    }
}

#[test]
fn a_function_that_returns_early_is_done_without() {
    for after in [0, 1, 5] {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .drive_workers(move |mut main_loop| {
                let waker = Waker::from(Arc::new(Unpark(thread::current())));
                let mut context = Context::from_waker(&waker);
                for _ in 0..after {
                    let _ = main_loop.as_mut().poll(&mut context);
                }
            })
            .build()
            .expect("a pool");
        for _ in 0..20 {
            assert_eq!(pool.install(|| fib(10)), 55);
            thread::sleep(Duration::from_micros(200));
        }
    }
}

/// It is called again and again, with another waker each time, although nothing has happened.
#[test]
fn the_function_may_poll_whenever_it_likes() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .drive_workers(|mut main_loop| {
            let is_woken = Arc::new(AtomicBool::new(false));
            struct Note(Arc<AtomicBool>);
            impl Wake for Note {
                fn wake(self: Arc<Self>) {
                    self.0.store(true, Ordering::Relaxed);
                }
            }
            loop {
                let waker = Waker::from(Arc::new(Note(Arc::clone(&is_woken))));
                let mut context = Context::from_waker(&waker);
                match main_loop.as_mut().poll(&mut context) {
                    Poll::Ready(()) => break,
                    Poll::Pending => thread::yield_now(),
                }
            }
        })
        .build()
        .expect("a pool");
    for _ in 0..200 {
        assert_eq!(pool.install(|| fib(8)), 21);
    }
}

/// While jobs come without an end, the function has its turn.
#[test]
fn the_function_has_its_turn_beside_jobs_without_an_end() {
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .drive_workers(move |main_loop| {
            drive(main_loop, || {
                counted.fetch_add(1, Ordering::Relaxed);
            });
        })
        .build()
        .expect("a pool");
    fn again(is_over: Arc<AtomicBool>) {
        if !is_over.load(Ordering::Relaxed) {
            heist_core::spawn(move || again(is_over));
        }
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let job = Arc::clone(&is_over);
    pool.spawn(move || again(job));
    let before = turns.load(Ordering::Relaxed);
    while turns.load(Ordering::Relaxed) < before + 10 {
        thread::yield_now();
    }
    is_over.store(true, Ordering::Relaxed);
}

#[test]
fn fewer_workers_may_be_active() {
    let pool = pool(3);
    for active in [1, 3, 2, 1, 3] {
        pool.set_active_threads(active);
        for _ in 0..20 {
            assert_eq!(pool.install(|| fib(10)), 55);
        }
    }
}

/// A job may block, wait for others, and yield.
#[test]
fn jobs_wait_in_a_driven_pool() {
    let pool = pool(2);
    let both = Barrier::new(2);
    pool.install(|| heist_core::join(|| both.wait(), || both.wait()));
    pool.install(|| {
        let (say, heard) = channel();
        heist_core::spawn(move || say.send(1).expect("somebody waits"));
        assert_eq!(heist_core::blocking(|| heard.recv()), Ok(1));
    });
}

#[test]
fn many_such_pools_end() {
    for round in 0..200 {
        let pool = pool(1 + round % 3);
        if round % 2 == 0 {
            pool.spawn(|| ());
        }
        drop(pool);
    }
}

#[test]
fn a_serial_pool_has_nobody_to_drive() {
    let builder = ThreadPoolBuilder::new().serial();
    let refused = builder.drive_workers(|main_loop| drive(main_loop, || ()));
    let error = refused.build().expect_err("no worker has a thread");
    assert!(error.to_string().contains("drive_workers"), "{error}");
}

/// Wakes a thread, and spawns a job when it is dropped, until the test is over.
struct Spawns(Thread, Arc<Spawned>);

#[derive(Default)]
struct Spawned {
    ran: AtomicUsize,
    is_over: AtomicBool,
}

impl Wake for Spawns {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Drop for Spawns {
    fn drop(&mut self) {
        let spawned = Arc::clone(&self.1);
        if !spawned.is_over.load(Ordering::Relaxed) {
            heist_core::spawn(move || {
                spawned.ran.fetch_add(1, Ordering::Relaxed);
            });
        }
    }
}

/// When it is replaced by another, while the worker rests. Without an end if that is under a lock.
#[test]
fn a_waker_may_spawn_jobs_when_it_is_dropped() {
    let spawned = Arc::new(Spawned::default());
    let jobs = Arc::clone(&spawned);
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .drive_workers(move |mut main_loop| loop {
            let waker = Arc::new(Spawns(thread::current(), Arc::clone(&jobs)));
            let waker = Waker::from(waker);
            let mut context = Context::from_waker(&waker);
            if main_loop.as_mut().poll(&mut context).is_ready() {
                break;
            }
        })
        .build()
        .expect("a pool");
    while spawned.ran.load(Ordering::Relaxed) < 100 {
        thread::yield_now();
    }
    // On its thread, so that no waker is being dropped.
    pool.install(|| spawned.is_over.store(true, Ordering::Relaxed));
}

/// It may hold a reactor with its files, and handles keep the pool's memory.
#[test]
fn a_waker_is_not_kept_for_longer_than_the_worker_is_driven() {
    for returns_early in [false, true] {
        let (say, heard) = channel();
        let say = Mutex::new(say);
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .drive_workers(move |mut main_loop| {
                let unpark = Arc::new(Unpark(thread::current()));
                let say = say.lock().expect("no panic");
                say.send(Arc::downgrade(&unpark)).expect("the test waits");
                let waker = Waker::from(unpark);
                let mut context = Context::from_waker(&waker);
                while main_loop.as_mut().poll(&mut context).is_pending() && !returns_early {
                    thread::park();
                }
            })
            .build()
            .expect("a pool");
        let strand = heist_core::Strand::new_in(&pool);
        strand.submit(|| ()).join();
        pool.shutdown();
        let waker = heard.recv().expect("it is driven");
        assert!(waker.upgrade().is_none(), "the strand keeps the waker");
        drop(strand);
    }
}

/// It may hold the reactor itself, for whose end futures wait that keep the pool's memory.
#[test]
fn the_function_is_dropped_with_the_last_worker_that_it_drives() {
    for workers in [1, 3] {
        let reactor = Arc::new(());
        let held = Arc::downgrade(&reactor);
        let pool = ThreadPoolBuilder::new()
            .num_threads(workers)
            .drive_workers(move |main_loop| {
                let _reactor = &reactor;
                drive(main_loop, || ());
            })
            .build()
            .expect("a pool");
        let strand = heist_core::Strand::new_in(&pool);
        strand.submit(|| ()).join();
        assert!(held.upgrade().is_some());
        pool.shutdown();
        assert!(held.upgrade().is_none(), "the strand keeps the function");
        drop(strand);
    }
}

/// Whichever of the threads could not be started.
#[test]
fn the_function_is_dropped_if_the_pool_cannot_be_built() {
    for missing in 0..3 {
        let reactor = Arc::new(());
        let held = Arc::downgrade(&reactor);
        let threads = Arc::new(Mutex::new(Vec::new()));
        let started = Arc::clone(&threads);
        let refused = ThreadPoolBuilder::new()
            .num_threads(3)
            .spawn_handler(move |worker| {
                if worker.index() == missing {
                    return Err(std::io::Error::other("no thread"));
                }
                let mut started = started.lock().expect("no panic");
                started.push(thread::spawn(|| worker.run()));
                Ok(())
            })
            .drive_workers(move |main_loop| {
                let _reactor = &reactor;
                drive(main_loop, || ());
            })
            .build();
        assert!(refused.is_err());
        for thread in threads.lock().expect("no panic").drain(..) {
            thread.join().expect("no panic");
        }
        assert!(held.upgrade().is_none(), "worker {missing} is missing");
    }
}
