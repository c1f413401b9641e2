//! The grain of a loop: the number of iterations between two polls.

/// The number of iterations that a worker runs between two looks at whether anybody has taken the
/// rest of its loop.
///
/// A look costs some tens of nanoseconds (a clock reading and a look at the worker's own deque), so
/// grains should last some microseconds. How many iterations that is cannot be known beforehand,
/// and may change along the loop. So the grain starts at one iteration; while grains are short it
/// grows by the missing factor, at most sixteenfold, and it shrinks when they are long. A body of 1
/// ns reaches its grain in three steps, and a body that suddenly takes a millisecond costs at most
/// one long grain.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::policy::Grain;
///
/// let mut grain = Grain::new();
/// assert_eq!(grain.len(), 1);
/// grain.ran(50); // one iteration took 50 ns
/// assert_eq!(grain.len(), 16);
/// grain.ran(1_000_000); // sixteen took a millisecond
/// assert_eq!(grain.len(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain {
    len: usize,
    /// The factor by which grains may last longer than usual.
    stretch: u64,
}

/// A grain shorter than this is mostly overhead.
const GRAIN_NS_MIN: u64 = 4_000;
/// A grain longer than this leaves others waiting.
const GRAIN_NS_MAX: u64 = 16_000;
/// An offer that has long been ignored is run in grains of up to a millisecond.
const STRETCH_MAX: u64 = 1_000_000 / GRAIN_NS_MAX;

impl Grain {
    /// A grain of one iteration.
    #[must_use]
    pub fn new() -> Self {
        Self::of(1)
    }

    /// A grain of this many iterations, or of one if that is 0.
    #[must_use]
    pub fn of(len: usize) -> Self {
        Self {
            len: len.max(1),
            stretch: 1,
        }
    }

    /// The number of iterations to run now, at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a grain is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Notes that a grain of [`len`](Self::len) iterations took this long.
    pub fn ran(&mut self, grain_ns: u64) {
        let (min_ns, max_ns) = (GRAIN_NS_MIN * self.stretch, GRAIN_NS_MAX * self.stretch);
        if grain_ns < min_ns {
            let factor = (min_ns / grain_ns.max(1)).clamp(2, 16);
            self.len = self.len.saturating_mul(factor as usize);
        } else if grain_ns > max_ns {
            // Go straight to the length that would have been right, if the iterations took so long
            // and not an interruption.
            let fitting = (self.len as u64).saturating_mul(max_ns) / grain_ns;
            self.len = (fitting as usize).clamp(1, self.len / 2 + 1);
        }
    }

    /// Lets grains last twice as long from now on, up to a millisecond, since no thief has taken
    /// the offer.
    pub fn lengthen(&mut self) {
        self.stretch = (self.stretch * 2).min(STRETCH_MAX);
    }

    /// Lets grains last some microseconds again, from the next one on, since a worker is hungry.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use heist::policy::Grain;
    ///
    /// let mut grain = Grain::of(500);
    /// grain.ran(5_000);
    /// assert_eq!(grain.len(), 500);
    /// grain.lengthen();
    /// grain.ran(5_000);
    /// assert_eq!(grain.len(), 1000);
    /// grain.shorten();
    /// assert_eq!(grain.len(), 500);
    /// ```
    pub fn shorten(&mut self) {
        self.len = (self.len / self.stretch as usize).max(1);
        self.stretch = 1;
    }
}

impl Default for Grain {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a loop whose iterations take `ns` each and returns the last grain.
    fn settled(mut grain: Grain, ns: u64) -> usize {
        for _ in 0..64 {
            grain.ran(grain.len() as u64 * ns);
        }
        grain.len()
    }

    #[test]
    fn grains_settle_between_the_bounds_whatever_the_body_costs() {
        for ns in [1, 3, 10, 100, 999, 3_000] {
            let len = settled(Grain::new(), ns) as u64;
            assert!(
                (GRAIN_NS_MIN..=GRAIN_NS_MAX).contains(&(len * ns)),
                "{ns} ns: {len}"
            );
        }
    }

    #[test]
    fn a_body_longer_than_a_grain_runs_one_at_a_time() {
        assert_eq!(settled(Grain::of(100_000), 50_000), 1);
    }

    #[test]
    fn grains_that_nobody_interrupts_grow_to_a_millisecond_and_no_further() {
        for ns in [1, 10, 999, 40_000] {
            let mut grain = Grain::new();
            for _ in 0..64 {
                grain.ran(grain.len() as u64 * ns);
                grain.lengthen();
            }
            let grain_ns = grain.len() as u64 * ns;
            assert!(
                (250_000..=1_000_000).contains(&grain_ns),
                "{ns} ns: {grain_ns}"
            );
        }
    }

    #[test]
    fn one_hungry_look_brings_the_next_grain_back_to_microseconds() {
        let mut grain = Grain::new();
        for _ in 0..64 {
            grain.ran(grain.len() as u64 * 10);
            grain.lengthen();
        }
        grain.shorten();
        assert!((1..=GRAIN_NS_MAX).contains(&(grain.len() as u64 * 10)));
        let settled_len = settled(grain, 10) as u64;
        assert!((GRAIN_NS_MIN..=GRAIN_NS_MAX).contains(&(settled_len * 10)));
    }

    #[test]
    fn the_grain_never_reaches_zero_and_never_overflows() {
        let mut grain = Grain::new();
        grain.ran(u64::MAX);
        assert_eq!(grain.len(), 1);
        for _ in 0..200 {
            grain.ran(0);
        }
        grain.ran(u64::MAX);
        assert!(grain.len() >= 1);
    }
}
