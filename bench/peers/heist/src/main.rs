//! The workloads on heist: as it is by default, in the package `peer-heist-descendants`
//! with workers that wait for descendants only, in `peer-heist-prompt` with such as serve
//! jobs from outside in the middle of their own, or in `peer-heist-blocking` with 512 more
//! for those that block.
#![forbid(unsafe_code)]

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll};

use heist::futures::{FutureHandle, SpawnFuture};
use heist::prelude::*;
use heist_bench_workloads::peer::{
    Block, Futures, MakeOnce, PairTask, Prioritised, Resize, SerialQueue, Spawn,
};
use heist_bench_workloads::{
    all, blocking, futures, once, priorities, rayon_like, resizes, serve, strands,
};

#[derive(Clone)]
struct Heist {
    pool: Arc<heist::ThreadPool>,
}

rayon_like!(Heist, heist, participate, {
    fn pair(&mut self, task: &PairTask) {
        self.pool.join(|| task(0), || task(1));
    }
});

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

impl MakeOnce for Heist {
    type Value = heist::Once<u64>;

    fn get_or_init(value: &Self::Value, f: impl FnOnce() -> u64 + Send) -> u64 {
        *value.get_or_init(f)
    }
}

impl Resize for Heist {
    fn set_active(&self, workers: usize) {
        self.pool.set_active_threads(workers);
    }

    fn inside<R: Send>(&self, task: impl FnOnce() -> R + Send) -> R {
        self.pool.install(task)
    }
}

impl Block for Heist {
    fn spawn_blocking<F: FnOnce() + Send + 'static>(scope: Self::Scope<'_>, task: F) {
        Self::spawn(scope, |_| heist::blocking(task));
    }

    fn block<R>(op: impl FnOnce() -> R) -> R {
        heist::blocking(op)
    }
}

impl SerialQueue for Heist {
    type Queue = heist::Strand;

    fn queue(&mut self) -> heist::Strand {
        heist::Strand::new_in(&self.pool)
    }

    fn submit<F: FnOnce() + Send + 'static>(queue: &heist::Strand, job: F) {
        queue.spawn(job);
    }
}

/// The handle of a future, none of which panics or is cancelled.
struct Handle<T>(FutureHandle<T>);

impl<T> Future for Handle<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let output = Pin::new(&mut self.0).poll(cx);
        output.map(|output| output.expect("it ends"))
    }
}

impl Futures for Heist {
    type Handle<T: Send + 'static> = Handle<T>;

    fn spawn_future<F>(&self, task: F) -> Handle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        Handle(self.pool.spawn_future(task))
    }

    fn start_future<F: Future<Output = ()> + Send + 'static>(&self, task: F) {
        drop(self.pool.spawn_future(task));
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        heist::futures::yield_now()
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        heist::futures::block_on(future)
    }
}

/// A pool of the kind that the package is named after.
fn builder() -> heist::ThreadPoolBuilder {
    let builder = heist::ThreadPoolBuilder::new();
    match env!("CARGO_PKG_NAME") {
        "peer-heist-descendants" => builder.waiting(heist::Waiting::Descendants),
        "peer-heist-prompt" => builder.injected(heist::Injected::Prompt),
        "peer-heist-blocking" => builder.compensation_workers(512),
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
        Ok(all(&mut peer, request)?
            || priorities(&mut peer, request)?
            || once(&mut peer, request)?
            || resizes(&mut peer, request)?
            || blocking(&mut peer, request)?
            || strands(&mut peer, request)?
            || futures(&peer, request)?)
    })
}
