//! Futures on workers: no wake-up is lost, and none is polled twice at once (FU-1).

use std::future::{pending, poll_fn, Future};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use heist_core::{checkpoint, is_cancelled, with_cancellation, CancellationToken};
use heist_core::{ThreadPool, ThreadPoolBuilder};
use heist_futures::{block_on, poll_budget, spawn_future, yield_now, JoinError, SpawnFuture};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

/// Is pending until it is woken by whoever has the waker, which it leaves in `waker`.
struct Once {
    waker: Arc<Mutex<Option<Waker>>>,
    is_set: Arc<AtomicBool>,
}

impl Future for Once {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        *self.waker.lock().unwrap() = Some(cx.waker().clone());
        if self.is_set.load(Ordering::Acquire) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// Says when it is dropped.
struct Dropped(mpsc::Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn fu_1_a_thousand_pairs_send_each_other_something() {
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        let sum = pool.spawn_future(async {
            let mut pairs = Vec::new();
            for n in 0..1_000_usize {
                pairs.push(spawn_future(async move {
                    let (ping, pinged) = async_channel::bounded(1);
                    let (pong, ponged) = async_channel::bounded(1);
                    let other = spawn_future(async move {
                        while let Ok(n) = pinged.recv().await {
                            pong.send(n + 1).await.unwrap();
                        }
                    });
                    let mut n = n;
                    for _ in 0..10 {
                        ping.send(n).await.unwrap();
                        n = ponged.recv().await.unwrap();
                    }
                    drop(ping);
                    other.await.unwrap();
                    n
                }));
            }
            let mut sum = 0;
            for pair in pairs {
                sum += pair.await.unwrap();
            }
            sum
        });
        assert_eq!(sum.join(), (0..1_000).sum::<usize>() + 10_000);
    }
}

#[test]
fn fu_1_no_wake_up_from_a_foreign_thread_is_lost_and_no_two_polls_run_at_once() {
    let pool = pool(2);
    let rounds = if cfg!(debug_assertions) { 300 } else { 3_000 };
    for _ in 0..rounds {
        let set = Arc::new(AtomicUsize::new(0));
        let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
        let polls = Arc::new(AtomicBool::new(false));
        let future = {
            let (set, waker, polls) = (Arc::clone(&set), Arc::clone(&waker), polls);
            poll_fn(move |cx| {
                assert!(!polls.swap(true, Ordering::Acquire), "two at once");
                *waker.lock().unwrap() = Some(cx.waker().clone());
                let is_ready = set.load(Ordering::Acquire) == 4;
                polls.store(false, Ordering::Release);
                if is_ready {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
        };
        let handle = pool.spawn_future(future);
        thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    set.fetch_add(1, Ordering::AcqRel);
                    if let Some(waker) = waker.lock().unwrap().as_ref() {
                        waker.wake_by_ref();
                    }
                });
            }
        });
        handle.join();
    }
}

#[test]
fn a_worker_that_blocks_on_a_future_runs_what_that_waits_for() {
    let pool = pool(1);
    let sum = pool.install(|| {
        let parts: Vec<_> = (0..100).map(|n| spawn_future(async move { n })).collect();
        block_on(async {
            let mut sum = 0;
            for part in parts {
                yield_now().await;
                sum += part.await.unwrap();
            }
            sum
        })
    });
    assert_eq!(sum, 4_950);
}

#[test]
fn a_worker_is_woken_from_outside_while_it_blocks_on_a_future() {
    let pool = pool(2);
    for _ in 0..200 {
        let (sender, receiver) = async_channel::bounded(1);
        let outside = thread::spawn(move || block_on(sender.send(5)).unwrap());
        assert_eq!(pool.install(|| block_on(receiver.recv())), Ok(5));
        outside.join().unwrap();
    }
}

#[test]
fn a_panic_comes_with_the_output_or_goes_to_the_handler() {
    let (caught, payloads) = mpsc::channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(move |payload| caught.send(payload).unwrap())
        .build()
        .unwrap();
    let handle = pool.spawn_future(async { panic!("awaited") });
    match block_on::<_>(handle) {
        Err(JoinError::Panicked(payload)) => {
            assert_eq!(payload.downcast_ref(), Some(&"awaited"));
        }
        other => panic!("{other:?}"),
    }
    drop(pool.spawn_future(async {
        yield_now().await;
        panic!("not awaited")
    }));
    let payload = payloads.recv().unwrap();
    assert_eq!(payload.downcast_ref(), Some(&"not awaited"));
    assert_eq!(
        pool.spawn_future(async { 1 }).join(),
        1,
        "the pool lives on"
    );
}

#[test]
fn an_aborted_future_is_dropped_once_and_its_handle_says_so() {
    let pool = pool(2);
    for _ in 0..200 {
        let (say, heard) = mpsc::channel();
        let dropped = Dropped(say);
        let mut handle = pool.spawn_future(async move {
            pending::<()>().await;
            drop(dropped);
        });
        handle.abort();
        assert!(handle.is_finished());
        assert!(matches!(block_on(handle), Err(JoinError::Cancelled)));
        assert_eq!(heard.iter().count(), 1);
    }
}

#[test]
fn a_future_that_is_pending_when_its_pool_ends_is_cancelled_by_the_next_wake_up() {
    let (say, heard) = mpsc::channel();
    let (waker, is_set) = (Arc::default(), Arc::new(AtomicBool::new(false)));
    let pool = pool(2);
    let handle = {
        let dropped = Dropped(say);
        let once = Once {
            waker: Arc::clone(&waker),
            is_set,
        };
        pool.spawn_future(async move {
            once.await;
            drop(dropped);
        })
    };
    while waker.lock().unwrap().is_none() {
        thread::yield_now();
    }
    pool.shutdown();
    let waker: Waker = waker.lock().unwrap().take().unwrap();
    // On a thread that has never seen the pool; and the waker is dropped there.
    thread::spawn(move || waker.wake()).join().unwrap();
    assert_eq!(heard.iter().count(), 1);
    assert!(matches!(block_on(handle), Err(JoinError::Cancelled)));
}

#[test]
fn a_handle_that_is_dropped_lets_the_future_run_on() {
    let pool = pool(1);
    let (say, heard) = mpsc::channel();
    drop(pool.spawn_future(async move {
        for n in 0..10 {
            yield_now().await;
            say.send(n).unwrap();
        }
    }));
    assert_eq!(heard.iter().sum::<i32>(), 45);
}

#[test]
fn futures_that_wake_themselves_let_jobs_from_outside_and_each_other_have_their_turn() {
    let pool = pool(1);
    let is_over = Arc::new(AtomicBool::new(false));
    let turns: [Arc<AtomicUsize>; 3] = Default::default();
    let selfish: Vec<_> = turns
        .iter()
        .map(|turns| {
            let (is_over, turns) = (Arc::clone(&is_over), Arc::clone(turns));
            pool.spawn_future(async move {
                while !is_over.load(Ordering::Relaxed) {
                    turns.fetch_add(1, Ordering::Relaxed);
                    yield_now().await;
                }
            })
        })
        .collect();
    for _ in 0..100 {
        pool.install(|| ());
    }
    while turns
        .iter()
        .any(|turns| turns.load(Ordering::Relaxed) < 100)
    {
        thread::yield_now();
    }
    is_over.store(true, Ordering::Relaxed);
    selfish
        .into_iter()
        .for_each(heist_futures::FutureHandle::join);
}

/// Another executor says nothing of its polls, in which handles and streams have a budget too.
#[test]
fn handles_and_streams_are_awaited_without_end_on_another_executor() {
    let pool = pool(2);
    let (say, heard) = mpsc::channel();
    let task = async move {
        for n in 0..1_000 {
            assert_eq!(pool.spawn_future(async move { n }).await.unwrap(), n);
        }
        let mut items = pool.install(|| {
            use heist::futures::IntoStream;
            use heist::iter::IntoParallelIterator;
            (0..1_000).into_par_iter().into_stream(1)
        });
        for n in 0..1_000 {
            assert_eq!(futures_lite::StreamExt::next(&mut items).await, Some(n));
        }
        say.send(()).unwrap();
    };
    thread::spawn(|| futures_lite::future::block_on(task));
    let ended = heard.recv_timeout(Duration::from_secs(120));
    assert!(ended.is_ok(), "a handle was never ready");
}

#[test]
fn a_leaf_that_is_always_ready_lets_others_have_their_turn() {
    let pool = pool(1);
    let is_over = Arc::new(AtomicBool::new(false));
    let greedy = {
        let is_over = Arc::clone(&is_over);
        pool.spawn_future(async move {
            while !is_over.load(Ordering::Relaxed) {
                poll_fn(poll_budget).await;
            }
        })
    };
    pool.spawn_future(async move { is_over.store(true, Ordering::Relaxed) })
        .join();
    greedy.join();
}

#[test]
fn a_future_takes_no_token_along() {
    let pool = pool(2);
    let token = CancellationToken::new();
    let begin = || {
        spawn_future(async {
            yield_now().await;
            checkpoint();
            is_cancelled()
        })
    };
    let future = pool.install(|| {
        let future = with_cancellation(&token, begin).expect("it is not cancelled");
        token.cancel();
        future
    });
    assert!(!future.join());
}

mod streams {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;

    use futures_lite::{Stream, StreamExt};
    use heist_futures::{block_on, yield_now, IntoStream, ParStream};
    use heist_par::prelude::*;

    use super::pool;

    #[test]
    fn a_stream_gives_the_items_in_their_order_whatever_the_bound() {
        for workers in [1, 3] {
            let pool = pool(workers);
            for bound in [1, 2, 3, 7, 64, 10_000, usize::MAX / 2] {
                for len in [0, 1, 2, 3, 100, 1_001_u32] {
                    let items: Vec<_> = pool.install(|| {
                        let stream = (0..len).into_par_iter().map(|n| n * n).into_stream(bound);
                        block_on(stream.collect())
                    });
                    assert_eq!(items, (0..len).map(|n| n * n).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn what_has_no_index_is_a_stream_too() {
        fn items<I: IntoStream>(items: I, bound: usize) -> Vec<I::Item> {
            block_on(items.into_stream(bound).collect())
        }
        let (start, all) = (u64::MAX - 1_001, || {
            (u64::MAX - 1_001..u64::MAX).into_par_iter()
        });
        pool(2).install(|| {
            for bound in [1, 2, 7, 64, 10_000] {
                assert!(items(all(), bound).into_iter().eq(start..u64::MAX));
                let even = items(all().filter(|n| n % 2 == 0), bound);
                assert!(even
                    .into_iter()
                    .eq((start..u64::MAX).filter(|n| n % 2 == 0)));
                let none = items(all().filter(|_| false), bound);
                assert!(none.is_empty());
                let twice = items(all().flat_map_iter(|n| [n, n]), bound);
                assert!(twice.into_iter().eq((start..u64::MAX).flat_map(|n| [n, n])));
                // More than a `usize` could count.
                let many = (0..u128::MAX).into_par_iter().into_stream(bound).take(100);
                let many: Vec<_> = block_on(many.collect());
                assert!(many.into_iter().eq(0..100));
                // In no order, and not to be cut where one wants.
                let mut bridged = items((0..1_000).par_bridge(), bound);
                bridged.sort_unstable();
                assert!(bridged.into_iter().eq(0..1_000));
            }
        });
        let stream = all().into_stream(10);
        assert_eq!(stream.size_hint(), (1_001, Some(1_001)));
        let stream = all().filter(|_| true).into_stream(10);
        assert_eq!(stream.size_hint(), (0, None));
    }

    #[test]
    fn no_more_than_the_bound_is_computed_ahead() {
        let pool = pool(2);
        for bound in [1, 2, 10, 33] {
            let begun = Arc::new(AtomicUsize::new(0));
            let mut stream = pool.install(|| {
                let begun = Arc::clone(&begun);
                let items = (0..500_usize).into_par_iter();
                let items = items.map(move |n| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    n
                });
                items.into_stream(bound)
            });
            let mut taken = 0;
            while let Some(item) = block_on(stream.next()) {
                assert_eq!(item, taken);
                taken += 1;
                // The others have the time to run ahead.
                block_on(async {
                    for _ in 0..10 {
                        yield_now().await;
                    }
                });
                let begun = begun.load(Ordering::Relaxed);
                assert!(begun <= taken + bound, "{begun} of {taken} with {bound}");
            }
            assert_eq!(taken, 500);
        }
    }

    #[test]
    fn a_stream_that_is_dropped_drops_its_items_once() {
        let pool = pool(2);
        for taken in [0, 1, 5, 50] {
            let token = Arc::new(());
            let mut stream = pool.install(|| {
                let items: Vec<_> = (0..100).map(|_| Arc::clone(&token)).collect();
                items.into_par_iter().into_stream(20)
            });
            for _ in 0..taken {
                assert!(block_on(stream.next()).is_some());
            }
            drop(stream);
            while Arc::strong_count(&token) > 1 {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn a_panic_in_an_item_comes_where_the_stream_is_polled() {
        let pool = pool(2);
        let stream = pool.install(|| {
            let items = (0..100).into_par_iter();
            items.map(|n| assert!(n < 50, "item {n}")).into_stream(10)
        });
        let all = std::panic::AssertUnwindSafe(|| block_on(stream.count()));
        let payload = std::panic::catch_unwind(all).unwrap_err();
        let text = payload.downcast_ref::<String>().expect("a text");
        assert!(text.starts_with("item 5"), "{text}");
    }

    /// The items behind a lost part would else look like the next ones.
    #[test]
    fn a_stream_that_has_panicked_has_ended() {
        let next = |stream: &mut ParStream<_>| {
            let next = std::panic::AssertUnwindSafe(|| block_on(stream.next()));
            std::panic::catch_unwind(next).ok()
        };
        let pool = pool(1);
        let (mut panics, mut outlives) = pool.install(|| {
            let stream = |bad: u32| {
                let items = (0..100_u32).into_par_iter();
                let item = move |n: u32| if n == bad { panic!("item {n}") } else { n };
                items.map(item).into_stream(8)
            };
            (stream(50), stream(100))
        });
        for n in 0..48 {
            assert_eq!(next(&mut panics), Some(Some(n)));
        }
        while let Some(item) = next(&mut panics) {
            assert!(matches!(item, Some(48..50)), "{item:?}");
        }
        assert_eq!(next(&mut panics), Some(None));
        assert_eq!(next(&mut outlives), Some(Some(0)));
        pool.shutdown();
        while let Some(item) = next(&mut outlives) {
            assert!(item.is_some());
        }
        assert_eq!(next(&mut outlives), Some(None));
    }
}

#[test]
fn the_clone_of_a_waker_wakes_the_same() {
    // A reactor wakes the waker that it has when it is given another one, so that a future whose
    // wakers differ wakes itself for ever. They did in optimised programs only.
    let is_same = || {
        poll_fn(|cx| {
            let clone = cx.waker().clone();
            let next = clone.clone();
            Poll::Ready(clone.will_wake(cx.waker()) && next.will_wake(&clone))
        })
    };
    assert!(block_on(is_same()), "of block_on");
    assert!(spawn_future(is_same()).join(), "of a future");
}
