//! Models of the deque: every interleaving of small scripts, under loom.
//!
//! Run with `cargo xtask model`. The last test plants one fault after the other
//! and requires that a model notices.
#![cfg(heist_loom)]

use heist_deque::{deque, Owner, Steal, Thief};
use heist_sync::cell::UnsafeCell;
use heist_sync::{fault, thread};
use std::sync::Arc;

/// An item whose contents loom watches: reading it without a happens-before
/// edge from the write is an error, and so is running it twice.
struct Item {
    value: UnsafeCell<usize>,
}

fn item(value: usize) -> Box<Item> {
    let item = Box::new(Item {
        value: UnsafeCell::new(0),
    });
    // SAFETY: the item has not been shared yet.
    item.value.with_mut(|cell| unsafe { *cell = value });
    item
}

fn read(item: &Item) -> usize {
    // SAFETY: whoever holds the box is alone with it; loom checks just that.
    item.value.with_mut(|cell| unsafe { *cell })
}

/// Tries `attempts` times and returns what it got.
fn steal_some(thief: &Thief<Box<Item>>, attempts: usize) -> Vec<usize> {
    let mut taken = Vec::new();
    for _ in 0..attempts {
        if let Steal::Success(item) = thief.steal() {
            taken.push(read(&item));
        }
    }
    taken
}

fn pop_all(owner: &Owner<Box<Item>>) -> Vec<usize> {
    std::iter::from_fn(|| owner.pop())
        .map(|item| read(&item))
        .collect()
}

/// Each of `count` items was taken exactly once.
fn assert_each_once(mut taken: Vec<usize>, count: usize) {
    taken.sort_unstable();
    assert_eq!(taken, (0..count).collect::<Vec<_>>());
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// A2 and A8 of the errata: the race for the last item, and the thief that acts
/// on an old bottom.
#[test]
fn owner_and_thief_never_take_the_same_item() {
    check(|| {
        let (owner, thief) = deque(2);
        owner.push(item(0));
        owner.push(item(1));
        let theft = thread::spawn(move || steal_some(&thief, 2));
        let mut taken = pop_all(&owner);
        taken.extend(theft.join().unwrap());
        assert_each_once(taken, 2);
    });
}

#[test]
fn two_thieves_never_take_the_same_item() {
    check(|| {
        let (owner, thief) = deque(2);
        owner.push(item(0));
        owner.push(item(1));
        let thefts = [thief.clone(), thief].map(|t| thread::spawn(move || steal_some(&t, 1)));
        let mut taken: Vec<_> = owner.pop().iter().map(|item| read(item)).collect();
        for theft in thefts {
            taken.extend(theft.join().unwrap());
        }
        taken.extend(pop_all(&owner));
        assert_each_once(taken, 2);
    });
}

/// A3 and A4 of the errata: a slot that is read before the index, and plain slots.
#[test]
fn a_thief_sees_what_the_owner_wrote_before_the_push() {
    check(|| {
        let (owner, thief) = deque(1);
        let theft = thread::spawn(move || steal_some(&thief, 1));
        owner.push(item(0));
        let mut taken = pop_all(&owner);
        taken.extend(theft.join().unwrap());
        assert_each_once(taken, 1);
    });
}

#[test]
fn nothing_is_lost_when_the_array_grows_under_a_thief() {
    check(|| {
        let (owner, thief) = deque(1);
        owner.push(item(0));
        let theft = thread::spawn(move || steal_some(&thief, 2));
        owner.push(item(1)); // replaces the array unless the thief was here
        let mut taken = pop_all(&owner);
        taken.extend(theft.join().unwrap());
        assert_each_once(taken, 2);
    });
}

#[test]
fn a_slot_is_used_again_only_after_its_thief_has_read_it() {
    check(|| {
        let (owner, thief) = deque(1);
        owner.push(item(0));
        let theft = thread::spawn(move || steal_some(&thief, 1));
        let mut taken = pop_all(&owner);
        owner.push(item(1));
        taken.extend(pop_all(&owner));
        taken.extend(theft.join().unwrap());
        assert_each_once(taken, 2);
    });
}

#[test]
fn items_left_behind_are_dropped_with_the_last_handle() {
    check(|| {
        let counted = Arc::new(());
        let (owner, thief) = deque(2);
        owner.push(Box::new(Arc::clone(&counted)));
        owner.push(Box::new(Arc::clone(&counted)));
        let theft = thread::spawn(move || drop(thief.steal()));
        drop(owner);
        theft.join().unwrap();
        assert_eq!(Arc::strong_count(&counted), 1);
    });
}

#[test]
fn every_planted_fault_is_caught() {
    let race = "owner_and_thief_never_take_the_same_item";
    let publication = "a_thief_sees_what_the_owner_wrote_before_the_push";
    let growth = "nothing_is_lost_when_the_array_grows_under_a_thief";
    fault::assert_caught(&[
        ("deque.pop.fence", race),
        ("deque.steal.fence", race),
        ("deque.push.bottom", publication),
        ("deque.steal.bottom", publication),
        ("deque.grow.buffer", growth),
        ("deque.steal.buffer", growth),
    ]);
}
