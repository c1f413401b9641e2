//! Models of a task under loom, which also watches the accesses to what the word guards.

use std::future::{poll_fn, Future};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::{thread, Mutex};

use super::queue::{spawn, Count, Queue};
use super::Handle;

fn poll<T>(handle: &mut Handle<T, Arc<Queue>>, count: &Arc<Count>) -> Poll<Option<T>> {
    let waker = Waker::from(Arc::clone(count));
    let poll = handle.poll(&mut Context::from_waker(&waker));
    poll.map(|outcome| outcome.map(|outcome| outcome.claim().expect("no panic")))
}

/// The wakers that a future has left.
type Wakers = Arc<Mutex<Vec<Waker>>>;

/// A future that leaves so many wakers in its first poll, and is ready when `is_ready` says so. It
/// keeps `kept` until it is dropped.
fn leaving<K: Send + 'static>(
    wakers: &Wakers,
    number: usize,
    kept: K,
    is_ready: impl Fn() -> bool + Send + 'static,
) -> impl Future<Output = u32> + Send {
    let (wakers, mut polls) = (Arc::clone(wakers), 0);
    poll_fn(move |cx| {
        let _ = &kept;
        polls += 1;
        if polls == 1 {
            wakers.lock().resize(number, cx.waker().clone());
        }
        match is_ready() {
            true => Poll::Ready(7),
            false => Poll::Pending,
        }
    })
}

fn run_on_a_thread(queue: &Arc<Queue>) -> thread::JoinHandle<bool> {
    let queue = Arc::clone(queue);
    thread::spawn(move || queue.run_one())
}

#[test]
fn whoever_awaits_is_woken_or_finds_the_output() {
    loom::model(|| {
        let (queue, count) = (Arc::default(), Count::new());
        let mut handle = spawn(&queue, async { Box::new(7) });
        let runs = run_on_a_thread(&queue);
        queue.step();
        let first = poll(&mut handle, &count);
        runs.join().unwrap();
        match first {
            Poll::Ready(output) => assert_eq!(output, Some(Box::new(7))),
            Poll::Pending => {
                assert_eq!(count.get(), 1, "the wake-up was lost");
                assert_eq!(poll(&mut handle, &count), Poll::Ready(Some(Box::new(7))));
            }
        }
        assert_eq!(
            poll(&mut handle, &count),
            Poll::Ready(None),
            "it is taken once"
        );
        drop(handle);
        assert!(queue.is_unused());
        assert_eq!(Arc::strong_count(&count), 1);
    });
}

#[test]
fn of_two_wakers_the_last_is_woken() {
    loom::model(|| {
        let queue = Arc::default();
        let (before, after) = (Count::new(), Count::new());
        let mut handle = spawn(&queue, async { 7 });
        assert_eq!(poll(&mut handle, &before), Poll::Pending);
        let runs = run_on_a_thread(&queue);
        queue.step();
        let second = poll(&mut handle, &after);
        runs.join().unwrap();
        match second {
            Poll::Ready(output) => assert_eq!(output, Some(7)),
            Poll::Pending => {
                assert_eq!((before.get(), after.get()), (0, 1));
                assert_eq!(poll(&mut handle, &after), Poll::Ready(Some(7)));
            }
        }
        drop(handle);
        assert!(queue.is_unused());
        assert_eq!(
            (Arc::strong_count(&before), Arc::strong_count(&after)),
            (1, 1)
        );
    });
}

#[test]
fn a_task_that_is_dropped_while_queued_tells_whoever_awaits() {
    loom::model(|| {
        let (queue, count) = (Arc::default(), Count::new());
        let mut handle = spawn(&queue, async { 7 });
        let drops = thread::spawn({
            let queue = Arc::clone(&queue);
            move || {
                drop(queue.take());
                queue.step();
            }
        });
        queue.step();
        let first = poll(&mut handle, &count);
        drops.join().unwrap();
        if first.is_pending() {
            assert_eq!(count.get(), 1, "the wake-up was lost");
        }
        assert_eq!(poll(&mut handle, &count), Poll::Ready(None));
        drop(handle);
        assert!(queue.is_unused());
    });
}

/// A wake-up in the middle of a poll, or beside another wake-up, leads to one more poll, which sees
/// what was done before it.
#[test]
fn a_poll_sees_what_was_done_before_each_wake_up() {
    loom::model(|| {
        let (queue, wakers) = (Arc::default(), Wakers::default());
        let done = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let handle = spawn(&queue, {
            let done = Arc::clone(&done);
            let is_done = move |one: &AtomicUsize| one.load(Ordering::Relaxed) == 1;
            leaving(&wakers, 2, (), move || done.iter().all(is_done))
        });
        queue.run_one();
        let wakes = thread::spawn({
            let waker = wakers.lock().pop().expect("two were left");
            let (queue, done) = (Arc::clone(&queue), Arc::clone(&done));
            move || {
                waker.wake_by_ref();
                done[0].store(1, Ordering::Relaxed);
                waker.wake();
                queue.step();
            }
        });
        let waker = wakers.lock().pop().expect("two were left");
        done[1].store(1, Ordering::Relaxed);
        queue.step();
        waker.wake_by_ref();
        queue.run_one();
        wakes.join().unwrap();
        queue.run_all();
        assert!(handle.is_done(), "a wake-up was lost");
        drop((waker, handle));
        assert!(queue.is_unused());
    });
}

/// The handle, the last waker and the run leave at once. A run drops the future.
#[test]
fn a_task_that_nobody_can_wake_is_dropped_once() {
    loom::model(|| {
        let (queue, wakers) = (Arc::default(), Wakers::default());
        let kept = Arc::new(());
        let handle = spawn(&queue, leaving(&wakers, 1, Arc::clone(&kept), || false));
        let waker = thread::spawn({
            let (queue, wakers) = (Arc::clone(&queue), Arc::clone(&wakers));
            move || {
                queue.run_one();
                drop(wakers.lock().pop());
                queue.step();
            }
        });
        queue.step();
        drop(handle);
        waker.join().unwrap();
        queue.run_all();
        assert!(queue.is_unused());
        assert_eq!(Arc::strong_count(&kept), 1);
    });
}

#[test]
fn the_last_waker_and_the_handle_leave_a_task_that_waits() {
    loom::model(|| {
        let (queue, wakers) = (Arc::default(), Wakers::default());
        let kept = Arc::new(());
        let handle = spawn(&queue, leaving(&wakers, 1, Arc::clone(&kept), || false));
        queue.run_one();
        let waker = thread::spawn({
            let (queue, waker) = (Arc::clone(&queue), wakers.lock().pop());
            move || {
                drop(waker);
                queue.step();
            }
        });
        queue.step();
        drop(handle);
        waker.join().unwrap();
        assert!(queue.run_one(), "the future is dropped by a run");
        assert!(queue.is_unused());
        assert_eq!(Arc::strong_count(&kept), 1);
    });
}

#[test]
fn the_last_waker_and_the_handle_leave_a_task_that_is_done() {
    loom::model(|| {
        let (queue, wakers) = (Arc::default(), Wakers::default());
        let mut handle = spawn(&queue, leaving(&wakers, 1, (), || true));
        queue.run_one();
        let waker = thread::spawn({
            let (queue, waker) = (Arc::clone(&queue), wakers.lock().pop());
            move || {
                waker.expect("one was left").wake();
                queue.step();
            }
        });
        assert_eq!(poll(&mut handle, &Count::new()), Poll::Ready(Some(7)));
        queue.step();
        drop(handle);
        waker.join().unwrap();
        assert!(queue.is_unused());
    });
}

#[test]
fn a_stopped_task_ends() {
    loom::model(|| {
        let (queue, wakers) = (Arc::default(), Wakers::default());
        let kept = Arc::new(());
        let handle = spawn(&queue, leaving(&wakers, 1, Arc::clone(&kept), || false));
        let runs = run_on_a_thread(&queue);
        queue.step();
        handle.stop();
        runs.join().unwrap();
        queue.run_all();
        assert_eq!(Arc::strong_count(&kept), 1, "the future was not dropped");
        // Too late for a future, but the memory is there.
        wakers.lock().drain(..).for_each(Waker::wake);
        assert!(!queue.run_one());
        assert!(queue.is_unused());
    });
}

#[test]
fn a_task_is_stopped_while_it_is_woken_and_run() {
    loom::model(|| {
        let (queue, wakers) = (Arc::default(), Wakers::default());
        let kept = Arc::new(());
        let handle = spawn(&queue, leaving(&wakers, 1, Arc::clone(&kept), || false));
        queue.run_one();
        let runs = thread::spawn({
            let (queue, waker) = (Arc::clone(&queue), wakers.lock().pop());
            move || {
                let waker = waker.expect("one was left");
                waker.wake_by_ref();
                queue.run_one();
                waker
            }
        });
        queue.step();
        handle.stop();
        queue.run_all();
        let waker = runs.join().unwrap();
        queue.run_all();
        assert_eq!(Arc::strong_count(&kept), 1, "the future was not dropped");
        drop(waker);
        assert!(queue.is_unused());
    });
}

/// The future has kept no waker: the run frees it, or the handle leaves it to another.
#[test]
fn a_handle_leaves_a_lost_task() {
    loom::model(|| {
        let queue = Arc::default();
        let kept = Arc::new(());
        let mut handle = spawn(
            &queue,
            leaving(&Wakers::default(), 0, Arc::clone(&kept), || false),
        );
        let _ = poll(&mut handle, &Count::new());
        let runs = run_on_a_thread(&queue);
        queue.step();
        drop(handle);
        runs.join().unwrap();
        queue.run_all();
        assert_eq!(Arc::strong_count(&kept), 1, "the future was not dropped");
        assert!(queue.is_unused());
    });
}

/// An output that nobody wants is dropped, by the run or by the handle.
#[test]
fn a_handle_leaves_while_the_future_ends() {
    loom::model(|| {
        let queue = Arc::default();
        let kept = Arc::new(());
        let output = Arc::clone(&kept);
        let mut handle = spawn(&queue, async { output });
        let _ = poll(&mut handle, &Count::new());
        let runs = run_on_a_thread(&queue);
        queue.step();
        drop(handle);
        runs.join().unwrap();
        assert!(queue.is_unused());
        assert_eq!(Arc::strong_count(&kept), 1);
    });
}
