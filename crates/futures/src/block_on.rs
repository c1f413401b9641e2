//! `block_on`: waiting for a future.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use heist_core::hosting::{self, Patience};
#[cfg(doc)]
use heist_core::{JoinHandle, ThreadPool, Waiting};

use crate::polling::polling;

/// Ends the wait of a thread in [`block_on`].
struct Signal(hosting::Wake);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.0.set();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.set();
    }
}

/// Polls the future on the calling thread until it has its output.
///
/// While the future is not ready, a worker runs other jobs, those that it may run
/// [while it waits](Waiting); any other thread blocks. If the future is woken as it is polled, as
/// one that yields wakes itself, a worker runs one job of each queue before it polls the future
/// again; any other thread polls it at once.
///
/// # Deadlocks
///
/// A job that a worker runs meanwhile lies on top of the waiting frame, which goes on when that job
/// has ended. So if that job waits, in turn, for the frame below it, both wait for ever. Spawned
/// futures have no frame and no such problem: inside one, await instead of calling `block_on`.
///
/// A frame that runs only its [descendants](Waiting::Descendants) does not find a job that it has
/// begun with a priority or a hint among them. So if it waits here for the handle of such a job on
/// the last free worker, it waits for ever; [`join`](JoinHandle::join) runs the job itself, unless
/// it is for another worker only.
///
/// # Panics
///
/// Panics if the future does.
///
/// # Cost
///
/// One allocation, and for each wait that of [`ThreadPool::install`].
///
/// # Examples
///
/// ```
/// let three = heist::futures::block_on(async { 1 + 2 });
/// assert_eq!(three, 3);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let signal = Arc::new(Signal(hosting::Wake::new()));
    let waker = Waker::from(Arc::clone(&signal));
    let mut context = Context::from_waker(&waker);
    let mut patience = Patience::default();
    loop {
        let poll = polling(|| future.as_mut().poll(&mut context));
        if let Poll::Ready(output) = poll {
            return output;
        }
        signal.0.wait(&mut patience);
    }
}
