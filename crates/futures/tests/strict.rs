//! Futures that a frame waits for which runs its descendants only: on one worker, where nobody else
//! could run them, each of them comes to its turn, and in its own surroundings.

use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};

use heist_core::{
    join, scope, spawn, submit, with_context, with_propagation, with_waiting, Callers, Once,
    Strand, ThreadPool, ThreadPoolBuilder, Waiting,
};
use heist_futures::{block_on, spawn_future, spawn_local, yield_now, FutureHandle, SpawnFuture};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

thread_local!(static SPAN: Cell<u32> = const { Cell::new(0) });

/// Calls `op` in surroundings of this number.
fn within<R: Send>(span: u32, op: impl FnOnce() -> R + Send) -> R {
    let around = move |run: &mut dyn FnMut()| {
        let before = SPAN.replace(span);
        run();
        SPAN.set(before);
    };
    with_propagation(Arc::new(around), op)
}

fn strictly<R: Send>(op: impl FnOnce() -> R + Send) -> R {
    with_waiting(Waiting::Descendants, op)
}

/// The ways in which a frame comes to run its descendants only.
fn in_each_way(op: fn()) {
    for workers in [1, 2] {
        let pool = pool(workers);
        pool.install(|| strictly(op));
        pool.install(|| within(1, op));
        pool.install(|| within(1, || strictly(op)));
        pool.install(|| strictly(|| within(1, op)));
        pool.install(|| within(1, || with_waiting(Waiting::Any, op)));
    }
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.waiting(Waiting::Descendants).build();
    pool.expect("a pool").install(op);
}

/// Yields so often.
async fn yields(times: u32) -> u32 {
    let span = SPAN.get();
    for _ in 0..times {
        yield_now().await;
        assert_eq!(SPAN.get(), span);
    }
    times
}

#[test]
fn a_future_that_yields_is_joined() {
    in_each_way(|| {
        assert_eq!(spawn_future(yields(100)).join(), 100);
        assert_eq!(block_on(spawn_future(yields(100))).unwrap(), 100);
        let both = join(
            || spawn_future(yields(9)).join(),
            || spawn_future(yields(8)).join(),
        );
        assert_eq!(both, (9, 8));
        scope(|scope| scope.spawn(|_| assert_eq!(spawn_future(yields(7)).join(), 7)));
    });
}

/// They wait for one that was spawned before, and is the last to be popped.
#[test]
fn futures_that_yield_until_an_older_one_has_run_let_it_run() {
    in_each_way(|| {
        let is_over = Arc::new(AtomicBool::new(false));
        let older = spawn_future({
            let is_over = Arc::clone(&is_over);
            async move { is_over.store(true, Ordering::Relaxed) }
        });
        let younger: Vec<_> = (0..3)
            .map(|_| {
                let is_over = Arc::clone(&is_over);
                spawn_future(async move {
                    while !is_over.load(Ordering::Relaxed) {
                        yield_now().await;
                    }
                })
            })
            .collect();
        younger.into_iter().for_each(FutureHandle::join);
        older.join();
    });
}

/// As above, but that they wake each other, or spawn each other, or are jobs that do.
#[test]
fn what_never_ends_lets_an_older_future_run() {
    fn chain(is_over: Arc<AtomicBool>) {
        if !is_over.load(Ordering::Relaxed) {
            drop(spawn_future(async move { chain(is_over) }));
        }
    }
    fn chain_of_jobs(is_over: Arc<AtomicBool>) {
        if !is_over.load(Ordering::Relaxed) {
            spawn(move || chain_of_jobs(is_over));
        }
    }
    fn pair(is_over: Arc<AtomicBool>) {
        let (ping, pinged) = async_channel::bounded(1);
        let (pong, ponged) = async_channel::bounded(1);
        drop(spawn_future(async move {
            while !is_over.load(Ordering::Relaxed) && ping.send(()).await.is_ok() {
                let _ = ponged.recv().await;
            }
        }));
        drop(spawn_future(async move {
            while pinged.recv().await.is_ok() && pong.send(()).await.is_ok() {}
        }));
    }
    fn strand(is_over: Arc<AtomicBool>) {
        fn feed(strand: Arc<Strand>, is_over: Arc<AtomicBool>) {
            let again = Arc::clone(&strand);
            strand.spawn(move || {
                if !is_over.load(Ordering::Relaxed) {
                    feed(again, is_over);
                }
            });
        }
        feed(Arc::new(Strand::new()), is_over);
    }
    in_each_way(|| {
        for endless in [chain, pair, strand] {
            let is_over = Arc::new(AtomicBool::new(false));
            let older = spawn_future({
                let is_over = Arc::clone(&is_over);
                async move { is_over.store(true, Ordering::Relaxed) }
            });
            endless(Arc::clone(&is_over));
            older.join();
        }
        // A job that was pushed before a chain of jobs is the last to be popped, as everywhere; a
        // future that has let others go first is not.
        let is_over = Arc::new(AtomicBool::new(false));
        let yielding = spawn_future({
            let is_over = Arc::clone(&is_over);
            async move {
                chain_of_jobs(Arc::clone(&is_over));
                yields(10).await;
                is_over.store(true, Ordering::Relaxed);
            }
        });
        yielding.join();
    });
}

/// Each of a pair is pushed in a region inside of that of the run which wakes it.
#[test]
fn futures_that_wake_each_other_and_submit_jobs_are_joined() {
    in_each_way(|| {
        let span = SPAN.get();
        let (ping, pinged) = async_channel::bounded(1);
        let (pong, ponged) = async_channel::bounded(1);
        let one = spawn_future(async move {
            for n in 0..50 {
                ping.send(submit(move || n).await.unwrap()).await.unwrap();
                assert_eq!(ponged.recv().await, Ok(n));
                assert_eq!(SPAN.get(), span);
                assert_eq!(spawn_future(async move { n }).await.unwrap(), n);
            }
        });
        let other = spawn_future(async move {
            while let Ok(n) = pinged.recv().await {
                assert_eq!(SPAN.get(), span);
                pong.send(n).await.unwrap();
            }
        });
        one.join();
        other.join();
    });
}

/// It has let others go first on top of a wait that is over.
/// The worker may not take it, and there is no other, but for the one that comes out.
#[test]
fn a_compensation_worker_runs_a_future_that_another_thread_wakes() {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.compensation_workers(1).build().expect("a pool");
    for _ in 0..50 {
        let wait = || {
            let (send, receive) = async_channel::bounded(1);
            let future = spawn_future(async move { receive.recv().await.unwrap() });
            std::thread::spawn(move || send.try_send(3).unwrap());
            future.join()
        };
        assert_eq!(pool.install(|| strictly(wait)), 3);
        assert_eq!(pool.install(|| within(1, wait)), 3);
        let once = Once::new();
        assert_eq!(pool.install(|| *once.get_or_init(wait)), 3);
    }
}

#[test]
fn what_was_left_by_a_wait_is_there_for_the_next() {
    in_each_way(|| {
        let left = spawn_future(yields(1_000));
        for n in 0..10 {
            spawn_future(yields(n)).join();
        }
        with_waiting(Waiting::Any, || spawn_future(yields(3)).join());
        within(2, || spawn_future(yields(3)).join());
        assert_eq!(left.join(), 1_000);
    });
}

/// A lock that is held over a join is safe in a strict frame, whatever has yielded below.
#[test]
fn a_future_that_has_yielded_below_a_frame_does_not_run_on_top_of_it() {
    let pool = pool(1);
    let depth = Arc::new(AtomicUsize::new(0));
    let count = if cfg!(debug_assertions) { 100 } else { 1_000 };
    pool.install(|| {
        strictly(|| {
            let futures: Vec<_> = (0..8)
                .map(|n| {
                    let depth = Arc::clone(&depth);
                    spawn_future(async move {
                        for _ in 0..count {
                            assert_eq!(
                                depth.fetch_add(1, Ordering::Relaxed),
                                0,
                                "on top of another"
                            );
                            // Waits for something of its own that yields.
                            assert_eq!(spawn_future(yields(n % 3)).join(), n % 3);
                            depth.fetch_sub(1, Ordering::Relaxed);
                            yield_now().await;
                        }
                    })
                })
                .collect();
            futures.into_iter().for_each(FutureHandle::join);
        });
    });
}

/// The worker is held up: others take what has let others go first there. The third one is there
/// because the frame that waits keeps its worker, whoever runs the future.
#[test]
fn what_has_yielded_in_a_strict_frame_is_taken_by_another_worker_while_that_is_held_up() {
    let pool = pool(3);
    for _ in 0..if cfg!(debug_assertions) { 30 } else { 200 } {
        let (say, heard) = mpsc::channel();
        let blocks = async move {
            drop(spawn_future(async move {
                yields(3).await;
                say.send(()).unwrap();
            }));
            yields(3).await;
            heard.recv().unwrap();
        };
        pool.spawn_future(async move { strictly(|| spawn_future(blocks).join()) })
            .join();
    }
}

/// The worker runs it before it takes the second closure back, and it yields until that has run.
#[test]
fn what_has_yielded_above_the_second_closure_of_a_join_is_not_lost() {
    fn waits(is_over: &Arc<AtomicBool>) -> FutureHandle<()> {
        let is_over = Arc::clone(is_over);
        spawn_future(async move {
            while !is_over.load(Ordering::Relaxed) {
                yield_now().await;
            }
        })
    }
    in_each_way(|| {
        let is_over = &Arc::new(AtomicBool::new(false));
        // So large that it lies in a slot as a whole.
        let numbers = [1_u64, 2, 3, 4];
        let second = move || {
            is_over.store(true, Ordering::Relaxed);
            numbers.iter().sum::<u64>()
        };
        let (first, sum) = join(|| waits(is_over), second);
        assert_eq!(sum, 10);
        first.join();
        is_over.store(false, Ordering::Relaxed);
        let (first, sum) = with_context(|mut cx| {
            cx.join(
                |_| waits(is_over),
                move |mut cx| cx.join(move |_| second(), |_| ()).0,
            )
        });
        assert_eq!(sum, 10);
        first.join();
        is_over.store(false, Ordering::Relaxed);
        let first = Mutex::new(None);
        let panics = || {
            *first.lock().unwrap() = Some(waits(is_over));
            resume_unwind(Box::new("the first"));
        };
        let payload = catch_unwind(AssertUnwindSafe(|| {
            with_context(|mut cx| cx.join(|_| panics(), move |_| second()));
        }));
        assert_eq!(payload.unwrap_err().downcast_ref(), Some(&"the first"));
        let first = first.into_inner().unwrap();
        first.expect("it was spawned").join();
    });
}

/// The frame that waits runs any job, but that future runs in surroundings of its own.
#[test]
fn what_yields_in_surroundings_does_not_wait_for_all_that_yield_without() {
    pool(1).install(|| {
        let is_over = Arc::new(AtomicBool::new(false));
        let endless = spawn_future({
            let is_over = Arc::clone(&is_over);
            async move {
                while !is_over.load(Ordering::Relaxed) {
                    yield_now().await;
                }
            }
        });
        assert_eq!(within(1, || spawn_future(yields(100))).join(), 100);
        is_over.store(true, Ordering::Relaxed);
        endless.join();
    });
}

/// A strict frame on the only worker, which always finds a local future or a job for this worker,
/// and waits for a future that it must not run, because another thread has woken it.
#[test]
fn a_strict_frame_that_always_finds_something_has_another_worker_step_in() {
    fn chain(is_over: Arc<AtomicBool>) {
        if !is_over.load(Ordering::Relaxed) {
            heist_core::job().only_on(0).spawn(|| chain(is_over));
        }
    }
    fn wait(is_local: bool, is_over: Arc<AtomicBool>) -> u32 {
        let (send, receive) = async_channel::bounded(1);
        let (polled, has_polled) = mpsc::channel();
        let woken = spawn_future(async move {
            polled.send(()).expect("a thread waits for it");
            receive.recv().await.expect("a thread sends it")
        });
        let sends = std::thread::spawn(move || {
            has_polled.recv().expect("it is polled");
            send.try_send(7).expect("there is room");
        });
        if is_local {
            drop(spawn_local(async move {
                while !is_over.load(Ordering::Relaxed) {
                    yield_now().await;
                }
            }));
        } else {
            chain(is_over);
        }
        let received = woken.join();
        sends.join().expect("it has sent");
        received
    }
    for is_local in [true, false] {
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let builder = builder.waiting(Waiting::Descendants).callers(Callers::Move);
        let pool = builder.compensation_workers(1).build().expect("a pool");
        for _ in 0..5 {
            let is_over = Arc::new(AtomicBool::new(false));
            let of_wait = Arc::clone(&is_over);
            assert_eq!(pool.install(move || wait(is_local, of_wait)), 7);
            is_over.store(true, Ordering::Relaxed);
        }
    }
}

/// It never waits, and what it looks at is set by a job that it must not run.
#[test]
fn a_strict_frame_whose_future_yields_and_yields_has_another_worker_step_in() {
    for workers in [1, 2] {
        let builder = ThreadPoolBuilder::new().num_threads(workers);
        let pool = builder.waiting(Waiting::Descendants).build();
        let pool = pool.expect("a pool");
        let is_set = Arc::new(AtomicBool::new(false));
        let frames: Vec<_> = (0..workers)
            .map(|_| {
                let is_set = Arc::clone(&is_set);
                pool.submit(move || {
                    block_on(async {
                        while !is_set.load(Ordering::Relaxed) {
                            yield_now().await;
                        }
                    });
                })
            })
            .collect();
        pool.submit(move || is_set.store(true, Ordering::Relaxed))
            .join();
        frames.into_iter().for_each(heist_core::JoinHandle::join);
    }
}
