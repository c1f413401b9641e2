//! Driven workers, which rest in a function of the program's instead of in the kernel: one that
//! waits for sockets, say, and polls the worker's main loop when its waker is called.

use std::task::Waker;

use heist_sync::atomic::Ordering;
use heist_sync::{fault, CachePadded};

use super::protocol::{Jobs, Rest, Sleep, Sleeper, Sleeps, AWAKE};
use super::resting::Resting;
use super::sequence::sees_a_job;
use super::watch::Watch;
use super::Searcher;
use crate::base::latch::CoreLatch;

/// How a driven worker rests.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) enum Nap {
    /// Until its waker is called.
    UntilWoken,
    /// As the lookout: it is to [go on](Sleep::naps_on) as soon as the function that drives it has
    /// had its turn.
    Watching(Watch),
}

impl Sleep {
    /// For workers that are driven.
    pub(crate) fn driven(mut self) -> Self {
        let places = (0..self.workers()).map(|_| CachePadded::new(Resting::new()));
        self.driven = places.collect();
        self
    }

    /// Notes how this worker, which is driven, is woken from now on, if it still is driven.
    pub(crate) fn is_woken_by(&self, worker: usize, waker: Option<&Waker>) {
        self.driven[worker].is_woken_by(waker);
    }

    /// Has this worker polled, which is driven.
    pub(crate) fn call_waker(&self, worker: usize) {
        self.driven[worker].call_waker();
    }

    /// As [`search`](Self::search), for a driven worker that searches already, up to its next rest.
    pub(crate) fn search_driven<S: Searcher>(
        &self,
        searcher: &mut S,
        jobs: &impl Jobs,
        worker: usize,
        latch: &CoreLatch,
    ) -> Result<Option<S::Job>, Nap> {
        let parker = Sleeper::Worker(worker);
        let place = &self.driven[worker];
        place.turn(!fault::planted("sleep.driven.turn"));
        match self.search_awake(searcher, jobs, parker, Sleeps::Driven, latch) {
            Ok(found) => {
                place.turn(false);
                Ok(found)
            }
            Err(rest) => Err(self.nap(parker, rest, jobs)),
        }
    }

    /// S4 and S5.
    fn nap(&self, parker: Sleeper, mut rest: Rest, jobs: &impl Jobs) -> Nap {
        loop {
            match rest {
                Rest::UntilUnparked => return Nap::UntilWoken,
                Rest::AsLookout => return Nap::Watching(self.begin_watch()),
                // At once: only a timer would bring it back later.
                Rest::Briefly => {
                    rest = self.passes_barrier(parker, jobs, || sees_a_job(jobs, parker));
                }
            }
        }
    }

    /// A driven worker is polled that rests. `None` if it was unparked: it searches, and
    /// [`has_slept`](Self::has_slept).
    pub(crate) fn naps_on(&self, worker: usize, nap: Nap, jobs: &impl Jobs) -> Option<Nap> {
        let parker = Sleeper::Worker(worker);
        let nap = match nap {
            Nap::UntilWoken => nap,
            Nap::Watching(mut watch) => {
                if self.watches_on(&mut watch, parker, jobs, || sees_a_job(jobs, parker)) {
                    return Some(Nap::Watching(watch));
                }
                self.nap(parker, Rest::Briefly, jobs)
            }
        };
        // Relaxed: no caller has been in its place, so nothing is handed over.
        let is_awake = self.parker(parker).load(Ordering::Relaxed) == AWAKE;
        if is_awake && matches!(nap, Nap::UntilWoken) {
            self.driven[worker].turn(false);
            return None;
        }
        Some(nap)
    }

    /// A driven worker that rests comes out by itself: it searches.
    pub(crate) fn cancel_nap(&self, worker: usize, nap: &Nap) {
        let rest = match nap {
            Nap::UntilWoken => Rest::UntilUnparked,
            Nap::Watching(_) => Rest::AsLookout,
        };
        self.cancel(Sleeper::Worker(worker), rest);
        self.driven[worker].turn(false);
    }
}
