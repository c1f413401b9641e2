//! Jobs that block in the middle of a pool: many that sleep, empty calls, and what is left of the
//! pool's throughput meanwhile.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{mpsc, Arc};
use std::time::Duration;

use crate::measure::timed;
use crate::peer::Block;
use crate::spin::spin;
use crate::{Request, Sample};

/// Measures `jobs` jobs that sleep for `sleep_us` each; a unit is all of them.
pub(crate) fn run_sleeps<P: Block>(peer: &mut P, request: &Request) -> Result<(), String> {
    let jobs = request.size("jobs")?;
    let sleep = Duration::from_micros(request.size("sleep_us")?);
    request.repeat(|| {
        let slept = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&slept);
        let (ns, ()) = timed(|| {
            peer.inside(move |scope| {
                for _ in 0..jobs {
                    let count = Arc::clone(&count);
                    P::spawn_blocking(scope, move || {
                        std::thread::sleep(sleep);
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        });
        Sample::new(ns, 1, slept.load(Ordering::Relaxed))
    })
}

/// Measures `calls` calls, on a worker, which do not block after all; a unit is one call.
pub(crate) fn run_empty<P: Block>(peer: &mut P, request: &Request) -> Result<(), String> {
    let calls = request.size("calls")?;
    request.repeat(|| {
        let (report, reports) = mpsc::channel();
        peer.inside(move |_| {
            let (ns, sum) = timed(|| (0..calls).map(|_| P::block(|| black_box(1_u64))).sum());
            report.send((ns, sum)).expect("somebody waits for it");
        });
        let (ns, sum) = reports.recv().expect("the task has run");
        Sample::new(ns, calls, sum)
    })
}

/// Measures `tasks` tasks of `spins` iterations each, with one job beside them that blocks as long,
/// and without; a unit is one task.
pub(crate) fn run_beside<P: Block>(peer: &mut P, request: &Request) -> Result<(), String> {
    let (tasks, spins) = (request.size("tasks")?, request.size("spins")?);
    request.repeat(|| {
        let mut free = (0, 0);
        let mut blocked = (0, 0);
        peer.outside(|scope| {
            free = compute::<P>(scope, tasks, spins);
            let (begin, begun) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            P::spawn_blocking(scope, move || {
                begin.send(()).expect("somebody waits for it");
                _ = ended.recv();
            });
            begun.recv().expect("the job has begun");
            blocked = compute::<P>(scope, tasks, spins);
            drop(end);
        });
        Sample::new(blocked.0, tasks, free.1 ^ blocked.1.rotate_left(1))
            .with("slowdown", blocked.0 as f64 / free.0.max(1) as f64)
    })
}

/// Runs the tasks from outside. Returns how long that took, and the sum of what they give.
fn compute<P: Block>(scope: P::Scope<'_>, tasks: u64, spins: u64) -> (u64, u64) {
    timed(|| {
        let (report, reports) = mpsc::channel();
        for task in 0..tasks {
            let report = report.clone();
            P::spawn(scope, move |_| {
                report
                    .send(spin(task, spins))
                    .expect("somebody waits for it");
            });
        }
        drop(report);
        reports.iter().fold(0, u64::wrapping_add)
    })
}
