//! Futures, outputs and wakers that do what nobody should: the process goes on, and so does the
//! pool.

use std::future::{pending, poll_fn, Future};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;

use heist_core::{ThreadPool, ThreadPoolBuilder};
use heist_futures::{block_on, spawn_future, yield_now, FutureHandle, JoinError, SpawnFuture};

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

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            std::panic::panic_any("a bomb");
        }
    }
}

#[test]
fn a_panic_in_the_destructor_of_an_output_that_nobody_takes_goes_to_the_handler() {
    let (pool, payloads) = pool(1);
    // Before it ends.
    let (begin, may_begin) = mpsc::channel();
    let handle = pool.spawn_future(async move {
        may_begin.recv().unwrap();
        Bomb
    });
    drop(handle);
    begin.send(()).unwrap();
    assert_eq!(payloads.recv().as_deref(), Ok("a bomb"));
    // Afterwards: on the thread that drops the handle, which is no worker.
    let handle = pool.spawn_future(async { Bomb });
    while !handle.is_finished() {
        thread::yield_now();
    }
    drop(handle);
    // Aborted while it is polled.
    let (begin, may_begin) = mpsc::channel();
    let (begun, has_begun) = mpsc::channel();
    let mut handle = pool.spawn_future(async move {
        begun.send(()).unwrap();
        may_begin.recv().unwrap();
        Bomb
    });
    has_begun.recv().unwrap();
    handle.abort();
    begin.send(()).unwrap();
    assert_eq!(payloads.recv().as_deref(), Ok("a bomb"));
    // Of a local future.
    let local = ThreadPoolBuilder::new()
        .num_threads(1)
        .callers(heist_core::Callers::Move);
    let local = local.panic_handler(|_| ()).build().unwrap();
    drop(local.spawn_local_on(0, || async { Bomb }));
    local.shutdown();
    assert_eq!(
        pool.spawn_future(async { 1 }).join(),
        1,
        "the pool lives on"
    );
}

/// A waker that panics where it is told to.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Clone,
    Wake,
    Drop,
}

fn faulty(fault: Fault) -> Waker {
    fn of(data: *const ()) -> Fault {
        [Fault::Clone, Fault::Wake, Fault::Drop][data as usize]
    }
    fn raw(data: *const ()) -> RawWaker {
        static TABLE: RawWakerVTable = RawWakerVTable::new(
            |data| {
                assert!(of(data) != Fault::Clone, "in a clone");
                raw(data)
            },
            |data| assert!(of(data) != Fault::Wake, "in a wake"),
            |data| assert!(of(data) != Fault::Wake, "in a wake"),
            |data| assert!(of(data) != Fault::Drop || thread::panicking(), "in a drop"),
        );
        RawWaker::new(data, &TABLE)
    }
    // SAFETY: the functions do nothing but panic.
    unsafe { Waker::from_raw(raw(fault as usize as *const ())) }
}

#[test]
fn a_waker_that_panics_harms_nobody_but_whoever_polls_with_it() {
    let (pool, _payloads) = pool(1);
    for fault in [Fault::Clone, Fault::Wake, Fault::Drop] {
        let (begin, may_begin) = mpsc::channel::<()>();
        let mut handle = pool.spawn_future(async move {
            let _ = may_begin.recv();
            5
        });
        let waker = std::mem::ManuallyDrop::new(faulty(fault));
        let polled = catch_unwind(AssertUnwindSafe(|| {
            Pin::new(&mut handle)
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        }));
        assert_eq!(polled.is_err(), fault == Fault::Clone);
        // Another one in its place.
        let again = Pin::new(&mut handle).poll(&mut Context::from_waker(Waker::noop()));
        assert!(again.is_pending());
        if fault == Fault::Wake {
            let polled = Pin::new(&mut handle).poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        begin.send(()).unwrap();
        assert_eq!(block_on(handle).unwrap(), 5);
    }
}

#[test]
fn a_future_wakes_itself_and_others_wherever_it_can() {
    struct WakesInDrop(Waker, Option<Waker>);
    impl Drop for WakesInDrop {
        fn drop(&mut self) {
            self.0.wake_by_ref();
            if let Some(other) = self.1.take() {
                other.wake();
            }
        }
    }
    for workers in [1, 2] {
        let (pool, payloads) = pool(workers);
        for aborts in [false, true] {
            for _ in 0..50 {
                let is_woken = Arc::new(AtomicBool::new(false));
                let (say, heard) = mpsc::channel();
                let other = pool.spawn_future({
                    let is_woken = Arc::clone(&is_woken);
                    poll_fn(move |cx| {
                        if is_woken.load(Ordering::Acquire) {
                            return Poll::Ready(3);
                        }
                        say.send(cx.waker().clone()).unwrap();
                        Poll::Pending
                    })
                });
                let other_waker = heard.recv().unwrap();
                let (begun, has_begun) = mpsc::channel();
                let mut held = None;
                let mut handle = pool.spawn_future(poll_fn(move |cx| {
                    cx.waker().wake_by_ref();
                    let waker = cx.waker().clone();
                    held.get_or_insert_with(|| {
                        begun.send(()).unwrap();
                        is_woken.store(true, Ordering::Release);
                        WakesInDrop(waker, Some(other_waker.clone()))
                    });
                    match aborts {
                        true => Poll::Pending,
                        false => Poll::Ready(()),
                    }
                }));
                has_begun.recv().unwrap();
                if aborts {
                    handle.abort();
                } else {
                    handle.join();
                }
                assert_eq!(other.join(), 3);
            }
        }
        pool.shutdown();
        assert_eq!(payloads.iter().count(), 0);
    }
}

#[test]
fn a_future_that_has_its_own_handle_ends_whatever_it_does_with_it() {
    for workers in [1, 2] {
        let (pool, payloads) = pool(workers);
        for what in 0..3 {
            let own: Arc<Mutex<Option<FutureHandle<()>>>> = Arc::default();
            let (say, heard) = mpsc::channel::<()>();
            let handle = pool.spawn_future({
                let own = Arc::clone(&own);
                async move {
                    let mut handle = loop {
                        let handle = own.lock().unwrap().take();
                        match handle {
                            Some(handle) => break handle,
                            None => yield_now().await,
                        }
                    };
                    let _said = say;
                    match what {
                        0 => drop(handle),
                        1 => {
                            handle.abort();
                            assert!(matches!(handle.await, Err(JoinError::Cancelled)));
                        }
                        _ => {
                            handle.abort();
                            pending::<()>().await;
                        }
                    }
                }
            });
            *own.lock().unwrap() = Some(handle);
            assert_eq!(heard.iter().count(), 0);
        }
        pool.shutdown();
        assert_eq!(payloads.iter().count(), 0);
    }
}

#[test]
fn a_pool_ends_in_the_middle_of_polls_and_of_wakes_from_elsewhere() {
    let rounds = if cfg!(debug_assertions) { 60 } else { 600 };
    for round in 0..rounds {
        let (pool, payloads) = pool(1 + round % 3);
        let (dropped, ran) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        struct Counts(Arc<AtomicUsize>);
        impl Drop for Counts {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
                // As a destructor that begins something; it may be too late.
                let late = catch_unwind(|| drop(spawn_future(async {})));
                drop(late);
            }
        }
        let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
        let handles: Vec<_> = (0..20)
            .map(|_| {
                let counts = Counts(Arc::clone(&dropped));
                let (ran, wakers) = (Arc::clone(&ran), Arc::clone(&wakers));
                pool.spawn_future(poll_fn(move |cx| {
                    let _counts = &counts;
                    wakers.lock().unwrap().push(cx.waker().clone());
                    match ran.fetch_add(1, Ordering::Relaxed) % 7 {
                        3 => Poll::Ready(()),
                        _ => Poll::Pending,
                    }
                }))
            })
            .collect();
        let is_over = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let waker = wakers.lock().unwrap().pop();
                    waker.map_or_else(thread::yield_now, Waker::wake);
                }
            });
            pool.shutdown();
            is_over.store(true, Ordering::Relaxed);
        });
        // The wakers that are left.
        let wakers: Vec<_> = std::mem::take(&mut *wakers.lock().unwrap());
        wakers.into_iter().for_each(Waker::wake);
        for handle in handles {
            assert!(matches!(
                block_on(handle),
                Ok(()) | Err(JoinError::Cancelled)
            ));
        }
        assert_eq!(dropped.load(Ordering::Relaxed), 20);
        assert_eq!(payloads.iter().count(), 0);
    }
}

#[test]
fn calls_of_block_on_nest_in_futures_and_destructors() {
    fn nested(depth: u32) -> u32 {
        match depth {
            0 => 0,
            _ => {
                1 + block_on(async move {
                    spawn_future(async move { nested(depth - 1) })
                        .await
                        .unwrap()
                })
            }
        }
    }
    struct Waits(mpsc::Sender<u32>);
    impl Drop for Waits {
        fn drop(&mut self) {
            let value = spawn_future(async {
                yield_now().await;
                7
            });
            let _ = self.0.send(value.join());
        }
    }
    for workers in [1, 2] {
        let (pool, _payloads) = pool(workers);
        assert_eq!(pool.install(|| nested(40)), 40);
        let (say, heard) = mpsc::channel();
        let waits = Waits(say);
        let mut handle = pool.spawn_future(async move {
            let _waits = waits;
            pending::<()>().await;
        });
        handle.abort();
        assert_eq!(heard.recv(), Ok(7));
    }
}

/// oneTBB#1909: when all tasks of an arena are suspended, it hangs.
#[test]
fn futures_that_are_all_suspended_go_on_when_a_job_that_comes_later_wakes_them() {
    const FUTURES: usize = 16;
    let (pool, _payloads) = pool(2);
    for _ in 0..100 {
        let (suspend, suspended) = mpsc::channel();
        let futures = [(); FUTURES].map(|()| {
            let suspend = suspend.clone();
            let mut is_suspended = false;
            pool.spawn_future(poll_fn(move |cx| {
                if std::mem::replace(&mut is_suspended, true) {
                    return Poll::Ready(());
                }
                suspend.send(cx.waker().clone()).expect("the test listens");
                Poll::Pending
            }))
        });
        let wakers: Vec<Waker> = suspended.iter().take(FUTURES).collect();
        pool.spawn(|| wakers.into_iter().for_each(Waker::wake));
        futures.into_iter().for_each(FutureHandle::join);
    }
}

/// A future whose destructor panics in any case, and so does that of its output.
struct Doubly(Option<&'static str>, Arc<AtomicUsize>);

impl Drop for Doubly {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
        std::panic::panic_any("a destructor");
    }
}

impl Future for Doubly {
    type Output = Doubly;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Doubly> {
        match self.0 {
            Some(text) => std::panic::panic_any(text),
            None => Poll::Ready(Doubly(None, Arc::clone(&self.1))),
        }
    }
}

#[test]
fn panics_that_come_while_another_unwinds_are_held_back() {
    type Spawn = fn(&ThreadPool, Doubly) -> FutureHandle<Doubly>;
    let spawns: [Spawn; 2] = [
        |pool, future| pool.spawn_future(future),
        |pool, future| pool.spawn_local_on(0, || future),
    ];
    for spawn in spawns {
        for (text, said) in [(None, "a destructor"), (Some("a poll"), "a poll")] {
            let (say, heard) = mpsc::channel();
            let handler = move |payload: Box<dyn std::any::Any + Send>| {
                let text = *payload.downcast_ref::<&str>().expect("a text");
                let _ = say.send(text);
            };
            let builder = ThreadPoolBuilder::new().num_threads(1);
            let builder = builder.callers(heist_core::Callers::Move);
            let pool = builder.panic_handler(handler).build().unwrap();
            let drops = Arc::new(AtomicUsize::new(0));
            match block_on(spawn(&pool, Doubly(text, Arc::clone(&drops)))) {
                Err(JoinError::Panicked(payload)) => {
                    let payload = payload.into_inner();
                    assert_eq!(payload.downcast_ref::<&str>(), Some(&said));
                }
                _ => panic!("the future has panicked"),
            }
            assert_eq!(
                heard.recv(),
                Ok("a destructor"),
                "the other panic is nobody's"
            );
            drop(pool);
            let dropped = 1 + usize::from(text.is_none());
            assert_eq!(drops.load(Ordering::Relaxed), dropped);
            assert_eq!(heard.iter().count(), 0);
        }
    }
}
