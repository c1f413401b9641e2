//! The workloads on rayon. The peer `rayon-on-heist` is this same file, built
//! with another scheduler below rayon.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use heist_bench_demos::{demos, Form};
use heist_bench_workloads::peer::{Collect, ForkJoin, Loop, Sort, Spawn};
use heist_bench_workloads::{collects, fork_join, loops, mixed, serve, sorts, spawns};
use rayon::prelude::*;

struct Rayon {
    pool: rayon::ThreadPool,
}

impl ForkJoin for Rayon {
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
        rayon::join(|| a(&mut ()), || b(&mut ()))
    }
}

impl Loop for Rayon {
    fn for_each<F: Fn(usize) + Sync + Send>(&mut self, len: usize, body: F) {
        self.pool
            .install(|| (0..len).into_par_iter().for_each(body));
    }
}

impl Spawn for Rayon {
    type Scope<'s> = &'s rayon::Scope<'static>;

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

impl Collect for Rayon {
    fn map<F: Fn(u64) -> u64 + Sync + Send>(&mut self, len: u64, op: F) -> Vec<u64> {
        self.pool.install(|| {
            (0..len as usize)
                .into_par_iter()
                .map(|n| n as u64)
                .map(op)
                .collect()
        })
    }

    fn filter<F: Fn(u64) -> bool + Sync + Send>(&mut self, len: u64, keep: F) -> Vec<u64> {
        self.pool.install(|| {
            (0..len as usize)
                .into_par_iter()
                .map(|n| n as u64)
                .filter(|&n| keep(n))
                .collect()
        })
    }
}

impl Sort for Rayon {
    fn sort_stable<T: Ord + Send>(&mut self, data: &mut [T]) {
        self.pool.install(|| data.par_sort());
    }

    fn sort_unstable<T: Ord + Send>(&mut self, data: &mut [T]) {
        self.pool.install(|| data.par_sort_unstable());
    }
}

fn main() -> ExitCode {
    serve(|request| {
        let workers = request.workers()?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .build()
            .map_err(|error| format!("cannot start a rayon pool of {workers} workers: {error}"))?;
        let mut peer = Rayon { pool };
        Ok(fork_join(&mut peer, request)?
            || loops(&mut peer, request)?
            || spawns(&mut peer, request)?
            || mixed(&mut peer, request)?
            || sorts(&mut peer, request)?
            || collects(&mut peer, request)?
            || demos(Form::Parallel(&peer.pool), request)?)
    })
}
