//! The four ways to spread work over cores that the program compares.
//!
//! `serial` is the yardstick. `static` and `central` need no runtime: slices dealt once, and a
//! queue behind a lock; both run a [`Bag`] of tasks on plain threads. `stealing` is heist.

use std::io;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use clap::ValueEnum;

use crate::trace::Trace;

mod central;
mod serial;
mod static_slices;
mod stealing;

pub(crate) use central::Central;
pub(crate) use serial::Serial;
pub(crate) use static_slices::StaticSlices;
pub(crate) use stealing::{Pieces, Stealing};

/// Address space for the stack of every thread that runs a workload.
///
/// The unbalanced tree is thousands of levels deep. Untouched pages cost nothing.
pub(crate) const STACK_BYTES: usize = 64 << 20;

/// A strategy, by the word that selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// One thread
    Serial,
    /// One contiguous slice of the pieces for each thread, dealt once
    Static,
    /// One locked queue that all threads share
    Central,
    /// A heist pool: every thread has its own deque, idle ones steal
    Stealing,
}

impl Strategy {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Static => "static",
            Self::Central => "central",
            Self::Stealing => "stealing",
        }
    }
}

/// Runs tasks that may push further tasks, on threads without a runtime.
pub(crate) trait Bag {
    /// The threads that it uses.
    fn threads(&self) -> &Threads<'_>;

    /// How many they are.
    fn workers(&self) -> usize {
        self.threads().workers
    }

    /// The work of each thread, summed over all calls of [`run`](Self::run).
    fn tally(&self) -> &Tally {
        &self.threads().tally
    }

    /// Runs `step` on all `tasks` and on all that `step` pushes.
    ///
    /// Every thread has its own accumulator; all are returned. `label` names a task in the report.
    ///
    /// # Errors
    ///
    /// Fails if a thread cannot be started.
    fn run<T, A>(
        &mut self,
        tasks: Vec<T>,
        label: impl Fn(&T) -> String + Sync,
        step: impl Fn(T, &mut A, &mut Vec<T>) + Sync,
    ) -> io::Result<Vec<A>>
    where
        T: Send,
        A: Send + Default;
}

/// The work of each thread of a bag.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) busy: Vec<Duration>,
    pub(crate) tasks: u64,
}

/// The work of one thread in one call of [`Bag::run`].
#[derive(Default)]
struct Share {
    busy: Duration,
    tasks: u64,
}

/// The threads of a bag.
pub(crate) struct Threads<'a> {
    workers: usize,
    trace: Trace<'a>,
    tally: Tally,
}

impl<'a> Threads<'a> {
    fn new(workers: usize, trace: Trace<'a>) -> Self {
        let busy = vec![Duration::ZERO; workers];
        Self {
            workers,
            trace,
            tally: Tally { busy, tasks: 0 },
        }
    }

    /// Starts the threads on `body`, and returns their results without the shares, which go to
    /// the tally.
    fn run<A: Send>(
        &mut self,
        body: impl Fn(usize, Trace<'a>) -> (A, Share) + Sync,
    ) -> io::Result<Vec<A>> {
        let (body, trace) = (&body, self.trace);
        let results: Vec<(A, Share)> = thread::scope(|scope| {
            let start = |worker| {
                thread::Builder::new()
                    .stack_size(STACK_BYTES)
                    .spawn_scoped(scope, move || body(worker, trace))
            };
            let handles = (0..self.workers)
                .map(start)
                .collect::<io::Result<Vec<_>>>()?;
            let join = |handle: thread::ScopedJoinHandle<'_, _>| {
                handle.join().unwrap_or_else(|panic| resume_unwind(panic))
            };
            io::Result::Ok(handles.into_iter().map(join).collect())
        })?;
        let shares = self.tally.busy.iter_mut().zip(results);
        let sums = shares.map(|(busy, (sum, share))| {
            *busy += share.busy;
            self.tally.tasks += share.tasks;
            sum
        });
        Ok(sums.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each task counts itself and pushes two of the next smaller number.
    fn tasks_run(bag: &mut impl Bag) -> u64 {
        let sums = bag.run(
            vec![3_u32; 10],
            u32::to_string,
            |task, sum: &mut u64, push| {
                *sum += 1;
                if task > 0 {
                    push.extend([task - 1; 2]);
                }
            },
        );
        sums.expect("threads start").into_iter().sum()
    }

    #[test]
    fn both_bags_run_every_task_and_every_pushed_task_once() {
        for workers in [1, 2, 7, 30] {
            let mut slices = StaticSlices::new(workers, Trace::OFF);
            let mut central = Central::new(workers, Trace::OFF);
            assert_eq!(tasks_run(&mut slices), 10 * 15);
            assert_eq!(tasks_run(&mut central), 10 * 15);
            assert_eq!(slices.tally().tasks, 150);
            assert_eq!(central.tally().tasks, 150);
        }
    }

    #[test]
    fn both_bags_end_at_once_without_tasks() {
        let step = |(), (): &mut (), _: &mut Vec<()>| {};
        let label = |(): &()| String::new();
        let slices = StaticSlices::new(3, Trace::OFF).run(Vec::new(), label, step);
        let central = Central::new(3, Trace::OFF).run(Vec::new(), label, step);
        assert_eq!(slices.expect("threads start").len(), 3);
        assert_eq!(central.expect("threads start").len(), 3);
    }

    #[test]
    fn the_static_slices_are_contiguous_and_cover_all_pieces() {
        let mut bag = StaticSlices::new(3, Trace::OFF);
        let parts = bag.run(
            (0..8).collect(),
            i32::to_string,
            |task, seen: &mut Vec<i32>, _| {
                seen.push(task);
            },
        );
        assert_eq!(
            parts.expect("threads start"),
            [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7]]
        );
    }

    #[test]
    fn a_panic_in_a_task_of_the_central_queue_reaches_the_caller() {
        let outcome = std::panic::catch_unwind(|| {
            Central::new(4, Trace::OFF).run(
                (0..100).collect(),
                i32::to_string,
                |task, (): &mut (), _| assert_ne!(task, 50, "the fiftieth fails"),
            )
        });
        assert!(outcome.is_err());
    }
}
