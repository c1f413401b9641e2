//! The faults of the deques in the documents that heist grew from, each by its number in their list
//! of errata (A1 to A16) as a case that must come out right. A3, A4 and A8 are about memory
//! orderings: the models in `loom_deque.rs` are their tests. A9 and A14 are about code that cannot
//! be compiled and about a queue that is nothing but a lock. A11 and A12 are about items that a
//! slot copies or keeps: a slot here holds bytes, and core's tests count the drops.
#![cfg(not(any(heist_loom, heist_shuttle)))]

mod items;

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::Arc;
use std::thread;

use heist_deque::{Deque, Steal, Thief};
use heist_sync::BarrierRequest;

use items::numbers;

const BOTH: [BarrierRequest; 2] = [BarrierRequest::Auto, BarrierRequest::Fence];

#[test]
fn a1_a_pop_from_a_fresh_deque_finds_nothing_and_leaves_it_usable() {
    for request in BOTH {
        let (owner, thief) = numbers(4, request);
        assert_eq!(owner.pop(), None);
        owner.push(1);
        assert_eq!(thief.steal(), Steal::Success(1));
        assert_eq!(owner.pop(), None);
        assert!(thief.is_empty());
    }
}

/// A2 and A8 are races; on real threads they show as an item that is handed out twice or never. The
/// weak-memory outcomes (A3, A8) are the models' business.
#[test]
fn a2_a8_every_item_is_handed_out_exactly_once_under_contention_for_the_last() {
    let rounds = if cfg!(debug_assertions) {
        100_000
    } else {
        1_000_000
    };
    for request in BOTH {
        let (owner, thief) = numbers(4, request);
        let taken: Arc<Vec<AtomicU8>> = Arc::new((0..rounds).map(|_| AtomicU8::new(0)).collect());
        let done = Arc::new(AtomicBool::new(false));
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let (thief, taken, done) = (thief.clone(), Arc::clone(&taken), Arc::clone(&done));
                thread::spawn(move || {
                    while !done.load(Ordering::Acquire) {
                        if let Steal::Success(number) = thief.steal() {
                            taken[number as usize].fetch_add(1, Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        for first in (0..rounds).step_by(2) {
            owner.push(first as u64);
            owner.push(first as u64 + 1);
            while let Some(number) = owner.pop() {
                taken[number as usize].fetch_add(1, Ordering::Relaxed);
            }
            assert!(thief.is_empty(), "nothing is left after a lost race");
        }
        done.store(true, Ordering::Release);
        thieves.into_iter().for_each(|thief| thief.join().unwrap());
        let wrong = taken
            .iter()
            .filter(|count| count.load(Ordering::Relaxed) != 1);
        assert_eq!(wrong.count(), 0);
    }
}

#[test]
fn a5_a10_an_owner_can_see_that_its_deque_is_full_before_it_loses_anything() {
    let (owner, thief) = numbers(10, BarrierRequest::Auto);
    let mut pushed = 0;
    while owner.owner().has_room() || owner.owner().make_room(1) {
        owner.push(pushed);
        pushed += 1;
    }
    assert_eq!(pushed, 9);
    for number in 0..4 {
        assert_eq!(thief.steal(), Steal::Success(number));
    }
    assert_eq!(owner.pop_all(), [8, 7, 6, 5, 4]);
    assert!(owner.owner().has_room(), "all slots are vacant again");
}

/// A thief comes again: it need not ask for the job that follows a stolen one.
#[test]
fn the_job_after_a_stolen_one_is_public_at_once() {
    let (owner, thief) = numbers(4, BarrierRequest::Auto);
    owner.push(0);
    assert_eq!(thief.steal(), Steal::Success(0));
    // SAFETY: the thief has copied the number, and is done.
    unsafe { owner.owner().reclaim(owner.owner().vacant().sub(1)) };
    owner.push(1);
    // SAFETY: the number is copied.
    let taken = unsafe { thief.0.thief().steal(|| false, |_, slot| items::read(slot)) };
    assert_eq!(taken, Steal::Success(1));
}

/// A job for which there is no slot is the owner's, and no thief's, whoever wants jobs.
#[test]
fn a5_a10_a_push_without_a_slot_is_given_back() {
    for request in BOTH {
        let (owner, thief) = numbers(3, request);
        for number in 0..3 {
            owner.push(number);
        }
        for attempt in 0..3 {
            assert_eq!(owner.try_push(100 + attempt), (true, false));
        }
        assert_eq!(thief.steal(), Steal::Success(0));
        // The slot of the oldest is not vacant before the others are gone.
        assert_eq!(owner.try_push(200), (true, false));
        assert_eq!(owner.pop_all(), [2, 1]);
        owner.push(4);
        assert_eq!(thief.steal(), Steal::Success(4));
    }
}

#[test]
fn a_deque_takes_more_memory_than_it_began_with_and_gives_it_back() {
    let (owner, thief) = numbers(100_000, BarrierRequest::Auto);
    for round in 0..3 {
        for number in 0..100_000 {
            owner.push(number);
        }
        assert_eq!(owner.try_push(1), (true, false), "round {round}");
        assert_eq!(thief.steal(), Steal::Success(0));
        owner.owner().shrink(0);
        for number in (1..100_000).rev() {
            assert_eq!(owner.pop(), Some(number), "not while there are jobs");
        }
        assert_eq!(owner.pop(), None);
        owner.owner().shrink(0);
        assert!(thief.is_empty());
    }
}

#[test]
fn a6_an_item_pushed_after_the_last_one_was_popped_is_there() {
    let (owner, thief) = numbers(4, BarrierRequest::Auto);
    owner.push(10);
    assert_eq!(owner.pop(), Some(10));
    owner.push(11);
    assert_eq!(thief.steal(), Steal::Success(11));
    owner.push(12);
    assert_eq!(owner.pop(), Some(12));
}

#[test]
fn a7_any_number_of_steals_fits_in_a_small_array() {
    for request in BOTH {
        let (owner, thief) = numbers(2, request);
        for number in 0..10_000 {
            owner.push(number);
            assert_eq!(thief.steal(), Steal::Success(number));
            assert_eq!(owner.pop(), None);
        }
    }
}

#[test]
fn a13_a_thief_survives_the_end_of_the_owner() {
    let (owner, thief) = numbers(4, BarrierRequest::Auto);
    owner.push(1);
    drop(owner);
    assert_eq!(thief.steal(), Steal::Success(1));
}

/// A15 and A16: a deque that can be copied, and one that anybody pushes to. The owner's end is had
/// by an unsafe call; that it stays with one thread is shown by the failing examples in its
/// documentation.
#[test]
fn a15_a16_only_the_thieves_end_may_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<Deque<u8>>();
    shared::<Thief<u8>>();
}
