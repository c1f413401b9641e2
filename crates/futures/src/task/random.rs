//! Random tasks, whose handles, wakers and runs are on three threads.

use std::future::{poll_fn, Future};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use heist_core::policy::Rng;
use heist_sync::{thread, Mutex};

use super::queue::{spawn, Count, Queue};

type Wakers = Arc<Mutex<Vec<Waker>>>;

/// A future that is pending so many times, each time leaves up to two wakers, and may wake itself.
fn random_future(
    numbers: &mut Rng,
    wakers: &Wakers,
    output: &Arc<()>,
) -> impl Future<Output = Arc<()>> + Send {
    let (wakers, output) = (Arc::clone(wakers), Arc::clone(output));
    let (mut pending, leaves) = (numbers.below(4), numbers.below(3));
    let wakes_itself = numbers.below(4) == 0;
    poll_fn(move |cx| {
        for _ in 0..leaves {
            wakers.lock().push(cx.waker().clone());
        }
        if wakes_itself {
            cx.waker().wake_by_ref();
        }
        match pending {
            0 => return Poll::Ready(Arc::clone(&output)),
            _ => pending -= 1,
        }
        Poll::Pending
    })
}

/// Runs tasks, and wakes and drops what wakers there are.
fn run_and_wake(queue: &Queue, wakers: &Wakers, mut numbers: Rng) {
    for _ in 0..16 {
        let step = numbers.below(6);
        if step < 3 {
            queue.run_one();
            continue;
        }
        let waker = wakers.lock().pop();
        match (step, waker) {
            (3, Some(waker)) => waker.wake(),
            (4, Some(waker)) => waker.wake_by_ref(),
            _ => {}
        }
    }
}

/// Every future and every output is dropped, and every task freed, once.
#[test]
fn random_tasks_leave_nothing_behind() {
    for seed in 0..if cfg!(miri) { 20 } else { 3_000 } {
        let mut numbers = Rng::new(seed);
        let (queue, wakers): (Arc<Queue>, Wakers) = (Arc::default(), Arc::default());
        let (output, count) = (Arc::new(()), Count::new());
        let mut handles: Vec<_> = (0..=numbers.below(3))
            .map(|_| Some(spawn(&queue, random_future(&mut numbers, &wakers, &output))))
            .collect();
        let threads = [1, 2].map(|thread| {
            let (queue, wakers) = (Arc::clone(&queue), Arc::clone(&wakers));
            let numbers = Rng::new(!seed ^ thread);
            thread::spawn(move || run_and_wake(&queue, &wakers, numbers))
        });
        for index in (0..handles.len()).cycle().take(12) {
            let step = numbers.below(8);
            let Some(handle) = &mut handles[index] else {
                continue;
            };
            match step {
                0 => handles[index] = None,
                1 => handles[index].take().expect("seen above").stop(),
                _ => {
                    let waker = match step {
                        2 | 3 => Waker::from(Count::new()),
                        _ => Waker::from(Arc::clone(&count)),
                    };
                    let was_done = handle.is_done();
                    let poll = handle.poll(&mut Context::from_waker(&waker));
                    assert!(
                        poll.is_ready() || !was_done,
                        "seed {seed}: a done task is awaited"
                    );
                }
            }
        }
        for thread in threads {
            thread.join().unwrap();
        }
        drop(handles);
        loop {
            queue.run_all();
            match wakers.lock().pop() {
                Some(waker) => drop(waker),
                None => break,
            }
        }
        queue.run_all();
        assert!(queue.is_unused(), "seed {seed}: a task is left");
        assert_eq!(
            Arc::strong_count(&output),
            1,
            "seed {seed}: an output is left"
        );
        assert_eq!(Arc::strong_count(&count), 1, "seed {seed}: a waker is left");
    }
}
