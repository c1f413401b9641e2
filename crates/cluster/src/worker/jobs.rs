//! Jobs that run in this process: how they are told to pause or to give their state.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Instant;

use heist_sync::{Condvar, Mutex};

use super::pool::{build_pool, message};
use super::usage;
use crate::protocol::refusal::Refusal;
use crate::protocol::trace::Trace;
use crate::protocol::JobOutcome;
use crate::remote::job::JobContext;
use crate::remote::registry::{BadBytes, JobEnd};
use crate::remote::running::{not_running, RunningJob, PATIENCE};

/// An attempt to be run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start<'a> {
    pub(super) job: u64,
    pub(super) epoch: u32,
    pub(super) kind: &'a str,
    pub(super) cpus: u32,
    pub(super) trace: Option<Trace>,
    pub(super) state: &'a [u8],
}

/// All jobs that a process has seen. Those that are over stay, so that late requests are known to
/// be late.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    table: Mutex<HashMap<u64, Arc<RunningJob>>>,
    added: Condvar,
}

impl Jobs {
    fn add(&self, job: u64, epoch: u32) -> Result<Arc<RunningJob>, Refusal> {
        let mut table = self.table.lock();
        if let Some(other) = table.get(&job) {
            if other.epoch() >= epoch {
                let by = other.epoch();
                return Err(Refusal::Superseded { job, epoch, by });
            }
            // The driver has given it up, and drops whatever it still says.
            other.stop();
        }
        let running = Arc::new(RunningJob::new(job, epoch));
        table.insert(job, Arc::clone(&running));
        drop(table);
        self.added.notify_all();
        Ok(running)
    }

    fn find(&self, job: u64, epoch: u32) -> Result<Arc<RunningJob>, Refusal> {
        let found = self.table.lock().get(&job).cloned();
        found
            .filter(|found| found.epoch() == epoch)
            .ok_or(not_running(job, epoch))
    }

    pub(super) fn await_begun(&self, job: u64, epoch: u32) -> Result<(), Refusal> {
        let deadline = Instant::now() + PATIENCE;
        let mut table = self.table.lock();
        let running = loop {
            match table.get(&job) {
                Some(found) if found.epoch() == epoch => break Arc::clone(found),
                Some(found) if found.epoch() > epoch => return Err(not_running(job, epoch)),
                _ => {}
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(not_running(job, epoch));
            }
            table = self.added.wait_timeout(table, left);
        };
        drop(table);
        running.await_begun()
    }

    pub(super) fn pause(&self, job: u64, epoch: u32) -> Result<(), Refusal> {
        self.find(job, epoch)?.ask_to_pause()
    }

    pub(super) fn stop(&self, job: u64, epoch: u32) -> Result<(), Refusal> {
        let mut table = self.table.lock();
        if let Some(known) = table.get(&job) {
            if known.epoch() > epoch {
                return Err(not_running(job, epoch));
            }
            known.stop();
            if known.epoch() == epoch {
                return Ok(());
            }
        }
        // It is on its way, and must not begin.
        let early = RunningJob::new(job, epoch);
        early.end();
        table.insert(job, Arc::new(early));
        Ok(())
    }

    pub(super) fn snapshot(&self, job: u64, epoch: u32) -> Result<(f64, Vec<u8>), Refusal> {
        self.find(job, epoch)?.snapshot()
    }

    /// Those that are not over.
    pub(super) fn running(&self) -> Vec<Arc<RunningJob>> {
        let all: Vec<_> = self.table.lock().values().cloned().collect();
        all.into_iter()
            .filter(|running| !running.is_over())
            .collect()
    }
}

/// Runs an attempt to its end.
pub(super) fn run(
    jobs: &Jobs,
    start: Start<'_>,
    run: fn(&JobContext, &[u8]) -> Result<JobEnd, BadBytes>,
) -> Result<(JobOutcome, Vec<u8>), Refusal> {
    let Start {
        job,
        epoch,
        kind,
        cpus,
        trace,
        state,
    } = start;
    let running = jobs.add(job, epoch)?;
    let noting = Arc::clone(&running);
    let pool = build_pool(cpus, move |_| {
        noting.note_thread(usage::this_thread());
    });
    let ended = pool.map(|pool| {
        let context = JobContext::new(Arc::clone(&running), trace);
        panic::catch_unwind(AssertUnwindSafe(|| pool.install(|| run(&context, state))))
    });
    // All that it printed comes before its answer.
    let _ = io::stdout().flush();
    running.end();
    Ok(match ended? {
        Ok(Ok(JobEnd::Finished(result))) => (JobOutcome::Finished, result),
        Ok(Ok(JobEnd::Paused(state))) => {
            let progress = running.progress();
            (JobOutcome::Paused { progress }, state)
        }
        Ok(Ok(JobEnd::Failed(error))) => (JobOutcome::Failed(error), Vec::new()),
        Ok(Err(error)) => {
            let what = format!("the state or the result of job {job} (`{kind}`)");
            return Err(error.refusal(what));
        }
        Err(panic) => {
            let panic = format!("it panicked: {}", message(&*panic));
            (JobOutcome::Failed(panic), Vec::new())
        }
    })
}
