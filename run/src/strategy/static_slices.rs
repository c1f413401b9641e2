//! Every thread gets one contiguous slice of the pieces, once.
//!
//! Pushed tasks stay with the thread that ran the pusher.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A slice for each thread.
pub(super) struct Slices<T>(Vec<Mutex<Vec<T>>>);

impl<T> Slices<T> {
    /// Cuts `tasks` into `count` slices whose lengths differ by at most one.
    pub(super) fn new(tasks: Vec<T>, count: usize) -> Self {
        let (each, longer) = (tasks.len() / count, tasks.len() % count);
        let mut tasks = tasks.into_iter();
        let slice = |index| {
            let length = each + usize::from(index < longer);
            Mutex::new(tasks.by_ref().take(length).collect())
        };
        Self((0..count).map(slice).collect())
    }

    /// Runs the slice of this thread: the sum, the time that it took, how many tasks they were.
    pub(super) fn run<A: Default>(
        &self,
        worker: usize,
        step: impl Fn(usize, T, &mut A, &mut Vec<T>),
    ) -> (A, Duration, u64) {
        let begin = Instant::now();
        let (mut sum, mut tasks) = (A::default(), 0);
        // A stack: pushed tasks run next, and the slice in its order.
        let mut stack = std::mem::take(&mut *self.0[worker].lock().expect("no task holds it"));
        stack.reverse();
        while let Some(task) = stack.pop() {
            tasks += 1;
            step(worker, task, &mut sum, &mut stack);
        }
        // The thread never waits, so all of its time is busy.
        (sum, begin.elapsed(), tasks)
    }
}
