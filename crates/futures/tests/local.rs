//! Local futures: made, polled and dropped on one worker's thread, whoever wakes them (FU-3).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{pending, poll_fn, Future};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};

use futures_lite::future::{or, zip};
use heist_core::{Callers, JoinError, ThreadBuilder, ThreadPool, ThreadPoolBuilder, Waiting};
use heist_futures::{block_on, spawn_future, spawn_local, yield_now, FutureHandle, SpawnFuture};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.callers(Callers::Move).build().expect("a pool")
}

/// Panics if it is touched or dropped on another thread than that which made it.
struct Here {
    thread: ThreadId,
    /// Not [`Send`], as what users keep.
    _rc: Rc<()>,
    dropped: Option<mpsc::Sender<()>>,
}

impl Here {
    fn new(dropped: Option<mpsc::Sender<()>>) -> Self {
        let thread = thread::current().id();
        let _rc = Rc::new(());
        Self {
            thread,
            _rc,
            dropped,
        }
    }

    fn check(&self) {
        assert_eq!(self.thread, thread::current().id());
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        self.check();
        if let Some(dropped) = &self.dropped {
            let _ = dropped.send(());
        }
    }
}

/// Wakers of all who wait, and whether they still have to.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Gate {
    fn pass(&self) -> impl Future<Output = ()> {
        let gate = self.clone();
        poll_fn(move |cx| {
            let (is_open, wakers) = &mut *gate.0.lock().unwrap();
            if *is_open {
                return Poll::Ready(());
            }
            wakers.push(cx.waker().clone());
            Poll::Pending
        })
    }

    fn waiting(&self) -> usize {
        self.0.lock().unwrap().1.len()
    }

    fn wait_for(&self, waiting: usize) {
        while self.waiting() < waiting {
            thread::yield_now();
        }
    }

    fn open(&self) -> Vec<Waker> {
        let (is_open, wakers) = &mut *self.0.lock().unwrap();
        *is_open = true;
        std::mem::take(wakers)
    }
}

/// tokio#2460: of 129 local futures that are woken at once, one was forgotten.
#[test]
fn each_of_129_local_futures_that_are_woken_at_once_is_polled_on_its_own_thread() {
    for workers in [1, 3] {
        let pool = pool(workers);
        let gate = Gate::default();
        let handles: Vec<_> = (0..129)
            .map(|n| {
                let gate = gate.clone();
                pool.spawn_local_on(n % workers, move || async move {
                    let here = Here::new(None);
                    gate.pass().await;
                    here.check();
                    yield_now().await;
                    here.check();
                    (n, heist_core::current_thread_index())
                })
            })
            .collect();
        gate.wait_for(129);
        gate.open().into_iter().for_each(Waker::wake);
        for (n, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.join(), (n, Some(n % workers)));
        }
    }
}

#[test]
fn local_futures_are_woken_by_each_other_and_by_workers_and_foreign_threads() {
    let pool = pool(2);
    let rounds = if cfg!(debug_assertions) { 200 } else { 2_000 };
    let (to_far, at_far) = async_channel::bounded(1);
    let (to_here, at_here) = async_channel::bounded(1);
    let far = pool.spawn_future(async move {
        while let Ok(n) = at_far.recv().await {
            to_here.send(n + 1).await.unwrap();
        }
    });
    let (to_thread, at_thread) = async_channel::bounded(1);
    let (from_thread, back) = async_channel::bounded(1);
    let foreign = thread::spawn(move || {
        while let Ok(n) = block_on(at_thread.recv()) {
            block_on(from_thread.send(n + 1)).unwrap();
        }
    });
    let sum = pool.spawn_local_on(1, move || async move {
        let here = Here::new(None);
        let queue = Rc::new(RefCell::new(VecDeque::new()));
        let other = spawn_local({
            let queue = Rc::clone(&queue);
            async move {
                let here = Here::new(None);
                for n in 0..rounds {
                    queue.borrow_mut().push_back(n);
                    yield_now().await;
                    here.check();
                }
            }
        });
        let mut sum = 0;
        for _ in 0..rounds {
            to_far.send(sum).await.unwrap();
            to_thread.send(at_here.recv().await.unwrap()).await.unwrap();
            sum = back.recv().await.unwrap();
            here.check();
        }
        other.await.unwrap();
        assert_eq!(queue.borrow().len(), rounds);
        sum
    });
    assert_eq!(sum.join(), 2 * rounds);
    far.join();
    foreign.join().unwrap();
}

/// tokio#3117: `select!` over local futures.
#[test]
fn the_first_of_two_local_futures_ends_and_the_other_is_dropped_in_place() {
    let pool = pool(2);
    let (say, heard) = mpsc::channel();
    let gate = Gate::default();
    let first = pool.spawn_local_on(0, {
        let gate = gate.clone();
        move || async move {
            let slow = async {
                let _here = Here::new(Some(say));
                pending::<()>().await;
                0
            };
            let spawned = spawn_local(async move {
                gate.pass().await;
                7
            });
            or(slow, async { spawned.await.unwrap() }).await
        }
    });
    gate.wait_for(1);
    gate.open().into_iter().for_each(Waker::wake);
    assert_eq!(first.join(), 7);
    assert_eq!(heard.iter().count(), 1);
}

#[test]
fn a_panic_in_a_local_poll_or_in_what_makes_the_future_comes_with_the_output() {
    let pool = pool(2);
    let (say, heard) = mpsc::channel();
    let handle = pool.spawn_local_on(1, move || async move {
        let _here = Here::new(Some(say));
        yield_now().await;
        panic!("in a poll")
    });
    match block_on::<_>(handle) {
        Err(JoinError::Panicked(payload)) => assert_eq!(payload.downcast_ref(), Some(&"in a poll")),
        other => panic!("{other:?}"),
    }
    assert_eq!(heard.iter().count(), 1);
    let make = || -> std::future::Ready<()> { panic!("in the making") };
    match block_on(pool.spawn_local_on(0, make)) {
        Err(JoinError::Panicked(payload)) => {
            assert_eq!(payload.downcast_ref(), Some(&"in the making"));
        }
        other => panic!("{other:?}"),
    }
    let answers = zip(
        pool.spawn_local_on(0, || async { 1 }),
        pool.spawn_local_on(1, || async { 2 }),
    );
    let answers = block_on(answers);
    assert_eq!(
        (answers.0.unwrap(), answers.1.unwrap()),
        (1, 2),
        "they live on"
    );
}

#[test]
fn an_aborted_local_future_is_dropped_on_its_thread() {
    let pool = pool(2);
    for round in 0..200 {
        let (say, heard) = mpsc::channel();
        let gate = Gate::default();
        let waits = gate.clone();
        let mut handle = pool.spawn_local_on(round % 2, move || async move {
            let _here = Here::new(Some(say));
            waits.pass().await;
            pending::<()>().await;
        });
        if round % 3 > 0 {
            // Else it may be aborted before it was made, and then there is nothing to drop.
            gate.wait_for(1);
        }
        if round % 3 == 1 {
            // Under way when it is aborted.
            gate.open().into_iter().for_each(Waker::wake);
        }
        handle.abort();
        assert!(matches!(block_on(handle), Err(JoinError::Cancelled)));
        let dropped = heard.iter().count();
        assert!(dropped == 1 || dropped == 0 && round % 3 == 0);
    }
}

#[test]
fn a_pool_that_ends_drops_its_local_futures_on_their_workers_and_tells_who_awaits_them() {
    for round in 0..20 {
        let pool = pool(2);
        let (say, heard) = mpsc::channel();
        let gate = Gate::default();
        let handles: Vec<_> = (0..50)
            .map(|n| {
                let (say, gate) = (say.clone(), gate.clone());
                pool.spawn_local_on(n % 2, move || async move {
                    let here = Here::new(Some(say));
                    gate.pass().await;
                    here.check();
                    pending::<()>().await;
                })
            })
            .collect();
        drop(say);
        gate.wait_for(50);
        // In some of the rounds the end and the wake-ups come together.
        let wakers = gate.open();
        let waking = wakers.clone();
        let waker = thread::spawn(move || {
            if round % 2 > 0 {
                waking.into_iter().for_each(Waker::wake);
            }
        });
        pool.shutdown();
        assert_eq!(heard.iter().count(), 50);
        waker.join().unwrap();
        for handle in handles {
            assert!(matches!(block_on(handle), Err(JoinError::Cancelled)));
        }
        // Harmless, on a thread that has never seen the pool.
        thread::spawn(move || wakers.into_iter().for_each(Waker::wake))
            .join()
            .unwrap();
    }
}

#[test]
fn a_local_future_that_spawns_and_panics_as_it_is_dropped_keeps_no_pool_from_its_end() {
    struct Stubborn;
    impl Drop for Stubborn {
        fn drop(&mut self) {
            let _here = Here::new(None);
            drop(spawn_local(async {
                let _here = Here::new(None);
                pending::<()>().await;
            }));
            panic!("as it is dropped");
        }
    }
    let (caught, payloads) = mpsc::channel();
    let exits = caught.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(move |payload| caught.send(payload).unwrap())
        .exit_handler(move |_| exits.send(Box::new("the exit handler")).unwrap())
        .build()
        .unwrap();
    let gate = Gate::default();
    let waits = gate.clone();
    let handle = pool.spawn_local_on(0, move || async move {
        let _stubborn = Stubborn;
        waits.pass().await;
    });
    gate.wait_for(1);
    pool.shutdown();
    assert!(matches!(block_on(handle), Err(JoinError::Cancelled)));
    let said: Vec<_> = payloads
        .try_iter()
        .map(|it| *it.downcast::<&str>().unwrap())
        .collect();
    assert_eq!(said, ["as it is dropped", "the exit handler"]);
}

#[test]
fn a_job_that_waits_lets_the_local_futures_of_its_worker_run() {
    let pool = pool(1);
    let count = pool.install(|| {
        let count = Arc::new(Mutex::new(0));
        let handle = spawn_local({
            let count = Arc::clone(&count);
            async move {
                let mine = Rc::new(Cell::new(0));
                for _ in 0..10 {
                    yield_now().await;
                    // Another job, and another wait, inside of a poll.
                    let (one, _) = heist_core::join(|| 1, || block_on(spawn_future(async {})));
                    mine.set(mine.get() + one);
                }
                *count.lock().unwrap() = mine.get();
            }
        });
        handle.join();
        let count = *count.lock().unwrap();
        count
    });
    assert_eq!(count, 10);
}

#[test]
fn a_thread_that_is_a_worker_of_one_pool_after_the_other_keeps_their_futures_apart() {
    let (send, threads) = mpsc::channel::<ThreadBuilder>();
    let runner = thread::spawn(move || threads.into_iter().for_each(ThreadBuilder::run));
    let mut handles = Vec::new();
    let mut old = Vec::new();
    for _ in 0..3 {
        let send = send.clone();
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let builder = builder.spawn_handler(move |thread| {
            send.send(thread).unwrap();
            Ok(())
        });
        let pool = builder.build().unwrap();
        let gate = Gate::default();
        let waits = gate.clone();
        let present = pool.spawn_local_on(0, move || async move {
            let here = Here::new(None);
            waits.pass().await;
            here.check();
        });
        let never = Gate::default();
        let waits = never.clone();
        handles.push(pool.spawn_local_on(0, move || async move {
            let _here = Here::new(None);
            waits.pass().await;
        }));
        gate.wait_for(1);
        never.wait_for(1);
        // Those of the pools before, on the same thread.
        let wakers: Vec<Waker> = std::mem::take(&mut old);
        pool.install(|| wakers.into_iter().for_each(Waker::wake));
        gate.open().into_iter().for_each(Waker::wake);
        present.join();
        pool.shutdown();
        old = never.open();
    }
    for handle in handles {
        assert!(matches!(block_on(handle), Err(JoinError::Cancelled)));
    }
    drop(send);
    runner.join().unwrap();
}

#[test]
fn a_borrowed_thread_runs_its_local_futures_while_it_waits_and_drops_them_when_it_ends() {
    let (say, heard) = mpsc::channel();
    let never = thread::spawn(move || {
        let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        let pool = builder.callers(Callers::Move).build().unwrap();
        let here = thread::current().id();
        let gate = Gate::default();
        let waits = gate.clone();
        let never = pool.spawn_local_on(0, move || async move {
            let _here = Here::new(Some(say));
            waits.pass().await;
        });
        let there = pool.spawn_local_on(0, || async { thread::current().id() });
        assert_eq!(there.join(), here);
        // Of descendants only, and in the middle of a call that blocks.
        let strict = heist_core::with_waiting(Waiting::Descendants, || {
            let local = spawn_local(async { heist_core::blocking(|| thread::current().id()) });
            local.join()
        });
        assert_eq!(strict, here);
        assert_eq!(gate.waiting(), 1, "the first has been polled before");
        drop(pool);
        never
    });
    drop(never.join().unwrap());
    assert_eq!(heard.iter().count(), 1);
}

#[test]
#[should_panic(expected = "callers(Callers::Move)")]
fn a_pool_that_is_open_to_callers_refuses_a_local_future() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    drop(pool.spawn_local_on(0, || async {}));
}

#[test]
#[should_panic(expected = "for worker 2: the last worker of the pool is 1")]
fn a_local_future_for_a_worker_that_is_not_there_is_refused() {
    drop(pool(2).spawn_local_on(2, || async {}));
}

/// A future that is `!Unpin` stays where it is.
#[test]
fn a_local_future_does_not_move_between_its_polls() {
    struct Anchored(Option<*const Self>, u32, std::marker::PhantomPinned);
    impl Future for Anchored {
        type Output = u32;
        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u32> {
            let here = std::ptr::from_ref(&*self);
            // Nothing of it is moved.
            let this = self.as_ref().get_ref();
            assert!(this.0.is_none_or(|before| before == here));
            cx.waker().wake_by_ref();
            let polls = this.1 + 1;
            let mut this = self;
            // A new value in the same place.
            this.set(Self(Some(here), polls, std::marker::PhantomPinned));
            if polls == 100 {
                Poll::Ready(polls)
            } else {
                Poll::Pending
            }
        }
    }
    let pool = pool(1);
    let handles: Vec<_> = (0..10)
        .map(|_| pool.spawn_local_on(0, || Anchored(None, 0, std::marker::PhantomPinned)))
        .collect();
    for handle in handles {
        assert_eq!(handle.join(), 100);
    }
}

/// FU-2, for those of a mailbox: jobs and futures from outside waited for ever.
#[test]
fn a_local_future_that_yields_lets_those_from_outside_have_their_turn() {
    let pool = pool(1);
    let is_over = Arc::new(AtomicBool::new(false));
    let yields: Vec<_> = (0..3)
        .map(|_| {
            let is_over = Arc::clone(&is_over);
            pool.spawn_local_on(0, || async move {
                while !is_over.load(Ordering::Relaxed) {
                    yield_now().await;
                }
            })
        })
        .collect();
    for n in 0..20 {
        assert_eq!(pool.submit(move || n).join(), n);
        assert_eq!(pool.spawn_future(async move { n }).join(), n);
    }
    is_over.store(true, Ordering::Relaxed);
    yields.into_iter().for_each(FutureHandle::join);
}

/// A job that spawns the next, until all is over.
fn chain(is_over: Arc<AtomicBool>) {
    if !is_over.load(Ordering::Relaxed) {
        heist_core::spawn(move || chain(is_over));
    }
}

/// A local future that lets others go first, and says 1.
async fn yields() -> i32 {
    for _ in 0..20 {
        yield_now().await;
    }
    1
}

/// FU-2: those that came when the jobs had begun waited for ever.
#[test]
fn local_futures_have_their_turns_beside_jobs_without_an_end() {
    for waiting in [Waiting::Any, Waiting::Descendants] {
        let builder = ThreadPoolBuilder::new().num_threads(1).waiting(waiting);
        let pool = builder.callers(Callers::Move).build().expect("a pool");
        let is_over = Arc::new(AtomicBool::new(false));
        let jobs = Arc::clone(&is_over);
        pool.install(|| heist_core::spawn(move || chain(jobs)));
        let locals: Vec<_> = (0..3).map(|_| pool.spawn_local_on(0, yields)).collect();
        // A frame that waits has such jobs of its own.
        let below = Arc::clone(&is_over);
        let waits = pool.spawn_local_on(0, || async move {
            heist_core::spawn(move || chain(below));
            spawn_local(yields()).join()
        });
        for local in locals.into_iter().chain([waits]) {
            assert_eq!(local.join(), 1);
        }
        is_over.store(true, Ordering::Relaxed);
    }
}
