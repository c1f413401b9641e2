//! A part of heist's as a producer, for consumers and callbacks of other crates.

use std::ops::ControlFlow;

use heist_par::foreign::IndexedPart;

use super::contract::{fold_with, Folder, Producer};

/// A part that can be cut at any index.
pub(crate) struct AsProducer<P>(pub(crate) P);

impl<P: IndexedPart> Producer for AsProducer<P> {
    type Item = P::Output;
    type IntoIter = Seq<P>;

    fn into_iter(self) -> Seq<P> {
        Seq(self.0)
    }

    fn min_len(&self) -> usize {
        self.0.split_policy().min_len
    }

    fn max_len(&self) -> usize {
        self.0.split_policy().max_len
    }

    fn split_at(mut self, index: usize) -> (Self, Self) {
        let upper = self.0.split_off(index);
        (self, Self(upper))
    }

    fn fold_with<F: Folder<P::Output>>(self, folder: F) -> F {
        fold_with(self.0, folder)
    }
}

/// The items of a part one after the other. (The part has such an iterator itself, whose type has
/// no name.)
pub(crate) struct Seq<P>(P);

impl<P: IndexedPart> Iterator for Seq<P> {
    type Item = P::Output;

    #[inline]
    fn next(&mut self) -> Option<P::Output> {
        let len = self.0.part_len();
        if len == 0 {
            return None;
        }
        if self.0.steps() != len {
            // Some steps give several items; none of a part that can be cut gives none.
            let rest = self.0.split_off(1);
            return std::mem::replace(&mut self.0, rest).into_seq().next();
        }
        let mut next = None;
        let _ = self.0.run(&mut { 1 }, |item| {
            next = Some(item);
            ControlFlow::Continue(())
        });
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.0.part_len();
        (len, Some(len))
    }

    #[inline]
    fn fold<B, F>(mut self, init: B, op: F) -> B
    where
        F: FnMut(B, P::Output) -> B,
    {
        self.0.run_fold(&mut { usize::MAX }, init, op)
    }
}

impl<P: IndexedPart> DoubleEndedIterator for Seq<P> {
    fn next_back(&mut self) -> Option<P::Output> {
        let before = self.0.part_len().checked_sub(1)?;
        Seq(self.0.split_off(before)).next()
    }
}

impl<P: IndexedPart> ExactSizeIterator for Seq<P> {}
