//! The workloads on chili, which has joins only; the calling thread is one of
//! the workers.
#![forbid(unsafe_code)]

use std::num::NonZero;
use std::process::ExitCode;

use chili::{Config, Scope, ThreadPool};
use heist_bench_workloads::peer::ForkJoin;
use heist_bench_workloads::{fork_join, serve};

struct Chili {
    pool: ThreadPool,
}

impl ForkJoin for Chili {
    type Context<'s> = Scope<'s>;

    fn install<R, F>(&mut self, task: F) -> R
    where
        F: for<'s> FnOnce(&mut Scope<'s>) -> R + Send,
        R: Send,
    {
        task(&mut self.pool.scope())
    }

    #[inline(always)]
    fn join<A, B, RA, RB>(context: &mut Scope<'_>, a: A, b: B) -> (RA, RB)
    where
        A: for<'s> FnOnce(&mut Scope<'s>) -> RA + Send,
        B: for<'s> FnOnce(&mut Scope<'s>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        // chili offers the first closure to others and starts with the second.
        // Exchanged, it walks memory in the same order as every other peer.
        let (b, a) = context.join(b, a);
        (a, b)
    }
}

fn main() -> ExitCode {
    serve(|request| {
        let thread_count = NonZero::new(request.workers()?);
        let pool = ThreadPool::with_config(Config {
            thread_count,
            ..Config::default()
        });
        fork_join(&mut Chili { pool }, request)
    })
}
