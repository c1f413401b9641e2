//! `spawn_future`: a future that runs on its own.

use std::cell::Cell;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::{ready, Poll};

use async_task::{Runnable, ScheduleInfo, WithInfo};
use heist_core::hosting::{Host, Order};
#[cfg(doc)]
use heist_core::{spawn, JoinError};

use crate::budget::with_budget;
use crate::handle::{FutureHandle, Outcome};

/// Runs a future in the pool of the calling worker, or else in the global pool, and returns a
/// handle to its output, which is a future too.
///
/// On a worker the future's first poll is the newest of the worker's jobs, as with
/// [`spawn`](spawn()), and it is stolen like any other. Each later poll comes when it is
/// woken. A future that is pending does not keep the pool from ending: when the pool has ended, the
/// next wake-up drops the future, and its handle says [`Cancelled`](JoinError::Cancelled).
///
/// # Cost
///
/// One allocation for the future, its state and its output.
///
/// # Examples
///
/// ```
/// use heist::futures::{block_on, spawn_future};
///
/// let answer = spawn_future(async {
///     let half = spawn_future(async { 21 });
///     2 * half.await.unwrap()
/// });
/// assert_eq!(block_on(answer).unwrap(), 42);
/// ```
#[track_caller]
pub fn spawn_future<F>(future: F) -> FutureHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    spawn_in(Host::current(), future)
}

pub(crate) fn spawn_in<F>(host: Host, future: F) -> FutureHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    let schedule = {
        let host = host.clone();
        move |runnable: Runnable, info: ScheduleInfo| {
            let is_yield = info.woken_while_running;
            let order = if is_yield || has_used_its_credit() {
                Order::InTurn
            } else {
                Order::Next
            };
            run_on(&host, order, runnable);
        }
    };
    let first = host.clone();
    let (runnable, task) = async_task::spawn(caught(host, future), WithInfo(schedule));
    run_on(&first, Order::Next, runnable);
    FutureHandle::new(task.fallible())
}

fn run_on(host: &Host, order: Order, runnable: Runnable) {
    host.schedule(order, move || {
        with_budget(|| runnable.run());
    });
}

/// So often in a row, those that a thread wakes come next. Two futures that wake each other would
/// else keep a worker from all others; tokio counts to three, too.
const CREDIT: u32 = 3;

/// True if what the calling thread wakes now should have its turn and not come next.
fn has_used_its_credit() -> bool {
    thread_local! {
        static USED: Cell<u32> = const { Cell::new(0) }
    }
    USED.with(|used| {
        let now = used.get();
        used.set(if now == CREDIT { 0 } else { now + 1 });
        now == CREDIT
    })
}

/// The future, whose panics are held back.
pub(crate) async fn caught<F: Future>(host: Host, future: F) -> Outcome<F::Output> {
    let mut future = pin!(future);
    let result = std::future::poll_fn(|cx| {
        let poll = AssertUnwindSafe(|| future.as_mut().poll(cx));
        Poll::Ready(match std::panic::catch_unwind(poll) {
            Ok(poll) => Ok(ready!(poll)),
            Err(payload) => Err(payload),
        })
    });
    Outcome::new(host, result.await)
}
