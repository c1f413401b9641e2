//! The four ways to spread work over cores that the program compares.
//!
//! `serial` is the yardstick. `static` and `central` need no runtime: slices dealt once, and a
//! queue behind a lock; both run a [`Bag`] of tasks on plain threads. `stealing` is heist.

use std::io;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use clap::ValueEnum;

use crate::trace::Trace;
use central::Queue;
use static_slices::Slices;

mod central;
mod serial;
mod static_slices;
mod stealing;

pub(crate) use serial::Serial;
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

/// Tasks that may push further tasks, on threads without a runtime.
pub(crate) struct Bag<'a> {
    pub(crate) workers: usize,
    /// The work of each thread, summed over all calls of [`run`](Self::run).
    pub(crate) busy: Vec<Duration>,
    /// How many tasks were run.
    pub(crate) tasks: u64,
    dealing: Dealing,
    trace: Trace<'a>,
}

/// How a bag hands its tasks to its threads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dealing {
    /// A slice for each thread, once.
    Slices,
    /// One queue behind a lock.
    Queue,
}

/// The work of one thread in one call of [`Bag::run`]: its accumulator, the time that its tasks took
/// and how many they were.
type Share<A> = (A, Duration, u64);

impl<'a> Bag<'a> {
    pub(crate) fn new(dealing: Dealing, workers: usize, trace: Trace<'a>) -> Self {
        Self {
            workers,
            busy: vec![Duration::ZERO; workers],
            tasks: 0,
            dealing,
            trace,
        }
    }

    /// Runs `step` on all `tasks` and on all that `step` pushes.
    ///
    /// Every thread has its own accumulator; all are returned. `label` names a task in the report.
    ///
    /// # Errors
    ///
    /// Fails if a thread cannot be started.
    pub(crate) fn run<T: Send, A: Send + Default>(
        &mut self,
        tasks: Vec<T>,
        label: impl Fn(&T) -> String + Sync,
        step: impl Fn(T, &mut A, &mut Vec<T>) + Sync,
    ) -> io::Result<Vec<A>> {
        let trace = self.trace;
        let step = |worker, task, sum: &mut A, pushed: &mut Vec<T>| {
            trace.task(worker, &label, task, |task| step(task, sum, pushed));
        };
        match self.dealing {
            Dealing::Slices => {
                let slices = Slices::new(tasks, self.workers);
                self.on_threads(|worker| slices.run(worker, step))
            }
            Dealing::Queue => {
                let queue = Queue::new(tasks);
                self.on_threads(|worker| queue.run(worker, step))
            }
        }
    }

    /// Runs `body` on each thread, and adds up the shares but for the accumulators.
    fn on_threads<A: Send>(
        &mut self,
        body: impl Fn(usize) -> Share<A> + Sync,
    ) -> io::Result<Vec<A>> {
        let shares: Vec<Mutex<Option<Share<A>>>> =
            (0..self.workers).map(|_| Mutex::default()).collect();
        on_threads(self.workers, &|worker| {
            let share = body(worker);
            *shares[worker].lock().expect("one thread takes it") = Some(share);
        })?;
        let shares = shares.into_iter().map(|share| {
            let share = share.into_inner().expect("one thread took it");
            share.expect("each thread has ended")
        });
        let sums = self
            .busy
            .iter_mut()
            .zip(shares)
            .map(|(busy, (sum, took, tasks))| {
                *busy += took;
                self.tasks += tasks;
                sum
            });
        Ok(sums.collect())
    }
}

/// Runs `body` on so many threads. The compiler makes one copy of it for all workloads.
fn on_threads(workers: usize, body: &(dyn Fn(usize) + Sync)) -> io::Result<()> {
    thread::scope(|scope| {
        let start = |worker| {
            thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, move || body(worker))
        };
        let handles = (0..workers).map(start).collect::<io::Result<Vec<_>>>()?;
        for handle in handles {
            handle.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bag(dealing: Dealing, workers: usize) -> Bag<'static> {
        Bag::new(dealing, workers, Trace::OFF)
    }

    /// Each task counts itself and pushes two of the next smaller number.
    fn tasks_run(bag: &mut Bag<'_>) -> u64 {
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
            let mut slices = bag(Dealing::Slices, workers);
            let mut central = bag(Dealing::Queue, workers);
            assert_eq!(tasks_run(&mut slices), 10 * 15);
            assert_eq!(tasks_run(&mut central), 10 * 15);
            assert_eq!(slices.tasks, 150);
            assert_eq!(central.tasks, 150);
        }
    }

    #[test]
    fn both_bags_end_at_once_without_tasks() {
        let step = |(), (): &mut (), _: &mut Vec<()>| {};
        let label = |(): &()| String::new();
        let slices = bag(Dealing::Slices, 3).run(Vec::new(), label, step);
        let central = bag(Dealing::Queue, 3).run(Vec::new(), label, step);
        assert_eq!(slices.expect("threads start").len(), 3);
        assert_eq!(central.expect("threads start").len(), 3);
    }

    #[test]
    fn the_static_slices_are_contiguous_and_cover_all_pieces() {
        let mut slices = bag(Dealing::Slices, 3);
        let parts = slices.run(
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
            bag(Dealing::Queue, 4).run(
                (0..100).collect(),
                i32::to_string,
                |task, (): &mut (), _| assert_ne!(task, 50, "the fiftieth fails"),
            )
        });
        assert!(outcome.is_err());
    }
}
