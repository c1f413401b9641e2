//! The budget of a poll: how often leaves may be ready before the future lets others have their
//! turn.
//!
//! A future whose leaves are always ready, a channel that is never empty say, would keep its worker
//! for ever. The idea is tokio's cooperative budget (2020), as is the number.

use std::cell::Cell;
use std::task::{Context, Poll};

use heist_core::hosting::Order;

/// How often the leaves of a future may be ready in one poll.
const BUDGET: u32 = 128;

/// How often leaves may still be ready.
#[derive(Clone, Copy)]
struct Left {
    times: u32,
    /// False outside this crate's polls. The beginnings of another executor's polls are unknown, so
    /// there a used-up budget is renewed at once.
    is_of_a_poll: bool,
    /// The order of the futures that the poll spawns, from the first of them on.
    spawns: Option<Order>,
}

thread_local! {
    static LEFT: Cell<Left> = const {
        Cell::new(Left { times: BUDGET, is_of_a_poll: false, spawns: None })
    };
}

/// Calls `poll`, which polls a future from the top, with a budget of its own.
pub(crate) fn with_budget<R>(poll: impl FnOnce() -> R) -> R {
    struct Before(Left);
    impl Drop for Before {
        fn drop(&mut self) {
            LEFT.with(|left| left.set(self.0));
        }
    }
    // A job that runs inside a poll may poll another future.
    let budget = Left {
        times: BUDGET,
        is_of_a_poll: true,
        spawns: None,
    };
    let _before = Before(LEFT.with(|left| left.replace(budget)));
    poll()
}

/// Charges the budget of the present poll, for a leaf that may be ready again and again. After 128
/// of them in one poll of the future this is pending, and wakes the future at once. On other
/// executors each 129th call on a thread is pending once.
///
/// The handles of this crate call it themselves.
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
    let is_left = LEFT.with(|left| {
        let mut budget = left.get();
        let is_left = budget.times > 0;
        budget.times = match is_left {
            true => budget.times - 1,
            false if budget.is_of_a_poll => 0,
            false => BUDGET,
        };
        left.set(budget);
        is_left
    });
    if is_left {
        return Poll::Ready(());
    }
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// The order of a future that is spawned now: in a poll that of the first, which `charge` gives.
pub(crate) fn order_of_spawn(charge: impl FnOnce() -> Order) -> Order {
    LEFT.with(|left| {
        let mut present = left.get();
        if let Some(order) = present.spawns {
            return order;
        }
        let order = charge();
        if present.is_of_a_poll {
            present.spawns = Some(order);
            left.set(present);
        }
        order
    })
}

/// Takes back a charge: the leaf was not ready after all.
pub(crate) fn give_back() {
    LEFT.with(|left| {
        let mut budget = left.get();
        budget.times += 1;
        left.set(budget);
    });
}
