//! Guests: how a caller takes the seat of a worker that sleeps, and gives it back.

use super::counts::Counts;
use super::protocol::{Bell, Jobs, Sleep, TAKEN, VACANT};
use heist_sync::atomic::Ordering;
use heist_sync::fault;

impl Sleep {
    /// A guest takes the seat of a worker that sleeps, if there is one, which
    /// then sleeps on. It counts as working. Returns the worker's index.
    pub(crate) fn sit_down(&self) -> Option<usize> {
        // Acquire: pairs with the release in `announce` and in `stand_up`:
        // what those did who sat here has happened.
        let order = fault::ordering("sleep.sit_down", Ordering::Acquire);
        // The last ones: whoever wakes a worker begins with the first.
        let seat = (0..self.workers()).rev().find(|&worker| {
            let bell = self.bell(Bell::Worker(worker));
            bell.load(Ordering::Relaxed) == VACANT && bell.replace(VACANT, TAKEN, order)
        });
        let Some(seat) = seat else {
            self.seat_wanted.store(true, Ordering::Relaxed);
            return None;
        };
        self.change(Counts::ONE_SLEEPING.wrapping_neg());
        self.lookout.count_visit();
        Some(seat)
    }

    /// True, once, if a guest has found no seat: an idle worker that still spins
    /// should then sleep. Or else a caller that comes back at once would find it
    /// spinning each time.
    pub(crate) fn is_a_seat_wanted(&self) -> bool {
        let is_wanted = self.seat_wanted.load(Ordering::Relaxed);
        if is_wanted {
            self.seat_wanted.store(false, Ordering::Relaxed);
        }
        is_wanted
    }

    /// The guest leaves this seat, whose worker sleeps on, unless there is a job that
    /// it could take, also one that the guest has left behind: then it is woken. The
    /// guest must not touch the seat any more when it calls this.
    pub(crate) fn stand_up(&self, seat: usize, jobs: &impl Jobs) {
        // As S1 to S4.
        self.change(Counts::ONE_SLEEPING);
        // Release: pairs with the acquire of whoever sits here next.
        let order = fault::ordering("sleep.stand_up.bell", Ordering::Release);
        self.bell(Bell::Worker(seat)).store(VACANT, order);
        // Pairs with the fence of P2, for whoever published outside of the pool; and
        // with that in `wake_one`: a worker that still searches below will find the
        // bell armed when it passes the search on, and so will all that it wakes.
        fault::fence("sleep.stand_up.fence", Ordering::SeqCst);
        // Looked at here and not when the counts were changed: who has stopped searching
        // in between was not obliged to wake anybody.
        let others_work =
            self.counts().somebody_works(self.workers()) && !fault::planted("sleep.stand_up.works");
        let is_seen = !others_work || self.is_seen_by_those_who_work(jobs);
        if !is_seen || jobs.are_at(seat) || jobs.are_beyond(seat) {
            self.ring(seat);
        }
    }

    /// S3 and S4. False if a job that one of them pushes may go unseen.
    fn is_seen_by_those_who_work(&self, jobs: &impl Jobs) -> bool {
        jobs.call_all();
        let is_ordered = self.barrier.heavy("sleep.stand_up.heavy");
        if !is_ordered {
            self.lookout.expect_missed_jobs();
        }
        // A lookout sees what nobody is called for.
        is_ordered || self.lookout.is_there()
    }
}
