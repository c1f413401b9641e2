//! The poll in which a thread is: its budget, and the place of what it spawns.
//!
//! The budget says how often leaves may be ready before the future lets others have their turn. A
//! future whose leaves are always ready, a channel that is never empty say, would keep its worker
//! for ever. The idea is tokio's cooperative budget (2020), as is the number.

use std::cell::Cell;
use std::task::{Context, Poll};

use heist_core::hosting::Order;

/// How often the leaves of a future may be ready in one poll.
const BUDGET: u32 = 128;

/// A poll of this crate's.
#[derive(Clone, Copy)]
struct Present {
    /// False outside. The beginnings of another executor's polls are unknown, so there a used-up
    /// budget is renewed at once.
    is_ours: bool,
    /// How often leaves may still be ready.
    budget: u32,
    /// The order of the futures that it spawns, from the first of them on.
    spawns: Option<Order>,
}

impl Present {
    const fn new(is_ours: bool) -> Self {
        Self {
            is_ours,
            budget: BUDGET,
            spawns: None,
        }
    }
}

thread_local! {
    static PRESENT: Cell<Present> = const { Cell::new(Present::new(false)) }
}

/// Calls `poll`, which polls a future from the top, with a budget of its own.
#[inline]
pub(crate) fn polling<R>(poll: impl FnOnce() -> R) -> R {
    struct Before(Present);
    impl Drop for Before {
        #[inline]
        fn drop(&mut self) {
            PRESENT.with(|present| present.set(self.0));
        }
    }
    // A job that runs inside a poll may poll another future.
    let _before = Before(PRESENT.with(|present| present.replace(Present::new(true))));
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
#[inline]
pub fn poll_budget(cx: &mut Context<'_>) -> Poll<()> {
    let is_left = PRESENT.with(|present| {
        let mut poll = present.get();
        let is_left = poll.budget > 0;
        poll.budget = match is_left {
            true => poll.budget - 1,
            false if !poll.is_ours => BUDGET,
            false => 0,
        };
        present.set(poll);
        is_left
    });
    if is_left {
        return Poll::Ready(());
    }
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// The order of a future that is spawned now: in a poll that of the first, which `charge` gives.
#[inline]
pub(crate) fn order_of_spawn(charge: impl FnOnce() -> Order) -> Order {
    PRESENT.with(|present| {
        let mut poll = present.get();
        if let Some(order) = poll.spawns {
            return order;
        }
        let order = charge();
        if poll.is_ours {
            poll.spawns = Some(order);
            present.set(poll);
        }
        order
    })
}

/// Takes back a charge: the leaf was not ready after all.
#[inline]
pub(crate) fn give_back() {
    PRESENT.with(|present| {
        let mut poll = present.get();
        poll.budget += 1;
        present.set(poll);
    });
}
