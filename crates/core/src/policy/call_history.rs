//! The decision whether the work of an external caller is worth a wake-up.

use super::gaps::LONGEST_NS;

/// The last external caller's stay in a worker's place, from which that of the next one is
/// predicted.
///
/// A woken helper comes some ten microseconds later, which pays for work that lasts longer. Callers
/// mostly come back with the work that they brought before: a program's main thread begins one loop
/// after the other. One that comes back soon finds the helper still awake; after a longer pause the
/// helper sleeps and has to be woken again, which costs processor time each time, so the work must
/// last twice as long. A helper of one that comes back at once [stays awake](super::Gaps), so that
/// work is worth it which has ended before a woken one comes.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::policy::CallHistory;
///
/// let mut calls = CallHistory::new();
/// calls.begin(0);
/// assert!(calls.is_brief(0), "until it has lasted");
/// calls.end(1_000_000, false);
/// calls.begin(1_010_000);
/// assert!(!calls.is_brief(1_010_000), "the last one was worth it");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CallHistory {
    began_ns: u64,
    ended_ns: u64,
    /// The time that the last call would have taken without help.
    lasted_ns: u64,
    /// True if this call is taken to be worth a wake-up from its start.
    is_long: bool,
}

/// Work that has not lasted longer may end at once.
const BRIEF_NS: u64 = 5_000;
/// Half of it is the time in which a woken worker comes.
const WORTH_NS: u64 = 80_000;
/// After a longer pause the helper sleeps.
const SOON_NS: u64 = 2 * LONGEST_NS;
/// After a pause up to this the helper is awake each time.
const AT_ONCE_NS: u64 = 24_000;
/// The work that is then worth it.
const WORTH_AT_ONCE_NS: u64 = 30_000;

impl CallHistory {
    /// An empty history.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            began_ns: 0,
            ended_ns: 0,
            lasted_ns: 0,
            is_long: false,
        }
    }

    /// Notes that a call begins at this time.
    pub fn begin(&mut self, now_ns: u64) {
        let worth_ns = match now_ns.saturating_sub(self.ended_ns) {
            pause_ns if pause_ns <= AT_ONCE_NS => WORTH_AT_ONCE_NS,
            pause_ns if pause_ns <= SOON_NS => WORTH_NS,
            _ => 2 * WORTH_NS,
        };
        self.is_long = self.lasted_ns >= worth_ns;
        self.began_ns = now_ns;
    }

    /// Notes that the call ends at this time. If it `was_helped`, it may have taken half as long as
    /// without.
    pub fn end(&mut self, now_ns: u64, was_helped: bool) {
        let help = if was_helped { 2 } else { 1 };
        self.lasted_ns = now_ns.saturating_sub(self.began_ns) * help;
        self.ended_ns = now_ns;
    }

    /// True if the caller, as far as is known at this time, will not stay long enough to wake
    /// others.
    #[must_use]
    pub fn is_brief(&self, now_ns: u64) -> bool {
        !self.is_long && now_ns.saturating_sub(self.began_ns) < BRIEF_NS
    }
}

impl Default for CallHistory {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_taken_for_brief_until_it_has_lasted() {
        let mut calls = CallHistory::new();
        calls.begin(1_000_000);
        assert!(calls.is_brief(1_000_000 + BRIEF_NS - 1));
        assert!(!calls.is_brief(1_000_000 + BRIEF_NS));
    }

    /// A call of that length after a pause, and whether it was taken for long. Others help a long
    /// one.
    fn call(calls: &mut CallHistory, pause_ns: u64, ns: u64) -> bool {
        let began_ns = calls.ended_ns + pause_ns;
        calls.begin(began_ns);
        let is_long = !calls.is_brief(began_ns);
        calls.end(began_ns + ns, is_long);
        is_long
    }

    #[test]
    fn after_a_long_call_the_next_is_taken_for_long_from_its_start() {
        let mut calls = CallHistory::new();
        let pause_ns = AT_ONCE_NS + 1;
        assert!(!call(&mut calls, pause_ns, WORTH_NS - 1));
        assert!(!call(&mut calls, pause_ns, WORTH_NS));
        assert!(call(&mut calls, pause_ns, WORTH_NS / 2));
        assert!(call(&mut calls, SOON_NS, WORTH_NS / 2 - 1), "it had help");
        assert!(!call(&mut calls, pause_ns, 0));
    }

    #[test]
    fn after_a_pause_a_call_must_last_twice_as_long_to_be_worth_it() {
        let mut calls = CallHistory::new();
        let pause_ns = SOON_NS + 1;
        assert!(!call(&mut calls, pause_ns, 2 * WORTH_NS - 1));
        assert!(!call(&mut calls, pause_ns, 2 * WORTH_NS));
        assert!(call(&mut calls, pause_ns, WORTH_NS));
        assert!(call(&mut calls, pause_ns, WORTH_NS - 1));
        assert!(!call(&mut calls, pause_ns, 0));
    }

    #[test]
    fn calls_that_follow_each_other_at_once_need_not_last_until_a_woken_helper_comes() {
        let mut calls = CallHistory::new();
        assert!(!call(&mut calls, 0, WORTH_AT_ONCE_NS - 1));
        assert!(!call(&mut calls, AT_ONCE_NS, WORTH_AT_ONCE_NS));
        assert!(call(&mut calls, AT_ONCE_NS, WORTH_AT_ONCE_NS / 2));
        assert!(call(&mut calls, 0, WORTH_AT_ONCE_NS / 2 - 1), "it had help");
        assert!(!call(&mut calls, 0, WORTH_AT_ONCE_NS));
        assert!(!call(&mut calls, AT_ONCE_NS + 1, WORTH_AT_ONCE_NS));
    }

    /// Or it would be taken for twice as long ever after.
    #[test]
    fn a_call_that_nobody_could_help_is_taken_for_as_long_as_it_lasted() {
        let mut calls = CallHistory::new();
        assert!(!call(&mut calls, 0, WORTH_NS));
        calls.begin(calls.ended_ns + SOON_NS);
        assert!(!calls.is_brief(calls.began_ns));
        calls.end(calls.began_ns + WORTH_NS - 1, false);
        calls.begin(calls.ended_ns + SOON_NS);
        assert!(calls.is_brief(calls.began_ns));
    }
}
