//! The sleep protocol, one step at a time, in one thread.

use std::cell::Cell;

use heist_sync::{Barrier, BarrierRequest};

use super::protocol::{Rest, Sleeps};
use super::{Jobs, Looks, Sleep, Sleeper};
use crate::base::latch::CoreLatch;

/// Jobs at one worker, or none; and how often the owners were signalled.
#[derive(Default)]
struct Somewhere {
    at: Cell<Option<usize>>,
    signals: Cell<u32>,
}

impl Jobs for Somewhere {
    fn signal_all(&self) {
        self.signals.set(self.signals.get() + 1);
    }

    fn signal(&self, _: usize) {}

    fn are_at(&self, worker: usize) -> bool {
        self.at.get() == Some(worker)
    }

    fn are_beyond(&self, worker: usize) -> bool {
        self.at.get().is_some_and(|at| at != worker)
    }

    fn want_reserve(&self) -> bool {
        true
    }

    fn call(&self, _: usize) -> bool {
        false
    }
}

fn nowhere() -> Somewhere {
    Somewhere::default()
}

fn sleep(workers: usize) -> Sleep {
    Sleep::new(
        workers,
        0,
        Barrier::new(BarrierRequest::Auto).expect("auto"),
    )
}

fn sleep_without_membarrier(workers: usize) -> Sleep {
    Sleep::new(
        workers,
        0,
        Barrier::new(BarrierRequest::Fence).expect("fence"),
    )
}

/// Lets a searching worker announce its sleep.
fn announce(sleep: &Sleep, worker: usize) -> Rest {
    sleep.start_search();
    let rest = sleep.announce(
        Sleeper::Worker(worker),
        Sleeps::Vacant,
        &CoreLatch::new(),
        &nowhere(),
    );
    rest.expect("its latch is not set")
}

fn counts(sleep: &Sleep) -> (usize, usize) {
    let counts = sleep.counts();
    (counts.searching(), counts.sleeping())
}

#[test]
fn a_publication_wakes_one_sleeper_and_no_second_while_that_one_searches() {
    let sleep = sleep(3);
    for worker in 0..2 {
        let _ = announce(&sleep, worker);
    }
    assert_eq!(counts(&sleep), (0, 2));
    assert_eq!(sleep.published(&nowhere()), 1);
    assert_eq!(counts(&sleep), (1, 1));
    assert_eq!(sleep.published(&nowhere()), 0);
    sleep.block(Sleeper::Worker(0), Rest::UntilUnparked, &nowhere(), || {
        false
    });
}

#[test]
fn publications_of_several_jobs_wake_as_many_as_there_are_jobs() {
    let sleep = sleep(4);
    let publish = |waiting| sleep.published_among(waiting, &nowhere(), || false);
    assert_eq!(publish(2), Some(0), "nobody sleeps");
    for worker in 0..3 {
        let _ = announce(&sleep, worker);
    }
    assert_eq!(publish(1), Some(1));
    assert_eq!(publish(1), Some(0), "it searches");
    assert_eq!(publish(2), Some(1), "though it searches still");
    assert_eq!(counts(&sleep), (2, 1));
    assert_eq!(publish(2), Some(0), "as many search as there are jobs");
    assert_eq!(sleep.published_among(3, &nowhere(), || true), Some(0));
    assert_eq!(publish(3), Some(1));
    assert_eq!(counts(&sleep), (3, 0));
    assert_eq!(publish(4), Some(0), "all are awake");
}

#[test]
fn a_publisher_looks_again_a_few_times_while_somebody_searches() {
    let (sleep, looks) = (sleep(3), Looks::new());
    let in_a_row = || {
        (0..1000)
            .take_while(|_| sleep.looks_again(&looks, 0))
            .count()
    };
    assert_eq!(in_a_row(), 0, "nobody searches");
    sleep.start_search();
    let few = in_a_row();
    assert!((3..100).contains(&few), "{few}");
    assert_eq!(in_a_row(), few, "a signal of somebody else came");
    assert!(sleep.looks_again(&looks, 0));
    assert!(sleep.looks_again(&looks, 1));
    assert_eq!(in_a_row(), few - 1, "it woke one in between");
    assert!(sleep.looks_again(&looks, 0));
    assert_eq!(sleep.stop_search(&nowhere()), 0);
    assert_eq!(in_a_row(), 0, "nobody searches any more");
}

#[test]
fn the_last_searcher_passes_the_search_on() {
    let sleep = sleep(3);
    let _ = announce(&sleep, 1);
    sleep.start_search();
    assert_eq!(sleep.published(&nowhere()), 0, "somebody searches");
    assert_eq!(sleep.stop_search(&nowhere()), 1);
    assert_eq!(counts(&sleep), (1, 0));
}

#[test]
fn a_cancelled_sleep_leaves_the_worker_searching() {
    let sleep = sleep(1);
    let rest = announce(&sleep, 0);
    sleep.cancel(Sleeper::Worker(0), rest);
    assert_eq!(counts(&sleep), (1, 0));
    assert!(!sleep.unpark(0), "nobody sleeps");
}

#[test]
fn no_worker_sleeps_on_a_latch_that_is_set() {
    let sleep = sleep(1);
    let latch = CoreLatch::new();
    // SAFETY: the latch lives to the end of the test.
    assert!(!unsafe { CoreLatch::set(&raw const latch) });
    sleep.start_search();
    assert_eq!(
        sleep.announce(Sleeper::Worker(0), Sleeps::Vacant, &latch, &nowhere()),
        None
    );
    assert_eq!(counts(&sleep), (1, 0));
}

/// SL-2 without membarrier: while some worker is awake and some sleep, one of the sleepers looks
/// again by itself; when all sleep, none does.
#[test]
fn without_membarrier_one_sleeper_is_the_lookout_unless_all_sleep() {
    let sleep = sleep_without_membarrier(3);
    assert_eq!(announce(&sleep, 0), Rest::AsLookout);
    assert_eq!(
        announce(&sleep, 1),
        Rest::UntilUnparked,
        "there is one already"
    );
    assert_eq!(announce(&sleep, 2), Rest::UntilUnparked, "all sleep");
}

/// Whether a sleeper looks by itself, and when, would be left to the time.
#[test]
fn in_a_scheduled_pool_no_sleeper_looks_by_itself() {
    for sleep in [sleep(2), sleep_without_membarrier(2)] {
        assert_ne!(announce(&sleep, 0), Rest::UntilUnparked);
    }
    for sleep in [sleep(2), sleep_without_membarrier(2)] {
        let sleep = sleep.scheduled();
        assert_eq!(announce(&sleep, 0), Rest::UntilUnparked);
    }
}

#[test]
fn the_lookout_wakes_somebody_who_may_be_itself_if_it_sees_a_job() {
    let sleep = sleep_without_membarrier(2);
    let rest = announce(&sleep, 0);
    assert_eq!(rest, Rest::AsLookout);
    sleep.block(Sleeper::Worker(0), rest, &nowhere(), || true);
    assert_eq!(counts(&sleep), (1, 0));
    assert_eq!(
        announce(&sleep, 0),
        Rest::AsLookout,
        "the role is free again"
    );
}

/// S4 comes a while after S3, and only if somebody works.
#[test]
fn a_sleeper_beside_one_that_works_looks_once_more_for_a_job_that_it_has_not_seen() {
    let sleep = sleep(2);
    let rest = announce(&sleep, 0);
    assert_eq!(rest, Rest::Briefly, "the other one works");
    sleep.block(Sleeper::Worker(0), rest, &nowhere(), || true);
    assert_eq!(counts(&sleep), (1, 0), "it has woken itself");
    sleep.stop_search(&nowhere());
    let _ = announce(&sleep, 0);
    assert_eq!(announce(&sleep, 1), Rest::UntilUnparked, "nobody works");
}

#[test]
fn a_caller_takes_the_last_vacant_place_and_gives_it_back() {
    let sleep = sleep(3);
    assert_eq!(sleep.take_place(), None, "nobody sleeps");
    for worker in 0..2 {
        let _ = announce(&sleep, worker);
    }
    assert_eq!(sleep.take_place(), Some(1));
    assert_eq!(counts(&sleep), (0, 1), "a caller is working");
    assert!(!sleep.unpark(1), "its worker sleeps on");
    sleep.leave_place(1, &nowhere());
    assert_eq!(counts(&sleep), (0, 2));
    assert!(sleep.unpark(1));
}

#[test]
fn a_caller_takes_no_place_in_which_somebody_waits() {
    let sleep = sleep(1);
    sleep.start_search();
    let rest = sleep.announce(
        Sleeper::Worker(0),
        Sleeps::Held,
        &CoreLatch::new(),
        &nowhere(),
    );
    assert_eq!(rest, Some(Rest::UntilUnparked));
    assert_eq!(sleep.take_place(), None);
}

#[test]
fn a_caller_that_waits_has_a_parker_of_its_own() {
    let sleep = sleep(2);
    let _ = announce(&sleep, 0);
    assert_eq!(sleep.take_place(), Some(0));
    sleep.start_search();
    let rest = sleep.announce(
        Sleeper::Caller(0),
        Sleeps::Held,
        &CoreLatch::new(),
        &nowhere(),
    );
    assert_eq!(counts(&sleep), (0, 1));
    assert!(sleep.unpark(0));
    sleep.block(
        Sleeper::Caller(0),
        rest.expect("not set"),
        &nowhere(),
        || false,
    );
    assert_eq!(counts(&sleep), (1, 0));
}

/// Callers come and go: the next to fall asleep is the lookout, and then a caller's brief work
/// wakes nobody.
#[test]
fn while_there_is_a_lookout_brief_work_wakes_nobody() {
    let sleep = sleep(2);
    let _ = announce(&sleep, 0);
    let _ = announce(&sleep, 1);
    assert_eq!(sleep.take_place(), Some(1));
    assert_eq!(
        sleep.published_by(&nowhere(), || true),
        Some(1),
        "no lookout yet"
    );
    sleep.leave_place(1, &nowhere());
    // The one that was woken finds nothing.
    let rest = sleep.announce(
        Sleeper::Worker(0),
        Sleeps::Vacant,
        &CoreLatch::new(),
        &nowhere(),
    );
    assert_eq!(rest, Some(Rest::AsLookout));
    assert_eq!(sleep.take_place(), Some(1));
    assert_eq!(sleep.published_by(&nowhere(), || true), None);
    assert_eq!(sleep.published_by(&nowhere(), || false), Some(1));
}

/// SL-4: a caller that stays for long, and a worker that works for long, need no timer.
#[test]
fn the_lookout_gives_up_when_no_caller_comes_any_more_although_somebody_works() {
    let sleep = sleep(3);
    let _ = announce(&sleep, 0);
    let _ = announce(&sleep, 1);
    assert_eq!(sleep.take_place(), Some(1), "this caller stays");
    sleep.start_search();
    let rest = sleep.announce(
        Sleeper::Worker(2),
        Sleeps::Vacant,
        &CoreLatch::new(),
        &nowhere(),
    );
    assert_eq!(rest, Some(Rest::AsLookout));
    std::thread::scope(|threads| {
        let sleeper = threads.spawn(|| {
            sleep.block(Sleeper::Worker(2), Rest::AsLookout, &nowhere(), || false);
        });
        // Ends when the role is given up, while the caller works.
        while sleep.lookout.is_there() {
            std::thread::yield_now();
        }
        assert!(sleep.unpark(2));
        sleeper.join().expect("it only sleeps");
    });
}

#[test]
fn a_worker_that_has_withdrawn_is_neither_free_nor_woken_for_a_job() {
    let sleep = Sleep::new(
        1,
        1,
        Barrier::new(BarrierRequest::Auto).expect("this asks for nothing"),
    );
    assert!(sleep.no_worker_is_free(), "one works, and one compensates");
    assert_eq!(sleep.published(&nowhere()), 0);
    assert!(sleep.unpark(1), "by name it can be woken");
    assert!(!sleep.no_worker_is_free(), "it searches");
}

/// A caller that leaves signals a worker at work; beside those that only search or sleep there is
/// nobody to call.
#[test]
fn a_caller_that_leaves_signals_those_who_work_and_no_others() {
    let sleep = sleep(2);
    let _ = announce(&sleep, 1);
    let jobs = nowhere();
    assert_eq!(sleep.take_place(), Some(1));
    sleep.leave_place(1, &jobs);
    assert_eq!(jobs.signals.get(), 1, "worker 0 works");
    assert_eq!(sleep.take_place(), Some(1));
    sleep.start_search();
    sleep.leave_place(1, &jobs);
    assert_eq!(jobs.signals.get(), 1, "worker 0 searches");
}

#[test]
fn a_caller_that_leaves_a_job_behind_wakes_the_worker_of_its_place() {
    let sleep = sleep(1);
    let _ = announce(&sleep, 0);
    let jobs = nowhere();
    assert_eq!(sleep.take_place(), Some(0));
    jobs.at.set(Some(0));
    sleep.leave_place(0, &jobs);
    assert_eq!(counts(&sleep), (1, 0));
}

#[test]
fn a_job_for_a_worker_wakes_that_one_and_if_it_would_not_come_another() {
    let sleep = sleep(3);
    for worker in 0..2 {
        let _ = announce(&sleep, worker);
    }
    assert_eq!(sleep.published_for(1, &nowhere()), 1);
    assert_eq!(counts(&sleep), (1, 1));
    assert!(!sleep.unpark(1), "it is awake");
    assert_eq!(sleep.published_for(2, &nowhere()), 0, "worker 1 searches");
    assert_eq!(sleep.stop_search(&nowhere()), 1, "and passes the search on");
    assert_eq!(sleep.stop_search(&nowhere()), 0);
    let _ = announce(&sleep, 0);
    assert_eq!(
        sleep.published_for(2, &nowhere()),
        1,
        "it is awake, and another sleeps"
    );
}
