//! The workloads on tokio that are natural for it: spawned tasks, and two tasks
//! of which one waits for the other.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::Arc;

use heist_bench_workloads::peer::{PairTask, Spawn};
use heist_bench_workloads::{pairs, serve, spawns, WaitGroup};
use tokio::runtime::{Builder, Handle, Runtime};

struct Tokio {
    runtime: Runtime,
}

/// A runtime and the tasks of one wave on it.
#[derive(Clone)]
struct Wave {
    handle: Handle,
    tasks: Arc<WaitGroup>,
}

impl Tokio {
    fn wave(&self) -> Wave {
        Wave {
            handle: self.runtime.handle().clone(),
            tasks: Arc::new(WaitGroup::new()),
        }
    }

    /// Two tasks side by side in the pool.
    fn pair(&self, task: &PairTask) {
        let (first, second) = (Arc::clone(task), Arc::clone(task));
        let both = self.runtime.spawn(async move {
            let second = tokio::spawn(async move { second(1) });
            first(0);
            second.await
        });
        match self.runtime.block_on(both) {
            Ok(Ok(())) => (),
            outcome => panic!("a task of the pair ended early: {outcome:?}"),
        }
    }
}

impl Spawn for Tokio {
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
        wave.handle.spawn(async move {
            task(&of_task);
            of_task.tasks.done();
        });
    }
}

fn main() -> ExitCode {
    serve(|request| {
        let workers = request.workers()?;
        let runtime = Builder::new_multi_thread().worker_threads(workers).build();
        let runtime = runtime
            .map_err(|error| format!("cannot start tokio with {workers} workers: {error}"))?;
        let mut peer = Tokio { runtime };
        Ok(spawns(&mut peer, request)? || pairs(request, |task| peer.pair(task))?)
    })
}
