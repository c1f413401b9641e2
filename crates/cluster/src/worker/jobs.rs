//! Jobs that run in this process: how they are told to pause or to give their state.

use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use heist_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use heist_sync::{Condvar, Mutex};

use super::{build_pool, message, JobOutcome, Refusal, Said};
use crate::job::{Job, JobContext, Pause, Stop};
use crate::remote::{BadBytes, JobEnd};
use crate::wire::{self, Outcome};

/// How long a request waits for a job to begin or to reach a safe point.
const PATIENCE: Duration = Duration::from_secs(30);

/// Somebody wants the job to pause.
const PAUSE: u32 = 1;
/// Somebody wants its state.
const SNAPSHOT: u32 = 2;

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start<'a> {
    pub(super) job: u64,
    pub(super) epoch: u32,
    pub(super) kind: &'a str,
    pub(super) cpus: u32,
    pub(super) state: &'a [u8],
}

/// An attempt at a job, as the job and those who ask about it see it.
#[derive(Debug)]
pub(crate) struct RunningJob {
    job: u64,
    epoch: u32,
    /// [`PAUSE`], [`SNAPSHOT`]. Whoever sets a bit waits under the lock for the answer; the
    /// word itself says only that there is something to look at.
    wants: AtomicU32,
    /// The bits of a float from 0 to 1.
    progress: AtomicU64,
    /// The numbers that the system gave to the threads of its pool.
    threads: Mutex<Vec<i32>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_begun: bool,
    is_over: bool,
    /// What the last safe point wrote, until it is taken.
    snapshot: Option<Result<Vec<u8>, String>>,
}

impl RunningJob {
    fn new(job: u64, epoch: u32) -> Self {
        Self {
            job,
            epoch,
            wants: AtomicU32::new(0),
            progress: AtomicU64::new(0),
            threads: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::default(),
        }
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(super) fn job(&self) -> u64 {
        self.job
    }

    pub(super) fn progress(&self) -> f64 {
        // A number for people; nothing is read because of it.
        f64::from_bits(self.progress.load(Ordering::Relaxed))
    }

    pub(crate) fn set_progress(&self, done: f64) {
        let done = if done.is_nan() {
            0.0
        } else {
            done.clamp(0.0, 1.0)
        };
        self.progress.store(done.to_bits(), Ordering::Relaxed);
    }

    pub(super) fn threads(&self) -> Vec<i32> {
        self.threads.lock().clone()
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    pub(crate) fn has_begun(&self) {
        self.state.lock().has_begun = true;
        self.changed.notify_all();
    }

    pub(crate) fn safe_point<J: Job>(&self, job: &J) -> Result<(), Stop> {
        // If it comes late, the next safe point sees it; what it stands for is under the lock.
        let wants = self.wants.load(Ordering::Relaxed);
        if wants & PAUSE != 0 {
            return Err(Stop::Pause(Pause(())));
        }
        if wants & SNAPSHOT != 0 {
            let written = wire::encode(job);
            let mut state = self.state.lock();
            self.wants.fetch_and(!SNAPSHOT, Ordering::Relaxed);
            state.snapshot = Some(written);
            drop(state);
            self.changed.notify_all();
        }
        Ok(())
    }

    fn want(&self, what: u32) {
        self.wants.fetch_or(what, Ordering::Relaxed);
    }

    fn end(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        state.snapshot = None;
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until `look` finds something, the job is over, or patience is.
    fn wait_for<T>(&self, mut look: impl FnMut(&mut State) -> Option<T>) -> Result<T, Refusal> {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.state.lock();
        loop {
            if let Some(found) = look(&mut state) {
                return Ok(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.is_over || left.is_zero() {
                return Err(not_running(self.job, self.epoch));
            }
            state = self.changed.wait_timeout(state, left);
        }
    }
}

fn not_running(job: u64, epoch: u32) -> Refusal {
    Refusal::NotRunning { job, epoch }
}

/// All jobs that a process has seen. What is over stays, so that late requests are known
/// to be late.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    table: Mutex<HashMap<u64, Arc<RunningJob>>>,
    added: Condvar,
}

impl Jobs {
    fn add(&self, job: u64, epoch: u32) -> Result<Arc<RunningJob>, Refusal> {
        let mut table = self.table.lock();
        if let Some(other) = table.get(&job) {
            if other.epoch >= epoch {
                let by = other.epoch;
                return Err(Refusal::Superseded { job, epoch, by });
            }
            // The driver has given it up, and drops whatever it still says.
            other.want(PAUSE);
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
            .filter(|found| found.epoch == epoch)
            .ok_or(not_running(job, epoch))
    }

    pub(super) fn await_begun(&self, job: u64, epoch: u32) -> Result<(), Refusal> {
        let deadline = Instant::now() + PATIENCE;
        let mut table = self.table.lock();
        let running = loop {
            match table.get(&job) {
                Some(found) if found.epoch == epoch => break Arc::clone(found),
                Some(found) if found.epoch > epoch => return Err(not_running(job, epoch)),
                _ => {}
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(not_running(job, epoch));
            }
            table = self.added.wait_timeout(table, left);
        };
        drop(table);
        running.wait_for(|state| state.has_begun.then_some(()))
    }

    pub(super) fn pause(&self, job: u64, epoch: u32) -> Result<(), Refusal> {
        self.find(job, epoch).map(|running| running.want(PAUSE))
    }

    pub(super) fn snapshot(&self, job: u64, epoch: u32) -> Result<(f64, Vec<u8>), Refusal> {
        let running = self.find(job, epoch)?;
        running.want(SNAPSHOT);
        let written = running.wait_for(|state| state.snapshot.take())?;
        let state = written.map_err(|error| Refusal::Malformed {
            what: format!("the state of job {job}"),
            error,
        })?;
        Ok((running.progress(), state))
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
) -> Result<Said, Refusal> {
    let Start {
        job,
        epoch,
        kind,
        cpus,
        state,
    } = start;
    let running = jobs.add(job, epoch)?;
    let noting = Arc::clone(&running);
    let pool = build_pool(cpus, move |_| {
        noting.threads.lock().extend(super::usage::this_thread());
    });
    let ended = pool.map(|pool| {
        let context = JobContext::new(Arc::clone(&running));
        panic::catch_unwind(AssertUnwindSafe(|| pool.install(|| run(&context, state))))
    });
    running.end();
    let (outcome, payload) = match ended? {
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
    };
    Ok((Outcome::Job(outcome), payload))
}
