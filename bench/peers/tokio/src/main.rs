//! The workloads on tokio that are natural for it: spawned tasks, two tasks of which one waits for
//! the other, futures, and a queue that a task serves. Those that block do so by `block_in_place`,
//! or in the package `peer-tokio-blocking` by `spawn_blocking`.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use heist_bench_workloads::peer::{Futures, PairTask, SerialQueue};
use heist_bench_workloads::wave::{Blocking, Detached, Waves};
use heist_bench_workloads::{blocking, futures, pairs, serve, spawns, strands};
use tokio::runtime::{Builder, Handle};
use tokio::task::{block_in_place, yield_now, JoinHandle};

#[derive(Clone)]
struct Tokio(Handle);

impl Tokio {
    /// Two tasks side by side in the pool.
    fn pair(&self, task: &PairTask) {
        let (first, second) = (Arc::clone(task), Arc::clone(task));
        let both = self.0.spawn(async move {
            let second = tokio::spawn(async move { second(1) });
            first(0);
            second.await
        });
        match self.0.block_on(both) {
            Ok(Ok(())) => (),
            outcome => panic!("a task of the pair ended early: {outcome:?}"),
        }
    }
}

impl Detached for Tokio {
    fn start(&self, task: impl FnOnce() + Send + 'static) {
        self.0.spawn(async move { task() });
    }
}

impl Blocking for Tokio {
    fn start_blocking(&self, task: impl FnOnce() + Send + 'static) {
        match env!("CARGO_PKG_NAME") {
            "peer-tokio-blocking" => drop(self.0.spawn_blocking(task)),
            _ => self.start(|| block_in_place(task)),
        }
    }

    fn block<T>(op: impl FnOnce() -> T) -> T {
        block_in_place(op)
    }
}

/// The handle of a task, none of which panics or is cancelled.
struct TaskHandle<T>(JoinHandle<T>);

impl<T> Future for TaskHandle<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let output = Pin::new(&mut self.0).poll(cx);
        output.map(|output| output.expect("it ends"))
    }
}

impl Futures for Tokio {
    type Handle<T: Send + 'static> = TaskHandle<T>;

    fn spawn_future<F>(&self, task: F) -> TaskHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        TaskHandle(self.0.spawn(task))
    }

    fn start_future<F: Future<Output = ()> + Send + 'static>(&self, task: F) {
        drop(self.0.spawn(task));
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        yield_now()
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }
}

/// A queue that a task serves while there are jobs.
#[derive(Clone)]
struct Queue {
    handle: Handle,
    jobs: Arc<Mutex<Jobs>>,
}

#[derive(Default)]
struct Jobs {
    queue: VecDeque<Box<dyn FnOnce() + Send>>,
    is_served: bool,
}

impl Queue {
    /// The next job; none if the task is to end.
    fn next(&self) -> Option<Box<dyn FnOnce() + Send>> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let next = jobs.queue.pop_front();
        jobs.is_served = next.is_some();
        next
    }

    async fn serve(self) {
        while let Some(job) = self.next() {
            job();
            // Lets other tasks have their turn, as tokio's own queues do.
            tokio::task::coop::consume_budget().await;
        }
    }
}

impl SerialQueue for Tokio {
    type Queue = Queue;

    fn queue(&mut self) -> Queue {
        Queue {
            handle: self.0.clone(),
            jobs: Arc::default(),
        }
    }

    fn submit<F: FnOnce() + Send + 'static>(queue: &Queue, job: F) {
        let mut jobs = queue.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.queue.push_back(Box::new(job));
        let was_served = std::mem::replace(&mut jobs.is_served, true);
        drop(jobs);
        if !was_served {
            queue.handle.spawn(queue.clone().serve());
        }
    }
}

fn main() -> ExitCode {
    serve(|request| {
        let workers = request.workers()?;
        let runtime = Builder::new_multi_thread().worker_threads(workers).build();
        let runtime = runtime
            .map_err(|error| format!("cannot start tokio with {workers} workers: {error}"))?;
        let peer = Tokio(runtime.handle().clone());
        let mut waves = Waves(peer.clone());
        Ok(spawns(&mut waves, request)?
            || blocking(&mut waves, request)?
            || strands(&mut peer.clone(), request)?
            || futures(&peer, request)?
            || pairs(request, |task| peer.pair(task))?)
    })
}
