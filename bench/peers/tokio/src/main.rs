//! The workloads on tokio that are natural for it: spawned tasks, and two tasks
//! of which one waits for the other. Those that block do so by `block_in_place`, or in the
//! package `peer-tokio-blocking` by `spawn_blocking`.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::Arc;

use heist_bench_workloads::peer::PairTask;
use heist_bench_workloads::wave::{Blocking, Detached, Waves};
use heist_bench_workloads::{blocking, pairs, serve, spawns};
use tokio::runtime::{Builder, Handle};
use tokio::task::block_in_place;

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
            || pairs(request, |task| peer.pair(task))?)
    })
}
