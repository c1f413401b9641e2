//! The turns of jobs that wait for any worker: when one comes before a worker's own jobs, and which
//! one.

/// The urgency of a job among those that wait for a worker.
///
/// A worker's own spawns go to its deque, where the newest comes first. Jobs from outside, and
/// those of another priority than normal, wait in *lanes*, one for each priority, in which the
/// oldest comes first. High jobs come before everything else that a worker could run when it comes
/// back to its main loop or waits, unless it is far up its stack; in a pool that was built with
/// [`Injected::Prompt`](crate::Injected::Prompt) also in the middle of its joins and loops. Low
/// jobs come when there is nothing else. But no lane is passed over for ever: when workers have
/// served others for [ten milliseconds](Self::PASSED_OVER_MAX_NS), the next worker to look takes
/// one of its jobs. A worker's own jobs and mail are not passed over for longer either.
///
/// No job is interrupted: an urgent one waits until a worker finishes its job.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let group = heist::TaskGroup::new().with_priority(heist::Priority::Low);
/// group.run(|| println!("when there is nothing else to do"));
/// group.wait();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Priority {
    /// Before all that waits.
    High,
    /// In turn.
    #[default]
    Normal,
    /// When there is nothing else.
    Low,
}

impl Priority {
    /// The longest time for which a lane is passed over while there are other jobs, in nanoseconds.
    pub const PASSED_OVER_MAX_NS: u64 = 10_000_000;
    /// The most urgent first.
    pub(crate) const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    /// True if a job of this priority comes before one of the other.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use heist::Priority;
    ///
    /// assert!(Priority::High.is_above(Priority::Normal));
    /// assert!(!Priority::Low.is_above(Priority::Low));
    /// ```
    #[must_use]
    pub fn is_above(self, other: Self) -> bool {
        (self as u8) < other as u8
    }

    /// The lane that comes before a worker's own jobs, if one does. `waits` says which lanes hold
    /// jobs, `since_ns` since when each has been passed over, from the most urgent on.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use heist::Priority;
    ///
    /// let (waits, since_ns) = ([true, false, true], [None, None, Some(5)]);
    /// assert_eq!(Priority::first(waits, since_ns, 6), Some(Priority::High));
    /// let late_ns = 5 + Priority::PASSED_OVER_MAX_NS;
    /// assert_eq!(Priority::first(waits, since_ns, late_ns), Some(Priority::Low));
    /// ```
    #[must_use]
    pub fn first(waits: [bool; 3], since_ns: [Option<u64>; 3], now_ns: u64) -> Option<Self> {
        let late = Self::ALL.into_iter().filter_map(|lane| {
            let since_ns = since_ns[lane as usize].filter(|_| waits[lane as usize])?;
            Self::is_late(since_ns, now_ns).then_some((since_ns, lane))
        });
        let oldest = late.min_by_key(|&(since_ns, _)| since_ns);
        let high = waits[Self::High as usize].then_some(Self::High);
        oldest.map(|(_, lane)| lane).or(high)
    }

    /// True if something that has waited since then comes before all others.
    pub(crate) fn is_late(since_ns: u64, now_ns: u64) -> bool {
        now_ns.saturating_sub(since_ns) >= Self::PASSED_OVER_MAX_NS
    }
}

/// Counts how often, and since when, a worker has passed over normal jobs in the injector, or
/// those in its queue.
///
/// A worker takes its own jobs first, and its victims', because the caches are warm and a tree of
/// jobs is finished before another is begun. A job from outside would wait as long as there are
/// any. So after some jobs that came before it, or some time, whichever comes first, it has its
/// turn on the next worker that finishes a job.
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
    /// The jobs after which there is a turn. A prime, so that it falls into step with no pattern of
    /// jobs.
    pub const JOBS_MAX: u32 = 61;
    /// The time after which there is a turn, in nanoseconds.
    pub const PASSED_MAX_NS: u64 = 1_000_000;

    /// Nothing has been passed over.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            passed: 0,
            since_ns: None,
        }
    }

    /// True if it is the turn of a job from outside that waits at this time. If not, counts that it
    /// was passed over once more.
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

    /// One worker, which takes no own jobs, and lanes into which new jobs come all the time: serves
    /// jobs of `job_ns` for a second, and returns for how long each lane stood still at most.
    fn serve(flooded: [bool; 3], job_ns: u64) -> [u64; 3] {
        let (mut since_ns, mut served_ns) = ([None; 3], [0; 3]);
        let mut longest_ns = [0; 3];
        let mut now_ns = 0;
        while now_ns < 1_000_000_000 {
            let lowest = flooded.iter().position(|&waits| waits);
            let lane = Priority::first(flooded, since_ns, now_ns)
                .map_or_else(|| lowest.expect("one is flooded"), |lane| lane as usize);
            for other in (0..3).filter(|&other| flooded[other] && other != lane) {
                since_ns[other].get_or_insert(now_ns);
            }
            since_ns[lane] = None;
            longest_ns[lane] = longest_ns[lane].max(now_ns - served_ns[lane]);
            served_ns[lane] = now_ns;
            now_ns += job_ns;
        }
        longest_ns
    }

    #[test]
    fn ln_1_each_lane_moves_each_ten_milliseconds_and_a_job_whatever_floods_the_others() {
        for flooded in [[true, true, true], [true, false, true], [false, true, true]] {
            for job_ns in [1_000, 300_000, 40_000_000] {
                for (lane, longest_ns) in serve(flooded, job_ns).into_iter().enumerate() {
                    // The job after which it is passed over first; two others may be late as well.
                    let bound_ns = Priority::PASSED_OVER_MAX_NS + 3 * job_ns;
                    assert!(longest_ns <= bound_ns, "lane {lane}: {longest_ns} ns");
                    assert_eq!(longest_ns > 0, flooded[lane]);
                }
            }
        }
    }

    #[test]
    fn a_lane_in_which_nothing_waits_has_no_turn() {
        let since_ns = [Some(0), Some(0), Some(0)];
        let late_ns = Priority::PASSED_OVER_MAX_NS;
        assert_eq!(Priority::first([false; 3], since_ns, late_ns), None);
        let low = [false, false, true];
        assert_eq!(Priority::first(low, [None; 3], late_ns), None);
        assert_eq!(Priority::first(low, since_ns, late_ns), Some(Priority::Low));
    }
}
