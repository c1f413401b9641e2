//! The workloads on async-executor that are natural for it: spawned tasks, and
//! two tasks of which one waits for the other.
#![forbid(unsafe_code)]

use std::future::pending;
use std::process::ExitCode;
use std::sync::Arc;

use async_executor::Executor;
use futures_lite::future::block_on;
use heist_bench_workloads::peer::{PairTask, Spawn};
use heist_bench_workloads::{pairs, serve, spawns, WaitGroup};

struct Smol {
    executor: Arc<Executor<'static>>,
}

/// An executor and the tasks of one wave on it.
#[derive(Clone)]
struct Wave {
    executor: Arc<Executor<'static>>,
    tasks: Arc<WaitGroup>,
}

impl Smol {
    /// Starts an executor whose threads run until the process ends.
    fn start(workers: usize) -> Self {
        let executor = Arc::new(Executor::new());
        for _ in 0..workers {
            let executor = Arc::clone(&executor);
            std::thread::spawn(move || block_on(executor.run(pending::<()>())));
        }
        Self { executor }
    }

    fn wave(&self) -> Wave {
        Wave {
            executor: Arc::clone(&self.executor),
            tasks: Arc::new(WaitGroup::new()),
        }
    }

    /// Two tasks side by side in the pool.
    fn pair(&self, task: &PairTask) {
        let (first, second) = (Arc::clone(task), Arc::clone(task));
        let executor = Arc::clone(&self.executor);
        block_on(self.executor.spawn(async move {
            let second = executor.spawn(async move { second(1) });
            first(0);
            second.await;
        }));
    }
}

impl Spawn for Smol {
    type Scope<'s> = &'s Wave;

    fn inside<F: FnOnce(&Wave) + Send + 'static>(&mut self, task: F) {
        let wave = self.wave();
        Self::spawn(&wave, task);
        wave.tasks.wait();
    }

    fn outside<F: FnOnce(&Wave)>(&mut self, task: F) -> bool {
        let wave = self.wave();
        task(&wave);
        wave.tasks.wait();
        true
    }

    fn spawn<F: FnOnce(&Wave) + Send + 'static>(wave: &Wave, task: F) {
        let of_task = wave.clone();
        wave.tasks.add();
        let running = wave.executor.spawn(async move {
            task(&of_task);
            of_task.tasks.done();
        });
        running.detach();
    }
}

fn main() -> ExitCode {
    serve(|request| {
        let mut peer = Smol::start(request.workers()?);
        Ok(spawns(&mut peer, request)? || pairs(request, |task| peer.pair(task))?)
    })
}
