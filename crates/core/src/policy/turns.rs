//! When a job from outside comes before the worker's own.

/// Counts how often, and since when, a worker has passed over a job in the injector.
///
/// A worker takes its own jobs first, and its victims', because the caches are warm and a tree of
/// jobs is finished before another is begun. A job from outside then waits as long as there are
/// any. So after some jobs that came before it, or some time, it is its turn: on each worker that
/// comes to an end of a job, whichever comes first.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::policy::Turns;
///
/// let mut turns = Turns::new();
/// assert!(!turns.is_due(5_000), "it has waited for nothing yet");
/// assert!(turns.is_due(2_000_000), "and now for two milliseconds");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    passed: u32,
    since_ns: Option<u64>,
}

impl Turns {
    /// After so many jobs. Prime, so that it falls into step with no pattern of jobs.
    pub const JOBS_MAX: u32 = 61;
    /// After so much time, in nanoseconds.
    pub const PASSED_MAX_NS: u64 = 1_000_000;

    /// Nothing has been passed over.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            passed: 0,
            since_ns: None,
        }
    }

    /// A job from outside waits at this time: true if it is its turn. If not, it has been passed
    /// over once more.
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        self.passed = self.passed.saturating_add(1);
        self.passed > Self::JOBS_MAX || now_ns.saturating_sub(since_ns) >= Self::PASSED_MAX_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_jobs_come_first_some_sixty_times_and_no_more() {
        let mut turns = Turns::new();
        let before = (0..1_000).take_while(|_| !turns.is_due(7)).count();
        assert_eq!(before, Turns::JOBS_MAX as usize);
    }

    #[test]
    fn a_long_job_comes_first_once() {
        let mut turns = Turns::new();
        assert!(!turns.is_due(0));
        assert!(turns.is_due(Turns::PASSED_MAX_NS));
        assert!(turns.is_due(Turns::PASSED_MAX_NS + 1), "until it is served");
    }

    #[test]
    fn a_clock_that_stands_still_or_goes_back_is_no_reason_to_wait_for_ever() {
        let mut turns = Turns::new();
        assert!(!turns.is_due(1_000_000_000));
        assert!((0..100).any(|_| turns.is_due(0)));
    }
}
