//! The steal backoff: how often a thief may ask owners for private jobs, and when it leaves their
//! public ones alone.

/// The times at which one thief may ask owners for private jobs, and may steal at all.
///
/// Asking costs the owner a detour of some ten nanoseconds, and some microseconds if it has to be
/// interrupted. That pays for a job that takes longer. So the distance between two requests doubles
/// with each stolen job that was not worth it, up to a bound that is short beside any work worth
/// stealing.
///
/// A theft costs the owner some 0.3 us, even of a public job: the cache lines of its deque, of the
/// job and of the memory that this frees change their place. A thief of jobs that take less rests
/// after each of them, twice as long each time, so that many tiny jobs take about as long as on
/// their owner alone, and not up to three times as long.
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
    /// The length of the last rest, if the last stolen job was tiny, or else 0.
    rest_ns: u64,
    /// The end of it.
    rest_until_ns: u64,
}

const DISTANCE_MIN_NS: u64 = 500;
const DISTANCE_MAX_NS: u64 = 50_000;
/// A stolen job that takes less was not worth the disturbance.
const WORTH_NS: u64 = 2_000;
/// A stolen job that takes less costs more than it saves, whoever made it public.
const TINY_NS: u64 = 400;
const REST_MIN_NS: u64 = 1_000;
const REST_MAX_NS: u64 = 16_000;

impl StealBackoff {
    /// A thief that has not asked yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            next_ns: 0,
            distance_ns: DISTANCE_MIN_NS,
            rest_ns: 0,
            rest_until_ns: 0,
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

    /// The time at which the thief may steal again; 0 if the last stolen job was not tiny.
    #[must_use]
    pub fn rests_until_ns(&self) -> u64 {
        self.rest_until_ns
    }

    /// Notes how long a stolen job took, and when it ended.
    pub fn stolen_job_took(&mut self, ns: u64, ended_ns: u64) {
        if ns < TINY_NS {
            // Of other work, if the thief has not stolen for longer than it would have rested.
            let is_in_a_row = ended_ns < self.rest_until_ns + REST_MAX_NS;
            let doubled = if is_in_a_row { 2 * self.rest_ns } else { 0 };
            self.rest_ns = doubled.clamp(REST_MIN_NS, REST_MAX_NS);
            self.rest_until_ns = ended_ns + self.rest_ns;
        } else {
            self.rest_ns = 0;
            self.rest_until_ns = 0;
        }
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
            backoff.stolen_job_took(WORTH_NS - 1, 0);
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
            backoff.stolen_job_took(WORTH_NS - 1, 0);
        }
        assert!((1..DISTANCE_MAX_NS / 4).contains(&backoff.pause_ns()));
    }

    #[test]
    fn one_job_that_was_worth_it_makes_it_bold_again() {
        let mut backoff = StealBackoff::new();
        backoff.stolen_job_took(1, 0);
        assert_eq!(backoff.rests_until_ns(), REST_MIN_NS);
        backoff.stolen_job_took(WORTH_NS, 10);
        assert_eq!(backoff.rests_until_ns(), 0);
        assert!(backoff.may_ask(0));
        assert!(backoff.may_ask(DISTANCE_MIN_NS));
    }

    #[test]
    fn a_thief_of_tiny_jobs_rests_longer_and_longer_up_to_a_bound() {
        let (mut backoff, mut now_ns) = (StealBackoff::new(), 5);
        let rests = (0..8).map(|_| {
            backoff.stolen_job_took(TINY_NS - 1, now_ns);
            let rest_ns = backoff.rests_until_ns() - now_ns;
            now_ns = backoff.rests_until_ns() + 100;
            rest_ns / REST_MIN_NS
        });
        assert_eq!(rests.collect::<Vec<_>>(), [1, 2, 4, 8, 16, 16, 16, 16]);
    }

    #[test]
    fn a_tiny_job_after_a_long_time_counts_as_the_first() {
        let mut backoff = StealBackoff::new();
        (0..8).for_each(|_| backoff.stolen_job_took(1, 0));
        let later_ns = backoff.rests_until_ns() + REST_MAX_NS;
        backoff.stolen_job_took(1, later_ns);
        assert_eq!(backoff.rests_until_ns(), later_ns + REST_MIN_NS);
    }
}
