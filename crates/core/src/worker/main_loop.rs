//! The loop that a worker runs, with nothing below it on the stack.

use crate::base::latch::CoreLatch;
use crate::worker::Worker;

/// While jobs from outside wait, a worker with more victims than that tries them before one out of
/// so many.
const STEAL_INTERVAL: u32 = 8;

impl Worker {
    /// The top of a worker's stack: runs jobs until the pool ends, or the worker `is_recalled`.
    pub(crate) fn main_loop(&self, end: &CoreLatch, is_recalled: impl Fn() -> bool) {
        let vacates = !self.pool().is_compensating(self.index());
        while !end.probe() && !is_recalled() {
            let has_run =
                self.run(self.take_due()) || self.run(self.take_own()) || self.run_waiting();
            if !has_run {
                self.search_until(end, vacates);
            }
        }
    }

    /// If a job waits in a lane, or in the own queue, it takes no search to find one. A victim
    /// comes before the lanes; but if there are many, not each time, because a look at all of them
    /// takes longer than a small job.
    fn run_waiting(&self) -> bool {
        if self.pool().lanes.is_empty() {
            return false;
        }
        if self.run(self.take_hinted()) {
            return true;
        }
        let looks = self.local().looks.get();
        self.local().looks.set(looks.wrapping_add(1));
        if looks % STEAL_INTERVAL == 0 || self.pool().workers().len() <= STEAL_INTERVAL as usize {
            if let Some(job) = self.steal() {
                self.execute_stolen(job, self.pool().now_ns());
                return true;
            }
        }
        self.run(self.take_injected())
    }

    /// The main loop of a compensation worker, which comes out unparked and so counts as searching.
    pub(crate) fn stand_in(&self) {
        let (compensation, end) = (&self.pool().compensation, &self.state().end);
        let index = self.index();
        self.end_search();
        while !end.probe() {
            self.main_loop(end, || compensation.recall(index));
            while !end.probe() && compensation.is_parked(index) {
                self.withdraw_until(end, || !compensation.is_parked(index), || ());
            }
        }
    }
}
