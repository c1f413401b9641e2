//! Jobs for which the initialiser of a [`Once`](crate::Once) may wait, wherever they are queued and
//! run: nothing unrelated runs on top of them (ON-1).
//!
//! A job that lies in a slot is one if its region's mode says so. One that is queued elsewhere, in
//! a lane, a mailbox or a backlog, brings that along, as it brings its context. A job that such a
//! job leaves behind is one as well.
//!
//! While no initialiser runs, no job is one, whatever has begun it: a chain of jobs that each begin
//! the next does not wait strictly for ever because an initialiser has begun the first.

use heist_sync::Tally;

use crate::base::job::DetachedJob;
use crate::base::task::Task;
use crate::base::unwind::Payload;
use crate::base::waiting::{WaitMode, Waiting};
use crate::worker::Worker;

/// The initialisers that run, in all pools.
static INITIALISERS: Tally = Tally::new();

/// Calls `op`, which runs an initialiser, and does not unwind.
pub(crate) fn initialising<R>(op: impl FnOnce() -> R) -> R {
    INITIALISERS.raise();
    let result = op();
    INITIALISERS.lower();
    result
}

/// True if an initialiser runs.
#[inline]
fn is_any() -> bool {
    // An initialiser has counted itself before it began what leads here, by a queue or a thread.
    !INITIALISERS.is_zero()
}

/// True if an initialiser may wait for what is begun here.
#[inline]
pub(crate) fn is_needed_here() -> bool {
    is_any() && Worker::current_or_hidden().is_some_and(|worker| worker.wait_mode().is_needed())
}

/// As [`is_needed_here`], for a job that whoever waits for it finds. True on any thread outside
/// too: nobody can tell whether an initialiser has started it.
#[inline]
pub(crate) fn may_be_awaited() -> bool {
    is_any() && (Worker::current_or_hidden().is_none() || is_needed_here())
}

impl Worker {
    /// Calls `op`, a job for which an initialiser may wait if it `is_needed`.
    pub(crate) fn as_needed<R>(&self, is_needed: bool, op: impl FnOnce() -> R) -> R {
        self.as_there(self.mode_if(is_needed), op)
    }

    /// As [`as_needed`](Self::as_needed), for a job for this worker, which may run on top of a frame
    /// of another initialiser: pieces of neither run on top of it, since they may wait for a value
    /// that this job buries.
    pub(crate) fn as_mail<R>(&self, is_needed: bool, op: impl FnOnce() -> R) -> R {
        if is_needed && is_any() {
            self.as_there(WaitMode::needed(), op)
        } else {
            op()
        }
    }

    /// The mode in which to run a job that was queued in no slot, for which an initialiser may wait
    /// if it `is_needed`: plain if the frame below has such a mode already.
    pub(super) fn mode_if(&self, is_needed: bool) -> WaitMode {
        if is_needed && is_any() && !self.wait_mode().is_needed() {
            WaitMode::needed()
        } else {
            WaitMode::new(Waiting::Any)
        }
    }

    /// Calls `op`, a job of this mode, with the region of that mode around it. Afterwards the jobs
    /// that it has left behind are as those that were stolen from it, if the region around this one
    /// does not tell: an initialiser may have their handles.
    pub(super) fn and_leaves<R>(
        &self,
        mode: WaitMode,
        around: WaitMode,
        op: impl FnOnce() -> R,
    ) -> R {
        let result = op();
        if mode.is_needed() && !around.needs_what(mode) && is_needed_here() {
            self.leave_as_needed();
        }
        result
    }

    fn leave_as_needed(&self) {
        let (lowest, mut left) = (self.pushed_in_job_from(), Vec::new());
        while self.next_slot() > lowest {
            let Some((kind, slot)) = self.pop_detached() else {
                break;
            };
            // SAFETY: just popped.
            let job = unsafe { DetachedJob::move_from(slot, kind) };
            // SAFETY: 1. and 2. are those of the job.
            left.push(unsafe {
                if job.carries() {
                    DetachedJob::new(Needed::<true>(job))
                } else {
                    DetachedJob::new(Needed::<false>(job))
                }
            });
        }
        self.put_back(left);
    }
}

/// A job for which an initialiser may wait.
struct Needed<const CARRIES: bool>(DetachedJob);

impl<const CARRIES: bool> Task for Needed<CARRIES> {
    const CARRIES: bool = CARRIES;

    fn run(self) {
        let worker = Worker::current().expect("jobs run on workers");
        // SAFETY: the one run of the job around it.
        worker.as_needed(true, || unsafe { self.0.finish(None) });
    }

    fn may_run_here(&self) -> bool {
        self.0.may_run_here()
    }

    fn discard(self, why: Payload) {
        // SAFETY: as above.
        unsafe { self.0.finish(Some(why)) };
    }
}
