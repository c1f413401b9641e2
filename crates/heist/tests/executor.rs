//! A program with one thread for all of its tasks awaits jobs, and that thread never waits.

use std::cell::Cell;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// A task's wish to be polled.
struct Ready(AtomicBool);

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// Polls the tasks on this thread, each when it is woken, until the first is done.
fn run_until_the_first_is_done(mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>) {
    let ready: Vec<_> = tasks
        .iter()
        .map(|_| Arc::new(Ready(AtomicBool::new(true))))
        .collect();
    loop {
        for (index, task) in tasks.iter_mut().enumerate() {
            if ready[index].0.swap(false, Ordering::Acquire) {
                let waker = Waker::from(Arc::clone(&ready[index]));
                let poll = task.as_mut().poll(&mut Context::from_waker(&waker));
                if index == 0 && poll.is_ready() {
                    return;
                }
            }
        }
    }
}

/// Lets the other tasks of the executor run.
async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn a_heart_beats_on_the_only_thread_while_a_job_is_awaited() {
    let pool = heist::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.expect("a pool");
    let beats = Arc::new(AtomicU32::new(0));
    let sum = Cell::new(0);
    let compute = async {
        let seen = Arc::clone(&beats);
        // Ends only because the heart beats on.
        let job = pool.submit(move || {
            let first = seen.load(Ordering::Relaxed);
            while seen.load(Ordering::Relaxed) < first + 100 {
                std::thread::yield_now();
            }
            heist::join(|| 1, || 2)
        });
        let (one, two) = job.await.expect("it does not panic");
        sum.set(one + two);
    };
    let heart = async {
        loop {
            beats.fetch_add(1, Ordering::Relaxed);
            yield_now().await;
        }
    };
    run_until_the_first_is_done(vec![Box::pin(compute), Box::pin(heart)]);
    assert_eq!(sum.get(), 3);
}
