//! Taking jobs from the worker's own deque and mailbox, and from the injector.

use heist_event::EventKind;

use crate::base::job::{Job, JobSlot};
use crate::policy::Turns;
use crate::worker::Worker;

impl Worker {
    /// A job that is the worker's already: from its own deque or its mailbox.
    pub(crate) fn take_own(&self) -> Option<Job> {
        let queued = if self.pool().breadth_first {
            self.take_oldest()
        } else {
            self.pop()
        };
        if queued.is_some() {
            return queued;
        }
        self.take_mail()
    }

    pub(crate) fn take_mail(&self) -> Option<Job> {
        let mail = self.state().mailbox.take()?;
        self.state().counters.mailed.add(1);
        Some(Job::Reference(mail))
    }

    /// Pops the newest job, unless it belongs to a join.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Job> {
        let (kind, slot) = self.pop_detached()?;
        self.state().counters.pops.add(1);
        Some(Job::Popped { slot, kind })
    }

    /// The oldest job of the own deque, taken as thieves take it.
    pub(crate) fn take_oldest(&self) -> Option<Job> {
        if !self.state().has_a_job() {
            return None;
        }
        let claim = |kind, slot: JobSlot| {
            // SAFETY: the deque's lock is held.
            let mode = unsafe { self.state().wait_modes.at(slot.as_ptr() as usize) };
            // SAFETY: just taken, and the deque's lock keeps others away.
            unsafe { Job::claim(kind, slot, self.index(), mode) }
        };
        // SAFETY: `claim` moves a detached job out, and the slot of a lent one stays in use until
        // its latch is set.
        let job = unsafe { self.deque().take_oldest(claim) }?;
        self.state().counters.pops.add(1);
        Some(job)
    }

    /// True if the own deque holds a job.
    #[inline]
    pub(crate) fn has_pending(&self) -> bool {
        self.state().has_a_job()
    }

    pub(crate) fn take_injected(&self) -> Option<Job> {
        let job = self.pool().injector.take()?;
        self.local().turns.set(Turns::new());
        self.state().counters.injected.add(1);
        self.record(EventKind::Injected);
        Some(Job::Injected(job))
    }

    /// A job from outside, if it is its turn: it may be so at once, if others have taken those that
    /// this worker has passed over. Not on a frame that is far up the stack: the job has nothing to
    /// do with what lies there, and may need room.
    #[inline]
    pub(crate) fn take_due(&self) -> Option<Job> {
        if self.pool().injector.is_empty() {
            None
        } else {
            self.take_turn()
        }
    }

    /// As [`take_due`](Self::take_due), if a job from outside waits.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_turn(&self) -> Option<Job> {
        let mut turns = self.local().turns.get();
        let is_due = turns.is_due(self.pool().now_ns());
        self.local().turns.set(turns);
        if (is_due || self.pool().prompt) && !self.is_deep() {
            self.take_injected()
        } else {
            None
        }
    }

    /// A job from outside for which nobody is free, in a prompt pool, and if there is room for it
    /// on the stack.
    pub(crate) fn take_urgent(&self) -> Option<Job> {
        if self.pool().waits_for_a_worker() && !self.is_deep() {
            self.take_injected()
        } else {
            None
        }
    }
}
