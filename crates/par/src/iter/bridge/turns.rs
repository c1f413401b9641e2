//! Turns at a value that several parts have in common: one word says who may touch it.
//!
//! A part that takes a turn has the value to itself until it gives it back, which it cannot do
//! unnoticed if another part has left meanwhile. A turn that is dropped instead is the last.

use std::mem::ManuallyDrop;

use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::cell::UnsafeCell;
use heist_sync::fault;

/// A part has the value, or had it at the end.
const OUT: usize = 1;
/// A part was closed, and no other has been told.
const LEFT: usize = 2;
/// The last turn is over.
const OVER: usize = 4;
/// One part that takes turns.
const PART: usize = 8;

/// A value, and the parts that take turns at it.
pub(super) struct Turns<T> {
    /// The flags above, and the number of open parts.
    word: AtomicUsize,
    /// Belongs to the part that has set `OUT`; once it is over, to nobody. It may yet be needed
    /// then: an iterator may be the receiver of what its items send back.
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time reaches the value.
unsafe impl<T: Send> Sync for Turns<T> {}

impl<T> Turns<T> {
    /// Those of one part, which is open.
    pub(super) fn new(value: T) -> Self {
        Self {
            word: AtomicUsize::new(PART),
            value: UnsafeCell::new(value),
        }
    }

    /// True when there are no more turns. A part that learns it late asks for a turn in vain.
    #[inline]
    pub(super) fn are_over(&self) -> bool {
        // Relaxed: nothing is read that was written before.
        self.word.load(Ordering::Relaxed) & OVER != 0
    }

    /// A turn, unless a part has one now, or had the last.
    #[inline]
    pub(super) fn take(&self) -> Option<Turn<'_, T>> {
        // Acquire: pairs with the release of `give_back` and `tell`.
        let order = fault::ordering("turns.take", Ordering::Acquire);
        let is_out = self.word.fetch_or(OUT, order) & OUT != 0;
        (!is_out || fault::planted("turns.out")).then(|| Turn { turns: self })
    }

    /// As [`take`](Self::take), for a part that has waited: it does not disturb the one that has
    /// the value.
    pub(super) fn take_late(&self) -> Option<Turn<'_, T>> {
        // Relaxed: `take` looks again.
        let is_out = self.word.load(Ordering::Relaxed) & OUT != 0;
        (!is_out).then(|| self.take()).flatten()
    }

    /// One more part is to take turns. False if it would only wait, as another has just done for
    /// long: the part that has the value offers one when it is back.
    pub(super) fn open(&self) -> bool {
        self.change(|word| (word & (OUT | LEFT) != OUT | LEFT).then_some(word + PART))
    }

    /// A part takes no more turns.
    pub(super) fn close(&self) {
        self.change(|word| Some((word - PART) | LEFT));
    }

    /// As [`close`](Self::close), if there are no more turns, or if another part has the value and
    /// this one `is_late`: that part will see that this one has left.
    pub(super) fn leave(&self, is_late: bool) -> bool {
        self.change(|word| {
            let other = word & OUT != 0 && word >= 2 * PART || fault::planted("turns.last");
            (word & OVER != 0 || is_late && other).then_some((word - PART) | LEFT)
        })
    }

    fn change(&self, op: impl FnMut(usize) -> Option<usize>) -> bool {
        // Relaxed: counts and flags only, in the order in which the word changes.
        let order = Ordering::Relaxed;
        self.word.fetch_update(order, order, op).is_ok()
    }
}

/// The time for which a part has the value. Dropped, it is the last.
pub(super) struct Turn<'t, T> {
    turns: &'t Turns<T>,
}

impl<T> Turn<'_, T> {
    /// Calls `op` with the value.
    #[inline]
    pub(super) fn with<R>(&mut self, op: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: this turn is the only one, and is borrowed.
        self.turns
            .value
            .with_mut(|value| op(unsafe { &mut *value }))
    }

    /// Gives the value back, unless a part has left of which no other has been told.
    #[inline]
    pub(super) fn give_back(self) -> Result<(), Self> {
        let word = &self.turns.word;
        let mut seen = word.load(Ordering::Relaxed);
        while seen & LEFT == 0 || fault::planted("turns.left") {
            // Release: pairs with the acquire of `take`.
            let order = fault::ordering("turns.give_back", Ordering::Release);
            match word.compare_exchange_weak(seen, seen & !OUT, order, Ordering::Relaxed) {
                Ok(_) => {
                    let _ = ManuallyDrop::new(self);
                    return Ok(());
                }
                Err(now) => seen = now,
            }
        }
        Err(self)
    }

    /// Gives the value back; `is_told`: this part knows that others have left.
    pub(super) fn put_back(self, is_told: bool) {
        let gone = if is_told { OUT | LEFT } else { OUT };
        // Release: pairs with the acquire of `take`.
        let order = fault::ordering("turns.put_back", Ordering::Release);
        self.turns.word.fetch_and(!gone, order);
        let _ = ManuallyDrop::new(self);
    }
}

impl<T> Drop for Turn<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Relaxed: nobody reaches the value any more.
        self.turns.word.fetch_or(OVER, Ordering::Relaxed);
    }
}

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_sync::thread;

    use super::{Turn, Turns};

    /// One turn, at which a number is counted up; true if the part was told that another has left.
    fn count(mut turn: Turn<'_, u32>) -> bool {
        turn.with(|number| *number += 1);
        match turn.give_back() {
            Ok(()) => false,
            Err(mut turn) => {
                turn.with(|number| *number += 1);
                turn.put_back(true);
                true
            }
        }
    }

    fn value(turns: &Turns<u32>) -> u32 {
        let mut turn = turns.take().expect("nobody has it");
        turn.with(|number| *number)
    }

    /// Both have the value to themselves, and see what the other one did.
    #[test]
    fn a_turn_ends_before_the_next_one_begins() {
        loom::model(|| {
            let turns = Arc::new(Turns::new(0));
            assert!(turns.open());
            let other = thread::spawn({
                let turns = Arc::clone(&turns);
                move || turns.take().map(count).is_some()
            });
            let mine = turns.take().map(count).is_some();
            let both = u32::from(mine) + u32::from(other.join().unwrap());
            assert!(both >= 1, "nobody had a turn");
            assert_eq!(value(&turns), both);
        });
    }

    #[test]
    fn what_was_looked_at_is_left_before_the_next_turn_begins() {
        loom::model(|| {
            let turns = Arc::new(Turns::new(0));
            let looking = thread::spawn({
                let turns = Arc::clone(&turns);
                move || {
                    if let Some(mut turn) = turns.take_late() {
                        turn.with(|number| *number += 1);
                        turn.put_back(false);
                    }
                }
            });
            turns.take().map(count);
            looking.join().unwrap();
        });
    }

    /// A part that has waited leaves only if one that has a turn learns of it; that one goes.
    #[test]
    fn a_part_that_leaves_is_noticed_at_the_end_of_the_turn() {
        loom::model(|| {
            let turns = Arc::new(Turns::new(0));
            assert!(turns.open());
            let late = thread::spawn({
                let turns = Arc::clone(&turns);
                move || turns.leave(true)
            });
            let told = turns.take().is_some_and(count);
            assert_eq!(late.join().unwrap(), told);
        });
    }

    /// Of two parts that both want to leave one stays, as long as there is something to take.
    #[test]
    fn the_last_part_stays() {
        loom::model(|| {
            let turns = Arc::new(Turns::new(0));
            let turn = turns.take().expect("nobody has it");
            assert!(turns.open());
            let other = thread::spawn({
                let turns = Arc::clone(&turns);
                move || turns.leave(true)
            });
            let mine = turns.leave(true);
            let both = usize::from(mine) + usize::from(other.join().unwrap());
            assert_eq!(both, 1);
            assert!(count(turn), "nobody was told");
            assert!(!turns.are_over());
        });
    }

    /// A value whose turn is dropped, because `next` has ended or panicked, is not touched again,
    /// and all leave.
    #[test]
    fn a_turn_that_is_dropped_is_the_last() {
        loom::model(|| {
            let turns = Arc::new(Turns::new(0));
            assert!(turns.open());
            let other = thread::spawn({
                let turns = Arc::clone(&turns);
                move || {
                    if let Some(turn) = turns.take() {
                        drop(turn);
                    }
                    while !turns.leave(false) {
                        thread::yield_now();
                    }
                }
            });
            if let Some(mut turn) = turns.take() {
                turn.with(|number| *number += 1);
            }
            other.join().unwrap();
            assert!(turns.are_over() && turns.take().is_none());
            assert!(turns.leave(false));
        });
    }
}
