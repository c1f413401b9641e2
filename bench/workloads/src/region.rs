//! Short regions opened from outside the pool, one after the other or after a
//! pause: what it costs to get work in and the result out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::measure::{sample_of_times, timed, wait};
use crate::peer::Loop;
use crate::skew::Items;
use crate::spin::spin;
use crate::Request;

/// Measures a loop over `len` cheap items from outside; a unit is one loop.
pub(crate) fn run_loop<P: Loop>(peer: &mut P, request: &Request) -> Result<(), String> {
    let items = Items::new(request.len("len")?);
    run(
        request,
        || peer.for_each(items.results.len(), |item| items.work(item, 1)),
        // Of the last region only: every one before it wrote the same.
        || items.take_sum(),
    )
}

/// Measures a loop over `len` items of `spins` iterations from outside, every `pause_us`, while
/// `busy` threads of somebody else compute; a unit is one loop.
pub(crate) fn run_loop_beside<P: Loop>(peer: &mut P, request: &Request) -> Result<(), String> {
    let items = Items::new(request.len("len")?);
    let (spins, busy) = (request.size("spins")?, request.size("busy")?);
    let pause = Duration::from_micros(request.size("pause_us")?);
    let regions = request.len("regions")?;
    let is_over = AtomicBool::new(false);
    let compute = || {
        while !is_over.load(Ordering::Relaxed) {
            spin(0, 10_000);
        }
    };
    thread::scope(|threads| {
        (0..busy).for_each(|_| _ = threads.spawn(compute));
        let mut times = Vec::with_capacity(regions);
        let result = request.repeat(|| {
            times.clear();
            for _ in 0..regions {
                thread::sleep(pause);
                let region = || peer.for_each(items.results.len(), |item| items.work(item, spins));
                times.push(timed(region).0);
            }
            sample_of_times(&mut times, items.take_sum())
        });
        is_over.store(true, Ordering::Relaxed);
        result
    })
}

/// Opens `regions` regions with `pause_us` of idleness before each, and gives
/// the median as `p50_us` and the 99th percentile as `p99_us`.
pub(crate) fn run(
    request: &Request,
    mut region: impl FnMut(),
    mut checksum: impl FnMut() -> u64,
) -> Result<(), String> {
    let regions = request.len("regions")?;
    let pause = Duration::from_micros(request.size("pause_us")?);
    let mut times = Vec::with_capacity(regions);
    request.repeat(|| {
        times.clear();
        for _ in 0..regions {
            wait(pause);
            times.push(timed(&mut region).0);
        }
        sample_of_times(&mut times, checksum())
    })
}
