//! The remote part of `pi-and-primes`: primes are counted in parts of a range, digits of pi
//! computed from any position on, and a job sums primes and can move meanwhile.
//!
//! All three give the same result however the work is cut and wherever it runs.

#![forbid(unsafe_code)]

use std::ops::Range;

use heist_cluster::{job, remote, Job, JobContext, Stop};
use serde::{Deserialize, Serialize};

mod pi;
mod primes;

pub use pi::{DIGITS_MAX, DIGITS_PER_WINDOW};
pub use primes::{Primes, NUMBER_MAX};

heist_cluster::export!();

/// Counts the primes in a range below [`NUMBER_MAX`], on two processors.
///
/// # Examples
///
/// ```
/// assert_eq!(pi_and_primes::count_primes(0..100), 25);
/// ```
#[remote(cpus = 2)]
pub fn count_primes(range: Range<u64>) -> u64 {
    primes::in_range(range).count
}

/// Digits of the fraction of pi, in base 16, on two processors. They are computed in windows
/// of [`DIGITS_PER_WINDOW`]: window 0 begins after the point.
///
/// # Examples
///
/// ```
/// assert_eq!(pi_and_primes::digits_of_pi(0..1), "243f6a8885a308d3");
/// ```
#[remote(cpus = 2)]
pub fn digits_of_pi(windows: Range<u64>) -> String {
    pi::digits(windows)
}

/// The job that counts and sums the primes below `end`. The other fields say how far it has
/// come, and are left out of a new one.
///
/// # Examples
///
/// ```no_run
/// use heist_cluster::{Cluster, JobOptions, Local};
/// use pi_and_primes::SumPrimes;
///
/// let cluster = Cluster::connect(Local::new())?;
/// let job = cluster.submit(SumPrimes::below(10), JobOptions::new("sum"))?;
/// assert_eq!(job.get()?.sum, 2 + 3 + 5 + 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SumPrimes {
    end: u64,
    #[serde(default)]
    next: u64,
    #[serde(default)]
    found: Primes,
}

impl SumPrimes {
    /// How many numbers lie between two safe points: some tens of milliseconds.
    const STEP: u64 = 1 << 23;

    /// The primes below `end`.
    #[must_use]
    pub fn below(end: u64) -> Self {
        Self {
            end,
            next: 0,
            found: Primes::default(),
        }
    }
}

#[job]
impl Job for SumPrimes {
    type Out = Primes;
    const VERSION: u32 = 1;

    fn run(&mut self, context: &JobContext) -> Result<Primes, Stop> {
        if self.end > NUMBER_MAX {
            return Err(Stop::fail(format!(
                "the primes below {} were wanted; {NUMBER_MAX} is the largest end",
                self.end
            )));
        }
        while self.next < self.end {
            context.safe_point(self)?;
            context.set_progress(self.next as f64 / self.end as f64);
            let until = self.end.min(self.next + Self::STEP);
            self.found = self.found + primes::in_range(self.next..until);
            self.next = until;
        }
        Ok(self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_a_file_begins_at_the_beginning() {
        let job: SumPrimes = serde_json::from_str(r#"{"end": 100}"#).expect("a new job");
        assert_eq!(job, SumPrimes::below(100));
        let misspelt = serde_json::from_str::<SumPrimes>(r#"{"end": 100, "form": 7}"#);
        assert!(misspelt.is_err_and(|error| error.to_string().contains("form")));
    }

    #[test]
    fn a_state_goes_through_json_and_back() {
        let mut job = SumPrimes::below(1 << 40);
        job.found = primes::in_range(0..1000);
        job.found.sum += u128::from(u64::MAX);
        let json = serde_json::to_string(&job).expect("it can be written");
        assert_eq!(serde_json::from_str::<SumPrimes>(&json).ok(), Some(job));
    }
}
