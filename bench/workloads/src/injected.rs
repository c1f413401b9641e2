//! Jobs from outside while all workers have work of their own: one tree of joins without an
//! end, or one tree after the other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::time::{Duration, Instant};

use crate::measure::sample_of_times;
use crate::peer::{ForkJoin, Spawn};
use crate::Request;

/// Measures jobs from outside while all workers are deep in one tree.
pub(crate) fn run<P>(peer: &mut P, request: &Request) -> Result<(), String>
where
    P: Spawn + for<'s> ForkJoin<Context<'s> = ()>,
{
    measure(peer, request, |scope, is_over| {
        P::spawn(scope, move |_| joins::<P>(LEVELS, &is_over));
    })
}

/// Measures jobs from outside while each worker has a chain of jobs, each of which is a
/// tree of `levels` levels and spawns the next.
pub(crate) fn run_between<P>(peer: &mut P, request: &Request) -> Result<(), String>
where
    P: Spawn + for<'s> ForkJoin<Context<'s> = ()>,
{
    let (workers, levels) = (request.workers()?, request.len("levels")? as u32);
    measure(peer, request, |scope, is_over| {
        for _ in 0..workers {
            let is_over = Arc::clone(&is_over);
            P::spawn(scope, move |scope| chain::<P>(scope, levels, is_over));
        }
    })
}

/// Measures how long `jobs` jobs wait, one every `period_us`; a unit is one job. `begin`
/// spawns what keeps the workers busy until it is over.
fn measure<P: Spawn>(
    peer: &mut P,
    request: &Request,
    begin: impl Fn(P::Scope<'_>, Arc<AtomicBool>),
) -> Result<(), String> {
    let jobs = request.size("jobs")?;
    let period = Duration::from_micros(request.size("period_us")?);
    request.repeat(|| {
        let (report, reports) = mpsc::channel();
        peer.outside(|scope| {
            let over = Arc::new(AtomicBool::new(false));
            begin(scope, Arc::clone(&over));
            for job in 1..=jobs {
                std::thread::sleep(period);
                let (report, submitted) = (report.clone(), Instant::now());
                P::spawn(scope, move |_| {
                    let delay = submitted.elapsed().as_nanos() as u64;
                    report
                        .send((job, delay))
                        .expect("the receiver outlives the scope");
                });
            }
            std::thread::sleep(period);
            over.store(true, Ordering::Relaxed);
        });
        drop(report);
        let (jobs, mut delays): (Vec<u64>, Vec<u64>) = reports.iter().unzip();
        sample_of_times(&mut delays, jobs.iter().sum())
    })
}

/// Deeper than anybody gets to the end of.
pub(crate) const LEVELS: u32 = 60;

/// A tree of joins that ends when it is told to.
pub(crate) fn joins<P: for<'s> ForkJoin<Context<'s> = ()>>(levels: u32, is_over: &AtomicBool) {
    // Relaxed: it says when to stop, and nothing else hangs on it.
    if levels > 0 && !is_over.load(Ordering::Relaxed) {
        P::join(
            &mut (),
            |()| joins::<P>(levels - 1, is_over),
            |()| joins::<P>(levels - 1, is_over),
        );
    }
}

/// A tree, and then the same again as a job of its own, until it is told to end.
fn chain<P>(scope: P::Scope<'_>, levels: u32, is_over: Arc<AtomicBool>)
where
    P: Spawn + for<'s> ForkJoin<Context<'s> = ()>,
{
    joins::<P>(levels, &is_over);
    if !is_over.load(Ordering::Relaxed) {
        P::spawn(scope, move |scope| chain::<P>(scope, levels, is_over));
    }
}
