//! `interleave`: the items of two iterators by turns.

use std::ops::ControlFlow;

use super::both_ends::{both_ends, take_from};
use super::skip_take::Take;
use crate::granularity::SplitPolicy;
use crate::iter::plumbing::{front, indexed, run_front};
use crate::part::{open_both, open_by_length, IndexedContinuation, IndexedPart, Joint, Part};

/// The items of two iterators by turns: see
/// [`interleave`](crate::iter::IndexedParallelIterator::interleave).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Interleave<A, B> {
    a: A,
    b: B,
    /// True if the next item is `b`'s, should both have some.
    b_first: bool,
}

/// The items of two iterators by turns, until it is the turn of one that has no more: see
/// [`interleave_shortest`](crate::iter::IndexedParallelIterator::interleave_shortest).
pub type InterleaveShortest<A, B> = Interleave<Take<A>, Take<B>>;

impl<A, B> Interleave<A, B> {
    pub(crate) fn new(a: A, b: B) -> Self {
        Self {
            a,
            b,
            b_first: false,
        }
    }
}

impl<A: IndexedPart, B: IndexedPart> InterleaveShortest<A, B> {
    pub(crate) fn shortest(a: A, b: B) -> Self {
        let b_len = b.part_len().min(a.part_len());
        let a_len = a.part_len().min(b_len.saturating_add(1));
        Self::new(Take::new(a, a_len), Take::new(b, b_len))
    }
}

impl<A, B> Part for Interleave<A, B>
where
    A: IndexedPart,
    B: IndexedPart<Output = A::Output>,
{
    type Output = A::Output;

    indexed!(but_run);

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, consume: C) -> ControlFlow<()>
    where
        C: FnMut(A::Output) -> ControlFlow<()>,
    {
        run_front(self, budget, consume)
    }

    #[inline]
    fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
    where
        Op: FnMut(Folded, A::Output) -> Folded,
    {
        let front = front(self, budget);
        let (a, b) = (front.a.into_seq(), front.b.into_seq());
        if front.b_first {
            fold_by_turns(b, a, init, op)
        } else {
            fold_by_turns(a, b, init, op)
        }
    }

    fn split_policy(&self) -> SplitPolicy {
        self.a.split_policy().and(self.b.split_policy())
    }

    fn pause(&mut self) {
        self.a.pause();
        self.b.pause();
    }
    open_by_length!(A, B);
}

/// An `interleave` without its parts.
struct ByTurns {
    b_first: bool,
}

impl<T: Send> Joint<T, T> for ByTurns {
    type Output = T;
    type Of<A: IndexedPart<Output = T>, B: IndexedPart<Output = T>> = Interleave<A, B>;

    fn of<A: IndexedPart<Output = T>, B: IndexedPart<Output = T>>(
        self,
        a: A,
        b: B,
    ) -> Interleave<A, B> {
        let b_first = self.b_first;
        Interleave { a, b, b_first }
    }
}

impl<A, B> IndexedPart for Interleave<A, B>
where
    A: IndexedPart,
    B: IndexedPart<Output = A::Output>,
{
    fn part_len(&self) -> usize {
        let len = self.a.part_len().checked_add(self.b.part_len());
        len.expect("interleaved iterators have at most usize::MAX items together")
    }

    fn split_off(&mut self, index: usize) -> Self {
        let (a_len, b_len) = (self.a.part_len(), self.b.part_len());
        // By turns, as long as both have some; of the longer one otherwise.
        let a_turns = (index + usize::from(!self.b_first)) / 2;
        let of_a = a_turns.clamp(index.saturating_sub(b_len), a_len);
        Self {
            a: self.a.split_off(of_a),
            b: self.b.split_off(index - of_a),
            b_first: self.b_first ^ (index % 2 == 1),
        }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = A::Output> + ExactSizeIterator {
        let len = self.part_len();
        let by_turns = 2 * self.a.part_len().min(self.b.part_len());
        let a_longer = self.a.part_len() > self.b.part_len();
        let (mut a, mut b) = (self.a.into_seq(), self.b.into_seq());
        both_ends(len, move |index, front| {
            let of_a = if index < by_turns {
                (index % 2 == 1) == self.b_first
            } else {
                a_longer
            };
            if of_a {
                take_from(&mut a, front)
            } else {
                take_from(&mut b, front)
            }
        })
    }

    fn open_indexed<K: IndexedContinuation<A::Output>>(self, then: K) -> K::Output {
        let joint = ByTurns {
            b_first: self.b_first,
        };
        open_both(self.a, self.b, joint, then)
    }
}

/// Folds an item of each by turns, and then those that are left of one.
#[inline]
fn fold_by_turns<A, B, Folded, Op>(mut first: A, mut second: B, init: Folded, mut op: Op) -> Folded
where
    A: ExactSizeIterator,
    B: ExactSizeIterator<Item = A::Item>,
    Op: FnMut(Folded, A::Item) -> Folded,
{
    let mut so_far = init;
    for _ in 0..first.len().min(second.len()) {
        if let Some(item) = first.next() {
            so_far = op(so_far, item);
        }
        if let Some(item) = second.next() {
            so_far = op(so_far, item);
        }
    }
    so_far = first.fold(so_far, &mut op);
    second.fold(so_far, op)
}
