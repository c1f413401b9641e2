//! The workloads on rayon. The peer `rayon-on-heist` is this same file, built
//! with another scheduler below rayon.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use heist_bench_demos::{demos, Form};
use heist_bench_workloads::{all, rayon_like, serve};
use rayon::prelude::*;

struct Rayon {
    pool: rayon::ThreadPool,
}

rayon_like!(Rayon, rayon, install, {});

fn main() -> ExitCode {
    serve(|request| {
        let workers = request.workers()?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .build()
            .map_err(|error| format!("cannot start a rayon pool of {workers} workers: {error}"))?;
        let mut peer = Rayon { pool };
        Ok(all(&mut peer, request)? || demos(Form::Parallel(&peer.pool), request)?)
    })
}
