//! Yielded jobs, which let others go first: behind all other jobs of a worker except those of low
//! priority.
//!
//! A frame that runs descendants only may wait for one of them. So where a frame of the worker
//! waits in that way, or will, jobs that yield on top of a wait are marked with its depth; when
//! that wait has ended, they become jobs of the frame in its deque, since the frame may wait again.

use heist_deque::Slot;

use crate::base::brief::Brief;
use crate::base::job::{DetachedJob, Job, Kind};
use crate::worker::push::FEW_WAITING;
use crate::worker::region::carrying;
use crate::worker::Worker;

impl Worker {
    /// Queues a job, with its context, behind the worker's other ones; if only descendants run
    /// here, behind those of the wait on top of which it has run.
    pub(crate) fn push_behind(&self, job: impl Into<Brief>) {
        let (job, yielded) = (job.into(), &self.state().yielded);
        // Not that of the region in which the job itself has run.
        let level = self.local().frames.yield_level.get();
        // SAFETY: under the lock.
        self.deque().locked(|| unsafe { yielded.push(level, job) });
        // P1.
        if self.deque().hears_a_signal() {
            self.service();
        }
    }

    /// Runs the oldest of the worker's own yielded jobs, and then the next ones, `most` at most,
    /// until it `is_over`, as long as each yields and nothing comes before them. Returns how many
    /// it ran. For the main loop.
    ///
    /// A job that yields is put back, and the next one taken, under the lock once, and without it
    /// if there is no other.
    pub(crate) fn run_yielded(&self, most: u32, is_over: impl Fn() -> bool) -> u32 {
        let (pool, state, local) = (self.pool(), self.state(), self.local());
        let yielded = &state.yielded;
        let is_seen = local.frames.is_watched.get() || pool.hides_workers();
        if yielded.is_empty() || is_seen {
            return u32::from(self.run(self.take_yielded()));
        }
        // SAFETY: under the lock.
        let (job, mut emptied) = self.deque().locked(|| unsafe { yielded.take() });
        let (Some(mut job), mut ran) = (job, 0) else {
            return 0;
        };
        let base = local.frames.base.get();
        loop {
            // Not under the lock: giving memory back is a system call.
            drop(emptied);
            ran += 1;
            state.counters.injected.add(1);
            if pool.alert.is_raised() {
                let serving = local.order.serving.get();
                let job = job.into();
                self.execute(Job::Injected { job, serving });
                break;
            }
            // As in `execute`.
            state.counters.executed.add(1);
            local.frames.base.set(self.next_slot());
            // SAFETY: taken from the queue, which hands each job out once.
            unsafe { job.finish_in_turn() };
            let Some(again) = local.order.again.take() else {
                break;
            };
            let is_next = ran < most
                && pool.lanes.is_empty()
                && !state.has_a_job()
                && state.mailbox.is_empty()
                && !state.end.probe()
                && !pool.sleep.is_recalled(self.index())
                && !is_over();
            if !is_next {
                self.push_behind(again);
                break;
            }
            (job, emptied) = if yielded.is_empty() {
                (again, None)
            } else {
                // SAFETY: under the lock.
                self.deque().locked(|| unsafe { yielded.exchange(again) })
            };
            // P1, as in `push_behind`.
            if self.deque().hears_a_signal() {
                self.service();
            }
        }
        local.frames.base.set(base);
        ran
    }

    /// The oldest of the worker's own yielded jobs.
    #[inline]
    pub(crate) fn take_yielded(&self) -> Option<Job> {
        let yielded = &self.state().yielded;
        if yielded.is_empty() {
            return None;
        }
        // SAFETY: under the lock.
        let (job, emptied) = self.deque().locked(|| unsafe { yielded.take() });
        // Not under the lock: giving memory back is a system call.
        drop(emptied);
        Some(self.injected(job?.into(), self.local().order.serving.get()))
    }

    /// The oldest of those that yielded on top of the innermost wait, which runs descendants only.
    pub(crate) fn take_yielded_here(&self) -> Option<Job> {
        let (yielded, level) = (&self.state().yielded, self.local().frames.yield_level.get());
        if yielded.is_empty() {
            return None;
        }
        // SAFETY: under the lock.
        let (job, emptied) = self.deque().locked(|| unsafe { yielded.take_at(level) });
        drop(emptied);
        Some(self.injected(job?.into(), self.local().order.serving.get()))
    }

    /// Gives the jobs that yielded on top of a wait to its frame, because the wait has ended.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_over_yielded(&self) {
        let (yielded, level) = (&self.state().yielded, self.local().frames.yield_level.get());
        if level == 0 {
            return;
        }
        // SAFETY: under the lock.
        let take = || self.deque().locked(|| unsafe { yielded.take_at(level) }).0;
        let left: Vec<_> = std::iter::from_fn(take).collect();
        // The oldest is the next.
        left.into_iter()
            .rev()
            .for_each(|job| self.push_detached(job.into()));
    }

    /// Notes that the next job, for which there is room now, is one that was woken.
    #[inline(always)]
    pub(crate) fn note_woken(&self) {
        let from = &self.local().pushes.woken_from;
        from.set(from.get().min(self.next_slot()));
    }

    /// Lets the jobs yield that were woken, and lie below newer ones in the deque: these might
    /// spawn others without an end (FU-2). Not those below this slot.
    #[inline]
    pub(crate) fn unbury(&self, lowest: usize) {
        let (from, next) = (self.local().pushes.woken_from.get(), self.next_slot());
        // The newest is the next anyway.
        if next > from.saturating_add(size_of::<Slot<Kind>>()) {
            self.unbury_from(lowest.max(from));
        }
    }

    #[cold]
    #[inline(never)]
    fn unbury_from(&self, lowest: usize) {
        let noted = &self.local().pushes.woken_from;
        let slots = self.next_slot().saturating_sub(lowest) / size_of::<Slot<Kind>>();
        if lowest > noted.get() && slots > FEW_WAITING {
            // Those below stay, and this would be done again and again.
            return;
        }
        let (mut buried, mut others) = (Vec::new(), Vec::new());
        while self.next_slot() > lowest {
            let Some((kind, slot)) = self.pop_detached() else {
                break;
            };
            // SAFETY: just popped.
            let job = unsafe { DetachedJob::move_from(slot, kind) };
            match kind.is_woken() {
                true => buried.push(job),
                false => others.push(job),
            }
        }
        self.put_back(others);
        // The oldest comes first.
        buried
            .into_iter()
            .rev()
            .for_each(|job| self.push_behind(job));
        if lowest <= noted.get() {
            noted.set(usize::MAX);
        }
    }

    /// Lets the jobs in this slot and above yield, all of which the present run has pushed.
    pub(crate) fn put_behind(&self, lowest: usize) {
        let (mut pushed, is_needed) = (Vec::new(), self.wait_mode().is_needed());
        while self.next_slot() > lowest {
            let Some((kind, slot)) = self.pop_detached() else {
                break;
            };
            // SAFETY: just popped.
            let job = unsafe { DetachedJob::move_from(slot, kind) };
            pushed.push(carrying(self.context().cloned(), is_needed, job));
        }
        pushed
            .into_iter()
            .rev()
            .for_each(|job| self.push_behind(job));
    }

    /// The oldest yielded job of another worker. Some more are moved to this worker. A job that is
    /// alone is left to its worker, which may be about to take it, until the second look: each
    /// round notes one such job, beginning with the next worker, so that each gets noted.
    pub(crate) fn steal_yielded(&self) -> Option<Job> {
        let (pool, noted) = (self.pool(), self.local().order.alone.get());
        let (next, before) = (noted.0 + 1..pool.victims().len(), 0..=noted.0);
        let mut jobs = next
            .chain(before)
            .filter(|&victim| victim != self.index())
            .map(|victim| (victim, pool.worker(victim)))
            .find_map(|(index, victim)| {
                let alone = (index, victim.yielded.taken());
                match victim.yielded.len() {
                    0 => return None,
                    1 if alone != noted => {
                        if self.local().order.alone.get() == noted {
                            self.local().order.alone.set(alone);
                        }
                        return None;
                    }
                    _ => (),
                }
                let thief = victim.deque().thief();
                // SAFETY: under the lock.
                let taken = thief.try_locked(|| unsafe { victim.yielded.take_half() })?;
                (!taken.is_empty()).then(|| taken.into_iter())
            })?;
        let job = jobs.next()?;
        if jobs.len() > 0 {
            let yielded = &self.state().yielded;
            // SAFETY: under the lock.
            self.deque()
                .locked(|| jobs.for_each(|job| unsafe { yielded.push(0, job) }));
            // For a moment they were in no queue.
            let woke = pool.sleep.published(pool);
            self.state().counters.wakes.add(woke as u64);
        }
        Some(self.injected(job.into(), self.local().order.serving.get()))
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use heist_deque::Steal;

    use super::*;
    use crate::base::task::Woken;
    use crate::ThreadPoolBuilder;

    #[test]
    fn a_woken_job_that_came_down_when_older_ones_were_gone_is_found() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build();
        pool.expect("a pool").install(|| {
            let worker = Worker::current().expect("on a worker");
            let push_plain = || {
                // SAFETY: it borrows nothing, and does not panic.
                worker.push_detached(unsafe { DetachedJob::new(|| ()) });
            };
            push_plain();
            // SAFETY: as above.
            unsafe { worker.push_task(Woken(|| ())) };
            push_plain();
            let Steal::Success(oldest) = worker.state().steal(|| true) else {
                panic!("there is a job")
            };
            worker.execute(oldest);
            let pop = || {
                let (kind, slot) = worker.pop_detached()?;
                // SAFETY: just popped.
                Some(unsafe { DetachedJob::move_from(slot, kind) })
            };
            worker.put_back(std::iter::from_fn(pop).collect());
            worker.unbury(0);
            assert_eq!(worker.state().yielded.len(), 1);
        });
    }
}
