//! Two vectors of the items: those that a closure chooses, and the others.

use std::mem::{take, MaybeUninit};
use std::ops::ControlFlow::{self, Continue};
use std::ptr;

use super::list::{is_plain, Chunks};
use crate::driver::{drive, Consumer};
use crate::part::Part;

/// The items for which the closure returns true, and the others.
pub(crate) fn partition<I, F>(iter: I, predicate: F) -> (Vec<I::Output>, Vec<I::Output>)
where
    I: Part,
    F: Fn(&I::Output) -> bool + Sync,
{
    let partition = Partition {
        chosen: Chunks::new(),
        others: Chunks::new(),
        predicate: &predicate,
    };
    let Partition { chosen, others, .. } = drive(iter, partition);
    (chosen.into_vec(), others.into_vec())
}

struct Partition<'f, T, F> {
    chosen: Chunks<T>,
    others: Chunks<T>,
    predicate: &'f F,
}

impl<T, F> Consumer<T> for Partition<'_, T, F>
where
    T: Send,
    F: Fn(&T) -> bool + Sync,
{
    #[inline]
    fn consume(&mut self, item: T) -> ControlFlow<()> {
        match (self.predicate)(&item) {
            true => self.chosen.push(item),
            false => self.others.push(item),
        }
        Continue(())
    }

    /// A plain item is written to both sides, one of which goes on to its next place: so there is
    /// no branch, which a processor would often foretell wrongly.
    #[inline]
    fn take_grain<P>(&mut self, part: &mut P, budget: &mut usize) -> ControlFlow<()>
    where
        P: Part<Output = T>,
    {
        if const { !is_plain::<T>() } {
            return part.run(budget, |item| self.consume(item));
        }
        let predicate = self.predicate;
        let (mut chosen, mut others) = (take(self.chosen.last()), take(self.others.last()));
        let flow = part.run(budget, |item| {
            let is_chosen = predicate(&item);
            let item = MaybeUninit::new(item);
            // SAFETY: a copy of bytes, of which at most one becomes an item again.
            let copy = unsafe { ptr::read(&raw const item) };
            // SAFETY: 1. here is the item, which counts here if it does not below.
            unsafe { self.chosen.put(&mut chosen, item, is_chosen) };
            // SAFETY: as above.
            unsafe { self.others.put(&mut others, copy, !is_chosen) };
            Continue(())
        });
        (*self.chosen.last(), *self.others.last()) = (chosen, others);
        flow
    }

    fn split(&mut self, _lower_len: Option<usize>) -> Self {
        Self {
            chosen: Chunks::new(),
            others: Chunks::new(),
            predicate: self.predicate,
        }
    }

    fn merge(&mut self, upper: Self) {
        self.chosen.append(upper.chosen);
        self.others.append(upper.others);
    }
}
