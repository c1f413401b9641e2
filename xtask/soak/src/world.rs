//! The pools: those that live as long as the run, and those that a round builds.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use fastrand::Rng;
use heist::{Callers, Injected, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, Waiting};

use crate::books;

/// The pools that live as long as the run.
pub(crate) struct World {
    pub(crate) pools: Vec<ThreadPool>,
    pub(crate) cores: usize,
    /// All pools that may be at work, for whoever asks why nothing goes on.
    roster: Mutex<Vec<(String, Weak<ThreadPool>)>>,
}

/// The one whose waiting workers run descendants only.
const STRICT: usize = 2;
/// How many may work in the place of others in the one of many workers.
const COMPENSATION: usize = 3;
/// Waiting workers run other jobs on top of their frames.
pub(crate) const STACK: usize = 8 << 20;

impl World {
    pub(crate) fn new() -> Result<Self, ThreadPoolBuildError> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let pool = |name: &'static str, workers| builder(name, workers);
        let pools = [
            // Its latencies are measured, those of jobs from outside among endless joins too.
            pool("two", 2).injected(Injected::Prompt),
            pool("many", 2 * cores).compensation_workers(COMPENSATION),
            pool("strict", 3).waiting(Waiting::Descendants),
            pool("one", 1),
            pool("crowd", 16).breadth_first(),
        ];
        Ok(Self {
            pools: pools
                .into_iter()
                .map(ThreadPoolBuilder::build)
                .collect::<Result<_, _>>()?,
            cores,
            roster: Mutex::default(),
        })
    }

    /// True if frames of that pool must not wait for another one.
    pub(crate) fn is_strict(&self, pool: usize) -> bool {
        pool == STRICT
    }

    /// How many threads the pools have at most.
    pub(crate) fn threads_max(&self) -> usize {
        let workers = |(index, pool): (usize, &ThreadPool)| {
            pool.current_num_threads() * (1 + usize::from(self.is_strict(index)))
        };
        self.pools.iter().enumerate().map(workers).sum::<usize>() + COMPENSATION
    }

    /// A pool for a while, of a random kind.
    pub(crate) fn fresh(&self, rng: &mut Rng, workers_min: usize) -> Arc<ThreadPool> {
        let workers = match rng.u8(..16) {
            0 => rng.usize(8..=24),
            _ => rng.usize(workers_min..=(2 * self.cores).max(workers_min)),
        };
        let is_strict = rng.u8(..4) == 0;
        let mut builder = builder("fresh", workers)
            .waiting(if is_strict {
                Waiting::Descendants
            } else {
                Waiting::Any
            })
            .injected(if rng.bool() {
                Injected::Prompt
            } else {
                Injected::InTurn
            })
            .callers(if rng.u8(..4) > 0 {
                Callers::Participate
            } else {
                Callers::Move
            });
        if rng.u8(..4) == 0 {
            builder = builder.breadth_first();
        }
        if rng.u8(..8) == 0 {
            builder = builder.record_events(64);
        }
        if rng.u8(..4) == 0 {
            builder = builder.stack_guard(usize::MAX);
        }
        let pool = Arc::new(builder.build().expect("a pool for a while"));
        self.enroll(format!("fresh {pool:?}"), &pool);
        pool
    }

    fn enroll(&self, name: String, pool: &Arc<ThreadPool>) {
        let mut roster = self.roster.lock().unwrap_or_else(PoisonError::into_inner);
        roster.retain(|(_, pool)| pool.strong_count() > 0);
        roster.push((name, Arc::downgrade(pool)));
    }

    /// A line for each pool.
    pub(crate) fn describe(&self) -> Vec<String> {
        let line = |name: &str, pool: &ThreadPool| format!("{name}: {:?}", pool.counters().total());
        let mut lines: Vec<String> = self
            .pools
            .iter()
            .map(|pool| line(&format!("{pool:?}"), pool))
            .collect();
        let roster = self.roster.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, pool) in roster.iter() {
            lines.extend(pool.upgrade().map(|pool| line(name, &pool)));
        }
        lines
    }
}

/// A pool with what all of them have in common.
pub(crate) fn builder(name: &'static str, workers: usize) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .thread_name(move |index| format!("{name} {index}"))
        .stack_size(STACK)
        .callers(Callers::Participate)
        .panic_handler(books::handle)
}
