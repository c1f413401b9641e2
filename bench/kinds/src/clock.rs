//! A kind, and the clock that times it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::data::Data;

/// One form of a kind: a number that depends on its result.
pub(crate) type Body = fn(&Data, &mut Clock) -> u64;

/// An ordinary loop in two forms.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) serial: Body,
    pub(crate) parallel: Body,
}

/// The time since the body began, or since its input was ready.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// Leaves out of the time what the body has done so far.
    pub(crate) fn restart(&mut self) {
        self.start = Instant::now();
    }
}

/// The time of one run of a body and its result.
pub(crate) fn once(body: Body, data: &Data) -> (Duration, u64) {
    let mut clock = Clock {
        start: Instant::now(),
    };
    let result = body(black_box(data), &mut clock);
    (clock.start.elapsed(), black_box(result))
}

/// The mean time of one run, in microseconds, over runs that take `budget` together.
pub(crate) fn sample(body: Body, data: &Data, budget: Duration) -> f64 {
    let begin = Instant::now();
    let (mut sum, mut runs) = (Duration::ZERO, 0);
    while runs == 0 || begin.elapsed() < budget {
        sum += once(body, data).0;
        runs += 1;
    }
    sum.as_secs_f64() * 1e6 / f64::from(runs)
}
