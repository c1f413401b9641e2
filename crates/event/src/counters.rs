//! The counters of workers and pools: how often each thing happened, and where the time went.

use std::fmt;
use std::time::Duration;

/// The work of one worker since its pool was built.
///
/// Read from a running pool, each field is exact, but not all are of the same instant. In an idle
/// pool the sums over all workers obey `jobs = pops + steals + injected + mailed` and `pushes =
/// pops + steals`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerCounters {
    /// Jobs that the worker pushed on its own deque and that have left it again. Unstolen jobs of
    /// joins with a context are not counted.
    pub pushes: u64,
    /// Jobs that the worker took back from its own deque.
    pub pops: u64,
    /// Jobs that the worker ran, wherever it took them from. They are counted when they begin, so
    /// that a thread that learns that a job is done finds it counted.
    pub jobs: u64,
    /// Jobs that the worker took from a victim's deque.
    pub steals: u64,
    /// Steal attempts that found the victim's deque empty, or only private jobs for which the thief
    /// could not ask.
    pub steals_empty: u64,
    /// Steal attempts that saw a job and found another thread at the deque.
    pub steals_lost: u64,
    /// Jobs that the worker took from the injector, where submissions from outside the pool wait,
    /// or from a queue of jobs with a hint.
    pub injected: u64,
    /// Jobs that the worker took from its mailbox, where broadcasts arrive.
    pub mailed: u64,
    /// How often the worker fell asleep.
    pub sleeps: u64,
    /// Sleeping workers that this worker woke.
    pub wakes: u64,
    /// Time spent on anything but searching and sleeping, in nanoseconds.
    pub working_ns: u64,
    /// Time spent looking for a job, in nanoseconds.
    pub searching_ns: u64,
    /// Time spent asleep, in nanoseconds.
    pub asleep_ns: u64,
}

impl WorkerCounters {
    /// Applies `op` to each field of `self` and `other`. This is the one list of the fields.
    fn zip(&self, other: &Self, op: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            pushes: op(self.pushes, other.pushes),
            pops: op(self.pops, other.pops),
            jobs: op(self.jobs, other.jobs),
            steals: op(self.steals, other.steals),
            steals_empty: op(self.steals_empty, other.steals_empty),
            steals_lost: op(self.steals_lost, other.steals_lost),
            injected: op(self.injected, other.injected),
            mailed: op(self.mailed, other.mailed),
            sleeps: op(self.sleeps, other.sleeps),
            wakes: op(self.wakes, other.wakes),
            working_ns: op(self.working_ns, other.working_ns),
            searching_ns: op(self.searching_ns, other.searching_ns),
            asleep_ns: op(self.asleep_ns, other.asleep_ns),
        }
    }

    /// Steal attempts that brought nothing.
    #[must_use]
    pub fn steals_failed(&self) -> u64 {
        self.steals_empty + self.steals_lost
    }
}

/// The work of the workers of a pool: one [`WorkerCounters`] each.
///
/// `Display` prints a table with a row per worker and the totals.
///
/// # Examples
///
/// ```
/// use heist_event::{PoolCounters, WorkerCounters};
///
/// let mut one = WorkerCounters::default();
/// one.steals = 2;
/// one.steals_lost = 1;
/// let pool = PoolCounters::new(vec![one, WorkerCounters::default()]);
/// assert_eq!(pool.total().steals, 2);
/// assert!(pool.to_string().contains("total"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolCounters {
    workers: Vec<WorkerCounters>,
}

impl PoolCounters {
    /// The counters of a pool with these workers, in the order of their indices.
    #[must_use]
    pub fn new(workers: Vec<WorkerCounters>) -> Self {
        Self { workers }
    }

    /// One entry per worker, in the order of their indices.
    #[must_use]
    pub fn workers(&self) -> &[WorkerCounters] {
        &self.workers
    }

    /// The sums over all workers.
    #[must_use]
    pub fn total(&self) -> WorkerCounters {
        self.workers
            .iter()
            .fold(WorkerCounters::default(), |sum, worker| {
                sum.zip(worker, |a, b| a + b)
            })
    }

    /// The difference to `earlier`, a snapshot of the same pool.
    ///
    /// # Panics
    ///
    /// Panics if the snapshots have different numbers of workers, and so are not of the same pool.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        assert_eq!(
            self.workers.len(),
            earlier.workers.len(),
            "snapshots of two different pools"
        );
        let pairs = self.workers.iter().zip(&earlier.workers);
        Self {
            workers: pairs
                .map(|(now, then)| now.zip(then, u64::saturating_sub))
                .collect(),
        }
    }
}

impl fmt::Display for PoolCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>6} {:>12} {:>12} {:>12} {:>9} {:>9} {:>8} {:>9} {:>7} {:>8} {:>8} {:>10} {:>10} {:>10}",
            "worker",
            "jobs",
            "pushes",
            "pops",
            "steals",
            "empty",
            "lost",
            "injected",
            "mailed",
            "sleeps",
            "wakes",
            "working",
            "searching",
            "asleep",
        )?;
        let rows = self.workers.iter().enumerate();
        for (index, worker) in rows {
            row(f, &index.to_string(), worker)?;
        }
        row(f, "total", &self.total())
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, c: &WorkerCounters) -> fmt::Result {
    let time = |ns| format!("{:.1?}", Duration::from_nanos(ns));
    writeln!(
        f,
        "{:>6} {:>12} {:>12} {:>12} {:>9} {:>9} {:>8} {:>9} {:>7} {:>8} {:>8} {:>10} {:>10} {:>10}",
        name,
        c.jobs,
        c.pushes,
        c.pops,
        c.steals,
        c.steals_empty,
        c.steals_lost,
        c.injected,
        c.mailed,
        c.sleeps,
        c.wakes,
        time(c.working_ns),
        time(c.searching_ns),
        time(c.asleep_ns),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(steals: u64, working_ns: u64) -> WorkerCounters {
        WorkerCounters {
            steals,
            working_ns,
            ..WorkerCounters::default()
        }
    }

    #[test]
    fn totals_are_sums_over_the_workers() {
        let pool = PoolCounters::new(vec![counters(2, 10), counters(5, 20)]);
        assert_eq!(pool.total(), counters(7, 30));
    }

    #[test]
    fn since_subtracts_worker_by_worker() {
        let then = PoolCounters::new(vec![counters(1, 10), counters(1, 10)]);
        let now = PoolCounters::new(vec![counters(4, 11), counters(1, 30)]);
        let delta = now.since(&then);
        assert_eq!(delta.workers(), [counters(3, 1), counters(0, 20)]);
    }

    #[test]
    #[should_panic(expected = "two different pools")]
    fn since_refuses_a_snapshot_of_another_pool() {
        let _ = PoolCounters::default().since(&PoolCounters::new(vec![counters(0, 0)]));
    }

    #[test]
    fn the_table_has_a_row_per_worker_and_a_total() {
        let table = PoolCounters::new(vec![counters(2, 1_500), counters(5, 0)]).to_string();
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[1].contains("1.5µs"));
        assert!(lines[3].trim_start().starts_with("total"));
    }
}
