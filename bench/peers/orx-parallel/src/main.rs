//! The workloads on orx-parallel, which has parallel iterators only.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use heist_bench_workloads::peer::Loop;
use heist_bench_workloads::{loops, pairs, serve};
use orx_parallel::*;

struct Orx {
    workers: usize,
}

impl Loop for Orx {
    fn for_each<F: Fn(usize) + Sync + Send>(&mut self, len: usize, body: F) {
        // A reference, because this peer copies the body for its threads.
        (0..len).par().num_threads(self.workers).for_each(&body);
    }
}

fn main() -> ExitCode {
    serve(|request| {
        let mut peer = Orx {
            workers: request.workers()?,
        };
        Ok(loops(&mut peer, request)?
            || pairs(request, |task| peer.for_each(2, |index| task(index)))?)
    })
}
