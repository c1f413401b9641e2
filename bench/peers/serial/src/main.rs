//! The workloads without any runtime: what the others are compared to.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use heist_bench_demos::{demos, Form};
use heist_bench_workloads::peer::{Collect, ForkJoin, Loop, Sort, Spawn};
use heist_bench_workloads::{collects, fork_join, loops, serve, sorts, spawns};

struct Serial;

impl ForkJoin for Serial {
    type Context<'s> = ();

    fn install<R: Send, F: FnOnce(&mut ()) -> R + Send>(&mut self, task: F) -> R {
        task(&mut ())
    }

    #[inline(always)]
    fn join<A, B, RA: Send, RB: Send>(context: &mut (), a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut ()) -> RA + Send,
        B: FnOnce(&mut ()) -> RB + Send,
    {
        (a(context), b(context))
    }
}

impl Loop for Serial {
    fn for_each<F: Fn(usize) + Sync + Send>(&mut self, len: usize, body: F) {
        for index in 0..len {
            body(index);
        }
    }
}

impl Spawn for Serial {
    type Scope<'s> = ();

    fn inside<F: FnOnce(()) + Send + 'static>(&mut self, task: F) {
        task(());
    }

    fn outside<F: FnOnce(())>(&mut self, task: F) -> bool {
        task(());
        true
    }

    fn spawn<F: FnOnce(()) + Send + 'static>((): (), task: F) {
        task(());
    }
}

impl Collect for Serial {
    fn map<F: Fn(u64) -> u64 + Sync + Send>(&mut self, len: u64, op: F) -> Vec<u64> {
        (0..len).map(op).collect()
    }

    fn filter<F: Fn(u64) -> bool + Sync + Send>(&mut self, len: u64, keep: F) -> Vec<u64> {
        (0..len).filter(|&n| keep(n)).collect()
    }
}

impl Sort for Serial {
    fn sort_stable<T: Ord + Send>(&mut self, data: &mut [T]) {
        data.sort();
    }

    fn sort_unstable<T: Ord + Send>(&mut self, data: &mut [T]) {
        data.sort_unstable();
    }
}

fn main() -> ExitCode {
    serve(|request| {
        let mut peer = Serial;
        Ok(fork_join(&mut peer, request)?
            || loops(&mut peer, request)?
            || spawns(&mut peer, request)?
            || sorts(&mut peer, request)?
            || collects(&mut peer, request)?
            || demos(Form::Serial, request)?)
    })
}
