//! The steal backoff: how often a thief may ask owners for private jobs.

/// The times at which one thief may ask owners for private jobs.
///
/// Asking costs the owner a detour of some ten nanoseconds, and some microseconds if it has to be
/// interrupted. That pays for a job that takes longer. So the distance between two requests doubles
/// with each stolen job that was not worth it, up to a bound that is short beside any work worth
/// stealing.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::policy::StealBackoff;
///
/// let mut backoff = StealBackoff::new();
/// assert!(backoff.may_ask(1_000));
/// assert!(!backoff.may_ask(1_100), "too soon");
/// assert!(backoff.may_ask(2_000));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StealBackoff {
    /// The time of the last request, plus the distance to keep.
    next_ns: u64,
    distance_ns: u64,
}

const DISTANCE_MIN_NS: u64 = 500;
const DISTANCE_MAX_NS: u64 = 50_000;
/// A stolen job that takes less was not worth the disturbance.
const WORTH_NS: u64 = 2_000;

impl StealBackoff {
    /// A thief that has not asked yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            next_ns: 0,
            distance_ns: DISTANCE_MIN_NS,
        }
    }

    /// True if the thief may ask at this time; then that counts as a request.
    pub fn may_ask(&mut self, now_ns: u64) -> bool {
        let may = now_ns >= self.next_ns;
        if may {
            self.next_ns = now_ns + self.distance_ns;
        }
        may
    }

    /// The time to look away after a round that found nothing. A look at a deque takes its cache
    /// lines from the owner; a thief that may not ask for long need not look often.
    #[must_use]
    pub fn pause_ns(&self) -> u64 {
        (self.distance_ns - DISTANCE_MIN_NS) / 8
    }

    /// Notes how long a stolen job took.
    pub fn stolen_job_took(&mut self, ns: u64) {
        self.distance_ns = if ns < WORTH_NS {
            (self.distance_ns * 2).min(DISTANCE_MAX_NS)
        } else {
            DISTANCE_MIN_NS
        };
    }
}

impl Default for StealBackoff {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thief_of_small_jobs_asks_more_and_more_seldom_and_never_gives_up() {
        let mut backoff = StealBackoff::new();
        for _ in 0..100 {
            backoff.stolen_job_took(WORTH_NS - 1);
        }
        assert!(backoff.may_ask(1));
        assert!(!backoff.may_ask(DISTANCE_MAX_NS));
        assert!(backoff.may_ask(DISTANCE_MAX_NS + 1));
    }

    #[test]
    fn a_thief_that_may_not_ask_for_long_looks_away_for_a_while() {
        let mut backoff = StealBackoff::new();
        assert_eq!(backoff.pause_ns(), 0);
        for _ in 0..100 {
            backoff.stolen_job_took(WORTH_NS - 1);
        }
        assert!((1..DISTANCE_MAX_NS / 4).contains(&backoff.pause_ns()));
    }

    #[test]
    fn one_job_that_was_worth_it_makes_it_bold_again() {
        let mut backoff = StealBackoff::new();
        backoff.stolen_job_took(1);
        backoff.stolen_job_took(WORTH_NS);
        assert!(backoff.may_ask(0));
        assert!(backoff.may_ask(DISTANCE_MIN_NS));
    }
}
