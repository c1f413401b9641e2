//! The recursions on heist's joins with a context.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use heist::JoinContext;
use heist_bench_workloads::peer::ByValue;
use heist_bench_workloads::{by_value, serve, Tree};

struct Heist {
    pool: heist::ThreadPool,
}

impl ByValue for Heist {
    fn fib(&mut self, n: u64) -> u64 {
        self.pool.install(|| heist::with_context(|cx| fib(cx, n)))
    }

    fn sum(&mut self, root: &Tree) -> u64 {
        self.pool
            .install(|| heist::with_context(|cx| sum(cx, root)))
    }
}

#[inline(never)]
fn fib(mut cx: JoinContext<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(move |cx| fib(cx, n - 1), move |cx| fib(cx, n - 2));
    a + b
}

#[inline(never)]
fn sum(mut cx: JoinContext<'_>, node: &Tree) -> u64 {
    let Some(node) = node else { return 0 };
    let (left, right) = cx.join(
        move |cx| sum(cx, &node.left),
        move |cx| sum(cx, &node.right),
    );
    node.value + left + right
}

fn main() -> ExitCode {
    serve(|request| {
        let workers = request.workers()?;
        let pool = heist::ThreadPoolBuilder::new()
            .num_threads(workers)
            .build()
            .map_err(|error| format!("cannot start a heist pool of {workers} workers: {error}"))?;
        by_value(&mut Heist { pool }, request)
    })
}
