//! The sleep protocol, one step at a time, in one thread.

use super::protocol::Rest;
use super::{Bell, Jobs, Sleep};
use crate::latch::CoreLatch;
use heist_sync::{Barrier, BarrierRequest};
use std::cell::Cell;

/// Jobs at one seat, or none; and how often the owners were called.
#[derive(Default)]
struct Somewhere {
    at: Cell<Option<usize>>,
    calls: Cell<u32>,
}

impl Jobs for Somewhere {
    fn call_all(&self) {
        self.calls.set(self.calls.get() + 1);
    }

    fn are_at(&self, seat: usize) -> bool {
        self.at.get() == Some(seat)
    }

    fn are_beyond(&self, seat: usize) -> bool {
        self.at.get().is_some_and(|at| at != seat)
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
    let rest = sleep.announce(Bell::Worker(worker), true, &CoreLatch::new(), &nowhere());
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
    assert_eq!(sleep.published(), 1);
    assert_eq!(counts(&sleep), (1, 1));
    assert_eq!(sleep.published(), 0);
    sleep.block(Bell::Worker(0), Rest::UntilRung, || false);
}

#[test]
fn the_last_searcher_passes_the_search_on() {
    let sleep = sleep(3);
    let _ = announce(&sleep, 1);
    sleep.start_search();
    assert_eq!(sleep.published(), 0, "somebody searches");
    assert_eq!(sleep.stop_search(), 1);
    assert_eq!(counts(&sleep), (1, 0));
}

#[test]
fn a_cancelled_sleep_leaves_the_worker_searching() {
    let sleep = sleep(1);
    let rest = announce(&sleep, 0);
    sleep.cancel(Bell::Worker(0), rest);
    assert_eq!(counts(&sleep), (1, 0));
    assert!(!sleep.ring(0), "nobody sleeps");
}

#[test]
fn nobody_sleeps_on_a_latch_that_is_set() {
    let sleep = sleep(1);
    let latch = CoreLatch::new();
    // SAFETY: the latch lives to the end of the test.
    assert!(!unsafe { CoreLatch::set(&raw const latch) });
    sleep.start_search();
    assert_eq!(
        sleep.announce(Bell::Worker(0), true, &latch, &nowhere()),
        None
    );
    assert_eq!(counts(&sleep), (1, 0));
}

/// SL-2 without membarrier: while some worker is awake and some sleep, one
/// of the sleepers looks again by itself; when all sleep, none does.
#[test]
fn without_membarrier_one_sleeper_is_the_lookout_unless_all_sleep() {
    let sleep = sleep_without_membarrier(3);
    assert_eq!(announce(&sleep, 0), Rest::AsLookout);
    assert_eq!(announce(&sleep, 1), Rest::UntilRung, "there is one already");
    assert_eq!(announce(&sleep, 2), Rest::UntilRung, "all sleep");
}

#[test]
fn the_lookout_wakes_somebody_who_may_be_itself_if_it_sees_a_job() {
    let sleep = sleep_without_membarrier(2);
    let rest = announce(&sleep, 0);
    assert_eq!(rest, Rest::AsLookout);
    sleep.block(Bell::Worker(0), rest, || true);
    assert_eq!(counts(&sleep), (1, 0));
    assert_eq!(
        announce(&sleep, 0),
        Rest::AsLookout,
        "the role is free again"
    );
}

#[test]
fn a_guest_takes_the_last_vacant_seat_and_gives_it_back() {
    let sleep = sleep(3);
    assert_eq!(sleep.sit_down(), None, "nobody sleeps");
    for worker in 0..2 {
        let _ = announce(&sleep, worker);
    }
    assert_eq!(sleep.sit_down(), Some(1));
    assert_eq!(counts(&sleep), (0, 1), "a guest is working");
    assert!(!sleep.ring(1), "its worker sleeps on");
    sleep.stand_up(1, &nowhere());
    assert_eq!(counts(&sleep), (0, 2));
    assert!(sleep.ring(1));
}

#[test]
fn a_guest_takes_no_seat_on_which_somebody_waits() {
    let sleep = sleep(1);
    sleep.start_search();
    let rest = sleep.announce(Bell::Worker(0), false, &CoreLatch::new(), &nowhere());
    assert_eq!(rest, Some(Rest::UntilRung));
    assert_eq!(sleep.sit_down(), None);
}

#[test]
fn a_guest_that_waits_has_a_bell_of_its_own() {
    let sleep = sleep(2);
    let _ = announce(&sleep, 0);
    assert_eq!(sleep.sit_down(), Some(0));
    sleep.start_search();
    let rest = sleep.announce(Bell::Guest(0), false, &CoreLatch::new(), &nowhere());
    assert_eq!(counts(&sleep), (0, 1));
    assert!(sleep.ring(0));
    sleep.block(Bell::Guest(0), rest.expect("not set"), || false);
    assert_eq!(counts(&sleep), (1, 0));
}

/// Guests come and go: the next to fall asleep is the lookout, and then a
/// guest's brief work wakes nobody.
#[test]
fn while_there_is_a_lookout_brief_work_wakes_nobody() {
    let sleep = sleep(2);
    let _ = announce(&sleep, 0);
    let _ = announce(&sleep, 1);
    assert_eq!(sleep.sit_down(), Some(1));
    assert_eq!(sleep.published_by(|| true), Some(1), "no lookout yet");
    sleep.stand_up(1, &nowhere());
    // The one that was woken finds nothing.
    let rest = sleep.announce(Bell::Worker(0), true, &CoreLatch::new(), &nowhere());
    assert_eq!(rest, Some(Rest::AsLookout));
    assert_eq!(sleep.sit_down(), Some(1));
    assert_eq!(sleep.published_by(|| true), None);
    assert_eq!(sleep.published_by(|| false), Some(1));
}

/// SL-4: a guest that sits for long, and a worker that works for long, need no timer.
#[test]
fn the_lookout_gives_up_when_no_guest_comes_any_more_although_somebody_works() {
    let sleep = sleep(3);
    let _ = announce(&sleep, 0);
    let _ = announce(&sleep, 1);
    assert_eq!(sleep.sit_down(), Some(1), "this guest stays");
    sleep.start_search();
    let rest = sleep.announce(Bell::Worker(2), true, &CoreLatch::new(), &nowhere());
    assert_eq!(rest, Some(Rest::AsLookout));
    std::thread::scope(|threads| {
        let sleeper = threads.spawn(|| {
            sleep.block(Bell::Worker(2), Rest::AsLookout, || false);
        });
        // Ends when the role is given up, while the guest sits and works.
        while sleep.lookout.is_there() {
            std::thread::yield_now();
        }
        assert!(sleep.ring(2));
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
    assert!(sleep.nobody_is_free(), "one works, and one is a spare");
    assert_eq!(sleep.published(), 0);
    assert!(sleep.ring(1), "by name it can be woken");
    assert!(!sleep.nobody_is_free(), "it searches");
}

/// Who stands up beside somebody that works calls it; beside those that only search or
/// sleep there is nobody to call.
#[test]
fn a_guest_that_leaves_calls_those_who_work_and_no_others() {
    let sleep = sleep(2);
    let _ = announce(&sleep, 1);
    let jobs = nowhere();
    assert_eq!(sleep.sit_down(), Some(1));
    sleep.stand_up(1, &jobs);
    assert_eq!(jobs.calls.get(), 1, "worker 0 works");
    assert_eq!(sleep.sit_down(), Some(1));
    sleep.start_search();
    sleep.stand_up(1, &jobs);
    assert_eq!(jobs.calls.get(), 1, "worker 0 searches");
}

#[test]
fn a_guest_that_leaves_a_job_behind_wakes_the_worker_of_its_seat() {
    let sleep = sleep(1);
    let _ = announce(&sleep, 0);
    let jobs = nowhere();
    assert_eq!(sleep.sit_down(), Some(0));
    jobs.at.set(Some(0));
    sleep.stand_up(0, &jobs);
    assert_eq!(counts(&sleep), (1, 0));
}
