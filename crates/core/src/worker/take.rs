//! Taking jobs from the worker's own deque, mailbox and queue, from the lanes, and from the queues
//! of late workers.

use heist_event::EventKind;
use heist_sync::atomic::Ordering;

use crate::base::job::{DetachedJob, Job};
use crate::base::mail::Mail;
use crate::policy::{Priority, Turns};
use crate::worker::Worker;

impl Worker {
    /// A job of the worker's own, from its deque or its mailbox.
    #[inline(always)]
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

    /// A job from the mailbox. On top of frames for which an initialiser may wait runs none that is
    /// not a part of it, since that may want the value: it is set aside until they have ended.
    pub(crate) fn take_mail(&self) -> Option<Job> {
        let order = &self.local().order;
        let mail = if self.wait_mode().is_needed() {
            self.take_needed_mail()
        } else {
            let mut aside = order.mail_aside.take();
            let first = aside.pop_front();
            order.mail_aside.set(aside);
            first.or_else(|| self.state().mailbox.take())
        }?;
        order.mail_passed_ns.set(None);
        self.state().counters.mailed.add(1);
        Some(Job::Reference(mail.job))
    }

    #[cold]
    fn take_needed_mail(&self) -> Option<Mail> {
        let order = &self.local().order;
        while let Some(mail) = self.state().mailbox.take() {
            if mail.is_needed {
                return Some(mail);
            }
            let mut aside = order.mail_aside.take();
            aside.push_back(mail);
            order.mail_aside.set(aside);
        }
        None
    }

    /// Puts the mail back that was set aside: the thread leaves or sleeps.
    pub(super) fn return_mail(&self) {
        let aside = self.local().order.mail_aside.take();
        aside
            .into_iter()
            .for_each(|mail| self.state().mailbox.push(mail));
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
        // SAFETY: just taken, under the deque's lock.
        let claim = |kind, slot| unsafe { self.state().claim(kind, slot) };
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

    /// A job from the lanes, the most urgent first; a yielded job of its own comes before those of
    /// low priority.
    pub(crate) fn take_injected(&self) -> Option<Job> {
        self.take_from(Priority::High)
            .or_else(|| self.take_from(Priority::Normal))
            .or_else(|| self.take_yielded())
            .or_else(|| self.take_from(Priority::Low))
    }

    /// A job from this lane.
    pub(crate) fn take_from(&self, lane: Priority) -> Option<Job> {
        let serving = match lane {
            Priority::High => lane,
            Priority::Normal | Priority::Low => self.local().order.serving.get(),
        };
        self.take_to_serve(lane, serving)
    }

    fn take_to_serve(&self, lane: Priority, serving: Priority) -> Option<Job> {
        let job = self.pool().lanes.take_from(lane)?;
        if lane == Priority::Normal {
            self.local().order.turns.set(Turns::new());
        }
        Some(self.injected(job, serving))
    }

    pub(crate) fn injected(&self, job: DetachedJob, serving: Priority) -> Job {
        self.state().counters.injected.add(1);
        self.record(EventKind::Injected);
        Job::Injected { job, serving }
    }

    /// A job with a hint to this worker.
    pub(crate) fn take_hinted(&self) -> Option<Job> {
        let job = self.state().hinted.take(&self.pool().lanes)?;
        self.local().order.queue_passed_ns.set(None);
        Some(self.injected(job, self.local().order.serving.get()))
    }

    /// A hinted job of another worker, which is late. Some more are moved to this worker.
    pub(crate) fn take_late(&self) -> Option<Job> {
        let pool = self.pool();
        if !pool.lanes.are_hinted() {
            return None;
        }
        let now_ns = pool.now_ns();
        let mut workers = pool.workers();
        let (job, more) = workers.find_map(|worker| {
            let is_late = worker.hinted.is_late(now_ns);
            is_late.then(|| worker.hinted.take_half(&pool.lanes))?
        })?;
        if !more.is_empty() {
            self.state().hinted.put(more, &pool.lanes);
            // For a moment they were in no queue.
            let woke = pool.sleep.published(pool);
            self.state().counters.wakes.add(woke as u64);
        }
        Some(self.injected(job, self.local().order.serving.get()))
    }

    /// A job from a lane or from the worker's own queue, if it is its turn. It may be a turn at
    /// once, if others have taken the jobs that this worker has passed over. None on a frame that
    /// is far up the stack: the job is unrelated to the frame, and may need room.
    #[inline]
    pub(crate) fn take_due(&self) -> Option<Job> {
        if self.pool().lanes.is_empty() {
            None
        } else {
            self.take_turn()
        }
    }

    /// A job from the mailbox that the worker's own jobs might keep waiting for ever: any one if
    /// there is a local future (FU-2), and otherwise one of those that wait too long (HN-2).
    pub(crate) fn take_late_mail(&self) -> Option<Job> {
        if self.mailed_futures() > 0 {
            return self.take_mail();
        }
        let passed_ns = &self.local().order.mail_passed_ns;
        if self.state().mailbox.is_empty() {
            passed_ns.set(None);
            return None;
        }
        let now_ns = self.pool().now_ns();
        let since_ns = passed_ns.get().unwrap_or(now_ns);
        if !Priority::is_late(since_ns, now_ns) {
            passed_ns.set(Some(since_ns));
            return None;
        }
        let mail = self.take_mail();
        // All of it waits as long.
        passed_ns.set(Some(since_ns));
        mail
    }

    /// How many local futures wait in the mailbox.
    pub(crate) fn mailed_futures(&self) -> usize {
        self.state().mailed_futures.load(Ordering::Relaxed)
    }

    /// As [`take_due`](Self::take_due), if a job waits in a lane or in some worker's queue.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_turn(&self) -> Option<Job> {
        let (pool, is_deep) = (self.pool(), self.is_deep());
        let has_own = self.has_pending() || !self.state().mailbox.is_empty();
        if pool.lanes.hold_normal_only() && !has_own && !is_deep {
            // Only a look at the victims comes before such a job, and needs no clock.
            return None;
        }
        let (now_ns, tail) = (pool.now_ns(), self.next_slot());
        let first = &self.local().order.lanes_first;
        // If there are fewer in the deque by now, one of them has run.
        let goes_on = first.get().filter(|&(_, then)| has_own && tail >= then);
        let (since_ns, then) = goes_on.unwrap_or((now_ns, tail));
        if Priority::is_late(since_ns, now_ns) {
            // Those before the worker's own are passed over for as long.
            first.set(None);
            return None;
        }
        let job = self.take_before_own(is_deep, now_ns);
        first.set((has_own && job.is_some()).then_some((since_ns, then)));
        job
    }

    /// A job from a lane or a queue of hinted ones that comes before the worker's own, if one does.
    fn take_before_own(&self, is_deep: bool, now_ns: u64) -> Option<Job> {
        let (pool, local) = (self.pool(), self.local());
        if !is_deep && pool.lanes.are_hinted() && self.has_passed_over_hinted(now_ns) {
            return self.take_hinted().or_else(|| self.take_late());
        }
        let is_queued = self.state().hinted.since_ns().is_some();
        if let Some(lane) = pool.lanes.first(now_ns).filter(|_| !is_deep) {
            return self.take_from(lane);
        }
        let is_normal = pool.lanes.holds(Priority::Normal);
        if !is_queued && !is_normal {
            return None;
        }
        let mut turns = local.order.turns.get();
        let is_due = turns.is_due(now_ns);
        local.order.turns.set(turns);
        if is_deep {
            None
        } else if is_normal && (is_due || pool.prompt) {
            self.take_from(Priority::Normal)
        } else if is_due {
            local.order.turns.set(Turns::new());
            self.take_hinted()
        } else {
            None
        }
    }

    /// True if hinted jobs, this worker's or others', have waited as long as a lane may, as far as
    /// this worker looked. If not, counts that they were passed over once more.
    fn has_passed_over_hinted(&self, now_ns: u64) -> bool {
        let passed_ns = &self.local().order.queue_passed_ns;
        let since_ns = passed_ns.get().unwrap_or(now_ns);
        let is_late = Priority::is_late(since_ns, now_ns);
        passed_ns.set((!is_late).then_some(since_ns));
        is_late
    }

    /// A job from a lane that no worker is free to take, in a prompt pool, if it is more urgent
    /// than the one that runs on top of another here, and if there is room on the stack.
    pub(crate) fn take_urgent(&self) -> Option<Job> {
        if !self.pool().waits_for_a_worker() || self.is_deep() {
            return None;
        }
        let serving = self.local().order.serving.get();
        let lanes = [Priority::High, Priority::Normal].into_iter();
        let mut more_urgent = lanes.filter(|lane| lane.is_above(serving));
        more_urgent.find_map(|lane| self.take_to_serve(lane, lane))
    }
}
