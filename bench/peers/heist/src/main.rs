//! The workloads on heist: as it is by default, in the package `peer-heist-descendants`
//! with workers that wait for descendants only, or in `peer-heist-prompt` with such as
//! serve jobs from outside in the middle of their own.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::Arc;

use heist::prelude::*;
use heist_bench_workloads::peer::{Collect, ForkJoin, Loop, PairTask, Prioritised, Sort, Spawn};
use heist_bench_workloads::{collects, fork_join, loops, mixed, priorities, serve, sorts, spawns};

#[derive(Clone)]
struct Heist {
    pool: Arc<heist::ThreadPool>,
}

impl ForkJoin for Heist {
    type Context<'s> = ();

    fn install<R: Send, F: FnOnce(&mut ()) -> R + Send>(&mut self, task: F) -> R {
        self.pool.install(|| task(&mut ()))
    }

    #[inline(always)]
    fn join<A, B, RA: Send, RB: Send>(_: &mut (), a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut ()) -> RA + Send,
        B: FnOnce(&mut ()) -> RB + Send,
    {
        heist::join(|| a(&mut ()), || b(&mut ()))
    }

    fn pair(&mut self, task: &PairTask) {
        self.pool.join(|| task(0), || task(1));
    }
}

impl Loop for Heist {
    fn for_each<F: Fn(usize) + Sync + Send>(&mut self, len: usize, body: F) {
        self.pool.participate(|| {
            (0..len).into_par_iter().for_each(body);
        });
    }
}

impl Spawn for Heist {
    type Scope<'s> = &'s heist::Scope<'static>;

    fn inside<F: FnOnce(Self::Scope<'_>) + Send + 'static>(&mut self, task: F) {
        self.pool.scope(task);
    }

    fn outside<F: FnOnce(Self::Scope<'_>)>(&mut self, task: F) -> bool {
        self.pool.in_place_scope(task);
        true
    }

    fn spawn<F: FnOnce(Self::Scope<'_>) + Send + 'static>(scope: Self::Scope<'_>, task: F) {
        scope.spawn(task);
    }
}

impl Prioritised for Heist {
    fn start<F: FnOnce() + Send + 'static>(&self, is_urgent: bool, task: F) {
        let priority = match is_urgent {
            true => heist::Priority::High,
            false => heist::Priority::Low,
        };
        self.pool.job().priority(priority).spawn(task);
    }

    fn loop_here<F: Fn(usize) + Sync + Send>(len: usize, body: F) {
        (0..len).into_par_iter().for_each(body);
    }
}

impl Collect for Heist {
    fn map<F: Fn(u64) -> u64 + Sync + Send>(&mut self, len: u64, op: F) -> Vec<u64> {
        self.pool.participate(|| {
            (0..len as usize)
                .into_par_iter()
                .map(|n| n as u64)
                .map(op)
                .collect()
        })
    }

    fn filter<F: Fn(u64) -> bool + Sync + Send>(&mut self, len: u64, keep: F) -> Vec<u64> {
        self.pool.participate(|| {
            (0..len as usize)
                .into_par_iter()
                .map(|n| n as u64)
                .filter(|&n| keep(n))
                .collect()
        })
    }
}

impl Sort for Heist {
    fn sort_stable<T: Ord + Send>(&mut self, data: &mut [T]) {
        self.pool.participate(|| data.par_sort());
    }

    fn sort_unstable<T: Ord + Send>(&mut self, data: &mut [T]) {
        self.pool.participate(|| data.par_sort_unstable());
    }
}

/// A pool of the kind that the package is named after.
fn builder() -> heist::ThreadPoolBuilder {
    let builder = heist::ThreadPoolBuilder::new();
    match env!("CARGO_PKG_NAME") {
        "peer-heist-descendants" => builder.waiting(heist::Waiting::Descendants),
        "peer-heist-prompt" => builder.injected(heist::Injected::Prompt),
        _ => builder,
    }
}

fn main() -> ExitCode {
    serve(|request| {
        let workers = request.workers()?;
        let pool = builder()
            .num_threads(workers)
            .build()
            .map_err(|error| format!("cannot start a heist pool of {workers} workers: {error}"))?;
        let mut peer = Heist {
            pool: Arc::new(pool),
        };
        Ok(fork_join(&mut peer, request)?
            || loops(&mut peer, request)?
            || spawns(&mut peer, request)?
            || mixed(&mut peer, request)?
            || priorities(&mut peer, request)?
            || sorts(&mut peer, request)?
            || collects(&mut peer, request)?)
    })
}
