//! Two tasks side by side: long leaves, empty ones, a short job now and then, one after
//! each gap of serial work, and the silence after them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::measure::{cpu_ns, percentile, timed, wait};
use crate::peer::{ForkJoin, PairTask};
use crate::spin::spin;
use crate::{region, Outcome, Request, Sample};

/// Runs the asked-for workload if it is one of two tasks side by side; `pair`
/// calls its argument with 0 and 1, in parallel if it can.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn pairs(request: &Request, mut pair: impl FnMut(&PairTask)) -> Outcome {
    match request.workload() {
        "leaves" => run_leaves(request, &mut pair)?,
        "region_empty" => run_empty(request, &mut pair)?,
        "idle" => run_idle(request, &mut pair)?,
        "job" => run_jobs(request, &mut pair)?,
        "gaps" => run_gaps(request, &mut pair)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Measures a join of two long leaves inside the pool, where that makes a difference.
pub(crate) fn run_leaves_inside<P: ForkJoin>(
    peer: &mut P,
    request: &Request,
) -> Result<(), String> {
    let leaves = Leaves::of(request)?;
    request.repeat(|| {
        peer.install(|context| {
            leaves.sample(|spins| P::join(context, |_| spin(0, spins), |_| spin(1, spins)))
        })
    })
}

/// Measures a region of two long leaves for peers without a join inside.
fn run_leaves(request: &Request, pair: &mut impl FnMut(&PairTask)) -> Result<(), String> {
    let leaves = Leaves::of(request)?;
    request.repeat(|| {
        leaves.sample(|spins| {
            let (sum, task) = summing(spins);
            pair(&task);
            (sum.load(Ordering::Relaxed), 0)
        })
    })
}

/// A task that spins and adds its result to the sum; the end of a region orders
/// the additions before whatever reads the sum after it.
fn summing(spins: u64) -> (Arc<AtomicU64>, PairTask) {
    let sum = Arc::new(AtomicU64::new(0));
    let shared = Arc::clone(&sum);
    let task = move |half: usize| {
        shared.fetch_add(spin(half as u64, spins), Ordering::Relaxed);
    };
    (sum, Arc::new(task))
}

/// How long the leaves are, and the silence before them.
struct Leaves {
    spins: u64,
    idle: Duration,
}

impl Leaves {
    fn of(request: &Request) -> Result<Self, String> {
        Ok(Self {
            spins: request.size("spins")?,
            idle: Duration::from_micros(request.size("idle_us")?),
        })
    }

    /// Times one leaf alone and then both, which get the number of spins; a unit
    /// is one leaf, and `leaves` is how many leaves' time the two took.
    fn sample(&self, mut both: impl FnMut(u64) -> (u64, u64)) -> Sample {
        let (alone_ns, alone) = timed(|| spin(0, self.spins));
        // Short leaves wake everybody up, and without a pause they stay awake.
        for _ in 0..10 {
            both(self.spins / 200);
        }
        wait(self.idle);
        let (ns, (first, second)) = timed(|| both(self.spins));
        Sample::new(ns, 2, alone.wrapping_add(first).wrapping_add(second))
            .with("leaves", ns as f64 / alone_ns as f64)
    }
}

/// Measures a region of two empty tasks from outside; a unit is one region.
fn run_empty(request: &Request, pair: &mut impl FnMut(&PairTask)) -> Result<(), String> {
    // Empty tasks leave no trace, so that the peer runs both is checked beforehand.
    let ran = Arc::new(AtomicU64::new(0));
    let shared = Arc::clone(&ran);
    let counting: PairTask = Arc::new(move |task| {
        shared.fetch_add(task as u64 + 1, Ordering::Relaxed);
    });
    pair(&counting);
    let checksum = ran.load(Ordering::Relaxed);
    let empty: PairTask = Arc::new(|_| ());
    region::run(request, || pair(&empty), || checksum)
}

/// Measures the CPU time of `idle_ms` after the pool has been used once.
fn run_idle(request: &Request, pair: &mut impl FnMut(&PairTask)) -> Result<(), String> {
    let idle = Duration::from_millis(request.size("idle_ms")?);
    let (sum, task) = summing(1000);
    request.repeat(|| {
        pair(&task);
        let cpu_before = cpu_ns();
        let (ns, ()) = timed(|| std::thread::sleep(idle));
        let cpu_s = (cpu_ns() - cpu_before) as f64 / 1e9;
        Sample::new(ns, 1, sum.swap(0, Ordering::Relaxed)).with("cpu_s", cpu_s)
    })
}

/// Measures a job of two halves of `spins` iterations every `period_us`, `jobs`
/// times: CPU time per job, sleep and wake-ups included; a unit is one job.
fn run_jobs(request: &Request, pair: &mut impl FnMut(&PairTask)) -> Result<(), String> {
    let (jobs, spins) = (request.len("jobs")?, request.size("spins")?);
    let period = Duration::from_micros(request.size("period_us")?);
    let (sum, task) = summing(spins);
    request.repeat(|| {
        let mut times = Vec::with_capacity(jobs);
        let cpu_before = cpu_ns();
        let mut next = Instant::now();
        for _ in 0..jobs {
            next += period;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            times.push(timed(|| pair(&task)).0);
        }
        let cpu = (cpu_ns() - cpu_before) as f64;
        times.sort_unstable();
        let us = |percent| percentile(&times, percent) as f64 / 1e3;
        Sample::new(
            times.iter().sum(),
            jobs as u64,
            sum.swap(0, Ordering::Relaxed),
        )
        .with("cpu_us", cpu / 1e3 / jobs as f64)
        .with("job_p50_us", us(50))
        .with("job_p99_us", us(99))
    })
}

/// Measures jobs of two halves of `spins` iterations, with `gap_spins` iterations of serial
/// work after each: a unit is one job and its gap.
fn run_gaps(request: &Request, pair: &mut impl FnMut(&PairTask)) -> Result<(), String> {
    let (jobs, spins) = (request.len("jobs")?, request.size("spins")?);
    let gap_spins = request.size("gap_spins")?;
    let (sum, task) = summing(spins);
    request.repeat(|| {
        let cpu_before = cpu_ns();
        let (ns, gaps) = timed(|| {
            let gap = |sum: u64, job| {
                pair(&task);
                sum.wrapping_add(spin(job as u64, gap_spins))
            };
            (0..jobs).fold(0, gap)
        });
        let cpu_us = (cpu_ns() - cpu_before) as f64 / 1e3 / jobs as f64;
        let jobs_sum = sum.swap(0, Ordering::Relaxed);
        Sample::new(ns, jobs as u64, jobs_sum.wrapping_add(gaps)).with("cpu_us", cpu_us)
    })
}
