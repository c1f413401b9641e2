//! `yield_now`: letting others have their turn.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Returns a future that lets others have their turn: it is pending once, and its task goes behind
/// those that were woken before.
///
/// # Examples
///
/// ```
/// let done = heist::futures::spawn_future(async {
///     for _ in 0..10 {
///         heist::futures::yield_now().await;
///     }
/// });
/// heist::futures::block_on(done).unwrap();
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow { has_yielded: false }
}

/// The future of a yield: see [`yield_now`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct YieldNow {
    has_yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.has_yielded, true) {
            return Poll::Ready(());
        }
        // While it runs, so that it goes behind others.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
