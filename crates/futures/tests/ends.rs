//! How futures end: aborted in the middle of a poll, dropped on foreign threads, with panics in
//! their destructors.

use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use heist_core::{ThreadPool, ThreadPoolBuilder};
use heist_futures::{block_on, yield_now, JoinError, SpawnFuture};

/// A pool that keeps the payloads of panics.
fn pool(workers: usize) -> (ThreadPool, mpsc::Receiver<String>) {
    let (caught, payloads) = mpsc::channel();
    let handler = move |payload: Box<dyn std::any::Any + Send>| {
        let text = payload.downcast_ref::<&str>().expect("a text");
        let _ = caught.send((*text).to_owned());
    };
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    let pool = builder.panic_handler(handler).build().expect("a pool");
    (pool, payloads)
}

/// Counts its drop, and panics in it if it is to.
struct Dropped {
    count: Arc<AtomicUsize>,
    panics: bool,
    say: mpsc::Sender<()>,
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let _ = self.say.send(());
        assert!(!self.panics || thread::panicking(), "in a destructor");
    }
}

fn dropped(panics: bool) -> (Dropped, Arc<AtomicUsize>, mpsc::Receiver<()>) {
    let (count, (say, heard)) = (Arc::default(), mpsc::channel());
    let dropped = Dropped {
        count: Arc::clone(&count),
        panics,
        say,
    };
    (dropped, count, heard)
}

#[test]
fn a_future_that_is_aborted_while_it_is_polled_is_polled_no_more_and_dropped_once() {
    let (pool, _) = pool(2);
    for wakes in [false, true] {
        for _ in 0..100 {
            let (value, count, heard) = dropped(false);
            let (begun, has_begun) = mpsc::channel();
            let (go_on, may_go_on) = mpsc::channel();
            let mut polls = 0;
            let mut handle = pool.spawn_future(poll_fn(move |cx| {
                let _value = &value;
                polls += 1;
                assert_eq!(polls, 1, "it was aborted");
                if wakes {
                    cx.waker().wake_by_ref();
                }
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
                Poll::<()>::Pending
            }));
            has_begun.recv().unwrap();
            handle.abort();
            assert!(handle.is_finished());
            assert!(matches!(block_on(handle), Err(JoinError::Cancelled)));
            assert_eq!(count.load(Ordering::Relaxed), 0, "it is being polled");
            go_on.send(()).unwrap();
            assert_eq!(heard.iter().count(), 1);
        }
    }
}

#[test]
fn a_waker_that_is_dropped_on_a_foreign_thread_after_the_end_drops_the_future_once() {
    for keeps_handle in [false, true] {
        for panics in [false, true] {
            for wakes in [false, true] {
                let (pool, payloads) = pool(1);
                let (value, count, heard) = dropped(panics);
                let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
                let handle = pool.spawn_future({
                    let waker = Arc::clone(&waker);
                    poll_fn(move |cx| {
                        let _value = &value;
                        *waker.lock().unwrap() = Some(cx.waker().clone());
                        Poll::<()>::Pending
                    })
                });
                while waker.lock().unwrap().is_none() {
                    thread::yield_now();
                }
                let handle = keeps_handle.then_some(handle);
                pool.shutdown();
                let waker = waker.lock().unwrap().take().unwrap();
                let drops = move || if wakes { waker.wake() } else { drop(waker) };
                thread::spawn(drops).join().expect("no panic comes here");
                if wakes {
                    assert_eq!(heard.recv(), Ok(()));
                }
                if let Some(mut handle) = handle {
                    handle.abort();
                }
                assert_eq!(heard.iter().count(), usize::from(!wakes));
                assert_eq!(count.load(Ordering::Relaxed), 1);
                // The handler belongs to the pool, which had ended.
                assert_eq!(payloads.iter().count(), 0);
            }
        }
    }
}

/// Channels wake under their lock, and take it again where a receiver is dropped.
#[test]
fn a_channel_may_wake_a_future_whose_pool_has_ended() {
    for round in 0..20 {
        let (pool, _panics) = pool(1);
        let (send, receive) = async_channel::unbounded::<()>();
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let receive = receive.clone();
                pool.spawn_future(async move { receive.recv().await })
            })
            .collect();
        // Each of them is pending by then.
        pool.spawn_future(async {}).join();
        pool.shutdown();
        let (say, heard) = mpsc::channel();
        thread::spawn(move || {
            match round % 2 {
                0 => drop(send.try_send(())),
                _ => drop(send.close()),
            }
            drop((send, receive));
            say.send(()).unwrap();
        });
        let woken = heard.recv_timeout(Duration::from_secs(120));
        assert!(woken.is_ok(), "the channel waits for itself");
        for future in waiting {
            assert!(matches!(block_on(future), Err(JoinError::Cancelled)));
        }
    }
}

#[test]
fn a_panic_in_the_destructor_of_a_future_that_ends_is_that_of_the_future() {
    let (pool, payloads) = pool(1);
    for yields in [0, 3] {
        let (value, count, _heard) = dropped(true);
        let handle = pool.spawn_future(async move {
            let _value = value;
            for _ in 0..yields {
                yield_now().await;
            }
        });
        assert!(matches!(block_on(handle), Err(JoinError::Panicked(_))));
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
    let (value, ..) = dropped(true);
    drop(pool.spawn_future(async move { drop(value) }));
    assert_eq!(payloads.recv().as_deref(), Ok("in a destructor"));
    assert_eq!(
        pool.spawn_future(async { 1 }).join(),
        1,
        "the pool lives on"
    );
}

#[test]
fn a_panic_in_the_destructor_of_an_aborted_future_goes_to_the_handler() {
    let (pool, payloads) = pool(1);
    let (value, count, _heard) = dropped(true);
    let (begun, has_begun) = mpsc::channel();
    let mut handle = pool.spawn_future(async move {
        let _value = value;
        begun.send(()).unwrap();
        pending::<()>().await;
    });
    has_begun.recv().unwrap();
    handle.abort();
    assert_eq!(payloads.recv().as_deref(), Ok("in a destructor"));
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert_eq!(
        pool.spawn_future(async { 1 }).join(),
        1,
        "the pool lives on"
    );
}
