//! A part of a parallel iterator: the contract of sources and adaptors.
//!
//! Everything below the users' traits rests on this contract: the driver splits and runs parts,
//! adaptors are parts made of parts, and consumers take the items.
//! [`ParallelIterator`](crate::iter::ParallelIterator) and
//! [`IndexedParallelIterator`](crate::iter::IndexedParallelIterator) give every part the methods
//! that users call.

mod delegate;
mod open;

pub(crate) use delegate::{delegate, delegate_indexed, delegate_open, forward};
pub(crate) use open::{
    adaptor, open, open_both, open_by_length, Adaptor, IndexedAdaptor, Joint, Over, Unindexed,
};
pub use open::{Continuation, IndexedContinuation};

use std::ops::ControlFlow;

use crate::granularity::SplitPolicy;

/// A sequence of items that can be split, and run some steps at a time.
///
/// Implement it to get [`ParallelIterator`](crate::iter::ParallelIterator), and see
/// [`plumbing`](crate::iter::plumbing) for an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a parallel iterator",
    note = "a collection becomes one by `par_iter()`, `par_iter_mut()` or `into_par_iter()`"
)]
pub trait Part: Sized + Send {
    /// The type of the items, which [`ParallelIterator`](crate::iter::ParallelIterator) calls
    /// `Item`.
    type Output: Send;

    /// The number of steps that are left for [`run`](Self::run): 0 if there are no items, 1 if the
    /// part is not worth splitting, and `usize::MAX` if the number is unknown.
    fn steps(&self) -> usize;

    /// Splits the upper part off, about half, if it can be split.
    fn split(&mut self) -> Option<Self>;

    /// Runs steps from the lower end, as many as the budget allows or are left, and hands their
    /// items to `consume`. The budget falls by the steps that were run. Returns `Break` if
    /// `consume` has: then no more items are wanted.
    fn run<F>(&mut self, budget: &mut usize, consume: F) -> ControlFlow<()>
    where
        F: FnMut(Self::Output) -> ControlFlow<()>;

    /// As [`run`](Self::run), for a fold of all items. The compiler vectorises some loops in this
    /// form only, such as the maximum of floats: so a part with a loop of its own, or one that
    /// passes on another's items, should implement this method too.
    #[inline]
    fn run_fold<B, F>(&mut self, budget: &mut usize, init: B, mut op: F) -> B
    where
        F: FnMut(B, Self::Output) -> B,
    {
        let mut so_far = Some(init);
        let _ = self.run(budget, |item| {
            so_far = so_far.take().map(|before| op(before, item));
            ControlFlow::Continue(())
        });
        so_far.expect("only a panic leaves nothing")
    }

    /// As [`run`](Self::run), with items that are left out: for each it is said whether it counts,
    /// and `None` never does. A consumer that writes items one behind the other can do so without a
    /// branch, which a processor would often foretell wrongly: it writes each, and goes on to the
    /// next place after those that count.
    #[doc(hidden)]
    #[inline]
    fn run_sparse<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(Option<Self::Output>, bool) -> ControlFlow<()>,
    {
        self.run(budget, |item| consume(Some(item), true))
    }

    /// The exact number of items left, if it is known for this part and for all those into which it
    /// can be split.
    fn known_len(&self) -> Option<usize> {
        None
    }

    /// The wishes of its user, such as
    /// [`with_min_len`](crate::iter::IndexedParallelIterator::with_min_len).
    fn split_policy(&self) -> SplitPolicy {
        SplitPolicy::default()
    }

    /// Releases what belongs to this thread, because the part may be continued on another one. A
    /// part made of others calls theirs.
    fn pause(&mut self) {}

    /// Whether a source below it lends its items only for the duration of a call, or gives back at
    /// the end of one what it did not give away: then the part is driven within
    /// [`open`](Self::open).
    #[doc(hidden)]
    const IS_LENT: bool = false;

    /// Calls the continuation with a part of the same items whose sources are all values.
    #[doc(hidden)]
    fn open<K: Continuation<Self::Output>>(self, then: K) -> K::Output {
        then.run(self)
    }
}

/// A part that knows how many items it has, and can be cut at any index.
///
/// Implement it to get [`IndexedParallelIterator`](crate::iter::IndexedParallelIterator), and see
/// [`plumbing`](crate::iter::plumbing) for an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a parallel iterator that knows its length",
    note = "`filter`, `flat_map` and the like give as many items as they find"
)]
pub trait IndexedPart: Part {
    /// The number of items.
    fn part_len(&self) -> usize;

    /// Cuts off the items from this index on.
    ///
    /// # Panics
    ///
    /// May panic if there are fewer items.
    fn split_off(&mut self, index: usize) -> Self;

    /// The same items as a serial iterator.
    fn into_seq(self) -> impl DoubleEndedIterator<Item = Self::Output> + ExactSizeIterator;

    /// As [`open`](Part::open), with a part that can be cut at any index.
    #[doc(hidden)]
    fn open_indexed<K: IndexedContinuation<Self::Output>>(self, then: K) -> K::Output {
        then.run(self)
    }
}
