//! Every thread gets one contiguous slice of the pieces, once.
//!
//! Pushed tasks stay with the thread that ran the pusher.

use std::io;
use std::sync::Mutex;
use std::time::Instant;

use super::{Bag, Share, Threads};
use crate::trace::Trace;

/// Threads with a slice each, dealt once.
pub(crate) struct StaticSlices<'a>(Threads<'a>);

impl<'a> StaticSlices<'a> {
    pub(crate) fn new(workers: usize, trace: Trace<'a>) -> Self {
        Self(Threads::new(workers, trace))
    }
}

impl Bag for StaticSlices<'_> {
    fn threads(&self) -> &Threads<'_> {
        &self.0
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
        let slices: Vec<Mutex<Vec<T>>> = slices(tasks, self.0.workers)
            .into_iter()
            .map(Mutex::new)
            .collect();
        self.0.run(|worker, trace| {
            let begin = Instant::now();
            let mut sum = A::default();
            let mut tasks = 0;
            // A stack: pushed tasks run next, and the slice in its order.
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
        })
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
