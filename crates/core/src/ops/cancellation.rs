//! `with_cancellation`: a call that a token stops, with all that it has begun.

use std::error::Error;
use std::fmt;

use crate::base::cancellation::CancellationToken;
use crate::base::region::Context;
use crate::base::unwind;
use crate::state::Pool;
use crate::worker::Worker;

/// Calls `op`, and leaves it when the token is cancelled.
///
/// This holds for all that `op` begins, wherever it runs: halves of joins, jobs of scopes, loops,
/// and jobs that it spawns or submits and that outlive it. Once the token is cancelled,
///
/// - a job that has not begun is dropped, and counts as ended;
/// - a running one goes on to its next [`checkpoint`]: each call of that, each grain of a loop, and
///   each begin of a [`scope`](crate::scope()). There it unwinds, as by a panic of which no hook is
///   told, through joins and scopes up to this call.
///
/// A future that `op` spawns is none of these: it takes no token along, since it is left by being
/// dropped, which its handle's `abort` does.
///
/// An external caller participates in the global pool, as in [`join`](crate::join()). Calls nest:
/// an inner one is left with the outer one. A call of [`install`](crate::ThreadPool::install) in
/// `op` takes the token along to the other pool.
///
/// # Errors
///
/// Fails if the token was cancelled before `op` began, or if `op` was left. An `op` that has come
/// to its end has succeeded, whatever the token says by then.
///
/// # Panics
///
/// Panics if `op` does; a panic wins over a cancellation beside it. The two are unlike for `op`'s
/// own destructors and `catch_unwind`: a cancellation that is caught there comes back at the next
/// checkpoint.
///
/// A destructor that runs in the middle of a panic and calls `join` is not cancelled, but for the
/// half that another worker has begun: if that comes to a checkpoint it unwinds, and a panic out of
/// a destructor ends the process. Such a destructor lets its halves do without checkpoints, or
/// calls [`submit`](crate::submit()) in place of a `join`, whose jobs are not cancelled there.
///
/// # Cost
///
/// One allocation, and some tens of nanoseconds. A join or a push in `op` costs nothing more; a
/// steal there some nanoseconds; a popped job some tens of instructions; a loop of few
/// cheap items the time of two looks at the clock, or some more.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::{join, with_cancellation, CancellationToken, Cancelled};
///
/// /// Would take years.
/// fn search(from: u64, to: u64, token: &CancellationToken) {
///     heist::checkpoint();
///     if to - from == 1 {
///         if from == 1_000 {
///             token.cancel(); // found
///         }
///         return;
///     }
///     let middle = from + (to - from) / 2;
///     join(|| search(from, middle, token), || search(middle, to, token));
/// }
///
/// let token = CancellationToken::new();
/// assert_eq!(with_cancellation(&token, || search(0, 1 << 60, &token)), Err(Cancelled));
/// ```
#[track_caller]
pub fn with_cancellation<OP, R>(token: &CancellationToken, op: OP) -> Result<R, Cancelled>
where
    OP: FnOnce() -> R + Send,
    R: Send,
{
    Pool::on_worker(|worker| {
        worker.checkpoint();
        if token.is_cancelled() {
            return Err(Cancelled);
        }
        let context = Context::new(token.clone(), worker.context().cloned());
        unwind::catch(|| worker.within(Some(context), op)).or_else(|payload| {
            if unwind::is_cancellation(&payload) && token.is_cancelled() {
                Err(Cancelled)
            } else {
                unwind::resume(payload)
            }
        })
    })
}

/// True if the code that runs here is to stop: it is in a call of [`with_cancellation`], or was
/// begun by one, whose token is cancelled. False on a thread that is no worker.
///
/// # Cost
///
/// A few loads for each such call around, and a look at the clock for a token with a deadline.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let token = heist::CancellationToken::new();
/// let rounds = heist::with_cancellation(&token, || {
///     let mut rounds = 0;
///     while !heist::is_cancelled() {
///         rounds += 1;
///         token.cancel();
///     }
///     rounds
/// });
/// assert_eq!(rounds, Ok(1));
/// ```
#[inline]
#[must_use]
pub fn is_cancelled() -> bool {
    Worker::current_or_hidden().is_some_and(Worker::is_cancelled)
}

/// Leaves the innermost call of [`with_cancellation`] whose token is cancelled, if there is one.
///
/// It unwinds, so that destructors run. While the thread unwinds already it does nothing.
///
/// # Cost
///
/// As [`is_cancelled`].
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::{checkpoint, with_cancellation, CancellationToken, Cancelled};
///
/// checkpoint(); // in no such call
/// let token = CancellationToken::new();
/// let left = with_cancellation(&token, || {
///     token.cancel();
///     checkpoint();
///     unreachable!("was left");
/// });
/// assert_eq!(left, Err::<(), _>(Cancelled));
/// ```
#[inline]
pub fn checkpoint() {
    if let Some(worker) = Worker::current_or_hidden() {
        worker.checkpoint();
    }
}

/// The error of a call that was left because its token was cancelled: see [`with_cancellation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the call was cancelled by its token")
    }
}

impl Error for Cancelled {}
