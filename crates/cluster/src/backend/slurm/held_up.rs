//! Calls that are held up: workers of other kinds answer so much that theirs has no room.
//!
//! Slurm gives room away as workers end, and a worker does not end while calls wait that it can
//! answer. So those in the way get no call for a while, and end.

use std::time::{Duration, Instant};

use crate::backend::turns::Turns;

/// How long calls wait for their worker before others make room.
const PATIENCE: Duration = Duration::from_secs(2);
/// After so many fruitless times the patience has grown to the longest.
const PATIENCE_MAX: Duration = Duration::from_secs(64);
/// How long Slurm may take to place a worker once nobody is in its way.
const PLACING: Duration = Duration::from_secs(3);

/// The history of calls of a kind that wait for a worker.
#[derive(Debug)]
pub(super) struct Wait {
    /// How many calls have begun in the way of these.
    passed: u32,
    since: Option<Instant>,
    patience: Duration,
    /// Since when nobody is in their way.
    empty_since: Option<Instant>,
    /// Their worker would be beyond the limit of all, so that everybody is in its way.
    pub(super) is_beyond: bool,
}

impl Default for Wait {
    fn default() -> Self {
        Self {
            passed: 0,
            since: None,
            patience: PATIENCE,
            empty_since: None,
            is_beyond: false,
        }
    }
}

impl Wait {
    /// Notes that a call has begun in the way of these.
    pub(super) fn pass(&mut self, now: Instant) {
        self.passed = self.passed.saturating_add(1);
        self.since.get_or_insert(now);
    }

    /// Whether others make room.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let has_waited = |since| now.saturating_duration_since(since) >= self.patience;
        self.passed > Turns::PASSED_MAX && self.since.is_some_and(has_waited)
    }

    /// Notes, now and then while others make room, whether somebody is in the way. If nobody is,
    /// and there is still no worker, somebody else has the room, and the others go on for longer.
    pub(super) fn look(&mut self, has_rivals: bool, now: Instant) {
        if has_rivals {
            self.empty_since = None;
            return;
        }
        let since = *self.empty_since.get_or_insert(now);
        if now.saturating_duration_since(since) >= PLACING {
            *self = Self {
                patience: (2 * self.patience).min(PATIENCE_MAX),
                ..Self::default()
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_make_room_after_a_while_and_not_for_ever_in_vain() {
        let began = Instant::now();
        let mut wait = Wait::default();
        let at = |secs| began + Duration::from_secs(secs);
        for _ in 0..100 {
            wait.pass(began);
        }
        assert!(!wait.is_over(at(1)), "a worker takes a while to start");
        assert!(wait.is_over(at(2)));
        // Those in the way have long calls.
        wait.look(true, at(1000));
        assert!(wait.is_over(at(1000)));
        // They have gone, and somebody else has the room.
        wait.look(false, at(1001));
        wait.look(false, at(1004));
        assert!(!wait.is_over(at(1005)));
        for _ in 0..100 {
            wait.pass(at(1005));
        }
        assert!(!wait.is_over(at(1008)), "its patience has grown");
        assert!(wait.is_over(at(1009)));
        let mut quiet = Wait::default();
        quiet.pass(began);
        assert!(!quiet.is_over(at(1000)), "hardly anybody passes it");
    }
}
