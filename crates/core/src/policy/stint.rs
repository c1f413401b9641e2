//! The time for which a worker serves one strand before other jobs have their turn.

use super::turns::Turns;

/// The time that one worker has spent on the jobs of one strand.
///
/// A strand may never come to an end, and its worker has other things to do. So after a turn, of
/// some jobs or some time, whichever comes first, it looks whether anything else waits; if so, the
/// strand goes behind it. If not, another turn follows, but not for ever: its worker may be needed
/// for something that it does not see.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::policy::Stint;
///
/// let mut stint = Stint::new(0);
/// assert!(!stint.is_over(|| 1_000, || true), "it has just begun");
/// assert!(!stint.is_over(|| 60_000, || false), "a turn is over, and nothing else waits");
/// assert!(stint.is_over(|| 120_000, || true));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Stint {
    began_ns: u64,
    turn_began_ns: u64,
    /// The jobs of the turns before.
    jobs: u32,
    turn_jobs: u32,
}

impl Stint {
    /// The most jobs of a turn.
    pub const TURN_JOBS: u32 = 32;
    /// The longest turn, in nanoseconds.
    pub const TURN_NS: u64 = 50_000;
    /// The most jobs of a stint, whatever the clock says.
    const JOBS_MAX: u32 = 1 << 16;
    /// The longest stint, since a job from outside is passed over for as long.
    const LONGEST_NS: u64 = Turns::PASSED_MAX_NS;

    /// The stint of a worker that begins to serve a strand at this time.
    #[must_use]
    pub fn new(now_ns: u64) -> Self {
        Self {
            began_ns: now_ns,
            turn_began_ns: now_ns,
            jobs: 0,
            turn_jobs: 0,
        }
    }

    /// Asked before each job: true if others are to go first. `now_ns` gives the time, and is
    /// called after 1, 2, 4, 8, .. jobs of a turn, because it takes longer than an empty job;
    /// `others_wait` is called when a turn is over.
    #[inline]
    pub fn is_over(
        &mut self,
        now_ns: impl FnOnce() -> u64,
        others_wait: impl FnOnce() -> bool,
    ) -> bool {
        let ran = self.turn_jobs;
        self.turn_jobs += 1;
        if !ran.is_power_of_two() {
            return false;
        }
        self.is_over_at(now_ns(), ran, others_wait)
    }

    /// As `is_over`, after `ran` jobs of the turn.
    fn is_over_at(&mut self, now_ns: u64, ran: u32, others_wait: impl FnOnce() -> bool) -> bool {
        if ran < Self::TURN_JOBS && now_ns.saturating_sub(self.turn_began_ns) < Self::TURN_NS {
            return false;
        }
        self.jobs += ran;
        self.turn_jobs = 1;
        self.turn_began_ns = now_ns;
        self.jobs >= Self::JOBS_MAX
            || now_ns.saturating_sub(self.began_ns) >= Self::LONGEST_NS
            || others_wait()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_asked_a_few_times_a_turn() {
        let (mut stint, mut asked) = (Stint::new(0), 0);
        for n in 0..=Stint::TURN_JOBS {
            let now_ns = || {
                asked += 1;
                0
            };
            let is_over = stint.is_over(now_ns, || true);
            assert_eq!(is_over, n == Stint::TURN_JOBS);
        }
        assert_eq!(asked, 6);
    }

    #[test]
    fn short_jobs_are_a_turn_of_some_thirty() {
        let mut stint = Stint::new(0);
        let jobs = (0..1_000).take_while(|_| !stint.is_over(|| 0, || true));
        assert_eq!(jobs.count(), Stint::TURN_JOBS as usize);
    }

    #[test]
    fn a_long_job_is_a_turn() {
        let mut stint = Stint::new(0);
        assert!(!stint.is_over(|| 0, || true));
        assert!(stint.is_over(|| Stint::TURN_NS, || true));
    }

    #[test]
    fn others_are_looked_for_once_a_turn() {
        let (mut stint, mut looks) = (Stint::new(0), 0);
        for _ in 0..10 * Stint::TURN_JOBS {
            let look = || {
                looks += 1;
                false
            };
            assert!(!stint.is_over(|| 0, look));
        }
        assert_eq!(looks, 9);
    }

    #[test]
    fn a_stint_ends_even_if_nothing_else_is_seen_and_the_clock_stands_still() {
        let mut stint = Stint::new(7);
        assert!(!stint.is_over(|| 7, || false));
        assert!(stint.is_over(|| 7 + Stint::LONGEST_NS, || false));
        let mut stint = Stint::new(7);
        assert!((0..1 << 20).any(|_| stint.is_over(|| 7, || false)));
        assert!(
            (0..1 << 10).any(|_| stint.is_over(|| 0, || false)),
            "nor if it goes back"
        );
    }
}
