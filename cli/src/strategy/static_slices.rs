//! Every thread gets one contiguous slice of the pieces, once.
//!
//! What a task pushes stays with the thread that ran it.

use std::io;
use std::sync::Mutex;
use std::time::Instant;

use super::{on_threads, Bag, Share, Tally};
use crate::trace::Trace;

/// The strategy `static`.
pub(crate) struct StaticSlices<'a> {
    workers: usize,
    trace: Trace<'a>,
    tally: Tally,
}

impl<'a> StaticSlices<'a> {
    pub(crate) fn new(workers: usize, trace: Trace<'a>) -> Self {
        Self {
            workers,
            trace,
            tally: Tally::new(workers),
        }
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }
}

impl Bag for StaticSlices<'_> {
    fn workers(&self) -> usize {
        self.workers
    }

    fn run<T, A>(
        &mut self,
        tasks: Vec<T>,
        label: impl Fn(&T) -> String + Sync,
        step: impl Fn(T, &mut A, &mut Vec<T>) + Sync,
    ) -> io::Result<Vec<A>>
    where
        T: Send,
        A: Send + Default,
    {
        let slices: Vec<Mutex<Vec<T>>> = slices(tasks, self.workers)
            .into_iter()
            .map(Mutex::new)
            .collect();
        let trace = self.trace;
        let results = on_threads(self.workers, |worker| {
            let begin = Instant::now();
            let mut sum = A::default();
            let mut tasks = 0;
            // A stack: what a task pushed runs next, and the slice in its order.
            let mut stack = std::mem::take(&mut *slices[worker].lock().expect("no task holds it"));
            stack.reverse();
            while let Some(task) = stack.pop() {
                tasks += 1;
                trace.task(worker, &label, task, |task| {
                    step(task, &mut sum, &mut stack);
                });
            }
            // The thread never waits, so all of its time is busy.
            let busy = begin.elapsed();
            (sum, Share { busy, tasks })
        })?;
        let mut sums = Vec::with_capacity(self.workers);
        for (worker, (sum, share)) in results.into_iter().enumerate() {
            self.tally.add(worker, &share);
            sums.push(sum);
        }
        Ok(sums)
    }
}

/// Cuts `tasks` into `count` slices whose lengths differ by at most one.
fn slices<T>(tasks: Vec<T>, count: usize) -> Vec<Vec<T>> {
    let (each, longer) = (tasks.len() / count, tasks.len() % count);
    let mut tasks = tasks.into_iter();
    (0..count)
        .map(|index| {
            let length = each + usize::from(index < longer);
            tasks.by_ref().take(length).collect()
        })
        .collect()
}
