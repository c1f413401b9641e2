//! The faults of the deques in the documents that heist grew from, each by its
//! number in their list of errata (A1 to A16) as a case that must come out right.
//! A3, A4 and A8 are about memory orderings: the models in `loom_deque.rs` are
//! their tests. A9 and A14 are about code that cannot be compiled and about a lock.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use heist_deque::{deque, deque_at, Owner, Steal, Thief};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

#[test]
fn a1_a_pop_from_a_fresh_deque_finds_nothing_and_leaves_it_usable() {
    let (owner, thief) = deque(4);
    assert_eq!(owner.pop(), None);
    owner.push(Box::new('a'));
    assert_eq!(thief.steal(), Steal::Success(Box::new('a')));
    assert_eq!(owner.pop(), None);
    assert_eq!(owner.len(), 0);
}

/// A2 and A8 are races; on real threads they show as an item that is handed out
/// twice or never. The weak-memory outcomes (A3, A8) are the models' business.
#[test]
fn a2_a8_every_item_is_handed_out_exactly_once_under_contention_for_the_last() {
    let rounds = if cfg!(debug_assertions) {
        100_000
    } else {
        1_000_000
    };
    let (owner, thief) = deque::<Box<usize>>(1);
    let taken: Arc<Vec<AtomicU8>> = Arc::new((0..rounds).map(|_| AtomicU8::new(0)).collect());
    let done = Arc::new(AtomicBool::new(false));
    let thieves: Vec<_> = (0..2)
        .map(|_| {
            let (thief, taken, done) = (thief.clone(), Arc::clone(&taken), Arc::clone(&done));
            thread::spawn(move || {
                while !done.load(Ordering::Acquire) {
                    if let Steal::Success(number) = thief.steal() {
                        taken[*number].fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    for first in (0..rounds).step_by(2) {
        owner.push(Box::new(first));
        owner.push(Box::new(first + 1));
        while let Some(number) = owner.pop() {
            taken[*number].fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(owner.len(), 0, "the size after a lost race is 0, not 1");
    }
    done.store(true, Ordering::Release);
    thieves.into_iter().for_each(|thief| thief.join().unwrap());
    let wrong = taken
        .iter()
        .filter(|count| count.load(Ordering::Relaxed) != 1);
    assert_eq!(wrong.count(), 0);
}

#[test]
fn a5_a10_a_full_deque_grows_and_loses_nothing() {
    let (owner, thief) = deque(1);
    (0..1000).for_each(|number| owner.push(Box::new(number)));
    for number in 0..500 {
        assert_eq!(thief.steal(), Steal::Success(Box::new(number)));
    }
    for number in (500..1000).rev() {
        assert_eq!(owner.pop(), Some(Box::new(number)));
    }
    assert_eq!(owner.pop(), None);
}

#[test]
fn a6_an_item_pushed_after_the_last_one_was_popped_is_there() {
    let (owner, thief) = deque(4);
    owner.push(Box::new(10));
    assert_eq!(owner.pop(), Some(Box::new(10)));
    owner.push(Box::new(11));
    assert_eq!(thief.steal(), Steal::Success(Box::new(11)));
    owner.push(Box::new(12));
    assert_eq!(owner.pop(), Some(Box::new(12)));
}

#[test]
fn a7_any_number_of_steals_fits_in_a_small_array_and_past_the_last_index() {
    let (owner, thief) = deque_at(8, usize::MAX - 100);
    for number in 0..10_000 {
        owner.push(Box::new(number));
        assert_eq!(thief.steal(), Steal::Success(Box::new(number)));
    }
    assert_eq!(owner.capacity(), 8, "one live item needs no growth");
}

#[test]
fn a11_a12_a_taken_item_is_dropped_by_its_taker_and_at_once() {
    let counted = Arc::new(());
    let (owner, thief) = deque(4);
    for _ in 0..3 {
        owner.push(Box::new(Arc::clone(&counted)));
    }
    drop(owner.pop());
    assert_eq!(Arc::strong_count(&counted), 3);
    drop(thief.steal());
    assert_eq!(Arc::strong_count(&counted), 2, "the slot keeps no copy");
}

#[test]
fn a13_a_thief_survives_growth_and_the_end_of_the_owner() {
    let (owner, thief) = deque(1);
    let drops = Arc::new(AtomicUsize::new(0));
    struct CountsItsDrop(Arc<AtomicUsize>);
    impl Drop for CountsItsDrop {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    (0..100).for_each(|_| owner.push(Box::new(CountsItsDrop(Arc::clone(&drops)))));
    drop(owner);
    assert!(matches!(thief.steal(), Steal::Success(_)));
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    drop(thief);
    assert_eq!(drops.load(Ordering::Relaxed), 100);
}

/// A15 and A16: a deque that can be copied, and one that anybody pushes to.
#[test]
fn a15_a16_only_the_one_owner_can_push_which_the_types_say() {
    fn only_send<T: Send>() {}
    fn shared<T: Send + Sync + Clone>() {}
    only_send::<Owner<Box<i32>>>(); // not Sync, not Clone: the failing examples in its documentation
    shared::<Thief<Box<i32>>>();
}
