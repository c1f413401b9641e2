//! The end of a pool, and the workers that keep it from ending.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::state::Pool;

/// The error of a pool that has not ended in time: see
/// [`ThreadPool::shutdown_within`](crate::ThreadPool::shutdown_within).
///
/// The pool goes on to its end by itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StillRunning {
    /// The time for which the caller waited.
    pub waited: Duration,
    /// The workers that had not ended then.
    pub workers: Vec<RunningWorker>,
}

/// A worker that keeps its pool from ending: see [`StillRunning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningWorker {
    /// Its index in the pool.
    pub index: usize,
    /// The time that it has been at work without a pause. `None` if it waits for a job on another
    /// worker, or for the others to end.
    pub working_for: Option<Duration>,
}

impl fmt::Display for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waited = self.waited;
        write!(
            f,
            "could not end a pool within {waited:?}: its jobs go on, on"
        )?;
        for (n, RunningWorker { index, working_for }) in self.workers.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            match working_for {
                Some(time) => write!(f, "{comma} worker {index} for {time:?}")?,
                None => write!(f, "{comma} worker {index}, which waits")?,
            }
        }
        Ok(())
    }
}

impl Error for StillRunning {}

impl Pool {
    /// Blocks until every worker has ended, and the threads that the pool has started are gone.
    pub(crate) fn wait_until_ended(&self) {
        let is_in_time = self.wait_until_ended_by(u64::MAX);
        debug_assert!(is_in_time, "there is no end of time");
    }

    /// As [`wait_until_ended`](Self::wait_until_ended), but no longer than until so many
    /// nanoseconds after the pool was built. False if it has not ended by then.
    fn wait_until_ended_by(&self, deadline_ns: u64) -> bool {
        self.demand_workers("wait for the end of");
        let has_ended = self.started().all(|(_, worker)| {
            let left_ns = || deadline_ns.saturating_sub(self.now_ns());
            worker
                .ended
                .wait_while_left(|| Duration::from_nanos(left_ns()))
        });
        if has_ended {
            let threads = std::mem::take(&mut *self.threads.lock());
            for thread in threads {
                // Its result carries nothing: a worker's panics are caught.
                let _ = thread.join();
            }
        }
        has_ended
    }

    /// Waits for so long until every worker has ended.
    ///
    /// # Errors
    ///
    /// Fails if some workers have not ended, and says which.
    pub(crate) fn wait_until_ended_for(&self, patience: Duration) -> Result<(), StillRunning> {
        let began_ns = self.now_ns();
        let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        if self.wait_until_ended_by(began_ns.saturating_add(patience_ns)) {
            return Ok(());
        }
        let now_ns = self.now_ns();
        let workers = self
            .started()
            .filter(|(_, worker)| !worker.ended.is_set())
            .map(|(index, worker)| RunningWorker {
                index,
                working_for: worker
                    .counters
                    .time
                    .working_for(now_ns)
                    .map(Duration::from_nanos),
            });
        Err(StillRunning {
            waited: Duration::from_nanos(now_ns - began_ns),
            workers: workers.collect(),
        })
    }
}
