//! The four ways to spread work over cores that the program compares.
//!
//! `serial` is the yardstick. `static` and `central` are what one writes without
//! a runtime: slices dealt once, and a queue behind a lock; both run a
//! [`Bag`] of tasks on plain threads. `stealing` is heist.

use std::io;
use std::time::Duration;

use clap::ValueEnum;

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

/// The name of a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// One thread
    Serial,
    /// One contiguous slice of the pieces for each thread, dealt once
    Static,
    /// One locked queue that all threads share
    Central,
    /// A heist pool: every thread has its own deque, idle ones steal
    Stealing,
}

impl Name {
    /// The word that selects the strategy.
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
    /// How many threads it uses.
    fn workers(&self) -> usize;

    /// Runs `step` on all `tasks` and on all that `step` pushes.
    ///
    /// Every thread has its own accumulator; all are returned. `label` names a
    /// task in the report.
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

/// What each thread of a bag did, summed over the calls of [`Bag::run`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) busy: Vec<Duration>,
    pub(crate) tasks: u64,
}

impl Tally {
    fn new(workers: usize) -> Self {
        Self {
            busy: vec![Duration::ZERO; workers],
            tasks: 0,
        }
    }

    fn add(&mut self, worker: usize, share: &Share) {
        self.busy[worker] += share.busy;
        self.tasks += share.tasks;
    }
}

/// What one thread did in one call of [`Bag::run`].
#[derive(Default)]
struct Share {
    busy: Duration,
    tasks: u64,
}

/// Starts `workers` threads on `body`, and returns what each made of it.
fn on_threads<R: Send>(workers: usize, body: impl Fn(usize) -> R + Sync) -> io::Result<Vec<R>> {
    let body = &body;
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers)
            .map(|worker| {
                std::thread::Builder::new()
                    .stack_size(STACK_BYTES)
                    .spawn_scoped(scope, move || body(worker))
            })
            .collect::<io::Result<_>>()?;
        let join = |handle: std::thread::ScopedJoinHandle<'_, R>| {
            handle
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        Ok(handles.into_iter().map(join).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Trace;

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
