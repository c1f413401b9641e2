//! The workloads on heist, with workers that wait in the one way or the other.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use heist_bench_workloads::peer::{ForkJoin, Loop, PairTask, Spawn};
use heist_bench_workloads::{fork_join, loops, mixed, serve, spawns};

struct Heist {
    pool: heist::ThreadPool,
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
        self.pool.take_part(|| {
            heist::parallel_for(0..len, |part| {
                for index in part {
                    body(index);
                }
            });
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

/// Serves the requests on the command line.
#[must_use]
pub fn run(waiting: heist::Waiting) -> ExitCode {
    serve(|request| {
        let workers = request.workers()?;
        let pool = heist::ThreadPoolBuilder::new()
            .num_threads(workers)
            .waiting(waiting)
            .build()
            .map_err(|error| format!("cannot start a heist pool of {workers} workers: {error}"))?;
        let mut peer = Heist { pool };
        Ok(fork_join(&mut peer, request)?
            || loops(&mut peer, request)?
            || spawns(&mut peer, request)?
            || mixed(&mut peer, request)?)
    })
}
