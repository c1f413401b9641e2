//! How finely a loop or an iterator is cut.

/// How finely a loop or an iterator is cut: see
/// [`with_granularity`](crate::iter::ParallelIterator::with_granularity).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Granularity {
    /// Split when somebody is hungry, in pieces of some microseconds by the clock.
    /// For everything, unless you have measured that another is better.
    #[default]
    Automatic,
    /// Split beforehand into parts of at most this many items, by halving. For items
    /// whose cost is known and equal, or where what lands in one part must not
    /// depend on the machine; it is slow if the number is small, and unbalanced if it
    /// is large.
    Static(usize),
    /// As `Automatic`, but the pieces grow, to a millisecond at most, as long as
    /// nobody takes a part, and shrink again when somebody does. For very long loops
    /// of tiny items that rarely need help.
    Adaptive,
    /// Split beforehand, into parts whose number and length depend on the number of
    /// items only: see [`deterministic`](crate::iter::ParallelIterator::deterministic).
    Deterministic,
}

/// What the iterator's user has asked for, in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitPolicy {
    /// No part is split into parts of fewer steps than that.
    pub min_len: usize,
    /// No part of more steps than that is run without splitting it.
    pub max_len: usize,
    /// When to split otherwise.
    pub granularity: Granularity,
}

impl Default for SplitPolicy {
    fn default() -> Self {
        Self {
            min_len: 1,
            max_len: usize::MAX,
            granularity: Granularity::Automatic,
        }
    }
}

/// A deterministic reduction has about as many parts as that, if it has the items.
const DETERMINISTIC_PARTS: usize = 1024;

impl SplitPolicy {
    /// If parts are cut beforehand: how many steps of `steps` each may have.
    pub(crate) fn fixed_len(&self, steps: usize) -> Option<usize> {
        match self.granularity {
            Granularity::Automatic | Granularity::Adaptive => None,
            Granularity::Static(len) => Some(len.max(1)),
            Granularity::Deterministic => Some(steps.div_ceil(DETERMINISTIC_PARTS).max(1)),
        }
    }

    /// What holds for an iterator made of two: both wishes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            min_len: self.min_len.max(other.min_len),
            max_len: self.max_len.min(other.max_len),
            granularity: match self.granularity {
                Granularity::Automatic => other.granularity,
                asked_for => asked_for,
            },
        }
    }

    /// How many steps to run at once, when the clock suggests `grain`.
    pub(crate) fn piece_len(&self, grain: usize) -> usize {
        grain.max(self.min_len).min(self.max_len)
    }
}
