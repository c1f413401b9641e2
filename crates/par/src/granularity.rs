//! The granularity of loops and iterators, and other wishes of their users.

use heist_core::current_num_threads;

/// The way in which a loop or an iterator is cut into parts: see
/// [`with_granularity`](crate::iter::ParallelIterator::with_granularity).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Granularity {
    /// Split when a worker is hungry, and run in grains of some microseconds. Use it unless you
    /// have measured that another is better. A loop of at most twice as many items as workers, and
    /// no more than 256, has a part for each.
    #[default]
    Automatic,
    /// Split beforehand into parts of at most this many items, by halving. For items of known and
    /// equal cost, or where the cuts must not depend on the machine. Slow if the number is small,
    /// and unbalanced if it is large. As `Automatic` where the number of items is unknown.
    Static(usize),
    /// As `Automatic`, but the grains grow, to a millisecond at most, as long as no thief takes a
    /// part, and shrink again when one does. For very long loops of tiny items that rarely need
    /// help.
    Adaptive,
    /// Split beforehand, into parts whose number and length depend on the number of items only: see
    /// [`deterministic`](crate::iter::ParallelIterator::deterministic).
    Deterministic,
}

/// The wishes of an iterator's user, in one place.
///
/// Lengths are counted in [`steps`](crate::iter::plumbing::Part::steps). Fields may be added, so
/// begin with the default policy, or with that of another part:
///
/// ```
/// let mut policy = heist::SplitPolicy::default();
/// policy.min_len = 100;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SplitPolicy {
    /// The fewest steps of a part that results from a split.
    pub min_len: usize,
    /// The most steps of a part that is run without a split, unless `min_len` forbids the split.
    pub max_len: usize,
    /// The way to split otherwise.
    pub granularity: Granularity,
    /// True if the sequence consists of blocks each of which must be done before the next begins: a
    /// split then cuts off the first ones.
    pub in_blocks: bool,
    /// True if grains must last microseconds however short loops of this code were, because
    /// something other than a hungry worker is looked for between them.
    pub(crate) is_timed: bool,
}

impl Default for SplitPolicy {
    fn default() -> Self {
        Self {
            min_len: 1,
            max_len: usize::MAX,
            granularity: Granularity::Automatic,
            in_blocks: false,
            is_timed: false,
        }
    }
}

/// The approximate number of parts of a deterministic reduction that has enough items.
const DETERMINISTIC_PARTS: usize = 1024;

/// An unknown number of steps.
pub(crate) const UNKNOWN: usize = usize::MAX;

/// The most items that count as few, whatever the number of workers: to split up more would take a
/// noticeable time.
const FEW_MAX: usize = 256;

impl SplitPolicy {
    /// The policy of an iterator made of two: both wishes, or those of this one where they exclude
    /// each other.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::{Granularity, SplitPolicy};
    ///
    /// let (mut long, mut adaptive) = (SplitPolicy::default(), SplitPolicy::default());
    /// long.min_len = 100;
    /// adaptive.min_len = 10;
    /// adaptive.granularity = Granularity::Adaptive;
    /// let both = long.and(adaptive);
    /// assert_eq!((both.min_len, both.granularity), (100, Granularity::Adaptive));
    /// ```
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            min_len: self.min_len.max(other.min_len),
            max_len: self.max_len.min(other.max_len),
            granularity: match self.granularity {
                Granularity::Automatic => other.granularity,
                asked_for => asked_for,
            },
            in_blocks: self.in_blocks || other.in_blocks,
            is_timed: self.is_timed || other.is_timed,
        }
    }

    /// The policy of an iterator each of whose steps is so many of this one's.
    pub(crate) fn of_groups(self, size: usize) -> Self {
        let most = |len: usize| match len {
            usize::MAX => len,
            _ => (len / size).max(1),
        };
        Self {
            min_len: self.min_len.div_ceil(size),
            max_len: most(self.max_len),
            granularity: match self.granularity {
                Granularity::Static(len) => Granularity::Static(most(len)),
                other => other,
            },
            ..self
        }
    }

    /// The steps that a part may have, if `steps` are to be cut beforehand.
    pub(crate) fn fixed_len(&self, steps: usize) -> Option<usize> {
        let len = match self.granularity {
            Granularity::Automatic | Granularity::Adaptive => return None,
            Granularity::Static(_) if steps == UNKNOWN => return None,
            Granularity::Static(len) => len,
            Granularity::Deterministic => steps.div_ceil(DETERMINISTIC_PARTS),
        };
        Some(len.min(self.max_len).max(1))
    }

    /// The most items of a loop that has few, all of which are on offer; none if it has more. To be
    /// called on a worker.
    ///
    /// rayon's splitter makes single items of up to twice as many as there are workers.
    pub(crate) fn few(&self, items: usize) -> Option<u16> {
        let is_free = matches!(
            self.granularity,
            Granularity::Automatic | Granularity::Adaptive
        );
        if !is_free || !(2..=FEW_MAX).contains(&items) {
            return None;
        }
        let few = FEW_MAX.min(2 * current_num_threads());
        (items <= few).then_some(few as u16)
    }

    /// The most levels of parts within parts.
    pub(crate) fn levels(&self) -> u32 {
        match self.granularity {
            // Twice more than needed: nested iterators may turn out to have many more steps than
            // the number from which the length of a part was computed.
            Granularity::Deterministic => DETERMINISTIC_PARTS.ilog2() + 2,
            // More than halving needs, and mostly more than there are workers. It protects the
            // stack from iterators that split off little at a time.
            _ => 100,
        }
    }

    /// True if a part of so many steps must be split, so that parts have at most `len`. Where the
    /// number is unknown, splitting would never end.
    pub(crate) fn is_too_long(&self, steps: usize, len: usize) -> bool {
        steps > len && steps != UNKNOWN && self.may_halve(steps)
    }

    /// True if the halves of a part of so many steps are long enough.
    pub(crate) fn may_halve(&self, steps: usize) -> bool {
        steps / 2 >= self.min_len.max(1)
    }

    /// The steps to run at once, at least 1, when the clock suggests `grain`.
    pub(crate) fn grain_len(&self, grain: usize) -> usize {
        grain.max(self.min_len).min(self.max_len).max(1)
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    fn asking(granularity: Granularity) -> SplitPolicy {
        SplitPolicy {
            granularity,
            ..SplitPolicy::default()
        }
    }

    #[test]
    fn lengths_of_zero_mean_one() {
        let policy = SplitPolicy {
            min_len: 0,
            max_len: 0,
            ..asking(Granularity::Static(0))
        };
        assert_eq!(policy.fixed_len(10), Some(1));
        assert_eq!(policy.grain_len(10), 1);
        assert!(policy.is_too_long(2, 1));
        assert!(!policy.may_halve(1));
    }

    #[test]
    fn lengths_are_those_of_groups_rounded_towards_what_was_asked_for() {
        let policy = SplitPolicy {
            min_len: 7,
            max_len: 8,
            ..asking(Granularity::Static(2))
        };
        let groups = policy.of_groups(3);
        assert_eq!((groups.min_len, groups.max_len), (3, 2));
        assert_eq!(groups.granularity, Granularity::Static(1));
        let default = SplitPolicy::default();
        assert_eq!(default.of_groups(3), default);
    }

    #[test]
    fn the_least_length_goes_before_the_greatest() {
        let policy = SplitPolicy {
            min_len: 10,
            max_len: 15,
            ..SplitPolicy::default()
        };
        assert!(!policy.is_too_long(16, 15));
        assert!(!policy.is_too_long(19, 15));
        assert!(policy.is_too_long(20, 15));
    }

    #[test]
    fn what_has_no_known_end_is_not_cut_beforehand() {
        assert_eq!(asking(Granularity::Static(5)).fixed_len(UNKNOWN), None);
        let policy = asking(Granularity::Deterministic);
        let len = policy.fixed_len(UNKNOWN);
        assert!(!policy.is_too_long(UNKNOWN, len.expect("it is not left to the hungry")));
    }

    #[test]
    fn two_wishes_hold_both() {
        let short = SplitPolicy {
            min_len: 3,
            max_len: 9,
            in_blocks: true,
            ..asking(Granularity::Adaptive)
        };
        let long = SplitPolicy {
            min_len: 5,
            max_len: 20,
            ..asking(Granularity::Deterministic)
        };
        let both = SplitPolicy {
            min_len: 5,
            ..short
        };
        assert_eq!(short.and(long), both);
        assert_eq!(short.and(SplitPolicy::default()), short);
        assert_eq!(SplitPolicy::default().and(short), short);
    }
}
