//! Numbers in a deque, for the tests: put in by the owner, taken by either side.

#![allow(dead_code, reason = "not every test file needs everything")]
use std::ptr::NonNull;
use std::sync::Arc;

use heist_deque::{Deque, Owner, Slot, Steal};
use heist_sync::{Barrier, BarrierRequest};

/// The content of a slot: a number, which is copied when it is taken.
pub(crate) struct Number;

pub(crate) static NUMBER: Number = Number;

pub(crate) type Place = NonNull<Slot<Number>>;

/// The owner of a deque of numbers.
pub(crate) struct Stack(Arc<Deque<Number>>);

/// A thief of numbers.
#[derive(Clone)]
pub(crate) struct Robber(pub(crate) Arc<Deque<Number>>);

/// A deque of numbers.
pub(crate) fn numbers(slots: usize, request: BarrierRequest) -> (Stack, Robber) {
    numbers_with(
        slots,
        Barrier::new(request).expect("no test asks for membarrier by name"),
    )
}

pub(crate) fn numbers_with(slots: usize, barrier: Barrier) -> (Stack, Robber) {
    let deque = Arc::new(Deque::new(slots, barrier).expect("memory for a few slots"));
    (Stack(Arc::clone(&deque)), Robber(deque))
}

impl Stack {
    pub(crate) fn owner(&self) -> &Owner<Number> {
        // SAFETY: a stack is neither copied nor shared among threads.
        unsafe { self.0.owner() }
    }

    /// True if the owner was signalled.
    pub(crate) fn push(&self, number: u64) -> bool {
        let (is_signalled, stays) = self.try_push(number);
        assert!(stays, "there is a slot for each number of this test");
        is_signalled
    }

    /// Whether the owner was signalled, and whether the number has found a slot.
    pub(crate) fn try_push(&self, number: u64) -> (bool, bool) {
        let slot = self.owner().vacant();
        // SAFETY: the slot is vacant.
        unsafe { write(slot, number) };
        // SAFETY: it holds a number, and those may go anywhere.
        let is_signalled = unsafe { self.owner().push(slot, &NUMBER) };
        (is_signalled, !is_signalled || self.owner().service())
    }

    /// Pushes the number so many times into slots that it counts itself, and takes so many back,
    /// before the tail is found.
    pub(crate) fn push_and_retract_ahead(&self, number: u64, jobs: usize, back: usize) {
        let owner = self.owner();
        let lowest = owner.vacant();
        // SAFETY: there is a slot for each number of the test.
        let slot = |job| unsafe { lowest.add(job) };
        for job in 0..jobs {
            // SAFETY: vacant.
            unsafe { write(slot(job), number) };
            // SAFETY: it holds a number, and those may go anywhere.
            if unsafe { owner.push_ahead(slot(job), &NUMBER) } {
                // SAFETY: all from `lowest` on were pushed just now.
                unsafe { owner.find_tail(lowest) };
                assert!(owner.service(), "there is a slot for each number");
            }
        }
        for job in (jobs - back..jobs).rev() {
            // SAFETY: the newest.
            let is_ours = unsafe { owner.retract_ahead(slot(job)) };
            assert!(is_ours, "no thief is there");
        }
        // SAFETY: as above.
        unsafe { owner.find_tail(lowest) };
    }

    pub(crate) fn pop(&self) -> Option<u64> {
        // SAFETY: thieves copy the number.
        let (_, slot) = unsafe { self.owner().pop_if(|_| true) }?;
        // SAFETY: popped.
        Some(unsafe { read(slot) })
    }

    pub(crate) fn take_oldest(&self) -> Option<u64> {
        // SAFETY: the number is copied.
        unsafe { self.owner().take_oldest(|_, slot| read(slot)) }
    }

    pub(crate) fn pop_all(&self) -> Vec<u64> {
        std::iter::from_fn(|| self.pop()).collect()
    }
}

impl Robber {
    /// Tries once, and asks the owner if need be.
    pub(crate) fn steal(&self) -> Steal<u64> {
        // SAFETY: the number is copied.
        unsafe { self.0.thief().steal(|| true, |_, slot| read(slot)) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.thief().is_empty()
    }

    /// Tries some times and returns what it got.
    pub(crate) fn steal_some(&self, attempts: usize) -> Vec<u64> {
        let mut taken = Vec::new();
        for _ in 0..attempts {
            if let Steal::Success(number) = self.steal() {
                taken.push(number);
            }
        }
        taken
    }
}

/// # Safety
///
/// The slot is the caller's.
#[cfg(not(heist_loom))]
pub(crate) unsafe fn write(slot: Place, number: u64) {
    // SAFETY: by the caller; a number fits and is aligned.
    unsafe { Slot::payload(slot).cast::<u64>().write(number) };
}

/// # Safety
///
/// As for [`write`], and it holds a number.
#[cfg(not(heist_loom))]
pub(crate) unsafe fn read(slot: Place) -> u64 {
    // SAFETY: by the caller.
    unsafe { Slot::payload(slot).cast::<u64>().read() }
}

/// As above; loom looks whether the slot really is the caller's.
///
/// # Safety
///
/// None is needed for memory: a wrong caller is what loom is there to find.
#[cfg(heist_loom)]
pub(crate) unsafe fn write(slot: Place, number: u64) {
    // SAFETY: the deque is still there.
    unsafe { Slot::watched(slot, |word| *word = number) };
}

/// # Safety
///
/// As for [`write`].
#[cfg(heist_loom)]
pub(crate) unsafe fn read(slot: Place) -> u64 {
    // SAFETY: the deque is still there.
    unsafe { Slot::watched(slot, |word| *word) }
}
