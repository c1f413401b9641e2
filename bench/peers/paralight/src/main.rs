//! The workloads on paralight, which has parallel iterators only; with the
//! stealing strategy, the one of its first example.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use heist_bench_workloads::peer::Loop;
use heist_bench_workloads::{loops, pairs, serve};
use paralight::prelude::*;

struct Paralight {
    pool: ThreadPool,
}

impl Loop for Paralight {
    fn for_each<F: Fn(usize) + Sync + Send>(&mut self, len: usize, body: F) {
        (0..len)
            .into_par_iter()
            .with_thread_pool(&mut self.pool)
            .for_each(body);
    }
}

fn main() -> ExitCode {
    serve(|request| {
        let workers = request.workers()?;
        let num_threads = ThreadCount::try_from(workers)
            .map_err(|_| format!("cannot start a paralight pool of {workers} workers"))?;
        let pool = ThreadPoolBuilder {
            num_threads,
            range_strategy: RangeStrategy::WorkStealing,
            cpu_pinning: CpuPinningPolicy::No,
        }
        .build();
        let mut peer = Paralight { pool };
        Ok(loops(&mut peer, request)?
            || pairs(request, |task| peer.for_each(2, |index| task(index)))?)
    })
}
