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

impl Yields {
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
            self.not_before_ns = ended_ns.saturating_add(took_ns.saturating_mul(REST));
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
}
