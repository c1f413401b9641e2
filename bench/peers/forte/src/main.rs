//! The workloads on Forte; the calling thread is one of the workers, and there
//! is no parallel loop.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use forte::{Scope, ThreadPool, Worker};
use heist_bench_workloads::peer::{ForkJoin, Spawn};
use heist_bench_workloads::{fork_join, serve, spawns};

static POOL: ThreadPool = ThreadPool::new();

struct Forte;

impl ForkJoin for Forte {
    type Context<'s> = &'s Worker;

    fn install<R, F>(&mut self, task: F) -> R
    where
        F: for<'s> FnOnce(&mut &'s Worker) -> R + Send,
        R: Send,
    {
        POOL.with_worker(|mut worker| task(&mut worker))
    }

    #[inline(always)]
    fn join<A, B, RA, RB>(context: &mut &Worker, a: A, b: B) -> (RA, RB)
    where
        A: for<'s> FnOnce(&mut &'s Worker) -> RA + Send,
        B: for<'s> FnOnce(&mut &'s Worker) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        context.join(|mut worker| a(&mut worker), |mut worker| b(&mut worker))
    }
}

impl Spawn for Forte {
    type Scope<'s> = &'s Scope<'s, 'static>;

    fn inside<F: FnOnce(Self::Scope<'_>) + Send + 'static>(&mut self, task: F) {
        POOL.scope(|scope| task(scope));
    }

    fn outside<F: FnOnce(Self::Scope<'_>)>(&mut self, _: F) -> bool {
        // A thread that opens a scope becomes a worker for that time.
        false
    }

    fn spawn<F: FnOnce(Self::Scope<'_>) + Send + 'static>(scope: Self::Scope<'_>, task: F) {
        scope.spawn(move |_: &Worker| task(scope));
    }
}

fn main() -> ExitCode {
    serve(|request| {
        POOL.resize_to(request.workers()? - 1);
        let answered = fork_join(&mut Forte, request)? || spawns(&mut Forte, request)?;
        POOL.depopulate();
        Ok(answered)
    })
}
