//! How fast any number of workers can be, from work and span.
//!
//! No scheduler beats min(P, T1 / Tinf). A greedy one needs at most T1 / P + (1 - 1 / P) Tinf
//! (Brent 1974), which with the burdened span is the expectation here. The lower bound is
//! Cilkscale's, T1 / (T1 / P + 1.7 burdened), as its plotter draws it.

use serde::Serialize;

/// The factor before the burdened span in the lower bound.
pub(super) const LOWER_BOUND_FACTOR: f64 = 1.7;

/// The numbers of workers for which speed-ups are told: 1 to 1,024.
pub(super) const WORKERS: [u64; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// The time that the strands of a program take, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strands {
    /// The sum of all strands: T1.
    pub work_ns: f64,
    /// The longest path: Tinf.
    pub span_ns: f64,
    /// The longest path if each fork on it cost a steal.
    pub burdened_span_ns: f64,
    /// The wall time outside any pool, which no worker makes shorter.
    pub outside_ns: f64,
}

/// The speed-ups over one worker that bounds allow a number of workers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Speedup {
    /// The number of workers.
    pub workers: u64,
    /// No scheduler makes the parallel part faster than this.
    pub at_most: f64,
    /// A greedy scheduler makes this of the parallel part.
    pub expected: f64,
    /// The parallel part is at least this fast.
    pub at_least: f64,
    /// As `expected`, for the whole program, whose part outside pools stays as it is.
    pub whole_program: f64,
}

impl Strands {
    /// T1 / Tinf; 1 if nothing ran.
    #[must_use]
    pub fn parallelism(&self) -> f64 {
        self.over(self.span_ns)
    }

    /// T1 by the burdened span; 1 if nothing ran.
    #[must_use]
    pub fn burdened_parallelism(&self) -> f64 {
        self.over(self.burdened())
    }

    /// The speed-ups that bounds allow that many workers.
    #[must_use]
    pub fn speedup(&self, workers: u64) -> Speedup {
        let count = workers as f64;
        let upper = count.min(self.parallelism());
        let slowest = self.work_ns / count + LOWER_BOUND_FACTOR * self.burdened();
        Speedup {
            workers,
            at_most: upper,
            expected: self.over(self.time_ns(workers) - self.outside_ns),
            // With few workers the burden alone could make the lower bound fall below 1 / 1.7.
            at_least: ratio(self.work_ns, slowest).min(upper),
            whole_program: ratio(self.time_ns(1), self.time_ns(workers)),
        }
    }

    /// The wall time to be expected with that many workers.
    #[must_use]
    pub fn time_ns(&self, workers: u64) -> f64 {
        let count = workers as f64;
        self.outside_ns + self.work_ns / count + (1.0 - 1.0 / count) * self.burdened()
    }

    /// The burdened span, which at one worker is never more than the work.
    fn burdened(&self) -> f64 {
        self.burdened_span_ns.max(self.span_ns)
    }

    fn over(&self, time_ns: f64) -> f64 {
        ratio(self.work_ns, time_ns).max(1.0)
    }
}

/// `one / other`, or 1 if one of them is nothing.
pub(super) fn ratio(one: f64, other: f64) -> f64 {
    if one > 0.0 && other > 0.0 {
        one / other
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strands(work_ns: f64, span_ns: f64, burdened_span_ns: f64, outside_ns: f64) -> Strands {
        Strands {
            work_ns,
            span_ns,
            burdened_span_ns,
            outside_ns,
        }
    }

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 0.005, "{found} is not {wanted}");
    }

    #[test]
    fn bounds_follow_from_work_and_span() {
        let program = strands(9.84, 1.21, 1.29, 0.0);
        close(program.parallelism(), 8.132);
        close(program.burdened_parallelism(), 7.628);
        let eight = program.speedup(8);
        close(eight.at_most, 8.0);
        close(eight.at_least, 9.84 / (9.84 / 8.0 + 1.7 * 1.29));
        close(eight.expected, 9.84 / (9.84 / 8.0 + 0.875 * 1.29));
        close(program.speedup(1024).at_most, 8.132);
    }

    #[test]
    fn one_worker_is_as_fast_as_itself() {
        for program in [strands(9.0, 3.0, 4.0, 5.0), strands(9.0, 9.0, 12.0, 0.0)] {
            let one = program.speedup(1);
            close(one.at_most, 1.0);
            close(one.expected, 1.0);
            close(one.whole_program, 1.0);
            assert!(one.at_least < 1.0, "{one:?}");
        }
    }

    #[test]
    fn the_part_outside_bounds_the_whole_program_as_amdahl_says() {
        let program = strands(90.0, 0.0, 0.0, 10.0);
        close(program.speedup(9).whole_program, 100.0 / 20.0);
        close(program.speedup(1 << 40).whole_program, 10.0);
    }

    #[test]
    fn bounds_are_in_order_and_grow_with_workers() {
        for program in [
            strands(100.0, 1.0, 2.0, 3.0),
            strands(5.0, 5.0, 50.0, 0.0),
            strands(7.0, 6.0, 6.0, 1e9),
        ] {
            let all = WORKERS.map(|workers| program.speedup(workers));
            for speedup in all {
                assert!(speedup.at_least <= speedup.at_most, "{speedup:?}");
                assert!(speedup.expected >= 1.0, "{speedup:?}");
            }
            for pair in all.windows(2) {
                assert!(pair[0].at_most <= pair[1].at_most, "{pair:?}");
                assert!(pair[0].at_least <= pair[1].at_least, "{pair:?}");
            }
        }
    }

    #[test]
    fn a_program_without_work_gives_numbers_all_the_same() {
        let nothing = strands(0.0, 0.0, 0.0, 0.0);
        close(nothing.parallelism(), 1.0);
        assert!(WORKERS.iter().all(|&workers| {
            let Speedup {
                at_most,
                expected,
                at_least,
                whole_program,
                ..
            } = nothing.speedup(workers);
            [at_most, expected, at_least, whole_program]
                .iter()
                .all(|value| value.is_finite())
        }));
    }
}
