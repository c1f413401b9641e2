//! The workloads on async-executor that are natural for it: spawned tasks, two
//! tasks of which one waits for the other, and futures.
#![forbid(unsafe_code)]

use std::future::{pending, Future};
use std::process::ExitCode;
use std::sync::Arc;

use async_executor::{Executor, Task};
use futures_lite::future::{block_on, yield_now};
use heist_bench_workloads::peer::{Futures, PairTask};
use heist_bench_workloads::wave::{Detached, Waves};
use heist_bench_workloads::{futures, pairs, serve, spawns};

#[derive(Clone)]
struct Smol(Arc<Executor<'static>>);

impl Smol {
    /// Starts an executor whose threads run until the process ends.
    fn start(workers: usize) -> Self {
        let executor = Arc::new(Executor::new());
        for _ in 0..workers {
            let executor = Arc::clone(&executor);
            std::thread::spawn(move || block_on(executor.run(pending::<()>())));
        }
        Self(executor)
    }

    /// Two tasks side by side in the pool.
    fn pair(&self, task: &PairTask) {
        let (first, second) = (Arc::clone(task), Arc::clone(task));
        let executor = Arc::clone(&self.0);
        block_on(self.0.spawn(async move {
            let second = executor.spawn(async move { second(1) });
            first(0);
            second.await;
        }));
    }
}

impl Detached for Smol {
    fn start(&self, task: impl FnOnce() + Send + 'static) {
        self.0.spawn(async move { task() }).detach();
    }
}

impl Futures for Smol {
    type Handle<T: Send + 'static> = Task<T>;

    fn spawn_future<F>(&self, task: F) -> Task<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.0.spawn(task)
    }

    fn start_future<F: Future<Output = ()> + Send + 'static>(&self, task: F) {
        self.0.spawn(task).detach();
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        yield_now()
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on(future)
    }
}

fn main() -> ExitCode {
    serve(|request| {
        let peer = Smol::start(request.workers()?);
        Ok(spawns(&mut Waves(peer.clone()), request)?
            || futures(&peer, request)?
            || pairs(request, |task| peer.pair(task))?)
    })
}
