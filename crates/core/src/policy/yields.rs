//! Whether a worker that has no job yields its processor.

/// How dear the last yields of a worker were.
///
/// Where nobody else wants the processor, to yield is the cheapest way to wait: the worker that has
/// jobs goes on where it is, and a sleeper would have to be woken. Where another program computes,
/// a worker that yields is away for milliseconds, and counts as searching, so that nobody is woken
/// for the jobs that come: Linux puts it behind all others, and takes the rest of its turn (since
/// 2025 `yield_task_fair` moves its virtual time on to its deadline). Such a worker sleeps instead.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::policy::Yields;
///
/// let mut yields = Yields::new();
/// yields.count(0, 1_000);
/// assert!(yields.may_yield(1_000), "it took a microsecond");
/// yields.count(1_000, 4_001_000);
/// assert!(!yields.may_yield(5_000_000), "somebody else has computed for 4 ms");
/// assert!(yields.may_yield(2_000_000_000), "once a second it tries again");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Yields {
    not_before_ns: u64,
}

/// No yield is longer whose processor nobody else wants, and few in which a job of the same pool
/// has run there.
const LONG_NS: u64 = 1_000_000;
/// After a long yield there is none for so many times its length: they take 0.4 % of the time.
const REST: u64 = 256;
/// The longest time without one: a yield may have lasted as long as the process was stopped.
const REST_MAX_NS: u64 = 60_000_000_000;

impl Yields {
    /// The yields between two looks for a job. They take some 1.5 us, which is most of the time of
    /// a round: a thread that becomes able to run on this processor meanwhile finds the worker in
    /// a yield, and need not interrupt it.
    pub const BURST: u32 = 4;

    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { not_before_ns: 0 }
    }

    /// True if the worker may yield at this time.
    #[must_use]
    pub fn may_yield(&self, now_ns: u64) -> bool {
        now_ns >= self.not_before_ns
    }

    /// Notes a yield from one time to another.
    pub fn count(&mut self, began_ns: u64, ended_ns: u64) {
        let took_ns = ended_ns.saturating_sub(began_ns);
        if took_ns > LONG_NS {
            let rest_ns = took_ns.saturating_mul(REST).min(REST_MAX_NS);
            self.not_before_ns = ended_ns.saturating_add(rest_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker beside a program that computes, whose yields take 4 ms each.
    #[test]
    fn long_yields_take_a_small_part_of_the_time() {
        let (mut yields, mut away_ns) = (Yields::new(), 0);
        let mut now_ns = 0;
        while now_ns < 100_000_000_000 {
            if yields.may_yield(now_ns) {
                yields.count(now_ns, now_ns + 4_000_000);
                now_ns += 4_000_000;
                away_ns += 4_000_000;
            }
            now_ns += 10_000;
        }
        assert!((now_ns / 300..now_ns / 200).contains(&away_ns), "{away_ns}");
    }

    #[test]
    fn short_yields_and_clocks_that_stand_still_change_nothing() {
        let mut yields = Yields::new();
        for (began_ns, ended_ns) in [(0, 0), (7, 700_000), (2_000_000, 1_000_000)] {
            yields.count(began_ns, ended_ns);
            assert!(yields.may_yield(began_ns.min(ended_ns)));
        }
        yields.count(0, u64::MAX);
        assert!(!yields.may_yield(u64::MAX - 1));
    }

    #[test]
    fn a_process_that_was_stopped_for_an_hour_yields_again_within_a_minute() {
        let (mut yields, hour_ns) = (Yields::new(), 3_600_000_000_000);
        yields.count(0, hour_ns);
        assert!(!yields.may_yield(hour_ns + 1_000_000_000));
        assert!(yields.may_yield(hour_ns + 60_000_000_000));
    }
}
