//! The budget of a poll: how often leaves may be ready before the future lets others have their
//! turn.
//!
//! A future whose leaves are always ready, a channel that is never empty say, would keep its worker
//! for ever. The idea is tokio's cooperative budget (2020), as is the number.

use std::cell::Cell;
use std::task::{Context, Poll};

/// How often the leaves of a future may be ready in one poll.
const BUDGET: u32 = 128;

thread_local! {
    static LEFT: Cell<u32> = const { Cell::new(BUDGET) };
}

/// Calls `poll`, which polls a future from the top, with a budget of its own.
pub(crate) fn with_budget<R>(poll: impl FnOnce() -> R) -> R {
    struct Before(u32);
    impl Drop for Before {
        fn drop(&mut self) {
            LEFT.with(|left| left.set(self.0));
        }
    }
    // A job that runs inside of a poll may poll another future.
    let _before = Before(LEFT.with(|left| left.replace(BUDGET)));
    poll()
}

/// For leaves that may be ready again and again: pending, and woken at once, if the present poll of
/// the future has seen 128 of them; else counts one more.
///
/// The handles of this crate do so by themselves.
///
/// # Examples
///
/// ```
/// use std::{future::poll_fn, task::Poll};
///
/// // A leaf that is always ready.
/// let leaf = || poll_fn(|cx| heist::futures::poll_budget(cx).map(|()| 1));
/// let sum = heist::futures::spawn_future(async move {
///     let mut sum = 0;
///     for _ in 0..1_000 {
///         sum += leaf().await;
///     }
///     sum
/// });
/// assert_eq!(heist::futures::block_on(sum).unwrap(), 1_000);
/// ```
pub fn poll_budget(cx: &mut Context<'_>) -> Poll<()> {
    LEFT.with(|left| match left.get().checked_sub(1) {
        Some(rest) => {
            left.set(rest);
            Poll::Ready(())
        }
        None => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
}

/// The leaf that has counted was not ready after all.
pub(crate) fn give_back() {
    LEFT.with(|left| left.set(left.get() + 1));
}
