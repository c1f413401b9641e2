//! Models under loom: jobs from outside that a busy owner serves in the middle of its own, and the
//! halves of a lane.

use std::cell::Cell;
use std::sync::Arc;

use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::{fault, thread, Barrier, BarrierRequest};

use super::Lanes;
use crate::policy::Priority;
use crate::sleep::{Jobs, Sleep};

/// A prompt pool of one worker, which works and never searches.
struct Pool {
    sleep: Sleep,
    lanes: Lanes<Priority>,
    signalled: AtomicBool,
}

impl Pool {
    fn new() -> Arc<Self> {
        let barrier = Barrier::new(BarrierRequest::Auto).unwrap();
        Arc::new(Self {
            sleep: Sleep::new(1, 0, barrier),
            lanes: Lanes::new(),
            signalled: AtomicBool::new(false),
        })
    }

    fn waits_for_a_worker(&self) -> bool {
        self.lanes.are_urgent() && self.sleep.no_worker_is_free()
    }

    /// As `Pool::inject`.
    fn inject(&self, lane: Priority) {
        self.lanes.push(lane, lane);
        if self.sleep.published(self) == 0 && self.waits_for_a_worker() {
            self.signalled.store(true, Ordering::Relaxed);
        }
    }
}

/// There is no sleeper who would have to see a job.
impl Jobs for Pool {
    fn signal_all(&self) {}

    fn signal(&self, _: usize) {}

    fn are_at(&self, _: usize) -> bool {
        false
    }

    fn are_beyond(&self, _: usize) -> bool {
        false
    }

    fn want_reserve(&self) -> bool {
        false
    }

    fn call(&self, _: usize) -> bool {
        false
    }
}

/// The worker.
struct Owner<'a> {
    pool: &'a Pool,
    serving: Cell<Priority>,
    /// How many jobs it runs on top of each other.
    depth: Cell<u32>,
}

impl Owner<'_> {
    /// As `Worker::service_at_join`, if the push has heard a signal.
    fn join(&self) {
        let pool = self.pool;
        if !pool.signalled.load(Ordering::Relaxed) {
            return;
        }
        pool.signalled.store(false, Ordering::Relaxed);
        pool.sleep.published(pool);
        if pool.waits_for_a_worker() {
            self.serve();
        }
        if pool.waits_for_a_worker() && !fault::planted("lanes.model.call_again") {
            pool.signalled.store(true, Ordering::Relaxed);
        }
    }

    /// As `Worker::take_urgent`. The job joins as well.
    fn serve(&self) {
        let mut lanes = [Priority::High, Priority::Normal].into_iter();
        let is_more_urgent = |lane: &Priority| lane.is_above(self.serving.get());
        let job = lanes.find_map(|lane| {
            let lane = Some(lane).filter(is_more_urgent)?;
            self.pool.lanes.take_from(lane)
        });
        if let Some(lane) = job {
            let below = self.serving.replace(lane);
            self.depth.set(self.depth.get() + 1);
            assert!(self.depth.get() <= 2, "LN-2");
            self.join();
            self.depth.set(self.depth.get() - 1);
            self.serving.set(below);
        }
    }
}

/// Two jobs come while the worker is between two joins: when all is still, the joins that follow
/// find them.
#[test]
fn ln_2_an_owner_comes_for_each_job_from_outside_one_more_urgent_on_top_of_another() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let pool = Pool::new();
        let outside = [Priority::Normal, Priority::High].map(|lane| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.inject(lane))
        });
        let owner = Owner {
            pool: &pool,
            serving: Cell::new(Priority::Low),
            depth: Cell::new(0),
        };
        owner.join();
        for thread in outside {
            thread.join().unwrap();
        }
        owner.join();
        owner.join();
        assert!(pool.lanes.is_empty());
    });
}

fn check(model: impl Fn(Arc<Lanes<u8>>) + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || model(Arc::new(Lanes::new())));
}

#[test]
fn a_job_that_arrives_while_the_halves_are_exchanged_is_seen() {
    check(|lanes| {
        lanes.push(Priority::Normal, 0);
        let outside = thread::spawn({
            let lanes = Arc::clone(&lanes);
            move || lanes.push(Priority::Normal, 1)
        });
        assert_eq!(lanes.take_from(Priority::Normal), Some(0));
        outside.join().unwrap();
        assert!(lanes.holds(Priority::Normal));
        assert_eq!(lanes.take_from(Priority::Normal), Some(1));
        assert!(lanes.is_empty());
    });
}

#[test]
fn a_lane_never_looks_empty_while_a_job_changes_halves() {
    check(|lanes| {
        lanes.push(Priority::Normal, 0);
        lanes.push(Priority::Normal, 1);
        let outside = thread::spawn({
            let lanes = Arc::clone(&lanes);
            move || assert!(!lanes.is_empty(), "one of two is taken at most")
        });
        assert_eq!(lanes.take_from(Priority::Normal), Some(0));
        outside.join().unwrap();
        assert_eq!(lanes.take_from(Priority::Normal), Some(1));
    });
}
