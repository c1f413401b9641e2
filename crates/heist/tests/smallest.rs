//! Every operation at its smallest: an interpreter that sees undefined behaviour (Miri) has time
//! for all of them.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use heist::prelude::*;
use heist::{Callers, CancellationToken, JoinError, ThreadPool, ThreadPoolBuilder, Waiting};

/// A pool whose threads have ended when it is dropped: Miri looks for those that are left.
struct Pool(Option<ThreadPool>);

impl Pool {
    fn built_by(builder: ThreadPoolBuilder) -> Self {
        let builder = builder.panic_handler(|_| {});
        Self(Some(builder.build().expect("a pool")))
    }
}

impl Deref for Pool {
    type Target = ThreadPool;

    fn deref(&self) -> &ThreadPool {
        self.0.as_ref().expect("it has not ended")
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let pool = self.0.take().expect("it ends once");
        pool.shutdown();
    }
}

fn pool(workers: usize) -> Pool {
    Pool::built_by(ThreadPoolBuilder::new().num_threads(workers))
}

fn fib(n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn joins_and_their_panics() {
    for workers in 1..=3 {
        let mut local = vec![1, 2, 3];
        pool(workers).install(|| {
            assert_eq!(fib(6), 8);
            let (a, b) = local.split_at_mut(1);
            heist::join(|| a[0] += 1, || b.iter_mut().for_each(|it| *it *= 2));
            let text = String::from("kept");
            let left = || heist::join(|| panic!("left"), || text.len());
            assert!(catch_unwind(AssertUnwindSafe(left)).is_err());
            let right = || heist::join(|| text.len(), || panic!("right"));
            assert!(catch_unwind(AssertUnwindSafe(right)).is_err());
            let told = heist::join_context(|_| text.clone(), |context| context.migrated());
            assert_eq!(told.0, text);
            heist::with_context(|mut context| context.join(|_| fib(3), |_| fib(3)));
        });
        assert_eq!(local, [2, 4, 6]);
    }
}

#[test]
fn scopes_and_groups() {
    let pool = pool(2);
    let mut parts = [1, 2, 3];
    pool.scope(|scope| {
        for part in &mut parts {
            scope.spawn(move |scope| {
                *part += 1;
                scope.spawn(move |_| *part *= 2);
            });
        }
    });
    assert_eq!(parts, [4, 6, 8]);
    let seen = Mutex::new(BTreeSet::new());
    pool.scope_fifo(|scope| {
        for n in 0..4 {
            let seen = &seen;
            scope.spawn_fifo(move |_| _ = seen.lock().unwrap().insert(n));
        }
        scope.spawn_broadcast(|_, context| {
            seen.lock().unwrap().insert(10 + context.index());
        });
    });
    let outside = pool.in_place_scope(|scope| {
        scope.spawn(|_| _ = seen.lock().unwrap().insert(20));
        5
    });
    assert_eq!((seen.into_inner().unwrap().len(), outside), (7, 5));
    let failed = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|scope| scope.spawn(|_| panic!("in a scope")));
    }));
    assert!(failed.is_err());
    let (group, count) = (
        heist::TaskGroup::new_in(&pool),
        Arc::new(AtomicUsize::new(0)),
    );
    for _ in 0..3 {
        let count = Arc::clone(&count);
        group.run(move || _ = count.fetch_add(1, Ordering::Relaxed));
    }
    group.wait();
    assert_eq!(count.load(Ordering::Relaxed), 3);
}

#[test]
fn jobs_that_nobody_waits_for() {
    let pool = pool(2);
    let (say, heard) = channel();
    for n in 0..6 {
        let say = say.clone();
        pool.spawn(move || {
            // Too large for a slot of the deque.
            let large = [n; 64];
            heist::spawn(move || say.send(large[63]).expect("the test hears it"));
        });
    }
    pool.spawn_fifo(|| panic!("nobody's"));
    pool.spawn_broadcast(move |_| say.send(100).expect("the test hears it"));
    let mut all: Vec<_> = heard.iter().collect();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3, 4, 5, 100, 100]);
    assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
}

#[test]
fn jobs_with_handles() {
    let pool = pool(2);
    let kept = String::from("text");
    assert_eq!(pool.submit(move || kept.len()).join(), 4);
    let failed = pool.submit(|| panic!("for its handle"));
    assert!(matches!(failed.try_join(), Err(JoinError::Panicked(_))));
    let urgent = pool.job().priority(heist::Priority::High).submit(|| 1);
    let near = pool.job().near(1).submit(|| 2);
    let there = pool.job().only_on(0).submit(heist::current_thread_index);
    assert_eq!((urgent.join(), near.join(), there.join()), (1, 2, Some(0)));
    let text = String::from("dropped if it is aborted");
    let aborted = pool.submit(move || text.len());
    let was_aborted = aborted.abort();
    assert_eq!(aborted.try_join().is_err(), was_aborted);
    drop(pool.submit(|| String::from("an output that nobody takes")));
}

/// Two threads abort a job that a worker is about to run, and agree. Its captures go either way.
#[test]
fn aborts_that_race() {
    let pool = pool(2);
    let kept = Arc::new(());
    for _ in 0..3 {
        let captured = Arc::clone(&kept);
        let handle = pool.submit(move || captured);
        let (here, there) = std::thread::scope(|scope| {
            let there = scope.spawn(|| handle.abort());
            (handle.abort(), there.join().expect("no panic"))
        });
        assert_eq!(here, there);
        assert_eq!(handle.try_join().is_err(), here);
    }
    let captured = Arc::clone(&kept);
    let dropped_elsewhere = pool.submit(move || captured);
    std::thread::spawn(move || drop(dropped_elsewhere))
        .join()
        .expect("no panic");
    drop(pool);
    assert_eq!(Arc::strong_count(&kept), 1);
}

#[test]
fn initialisers_that_panic_while_others_wait() {
    let (once, begun) = (heist::Once::<Box<u32>>::new(), AtomicUsize::new(0));
    let made = || {
        heist::join(|| (), || ());
        assert!(begun.fetch_add(1, Ordering::Relaxed) > 0, "the first");
        Box::new(5)
    };
    pool(2).scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|_| {
                let value = catch_unwind(AssertUnwindSafe(|| once.get_or_init(made)));
                assert!(value.map_or(true, |value| **value == 5));
            });
        }
    });
    assert_eq!(
        (once.into_inner(), begun.into_inner()),
        (Some(Box::new(5)), 2)
    );
}

#[test]
fn strands_values_and_tokens() {
    let pool = pool(2);
    let strand = heist::Strand::new_in(&pool);
    let log = Arc::new(Mutex::new(Vec::new()));
    for n in 0..5 {
        let log = Arc::clone(&log);
        strand.spawn(move || log.lock().unwrap().push(n));
    }
    strand.wait();
    assert_eq!(*log.lock().unwrap(), [0, 1, 2, 3, 4]);
    let (once, lazy) = (heist::Once::new(), heist::Lazy::new(|| fib(4)));
    pool.install(|| {
        let value = || once.get_or_init(|| Box::new(fib(5))).as_ref();
        assert_eq!(heist::join(value, value), (&5, &5));
        assert_eq!(heist::join(|| *lazy, || *lazy), (3, 3));
    });
    let token = CancellationToken::new();
    let stopped = pool.install(|| {
        heist::with_cancellation(&token, || {
            token.cancel();
            heist::checkpoint();
        })
    });
    assert!(stopped.is_err());
    let late = CancellationToken::new().with_deadline(Instant::now());
    let stopped = pool.install(|| heist::with_cancellation(&late, heist::checkpoint));
    assert!(stopped.is_err());
}

#[test]
fn waits_blocking_calls_and_turns() {
    let builder = ThreadPoolBuilder::new().num_threads(2);
    let pool = Pool::built_by(builder.compensation_workers(1));
    let (say, heard) = channel();
    pool.install(|| {
        heist::with_waiting(Waiting::Descendants, || assert_eq!(fib(4), 3));
        let (_, slept) = heist::join(
            || say.send(()).expect("the other half hears it"),
            move || heist::blocking(|| heard.recv_timeout(Duration::from_secs(60))),
        );
        assert_eq!(slept, Ok(()));
        heist::spawn(|| {});
        heist::yield_now();
        heist::yield_local();
    });
    pool.set_active_threads(1);
    assert_eq!(pool.install(|| fib(4)), 3);
    pool.set_active_threads(2);
    assert_eq!(pool.install(|| fib(4)), 3);
}

#[test]
fn pools_of_other_kinds() {
    let serial = ThreadPoolBuilder::new()
        .serial()
        .build()
        .expect("no thread");
    assert_eq!(serial.install(|| fib(5)), 5);
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let open = Pool::built_by(builder.callers(Callers::Participate));
    assert_eq!(open.install(|| fib(5)), 5);
    let (one, other) = (pool(1), pool(2));
    // A worker of one waits for the other, and runs its own jobs meanwhile.
    let nested = one.install(|| heist::join(|| other.install(|| fib(4)), || one.install(|| 1)));
    assert_eq!(nested, (3, 1));
    let recorded = Pool::built_by(ThreadPoolBuilder::new().num_threads(2).record_events(64));
    assert_eq!(recorded.install(|| fib(4)), 3);
    assert_eq!(recorded.events().len(), 2);
    assert!(recorded.counters().total().jobs > 0);
    std::thread::spawn(|| {
        let builder = ThreadPoolBuilder::new().num_threads(2);
        let pool = builder.use_current_thread().build().expect("a pool");
        assert_eq!(pool.install(|| fib(4)), 3);
    })
    .join()
    .expect("no panic");
}

#[test]
fn iterators() {
    let pool = pool(2);
    pool.install(|| {
        let strings = |count: usize| (0..count).map(move |n| (n * 7 % count).to_string());
        let owned: Vec<String> = strings(40).collect();
        let mapped: Vec<String> = owned.into_par_iter().map(|it| it + "!").collect();
        assert_eq!(mapped[1], "7!");
        let some: Vec<&String> = mapped.par_iter().filter(|it| it.len() == 2).collect();
        assert_eq!(some.len(), 10);
        // The items that are left over are dropped.
        assert!(mapped
            .into_par_iter()
            .find_any(|it| it.len() == 3)
            .is_some());
        let pairs: Vec<(String, usize)> = strings(20).zip(0..).collect();
        let (left, right): (Vec<_>, Vec<_>) = pairs.into_par_iter().unzip();
        assert_eq!(left.par_iter().zip(&right).rev().step_by(3).count(), 7);
        let failing = || left.par_iter().map(|it| it.parse::<u8>().map_err(drop));
        assert_eq!(failing().sum::<Result<u8, ()>>().map(|_| ()), Ok(()));
        let mut bytes = [0_u8; 50];
        bytes
            .par_chunks_mut(7)
            .enumerate()
            .for_each(|(n, part)| part.fill(n as u8));
        assert_eq!(bytes[49], 7);
        let panics = || {
            left.clone()
                .into_par_iter()
                .for_each(|it| assert_ne!(it, "7"));
        };
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        let bridged: Vec<_> = strings(10).par_bridge().collect();
        assert_eq!(bridged.len(), 10);
        let arrays: Vec<_> = [String::new(), String::from("b")].into_par_iter().collect();
        assert_eq!(arrays.len(), 2);
        let mut drained: Vec<String> = strings(30).collect();
        assert_eq!(drained.par_drain(5..20).count(), 15);
        assert_eq!(drained.len(), 15);
    });
}

/// Under Miri so few are shared among workers as well (`worth` in `par/src/algorithm.rs`).
#[test]
fn sorts() {
    let count = if cfg!(miri) { 130 } else { 20_000 };
    let pool = pool(2);
    let numbers = move || (0..count).map(move |n| (n * 7_919) % count);
    let texts: Vec<String> = numbers().map(|n| format!("{n:05}")).collect();
    let sorted: Vec<String> = (0..count).map(|n| format!("{n:05}")).collect();
    pool.install(|| {
        let mut stable = texts.clone();
        stable.par_sort();
        assert!(stable == sorted);
        let mut unstable = texts.clone();
        unstable.par_sort_unstable_by(|a, b| b.cmp(a));
        assert!(unstable.iter().rev().eq(&sorted));
        let mut keys: Vec<usize> = numbers().collect();
        keys.par_sort();
        assert!(keys.iter().copied().eq(0..count));
        let mut cached = texts.clone();
        cached.par_sort_by_cached_key(|it| it.parse::<usize>().expect("a number"));
        assert!(cached == sorted);
        assert_eq!(
            heist::algorithm::par_merge(keys.clone(), keys).len(),
            2 * count
        );
        let mut panicking = texts.clone();
        let compares = AtomicUsize::new(0);
        let failed = catch_unwind(AssertUnwindSafe(|| {
            panicking.par_sort_by(|a, b| {
                let so_far = compares.fetch_add(1, Ordering::Relaxed);
                assert!(so_far < 3 * count, "enough");
                a.cmp(b)
            });
        }));
        assert!(failed.is_err());
        // Each is there once, in some order.
        panicking.sort();
        assert!(panicking == sorted);
    });
}

#[cfg(feature = "futures")]
mod futures {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Wake, Waker};
    use std::thread::{self, Thread};

    use heist::futures::{block_on, spawn_future, yield_now, SpawnFuture};

    use super::*;

    fn chain(left: usize) -> Pin<Box<dyn Future<Output = String> + Send>> {
        Box::pin(async move {
            yield_now().await;
            match left {
                0 => String::from("end"),
                _ => spawn_future(chain(left - 1)).await.expect("it ends"),
            }
        })
    }

    #[test]
    fn futures_that_await_and_end_early() {
        let pool = pool(2);
        assert_eq!(block_on(pool.spawn_future(chain(4))).unwrap(), "end");
        let mut endless = pool.spawn_future(std::future::pending::<String>());
        assert!(!endless.is_finished());
        endless.abort();
        assert!(matches!(block_on(endless), Err(JoinError::Cancelled)));
        let failed = pool.spawn_future(async { panic!("for its handle") });
        assert!(matches!(block_on(failed), Err(JoinError::Panicked(_))));
        drop(pool.spawn_future(chain(2)));
        let forked = pool.spawn_future(async { heist::submit(|| fib(4)).await.expect("it ends") });
        assert_eq!(block_on(forked).unwrap(), 3);
        let pending = pool.spawn_future(std::future::pending::<String>());
        drop(pool);
        drop(pending);
    }

    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    #[test]
    fn workers_that_a_function_drives() {
        let drive = |mut main_loop: Pin<&mut dyn Future<Output = ()>>| {
            let waker = Waker::from(Arc::new(Unpark(thread::current())));
            let mut context = Context::from_waker(&waker);
            while main_loop.as_mut().poll(&mut context).is_pending() {
                thread::park();
            }
        };
        let builder = ThreadPoolBuilder::new().num_threads(2);
        let pool = Pool::built_by(builder.drive_workers(drive));
        assert_eq!(pool.install(|| fib(4)), 3);
        assert_eq!(block_on(pool.spawn_future(chain(2))).unwrap(), "end");
    }
}
