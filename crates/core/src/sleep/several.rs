//! P4: a worker in whose deque several jobs wait wakes more than one, and for its next pushes it
//! looks again without being signalled.

use std::cell::Cell;

use heist_sync::fault;

use super::protocol::{Jobs, Sleep};

/// How many pushes in a row look again. Those of a loop's first halves are fewer. A worker that is
/// woken counts as searching before it has a processor, which can take milliseconds: if a worker
/// with short jobs looked until then, each of its joins would cost ten.
const PUSHES: u32 = 16;

/// How many more pushes of a worker look who sleeps because somebody searches.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    left: Cell<u32>,
}

impl Looks {
    pub(crate) const fn new() -> Self {
        Self { left: Cell::new(0) }
    }
}

impl Sleep {
    /// P2 to P4, for the jobs that wait in the publisher's deque. As
    /// [`published_by`](Self::published_by).
    pub(crate) fn published_among(
        &self,
        waiting: usize,
        jobs: &impl Jobs,
        is_brief: impl Fn() -> bool,
    ) -> Option<usize> {
        match self.published_by(jobs, &is_brief) {
            Some(0) if waiting > 1 && !is_brief() => Some(self.wake_another(waiting)),
            woke => woke,
        }
    }

    /// P4: wakes one sleeping worker though others search, if there are more jobs than searchers.
    /// Returns how many it woke.
    fn wake_another(&self, jobs: usize) -> usize {
        let counts = self.counts();
        let wants_more = counts.searching() < jobs && counts.sleeping() > 0;
        usize::from(wants_more && !fault::planted("sleep.another") && self.wake_sleeper())
    }

    /// P4: true if the publisher, which has just woken so many, is to look again with its next
    /// push.
    pub(crate) fn looks_again(&self, looks: &Looks, woke: usize) -> bool {
        let left = match looks.left.get() {
            _ if self.counts().searching() == 0 || fault::planted("sleep.alert") => 0,
            // A signal of somebody else, or another searcher.
            0 => PUSHES,
            _ if woke > 0 => PUSHES,
            left => left - 1,
        };
        looks.left.set(left);
        left > 0
    }
}
