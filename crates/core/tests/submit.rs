//! Submitted jobs: joined, aborted and awaited, each in any order (CM-1).
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::cell::Cell;
use std::future::Future;
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use heist_core::{
    current_thread_has_pending_tasks, current_thread_index, job, join, spawn, submit, with_waiting,
    yield_now, JoinError, JoinHandle, TaskGroup, ThreadPool, ThreadPoolBuilder, Waiting,
};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

/// A value that counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new() -> (Self, Arc<AtomicUsize>) {
        let drops = Arc::new(AtomicUsize::new(0));
        (Self(Arc::clone(&drops)), drops)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A value whose drop panics.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any(self.0);
    }
}

/// The text of the panic of `f`.
fn text_of<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("a panic");
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref().cloned())
        .expect("a text")
}

fn assert_alive(pool: &ThreadPool) {
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    assert_eq!(pool.submit(|| 3).join(), 3);
}

#[test]
fn the_only_worker_runs_what_it_joins_in_front_of_newer_jobs() {
    for waiting in [Waiting::Any, Waiting::Descendants] {
        let order = Arc::new(Mutex::new(Vec::new()));
        let job = |name| {
            let order = Arc::clone(&order);
            move || order.lock().unwrap().push(name)
        };
        pool(1).install(|| {
            spawn(job("spawned before"));
            let first = submit(job("first"));
            let second = submit(job("second"));
            spawn(job("spawned after"));
            with_waiting(waiting, || {
                first.join();
                second.join();
            });
            assert_eq!(*order.lock().unwrap(), ["first", "second"]);
        });
    }
}

/// The job waits in the injector, behind one that takes for ever.
#[test]
fn a_worker_runs_a_job_from_outside_that_it_joins() {
    let pool = pool(1);
    let (give, take) = channel::<JoinHandle<u32>>();
    let (answer, heard) = channel();
    pool.spawn(move || answer.send(take.recv().unwrap().join()).unwrap());
    give.send(pool.submit(|| 5)).unwrap();
    assert_eq!(heard.recv(), Ok(5));
}

#[test]
fn a_worker_of_another_pool_leaves_the_job_to_its_own() {
    let (here, there) = (pool(1), pool(1));
    let owner = there.install(|| thread::current().id());
    let ran_on = here.install(|| there.submit(|| thread::current().id()).join());
    assert_eq!(ran_on, owner);
}

#[test]
fn a_job_that_never_moves_is_left_to_its_worker_by_one_that_joins_it() {
    pool(2).install(|| {
        let other = 1 - current_thread_index().expect("a worker");
        for _ in 0..100 {
            let handle = job().only_on(other).submit(current_thread_index);
            assert_eq!(handle.join(), Some(other));
        }
    });
}

/// Jobs that were joined or aborted where they lay in the deque must not pile up there.
#[test]
fn a_long_job_that_joins_and_aborts_leaves_nothing_behind() {
    pool(1).install(|| {
        for n in 0..10_000 {
            assert_eq!(submit(move || n).join(), n);
            // The job lies below what the join lends.
            let lower = submit(move || n);
            assert_eq!(join(|| lower.join(), || ()).0, n);
            assert!(submit(|| ()).abort());
            let handles: Vec<_> = (0..n % 4).map(|n| submit(move || n)).collect();
            for (n, handle) in (0..).zip(handles) {
                assert_eq!(handle.join(), n);
            }
        }
        submit(|| ()).join();
        assert_eq!(current_thread_has_pending_tasks(), Some(false));
    });
}

#[test]
fn a_job_that_is_aborted_is_dropped_at_once_and_never_runs() {
    let pool = pool(1);
    let (captured, drops) = Counted::new();
    pool.install(|| {
        let handle = submit(move || drop(captured));
        assert!(!handle.is_finished());
        assert!(handle.abort());
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert!(handle.is_finished());
        assert!(handle.abort(), "it is so still");
        assert!(matches!(handle.try_join(), Err(JoinError::Cancelled)));
        let handle = submit(|| unreachable!("it is aborted"));
        assert!(handle.abort());
        assert!(text_of(|| handle.join()).contains("cancelled"));
    });
    assert_alive(&pool);
    pool.shutdown();
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

#[test]
fn a_job_that_has_begun_is_not_aborted_not_even_by_itself() {
    let pool = pool(1);
    let (give, take) = channel::<JoinHandle<()>>();
    let (say, heard) = channel();
    let (value, drops) = Counted::new();
    let begun = Arc::new(Barrier::new(2));
    let other = Arc::clone(&begun);
    let handle = pool.submit(move || {
        let _value = value;
        other.wait();
        let own = take.recv().unwrap();
        say.send(own.abort()).unwrap();
        // The last handle goes in the job itself.
        drop(own);
    });
    begun.wait();
    assert!(!handle.abort());
    give.send(handle).unwrap();
    assert_eq!(heard.recv(), Ok(false));
    pool.shutdown();
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

#[test]
fn a_job_that_has_ended_is_not_aborted() {
    let pool = pool(1);
    let handle = pool.submit(|| 1);
    while !handle.is_finished() {
        thread::yield_now();
    }
    assert!(!handle.abort());
    assert_eq!(handle.join(), 1);
}

#[test]
fn a_closure_whose_drop_panics_or_spawns_is_cancelled_all_the_same() {
    struct Spawns(std::sync::mpsc::Sender<u32>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let say = self.0.clone();
            spawn(move || say.send(7).unwrap());
        }
    }
    let pool = pool(1);
    let (say, heard) = channel();
    pool.install(|| {
        let bomb = Bomb("dropped");
        let handle = submit(move || drop(bomb));
        assert_eq!(text_of(|| handle.abort()), "dropped");
        assert!(matches!(handle.try_join(), Err(JoinError::Cancelled)));
        let spawns = Spawns(say);
        assert!(submit(move || drop(spawns)).abort());
    });
    assert_eq!(heard.recv(), Ok(7));
    assert_alive(&pool);
}

#[test]
fn a_panic_is_a_value_for_those_who_ask() {
    let pool = pool(2);
    let error = pool.submit(|| panic_any("no")).try_join().unwrap_err();
    assert_eq!(error.to_string(), "a job panicked: no");
    assert_eq!(format!("{error:?}"), "Panicked(\"no\")");
    assert_eq!(error.into_panic().unwrap().downcast_ref(), Some(&"no"));
    assert_eq!(format!("{:?}", JoinError::Cancelled), "Cancelled");
    assert!(JoinError::Cancelled.into_panic().is_err());
    assert_alive(&pool);
}

#[test]
fn abort_join_and_theft_agree_on_who_has_the_job() {
    let pool = pool(3);
    let ran = Arc::new(AtomicUsize::new(0));
    let mut expected = 0;
    for round in 0..2000 {
        let (captured, drops) = Counted::new();
        let count = Arc::clone(&ran);
        let handle = pool.install(|| {
            submit(move || {
                let _captured = captured;
                count.fetch_add(1, Ordering::Relaxed);
            })
        });
        let was_aborted = round % 2 == 0 && handle.abort();
        let outcome = if round % 3 == 0 {
            handle.try_join()
        } else {
            pool.install(|| handle.try_join())
        };
        assert_eq!(outcome.is_err(), was_aborted);
        expected += usize::from(!was_aborted);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert_eq!(ran.load(Ordering::Relaxed), expected);
    }
}

/// A task that unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A task that counts how often it is woken.
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The simplest of all executors.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

fn poll<T>(handle: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    Pin::new(handle).poll(&mut Context::from_waker(waker))
}

#[test]
fn a_handle_is_awaited_on_any_executor() {
    let pool = pool(1);
    let sum = async {
        let (left, right) = (pool.submit(|| 1), pool.submit(|| 2));
        left.await.unwrap() + right.await.unwrap()
    };
    assert_eq!(block_on(sum), 3);
    let failed = block_on(pool.submit(|| -> u32 { panic_any("no") }));
    assert!(matches!(failed, Err(JoinError::Panicked(_))));
    // In the pool the job cannot have begun.
    let aborted = pool.install(|| {
        let handle = submit(|| ());
        assert!(handle.abort());
        block_on(handle)
    });
    assert!(matches!(aborted, Err(JoinError::Cancelled)));
}

#[test]
fn an_abort_wakes_the_task_that_awaits() {
    pool(1).install(|| {
        let mut handle = submit(|| ());
        let task = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&task));
        assert!(poll(&mut handle, &waker).is_pending());
        assert!(handle.abort());
        assert_eq!(task.0.load(Ordering::Relaxed), 1);
        let outcome = poll(&mut handle, &waker);
        assert!(matches!(outcome, Poll::Ready(Err(JoinError::Cancelled))));
    });
}

#[test]
fn a_handle_that_has_given_its_value_says_so_when_it_is_asked_again() {
    let pool = pool(1);
    let mut handle = pool.submit(|| 1);
    assert!(matches!(block_on(&mut handle), Ok(1)));
    assert!(text_of(|| block_on(&mut handle)).contains("waited for again"));
    assert!(text_of(|| handle.join()).contains("waited for again"));
}

#[test]
fn only_the_last_of_many_wakers_is_kept_and_woken() {
    let pool = pool(1);
    let (go, wait) = channel::<()>();
    let mut handle = pool.submit(move || wait.recv().unwrap());
    let tasks: Vec<_> = (0..1000)
        .map(|_| Arc::new(Count(AtomicUsize::new(0))))
        .collect();
    for task in &tasks {
        assert!(poll(&mut handle, &Waker::from(Arc::clone(task))).is_pending());
    }
    let (last, earlier) = tasks.split_last().unwrap();
    assert!(earlier.iter().all(|task| Arc::strong_count(task) == 1));
    go.send(()).unwrap();
    while last.0.load(Ordering::Relaxed) == 0 {
        thread::yield_now();
    }
    assert!(earlier
        .iter()
        .all(|task| task.0.load(Ordering::Relaxed) == 0));
    handle.join();
}

#[test]
fn a_task_is_woken_and_its_waker_dropped_after_the_end_of_the_pool() {
    let pool = pool(1);
    let mut handle = pool.submit(|| 1);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let first = poll(&mut handle, &waker);
    pool.shutdown();
    if first.is_pending() {
        let other = thread::spawn(move || block_on(handle));
        assert!(matches!(other.join().unwrap(), Ok(1)));
    }
}

#[test]
fn a_panic_of_a_waker_goes_to_the_handler_when_all_is_done() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic_any("woken");
        }
    }
    let (caught, payloads) = channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(move |payload| caught.send(payload).expect("the test listens"))
        .build()
        .expect("a pool");
    let (go, wait) = channel::<()>();
    let mut handle = pool.submit(move || wait.recv().unwrap());
    assert!(poll(&mut handle, &Waker::from(Arc::new(Panics))).is_pending());
    go.send(()).unwrap();
    let payload = payloads.recv().expect("a payload");
    assert_eq!(payload.downcast_ref(), Some(&"woken"));
    handle.join();
    // An abort panics itself.
    pool.install(|| {
        let mut handle = submit(|| ());
        assert!(poll(&mut handle, &Waker::from(Arc::new(Panics))).is_pending());
        assert_eq!(text_of(|| handle.abort()), "woken");
        assert!(matches!(handle.try_join(), Err(JoinError::Cancelled)));
    });
    assert_alive(&pool);
}

#[test]
fn a_waker_whose_clone_or_drop_panics_does_so_in_the_poll_and_harms_nobody() {
    const PANICS: RawWakerVTable = RawWakerVTable::new(
        |_| panic_any("cloned"),
        |_| unreachable!("it was never kept"),
        |_| unreachable!("it was never kept"),
        |_| (),
    );
    struct DropPanics(#[expect(dead_code, reason = "it is dropped")] Bomb);
    impl Wake for DropPanics {
        fn wake(self: Arc<Self>) {}
    }
    let pool = pool(1);
    let (go, wait) = channel::<()>();
    let mut handle = pool.submit(move || wait.recv().unwrap());
    // SAFETY: its functions use no data.
    let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &PANICS)) };
    assert_eq!(text_of(|| poll(&mut handle, &waker)), "cloned");
    let waker = Waker::from(Arc::new(DropPanics(Bomb("dropped"))));
    assert!(poll(&mut handle, &waker).is_pending());
    drop(waker);
    let next = Waker::from(Arc::new(Unpark(thread::current())));
    assert_eq!(text_of(|| poll(&mut handle, &next)), "dropped");
    go.send(()).unwrap();
    assert!(block_on(handle).is_ok());
    assert_alive(&pool);
}

#[test]
fn a_group_is_waited_for_until_some_time_from_inside_and_outside() {
    let far = || Instant::now() + Duration::from_secs(600);
    let pool = pool(1);
    let group = Arc::new(TaskGroup::new_in(&pool));
    assert!(group.wait_until(Instant::now()), "it has no jobs");
    let (go, wait) = channel::<()>();
    group.run(move || wait.recv().unwrap());
    for _ in 0..3 {
        assert!(!group.wait_until(Instant::now()));
        assert!(!group.wait_until(Instant::now() + Duration::from_millis(1)));
    }
    go.send(()).unwrap();
    assert!(group.wait_until(far()));

    // The only worker runs the jobs itself: its own, and one from outside.
    let (here, there) = (Arc::clone(&group), Arc::clone(&group));
    let (say, heard) = channel();
    pool.spawn(move || {
        here.run(|| ());
        say.send(here.wait_until(far())).unwrap();
        say.send(here.wait_until(far())).unwrap();
    });
    there.run(|| ());
    assert_eq!(heard.recv(), Ok(true));
    assert_eq!(heard.recv(), Ok(true));

    let other = self::pool(1);
    let (go, wait) = channel::<()>();
    group.run(move || wait.recv().unwrap());
    assert!(!other.install(|| group.wait_until(Instant::now() + Duration::from_millis(3))));
    go.send(()).unwrap();
    assert!(other.install(|| group.wait_until(far())));

    group.run(|| panic_any("in the group"));
    assert_eq!(text_of(|| group.wait_until(far())), "in the group");
    assert_alive(&pool);
}

#[test]
fn a_worker_that_yields_passes_over_what_was_aborted() {
    pool(1).install(|| {
        let handle = submit(|| ());
        assert!(handle.abort());
        yield_now();
        assert_eq!(current_thread_has_pending_tasks(), Some(false));
    });
}

#[test]
fn a_serial_pool_has_handles_too() {
    let builder = ThreadPoolBuilder::new().serial();
    let pool = builder.build().expect("a pool");
    assert!(matches!(block_on(pool.submit(|| 1)), Ok(1)));
    pool.install(|| {
        assert!(submit(|| ()).abort());
        assert_eq!(submit(|| 2).join(), 2);
    });
    let group = TaskGroup::new_in(&pool);
    group.run(|| ());
    assert!(group.wait_until(Instant::now()), "it has run");
    assert_alive(&pool);
}

/// As it goes through `?` in functions whose errors any thread may look at.
#[test]
fn the_error_of_a_job_may_be_shared_whatever_the_job_has_panicked_with() {
    fn failed() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        // A payload that is not `Sync`.
        let job = submit(|| panic_any(Cell::new(1)));
        job.try_join()?;
        Ok(())
    }
    let error = failed().unwrap_err();
    assert_eq!(error.to_string(), "a job panicked");
    let error = error.downcast::<JoinError>().expect("that of the job");
    let payload = error.into_panic().expect("it has panicked");
    assert_eq!(payload.downcast_ref(), Some(&Cell::new(1)));
}
