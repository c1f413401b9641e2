//! Jobs from outside while all workers are deep in a tree of joins.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::time::{Duration, Instant};

use crate::measure::sample_of_times;
use crate::peer::{ForkJoin, Spawn};
use crate::Request;

/// Measures how long `jobs` jobs wait, one every `period_us`; a unit is one job.
pub(crate) fn run<P>(peer: &mut P, request: &Request) -> Result<(), String>
where
    P: Spawn + for<'s> ForkJoin<Context<'s> = ()>,
{
    let jobs = request.size("jobs")?;
    let period = Duration::from_micros(request.size("period_us")?);
    request.repeat(|| {
        let (report, reports) = mpsc::channel();
        peer.outside(|scope| {
            let over = Arc::new(AtomicBool::new(false));
            let is_over = Arc::clone(&over);
            P::spawn(scope, move |_| joins::<P>(LEVELS, &is_over));
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
const LEVELS: u32 = 60;

/// A tree of joins that ends when it is told to.
fn joins<P: for<'s> ForkJoin<Context<'s> = ()>>(levels: u32, is_over: &AtomicBool) {
    // Relaxed: it says when to stop, and nothing else hangs on it.
    if levels > 0 && !is_over.load(Ordering::Relaxed) {
        P::join(
            &mut (),
            |()| joins::<P>(levels - 1, is_over),
            |()| joins::<P>(levels - 1, is_over),
        );
    }
}
