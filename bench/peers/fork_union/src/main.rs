//! The workloads on `fork_union`, which has parallel loops only; the calling
//! thread is one of the workers.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use fork_union::ThreadPool;
use heist_bench_workloads::peer::Loop;
use heist_bench_workloads::{loops, pairs, serve};

struct ForkUnion {
    pool: ThreadPool,
}

impl Loop for ForkUnion {
    fn for_each<F: Fn(usize) + Sync + Send>(&mut self, len: usize, body: F) {
        // The loop runs when the operation is dropped.
        drop(self.pool.for_n(len, |prong| body(prong.task_index)));
    }
}

fn main() -> ExitCode {
    serve(|request| {
        let workers = request.workers()?;
        let pool = ThreadPool::try_spawn(workers).map_err(|error| {
            format!("cannot start a fork_union pool of {workers} workers: {error:?}")
        })?;
        let mut peer = ForkUnion { pool };
        Ok(loops(&mut peer, request)?
            || pairs(request, |task| peer.for_each(2, |index| task(index)))?)
    })
}
