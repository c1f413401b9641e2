//! Overflow: jobs for which the deque has no room, where a frame waits for descendants only.
//!
//! Elsewhere such jobs go to the injector. A frame that waits for descendants only takes nothing
//! from there, and might wait for them until another worker comes, or for ever if there is none. So
//! its jobs lie together in the slots that are kept for joins, some hundred in each. A worker that
//! takes one of these runs the newest of its jobs, and leaves the others in its own deque.

use crate::base::job::{DetachedJob, Job, Kind};
use crate::base::task::Task;
use crate::base::unwind::Payload;
use crate::state::limits::RESERVED_SLOTS;
use crate::worker::Worker;

/// The most jobs that lie together: in surroundings each is asked whether it may run there whenever
/// one of them is taken.
const MOST: usize = 256;

/// Jobs of one frame, or of what it has called, which bring their contexts along. Not empty.
pub(crate) struct Gathered(Vec<DetachedJob>);

impl Task for Gathered {
    const CARRIES: bool = true;
    const GATHERS: bool = true;

    fn run(self) {
        let worker = Worker::current().expect("jobs run on workers");
        let Self(mut jobs) = self;
        let newest = jobs.pop();
        if !jobs.is_empty() {
            worker.gather(jobs);
        }
        if let Some(job) = newest {
            worker.execute_gathered(job);
        }
    }

    fn may_run_here(&self) -> bool {
        self.0.iter().all(DetachedJob::may_run_here)
    }

    /// Each of the jobs knows whether it is to run.
    fn discard(self, _: Payload) {
        self.run();
    }
}

impl Worker {
    /// Puts jobs of the present frame, which bring their contexts along, beside those that are
    /// gathered already, or else into a slot that is kept for joins.
    pub(crate) fn gather(&self, mut jobs: Vec<DetachedJob>) {
        // SAFETY: a thief moves such a job out of its slot when it claims it.
        if let Some((kind, slot)) = unsafe { self.deque().pop_if(Kind::gathers) } {
            // SAFETY: just popped.
            let top = unsafe { DetachedJob::move_from(slot, kind) };
            // SAFETY: its kind says so.
            let Gathered(mut older) = unsafe { top.into_task() };
            // Another frame may wait for jobs of its own.
            if slot.as_ptr() as usize >= self.pushed_from() && older.len() + jobs.len() <= MOST {
                older.append(&mut jobs);
                jobs = older;
            } else {
                self.put_gathered(older);
            }
        }
        if self.deque().make_room(0) {
            self.put_gathered(jobs);
            self.deque().make_room(RESERVED_SLOTS);
        } else {
            // The system has no memory for a slot.
            jobs.into_iter().for_each(|job| self.execute_gathered(job));
        }
    }

    fn put_gathered(&self, jobs: Vec<DetachedJob>) {
        // SAFETY: 1. and 2. are those of the jobs.
        self.put(unsafe { DetachedJob::new(Gathered(jobs)) });
    }

    fn execute_gathered(&self, job: DetachedJob) {
        let serving = self.local().order.serving.get();
        self.execute(Job::Injected { job, serving });
    }
}
