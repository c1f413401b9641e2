//! Latencies that a user would notice, measured between two rounds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::world::World;

/// How long some things took, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latency {
    pub(crate) median_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
}

/// The measurements.
pub(crate) const NAMES: [&str; 3] = [
    "join in an idle pool",
    "injected job under load",
    "external caller's empty region",
];

const JOINS: usize = 1000;
const INJECTED: usize = 50;
const CALLERS: usize = 1000;

/// Measures each of [`NAMES`].
pub(crate) fn measure(world: &World) -> [Latency; NAMES.len()] {
    let pool = &world.pools[0];
    let joins = pool.install(|| {
        let join = |_| {
            timed(|| {
                heist::join(|| (), || ());
            })
        };
        (0..JOINS).map(join).collect()
    });
    let is_over = AtomicBool::new(false);
    let injected = pool.in_place_scope(|scope| {
        for _ in 0..pool.current_num_threads() {
            scope.spawn(|_| {
                while !is_over.load(Ordering::Relaxed) {
                    work(10);
                }
            });
        }
        let times = (0..INJECTED)
            .map(|_| timed(|| pool.install(|| ())))
            .collect();
        is_over.store(true, Ordering::Relaxed);
        times
    });
    let callers = (0..CALLERS)
        .map(|_| timed(|| pool.participate(|| ())))
        .collect();
    [joins, injected, callers].map(Latency::of)
}

/// A tree of joins that keeps everybody busy for some microseconds.
fn work(depth: u32) {
    if depth > 0 {
        heist::join(|| work(depth - 1), || work(depth - 1));
    }
}

fn timed(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

impl Latency {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |permille: usize| {
            let index = (times.len() - 1) * permille / 1000;
            times[index].as_secs_f64() * 1e6
        };
        Self {
            median_us: at(500),
            p99_us: at(990),
            max_us: at(1000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_times() {
        let latency = Latency::of((0..=1000).rev().map(Duration::from_micros).collect());
        let figures = [latency.median_us, latency.p99_us, latency.max_us];
        assert_eq!(figures.map(f64::round), [500.0, 990.0, 1000.0]);
    }
}
