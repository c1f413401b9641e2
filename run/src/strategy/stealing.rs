//! A heist pool, kept for all rounds.

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use heist_observe::Folded;

use super::STACK_BYTES;
use crate::trace::Trace;

/// A pool that is kept for all rounds.
pub(crate) struct Stealing {
    pool: heist::ThreadPool,
}

/// The work of the pool during one run.
pub(crate) struct Work {
    pub(crate) busy: Vec<Duration>,
    pub(crate) jobs: u64,
    pub(crate) steals: u64,
    pub(crate) steals_failed: u64,
}

impl Stealing {
    /// A pool that measures.
    ///
    /// # Errors
    ///
    /// Fails if its threads cannot be started.
    pub(crate) fn new(workers: usize) -> anyhow::Result<Self> {
        Self::build(workers, builder(workers))
    }

    /// A pool that also records its latest `events` events per worker.
    ///
    /// # Errors
    ///
    /// Fails if its threads cannot be started.
    pub(crate) fn recording(workers: usize, events: usize) -> anyhow::Result<Self> {
        Self::build(workers, builder(workers).record_events(events))
    }

    fn build(workers: usize, builder: heist::ThreadPoolBuilder) -> anyhow::Result<Self> {
        let pool = builder
            .build()
            .with_context(|| format!("cannot start a pool of {workers} workers"))?;
        Ok(Self { pool })
    }

    /// Runs `body` on the pool.
    pub(crate) fn run<R: Send>(&self, body: impl FnOnce() -> R + Send) -> (R, Work) {
        let before = self.pool.counters();
        let (mut body, mut result) = (Some(body), None);
        self.install(&mut || result = body.take().map(|body| body()));
        let since = self.pool.counters().since(&before);
        let total = since.total();
        let workers = since.workers().iter();
        let work = Work {
            busy: workers
                .map(|worker| Duration::from_nanos(worker.working_ns))
                .collect(),
            jobs: total.jobs,
            steals: total.steals,
            steals_failed: total.steals_failed(),
        };
        (result.expect("the pool ran it"), work)
    }

    /// Runs `body`, once, on the pool. The compiler makes one copy of it for all workloads.
    fn install(&self, body: &mut (dyn FnMut() + Send)) {
        self.pool.install(body);
    }

    /// From when on the recorder counts; none if the pool does not record.
    pub(crate) fn recorder_started(&self) -> Option<Instant> {
        self.pool.diagnostics().recorder_started
    }

    /// The lanes and steals within a stretch of the recorder's time.
    pub(crate) fn recorded(&self, window_ns: Range<u64>) -> Folded {
        heist_observe::fold(&self.pool.events(), window_ns)
    }

    /// Stops the pool and waits for its threads.
    pub(crate) fn shutdown(self) {
        self.pool.shutdown();
    }
}

fn builder(workers: usize) -> heist::ThreadPoolBuilder {
    heist::ThreadPoolBuilder::new()
        .num_threads(workers)
        .stack_size(STACK_BYTES)
}

/// Traces the pieces of a run on the pool.
#[derive(Clone, Copy)]
pub(crate) struct Pieces<'a>(pub(crate) Trace<'a>);

impl Pieces<'_> {
    /// Runs one piece on the present worker.
    pub(crate) fn item<R>(self, label: impl FnOnce() -> String, work: impl FnOnce() -> R) -> R {
        if self.0.is_on() {
            let worker = heist::current_thread_index().expect("pieces run on workers");
            self.0.item(worker, label, work)
        } else {
            work()
        }
    }
}
