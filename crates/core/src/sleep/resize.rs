//! Resizing: of the workers, those beyond a number are recalled and withdraw.

use heist_sync::atomic::Ordering;
use heist_sync::fault;

use super::protocol::Sleep;

impl Sleep {
    /// How many workers are active.
    pub(crate) fn active(&self) -> usize {
        // Relaxed: a number, which hands nothing over.
        self.active.load(Ordering::Relaxed)
    }

    /// True if this worker is to withdraw when its stack is empty. Compensation workers, whose
    /// indices lie above, do not ask.
    pub(crate) fn is_recalled(&self, worker: usize) -> bool {
        worker >= self.active() && !fault::planted("sleep.is_recalled")
    }

    /// From now on this many workers are active. Unparks those that are recalled, or no more.
    /// Returns how many it woke.
    pub(crate) fn set_active(&self, active: usize) -> usize {
        let before = self.active.swap(active, Ordering::Relaxed);
        // Pairs with the fences in `announce`, `leave_place` and `withdraw`: either the parker is
        // found armed, or whoever has armed it sees the new number.
        fault::fence("sleep.set_active.fence", Ordering::SeqCst);
        let changed = before.min(active)..before.max(active);
        changed.filter(|&worker| self.unpark(worker)).count()
    }

    /// True if some worker is awake, or about to be.
    pub(crate) fn is_somebody_awake(&self) -> bool {
        !self.counts().all_sleep(self.workers())
    }

    /// As [`is_somebody_awake`](Self::is_somebody_awake), apart from the caller, which is.
    pub(crate) fn are_others_awake(&self) -> bool {
        let counts = self.counts();
        counts.sleeping() + counts.withdrawn() + 1 < self.workers()
    }
}
