//! Whether a guest's work is worth waking somebody for.

/// How long the last guest of a seat stayed, and so how long the next one may stay.
///
/// Somebody who is woken comes some ten microseconds later, and is worth it for work that
/// lasts longer. Guests mostly come back with what they brought before: a program's main
/// thread begins one loop after the other.
///
/// # Examples
///
/// ```
/// use heist_core::policy::Visits;
///
/// let mut visits = Visits::new();
/// assert!(visits.is_brief(0), "until it has lasted");
/// visits.end(1_000_000);
/// assert!(!visits.is_brief(0), "the last one was worth it");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Visits {
    /// The last one was worth it.
    are_long: bool,
}

/// Work that has not lasted longer may end at once.
const BRIEF_NS: u64 = 5_000;
/// Half of that is the time in which whoever is woken comes.
const WORTH_NS: u64 = 80_000;

impl Visits {
    /// Knows of none.
    #[must_use]
    pub const fn new() -> Self {
        Self { are_long: false }
    }

    /// A visit took this long. One that had help may take half as long as without.
    pub fn end(&mut self, ns: u64) {
        let help = if self.are_long { 2 } else { 1 };
        self.are_long = ns >= WORTH_NS / help;
    }

    /// True if a guest that came so long ago will probably not stay long enough for others to
    /// be woken.
    #[must_use]
    pub fn is_brief(&self, since_ns: u64) -> bool {
        since_ns < BRIEF_NS && !self.are_long
    }
}

impl Default for Visits {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_is_taken_for_brief_until_it_has_lasted() {
        let visits = Visits::new();
        assert!(visits.is_brief(BRIEF_NS - 1));
        assert!(!visits.is_brief(BRIEF_NS));
    }

    #[test]
    fn after_a_long_visit_the_next_is_taken_for_long_from_its_start() {
        let mut visits = Visits::new();
        visits.end(WORTH_NS - 1);
        assert!(visits.is_brief(0));
        visits.end(WORTH_NS);
        assert!(!visits.is_brief(0));
        visits.end(WORTH_NS / 2);
        assert!(!visits.is_brief(0), "it had help");
        visits.end(WORTH_NS / 2 - 1);
        assert!(visits.is_brief(0));
    }
}
