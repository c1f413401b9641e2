//! Predictions: the wall time on a number of workers that the program did not run with.
//!
//! As in Cilkview, work, span and burdened span each bound it; the time outside pools stays as it
//! is.

use serde::Serialize;

use super::bounds::{ratio, Strands, LOWER_BOUND_FACTOR};

/// The wall time to be expected with some number of workers in one pool. Times are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Prediction {
    /// The number of workers.
    pub workers: u64,
    /// The work divided among all of them.
    pub by_work_ns: f64,
    /// The span, which no number of workers makes shorter.
    pub by_span_ns: f64,
    /// The burdened span: the same, with its steals.
    pub by_burdened_span_ns: f64,
    /// The time outside pools.
    pub outside_ns: f64,
    /// No scheduler is faster.
    pub at_best_ns: f64,
    /// A greedy scheduler takes so long.
    pub expected_ns: f64,
    /// It takes no longer than this.
    pub at_worst_ns: f64,
    /// The wall time of one worker by that which is expected.
    pub speedup: f64,
    /// The largest part of the time that is expected.
    pub limit: Limit,
}

/// The largest part of a wall time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limit {
    /// The time outside pools.
    Outside,
    /// The work divided among the workers: more of them help.
    Work,
    /// The span.
    Span,
    /// The steals on the burdened span.
    Steals,
}

impl Strands {
    /// The wall time with that many workers, of which there is at least one.
    #[must_use]
    pub fn prediction(&self, workers: u64) -> Prediction {
        let count = workers.max(1) as f64;
        let by_work_ns = self.work_ns / count;
        let burdened_ns = self.burdened_span_ns.max(self.span_ns);
        let expected_ns = self.time_ns(workers.max(1));
        let steals_ns = burdened_ns - self.span_ns;
        let others = 1.0 - 1.0 / count;
        let parts = [
            (Limit::Outside, self.outside_ns),
            (Limit::Work, by_work_ns),
            (Limit::Span, others * self.span_ns),
            (Limit::Steals, others * steals_ns),
        ];
        let largest = parts
            .into_iter()
            .max_by(|one, other| one.1.total_cmp(&other.1));
        Prediction {
            workers,
            by_work_ns,
            by_span_ns: self.span_ns,
            by_burdened_span_ns: burdened_ns,
            outside_ns: self.outside_ns,
            at_best_ns: self.outside_ns + by_work_ns.max(self.span_ns),
            expected_ns,
            at_worst_ns: self.outside_ns + by_work_ns + LOWER_BOUND_FACTOR * burdened_ns,
            speedup: ratio(self.time_ns(1), expected_ns),
            limit: largest.map_or(Limit::Work, |(limit, _)| limit),
        }
    }
}

impl Limit {
    /// The words for it in texts.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Outside => "most of it outside any pool",
            Self::Work => "most of it work, which more workers would share",
            Self::Span => "most of it the span",
            Self::Steals => "most of it steals on the span",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(work_ns: f64, outside_ns: f64) -> Strands {
        Strands {
            work_ns,
            span_ns: 100.0,
            burdened_span_ns: 120.0,
            outside_ns,
        }
    }

    #[test]
    fn a_prediction_has_the_bounds_by_work_span_and_burdened_span() {
        let eight = program(800.0, 50.0).prediction(8);
        assert_eq!((eight.by_work_ns, eight.by_span_ns), (100.0, 100.0));
        assert_eq!(eight.by_burdened_span_ns, 120.0);
        assert_eq!(eight.at_best_ns, 50.0 + 100.0);
        assert_eq!(eight.expected_ns, 50.0 + 100.0 + 120.0 * 7.0 / 8.0);
        assert_eq!(eight.at_worst_ns, 50.0 + 100.0 + 1.7 * 120.0);
        assert_eq!(eight.speedup, 850.0 / 255.0);
        let two = program(800.0, 50.0).prediction(2);
        assert_eq!(two.at_best_ns, 50.0 + 400.0);
        assert_eq!(two.expected_ns, 50.0 + 400.0 + 60.0);
        let one = program(800.0, 50.0).prediction(1);
        assert_eq!((one.expected_ns, one.speedup), (850.0, 1.0));
    }

    #[test]
    fn the_limit_is_the_largest_part() {
        for (work, outside, workers, limit) in [
            (800.0, 50.0, 2, Limit::Work),
            (800.0, 50.0, 100, Limit::Span),
            (800.0, 500.0, 100, Limit::Outside),
        ] {
            let found = program(work, outside).prediction(workers);
            assert_eq!(found.limit, limit, "{found:?}");
        }
        let fine = Strands {
            burdened_span_ns: 900.0,
            ..program(2000.0, 0.0)
        };
        assert_eq!(fine.prediction(64).limit, Limit::Steals);
    }
}
