//! `poll_for_thieves`: answer thieves in the middle of a long job; `look_around`: that, and all
//! else that a loop asks for between two grains; `show_jobs`: let thieves take without asking;
//! `give_way`: others go on, in a schedule, while the caller spins.

use crate::schedule::{self, Point};
use crate::worker::Worker;

/// Between two grains of a long job: answers whoever has signalled the worker since its last push
/// (a thief, somebody who has fallen asleep), as a join does, and returns true if its deque is
/// empty, so that somebody could be hungry. False if there is nobody else in the pool, and on a
/// thread that is no worker. In a [prompt](crate::Injected::Prompt) pool it may run a job from
/// outside.
///
/// A loop that polls every few microseconds can keep what it has to itself until then.
///
/// # Cost
///
/// Some nanoseconds, unless there is a signal.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// assert!(!heist::poll_for_thieves()); // no worker
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert!(pool.install(heist::poll_for_thieves));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[inline(never)] // around it is somebody's inner loop, which needs the registers
#[must_use]
pub fn poll_for_thieves() -> bool {
    Worker::current().is_some_and(Worker::poll_for_thieves)
}

/// The other workers of the pool, as a loop sees them between two grains.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// There are none.
    None,
    /// There is a job for them, or the caller is no worker.
    Fed,
    /// One of them could be hungry.
    Hungry,
}

/// A [`checkpoint`](crate::checkpoint) and a [poll](poll_for_thieves) in one.
#[doc(hidden)]
#[inline(never)] // as above
#[must_use]
pub fn look_around() -> Others {
    Worker::current().map_or(Others::Fed, look_around_as)
}

/// As [`look_around`], before a loop, and whether it must look again every few microseconds,
/// however little there is for the others: because it may be cancelled, or a job may come from
/// outside that is not to wait for it.
#[doc(hidden)]
#[inline(never)] // as above
#[must_use]
pub fn look_before_loop() -> (Others, bool) {
    let Some(worker) = Worker::current() else {
        return (Others::Fed, false);
    };
    let others = look_around_as(worker);
    (others, may_be_interrupted_as(worker))
}

/// True if a long call should look again every now and then whether it is cancelled, or whether a
/// job has come from outside that is not to wait for it.
#[doc(hidden)]
#[must_use]
pub fn may_be_interrupted() -> bool {
    Worker::current().is_some_and(may_be_interrupted_as)
}

#[inline]
fn may_be_interrupted_as(worker: &Worker) -> bool {
    worker.may_be_cancelled() || worker.pool().prompt
}

#[inline]
fn look_around_as(worker: &Worker) -> Others {
    worker.checkpoint();
    if worker.looks_around() {
        Others::Hungry
    } else if worker.pool().len() == 1 {
        Others::None
    } else {
        Others::Fed
    }
}

/// Makes what the worker has on offer public, before it runs a grain of some microseconds: a thief
/// that found it private would wait for the next look, or force the owner's hand, which takes as
/// long and interrupts the owner.
#[doc(hidden)]
#[inline(never)] // as above
pub fn show_jobs() {
    if let Some(worker) = Worker::current() {
        worker.deque().show();
    }
}

/// The calling thread spins until another one has done its part. In a schedule
/// (`schedule.rs`) others run meanwhile, or that would never come. True if there is one; otherwise
/// nothing happens.
#[doc(hidden)]
#[cold]
pub fn give_way() -> bool {
    let is_on = schedule::is_on();
    if is_on {
        schedule::point(Point::Round);
    }
    is_on
}
