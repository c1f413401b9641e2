//! A job that waits while its owner makes no call of the pool: how long until a
//! thief starts it.

use std::time::{Duration, Instant};

use crate::measure::{sample_of_times, wait};
use crate::peer::ForkJoin;
use crate::spin::spin;
use crate::{stop, Request};

/// Measures owners that a signal stops for `silent_us`; a unit is one job.
pub(crate) fn run_stopped<P: ForkJoin>(peer: &mut P, request: &Request) -> Result<(), String> {
    stop::prepare(Duration::from_micros(request.size("silent_us")?))?;
    run(peer, request, stop::stop)
}

/// Measures owners that compute for `silent_us`; a unit is one job.
pub(crate) fn run_busy<P: ForkJoin>(peer: &mut P, request: &Request) -> Result<(), String> {
    let silent = Duration::from_micros(request.size("silent_us")?);
    run(peer, request, move || wait(silent))
}

/// Joins `jobs` times, `idle_us` after the others last had work: the first
/// closure is `silence`, the second one tells when it starts.
fn run<P: ForkJoin>(
    peer: &mut P,
    request: &Request,
    silence: impl Fn() + Copy + Send + Sync,
) -> Result<(), String> {
    let jobs = request.size("jobs")?;
    let idle = Duration::from_micros(request.size("idle_us")?);
    request.repeat(|| {
        let (mut delays, sum) = peer.install(|context| {
            let (mut delays, mut sum) = (Vec::new(), 0);
            for job in 1..=jobs {
                // Short leaves wake everybody up, and without a pause they stay awake.
                for _ in 0..10 {
                    P::join(context, |_| spin(0, SHORT), |_| spin(1, SHORT));
                }
                wait(idle);
                let owner = |_: &mut P::Context<'_>| {
                    let now = Instant::now();
                    silence();
                    now
                };
                let (owned, (started, result)) = P::join(context, owner, |_| (Instant::now(), job));
                // A quick thief may even be the first.
                delays.push(started.saturating_duration_since(owned).as_nanos() as u64);
                sum += result;
            }
            (delays, sum)
        });
        sample_of_times(&mut delays, sum)
    })
}

/// Spins of a short leaf, about 0.1 ms.
const SHORT: u64 = 70_000;
