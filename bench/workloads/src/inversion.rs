//! Urgent jobs from outside while all workers run low ones, and low ones beside a flood of urgent
//! ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::time::{Duration, Instant};

use crate::injected::{joins, LEVELS};
use crate::measure::sample_of_times;
use crate::peer::{ForkJoin, Prioritised};
use crate::spin::spin;
use crate::Request;

/// Measures urgent jobs while each worker is deep in a tree of joins of a low job.
pub(crate) fn run_joins<P>(peer: &mut P, request: &Request) -> Result<(), String>
where
    P: Prioritised + for<'s> ForkJoin<Context<'s> = ()>,
{
    measure(peer, request, true, |peer, is_over| {
        peer.start(false, move || joins::<P>(LEVELS, &is_over));
    })
}

/// Measures urgent jobs while each worker is in a parallel loop of a low job, whose items take
/// `work` iterations.
pub(crate) fn run_loops<P>(peer: &mut P, request: &Request) -> Result<(), String>
where
    P: Prioritised + for<'s> ForkJoin<Context<'s> = ()>,
{
    let work = request.size("work")?;
    measure(peer, request, true, |peer, is_over| {
        peer.start(false, move || {
            while !is_over.load(Ordering::Relaxed) {
                P::loop_here(100_000, |n| _ = std::hint::black_box(spin(n as u64, work)));
            }
        });
    })
}

/// Measures low jobs while each worker has one urgent job after the other, of `work` iterations.
pub(crate) fn run_low<P: Prioritised>(peer: &mut P, request: &Request) -> Result<(), String> {
    fn flood<P: Prioritised>(peer: &P, work: u64, is_over: Arc<AtomicBool>) {
        let again = peer.clone();
        peer.start(true, move || {
            std::hint::black_box(spin(1, work));
            if !is_over.load(Ordering::Relaxed) {
                flood(&again, work, is_over);
            }
        });
    }
    let work = request.size("work")?;
    measure(peer, request, false, |peer, is_over| {
        // Two each, so that there is always one that waits.
        flood(peer, work, Arc::clone(&is_over));
        flood(peer, work, is_over);
    })
}

/// Measures how long `jobs` jobs wait, one every `period_us`; a unit is one job. `begin` is called
/// once for each worker, to keep it busy until it is over.
fn measure<P: Prioritised>(
    peer: &P,
    request: &Request,
    is_urgent: bool,
    begin: impl Fn(&P, Arc<AtomicBool>),
) -> Result<(), String> {
    let (jobs, workers) = (request.size("jobs")?, request.workers()?);
    let period = Duration::from_micros(request.size("period_us")?);
    request.repeat(|| {
        let (report, reports) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        (0..workers).for_each(|_| begin(peer, Arc::clone(&over)));
        for job in 1..=jobs {
            std::thread::sleep(period);
            let (report, submitted) = (report.clone(), Instant::now());
            peer.start(is_urgent, move || {
                let delay = submitted.elapsed().as_nanos() as u64;
                report
                    .send((job, delay))
                    .expect("the receiver outlives the jobs");
            });
        }
        std::thread::sleep(period);
        over.store(true, Ordering::Relaxed);
        drop(report);
        let (jobs, mut delays): (Vec<u64>, Vec<u64>) = reports.iter().unzip();
        while Arc::strong_count(&over) > 1 {
            std::thread::yield_now();
        }
        sample_of_times(&mut delays, jobs.iter().sum())
    })
}
