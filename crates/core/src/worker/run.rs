//! Running a job that the worker has taken.

use heist_event::EventKind;

use crate::base::job::{
    discard_in_slot, lent_latch, run_in_slot, DetachedJob, Inherited, Job, JobSlot, Kind, Name,
};
use crate::base::latch::CoreLatch;
use crate::base::waiting::{WaitMode, Waiting};
use crate::insight;
use crate::policy::Priority;
use crate::schedule::Point;
use crate::state::Doing;
use crate::worker::Worker;

impl Worker {
    /// Runs a job that was taken from where it waited.
    pub(crate) fn execute(&self, job: Job) {
        // Counted before it runs: a thread that learns that it is done finds it counted.
        self.state().counters.executed.add(1);
        if self.pool().alert.is_raised() || self.local().frames.is_watched.get() {
            return self.execute_watched(job);
        }
        let base = self.local().frames.base.replace(self.next_slot());
        self.run_job(job);
        self.local().frames.base.set(base);
    }

    /// As `execute`, for a job that is recorded, metered or watched, and may be cancelled, or be
    /// of another region than the frame below.
    #[cold]
    #[inline(never)]
    fn execute_watched(&self, job: Job) {
        self.pool().abort_if_forked();
        let _frame = self.enters(|| Doing::of(&job));
        let name = job.name();
        self.point(Point::Work);
        if self.is_only_seen() {
            self.watched_job(name, || self.run_job(job));
            return self.point(Point::Work);
        }
        let job = match job {
            Job::Popped { slot, kind } => {
                // SAFETY: this is the worker, and has noted nothing since the job was popped.
                let context = || unsafe { self.state().regions.context_at(slot.as_ptr() as usize) };
                Job::Detached {
                    mode: WaitMode::new(Waiting::Any),
                    context: Inherited::new(kind.context(context)),
                    // SAFETY: just popped.
                    job: unsafe { DetachedJob::move_from(slot, kind) },
                }
            }
            job => job,
        };
        self.watched_job(name, || match job {
            job @ (Job::Reference(_) | Job::Injected { .. }) => {
                self.run_in(WaitMode::new(Waiting::Any), None, |_| self.run_job(job));
            }
            job => self.run_job(job),
        });
        self.point(Point::Work);
    }

    fn watched_job(&self, name: Option<Name>, run: impl FnOnce()) {
        self.record_named(EventKind::JobBegin, name);
        insight::call::as_a_job(|| {
            if self.is_only_seen() {
                let base = self.local().frames.base.replace(self.next_slot());
                run();
                self.local().frames.base.set(base);
            } else {
                self.watched(true, run);
            }
        });
        self.record(EventKind::JobEnd);
    }

    /// Calls `run`, which runs a job that this worker waits for and has claimed. The job is counted
    /// when it is taken from its queue.
    pub(crate) fn run_claimed(&self, run: impl FnOnce()) {
        self.pool().abort_if_forked();
        if self.local().frames.is_watched.get() {
            let _frame = self.enters(|| Doing::Runs {
                name: None,
                slot: None,
            });
            self.point(Point::Work);
            self.watched_job(None, run);
            self.point(Point::Work);
        } else {
            let base = self.local().frames.base.replace(self.next_slot());
            run();
            self.local().frames.base.set(base);
        }
        if !self.drop_void() {
            self.local().pushes.holds_void.set(true);
        }
    }

    #[inline(always)]
    fn run_job(&self, job: Job) {
        match job {
            // SAFETY: taken from a mailbox, where each reference was put once and is handed out
            // once.
            Job::Reference(job) => unsafe { job.execute() },
            // SAFETY: taken from a deque, which hands each job out once. Nothing was pushed since
            // it was popped.
            Job::Popped { slot, kind } => unsafe { run_in_slot(slot, kind) },
            // Moved, not borrowed: otherwise the compiler copies every `Job` as a whole before the
            // match, and a popped one pays for the copy.
            // SAFETY: taken from a lane or a queue, which hands each job out once.
            Job::Injected { job, serving } => unsafe { self.serve(job, serving) },
            Job::Detached { job, mode, context } => self.run_detached(job, mode, context),
            Job::Lent {
                slot,
                kind,
                owner,
                mode,
                context,
            } => {
                self.run_lent(slot, kind, mode, context);
                // SAFETY: the slot is in use until its latch is set. The owner may then use it
                // again, and the pool keeps the memory.
                if unsafe { CoreLatch::set(lent_latch(slot).as_ptr()) } {
                    self.pool().unpark(owner);
                }
            }
        }
    }

    /// Runs a job from outside, in the middle of which only more urgent ones may run.
    ///
    /// # Safety
    ///
    /// 1. As for [`DetachedJob::execute`].
    #[inline(never)]
    unsafe fn serve(&self, job: DetachedJob, serving: Priority) {
        let order = &self.local().order;
        let before = order.serving.replace(serving);
        // The worker's own jobs wait below, whatever this one has on top.
        let first = order.lanes_first.take();
        // SAFETY: by 1.
        unsafe { job.finish(None) };
        order.lanes_first.set(first);
        order.serving.set(before);
    }

    // Separate functions, or a popped job would pay for the frame that these need.
    #[inline(never)]
    fn run_detached(&self, job: DetachedJob, mode: WaitMode, context: Inherited) {
        self.run_in(mode, Inherited::into_inner(context), |why| {
            // SAFETY: taken from a deque, which hands each job out once.
            unsafe { job.finish(why) }
        });
    }

    #[inline(never)]
    fn run_lent(&self, slot: JobSlot, kind: &'static Kind, mode: WaitMode, context: Inherited) {
        self.run_in(mode, Inherited::into_inner(context), |why| match why {
            // SAFETY: taken from a deque, which hands each job out once.
            None => unsafe { run_in_slot(slot, kind) },
            // SAFETY: as above.
            Some(why) => unsafe { discard_in_slot(slot, kind, why) },
        });
    }

    /// Runs the job, if there is one.
    #[inline(always)]
    pub(crate) fn run(&self, job: Option<Job>) -> bool {
        match job {
            Some(job) => {
                self.execute(job);
                true
            }
            None => false,
        }
    }
}
