//! A producer of another crate as a part of heist's, which is driven piece by piece.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use heist_par::foreign::{IndexedPart, Part};
use heist_par::SplitPolicy;

use super::contract::{Folder, Producer, UnindexedProducer};

/// A producer that can be cut at any index: a grain is cut off and run, and what is left is cut
/// again when a worker is hungry.
pub(crate) struct ProducerPart<P> {
    /// Away only while it is cut.
    producer: Option<P>,
    len: usize,
}

impl<P: Producer> ProducerPart<P> {
    pub(crate) fn new(producer: P, len: usize) -> Self {
        let producer = Some(producer);
        Self { producer, len }
    }

    /// All of it.
    fn take(&mut self) -> P {
        self.len = 0;
        let producer = self.producer.take();
        producer.expect("a producer comes back from each cut")
    }

    /// The first items, as many as the budget allows, which it charges.
    fn front(&mut self, budget: &mut usize) -> Option<P> {
        let len = self.len.min(*budget);
        *budget -= len;
        if len == 0 {
            return None;
        }
        if len == self.len {
            return Some(self.take());
        }
        let left = self.len - len;
        let (front, rest) = self.take().split_at(len);
        *self = Self::new(rest, left);
        Some(front)
    }
}

impl<P> Part for ProducerPart<P>
where
    P: Producer<Item: Send>,
{
    type Output = P::Item;

    fn steps(&self) -> usize {
        self.len
    }

    fn split(&mut self) -> Option<Self> {
        (self.len > 1).then(|| self.split_off(self.len / 2))
    }

    fn run<F>(&mut self, budget: &mut usize, consume: F) -> ControlFlow<()>
    where
        F: FnMut(P::Item) -> ControlFlow<()>,
    {
        match self.front(budget) {
            Some(front) => front.fold_with(Each::new(consume)).flow,
            None => ControlFlow::Continue(()),
        }
    }

    fn run_fold<B, F>(&mut self, budget: &mut usize, init: B, op: F) -> B
    where
        F: FnMut(B, P::Item) -> B,
    {
        match self.front(budget) {
            Some(front) => front.fold_with(All { so_far: init, op }).so_far,
            None => init,
        }
    }

    fn known_len(&self) -> Option<usize> {
        Some(self.len)
    }

    fn split_policy(&self) -> SplitPolicy {
        let mut policy = SplitPolicy::default();
        if let Some(producer) = &self.producer {
            policy.min_len = producer.min_len();
            policy.max_len = producer.max_len();
        }
        policy
    }
}

impl<P> IndexedPart for ProducerPart<P>
where
    P: Producer<Item: Send>,
{
    fn part_len(&self) -> usize {
        self.len
    }

    fn split_off(&mut self, index: usize) -> Self {
        let upper_len = self.len - index;
        if self.producer.is_none() {
            return Self {
                producer: None,
                len: 0,
            };
        }
        let (lower, upper) = self.take().split_at(index);
        *self = Self::new(lower, index);
        Self::new(upper, upper_len)
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = P::Item> + ExactSizeIterator {
        Seq(self.producer.map(P::into_iter))
    }
}

/// The items of a producer, or none.
struct Seq<I>(Option<I>);

impl<I: Iterator> Iterator for Seq<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        self.0.as_mut()?.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.as_ref().map_or((0, Some(0)), I::size_hint)
    }

    #[inline]
    fn fold<B, F>(self, init: B, op: F) -> B
    where
        F: FnMut(B, I::Item) -> B,
    {
        match self.0 {
            Some(items) => items.fold(init, op),
            None => init,
        }
    }
}

impl<I: DoubleEndedIterator> DoubleEndedIterator for Seq<I> {
    #[inline]
    fn next_back(&mut self) -> Option<I::Item> {
        self.0.as_mut()?.next_back()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for Seq<I> {}

/// A producer of unknown length, which cannot be stopped: it is split into small pieces before they
/// run.
pub(super) struct UnindexedPart<P> {
    /// The pieces, in their order, and how often each is yet to be split.
    pieces: VecDeque<(P, u32)>,
}

/// The number of times that a piece is split before it runs: into 64.
const SPLITS: u32 = 6;
/// The same after a theft.
const SPLITS_AGAIN: u32 = 2;

impl<P: UnindexedProducer> UnindexedPart<P> {
    pub(super) fn new(producer: P) -> Self {
        Self {
            pieces: VecDeque::from([(producer, SPLITS)]),
        }
    }

    /// The first piece, as small as it is to be.
    fn front(&mut self) -> Option<P> {
        let (mut piece, mut splits) = self.pieces.pop_front()?;
        while splits > 0 {
            splits -= 1;
            let (lower, upper) = piece.split();
            piece = lower;
            match upper {
                Some(upper) => self.pieces.push_front((upper, splits)),
                None => break,
            }
        }
        Some(piece)
    }
}

impl<P> Part for UnindexedPart<P>
where
    P: UnindexedProducer<Item: Send>,
{
    type Output = P::Item;

    fn steps(&self) -> usize {
        match self.pieces.is_empty() {
            true => 0,
            false => usize::MAX,
        }
    }

    fn split(&mut self) -> Option<Self> {
        let mut upper = self.pieces.split_off(self.pieces.len().div_ceil(2));
        if upper.is_empty() {
            let (piece, splits) = self.pieces.pop_front()?;
            let (lower, rest) = piece.split();
            let splits = splits.saturating_sub(1).max(SPLITS_AGAIN);
            self.pieces.push_front((lower, splits));
            upper.push_front((rest?, splits));
        }
        Some(Self { pieces: upper })
    }

    /// A piece is a step, whatever is in it.
    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(P::Item) -> ControlFlow<()>,
    {
        while *budget > 0 {
            let Some(piece) = self.front() else { break };
            *budget -= 1;
            piece.fold_with(Each::new(&mut consume)).flow?;
        }
        ControlFlow::Continue(())
    }

    fn run_fold<B, F>(&mut self, budget: &mut usize, init: B, mut op: F) -> B
    where
        F: FnMut(B, P::Item) -> B,
    {
        let mut so_far = init;
        while *budget > 0 {
            let Some(piece) = self.front() else { break };
            *budget -= 1;
            let op = &mut op;
            so_far = piece.fold_with(All { so_far, op }).so_far;
        }
        so_far
    }
}

/// Hands each item to a closure, which may have had enough. A producer need not ask whether it has:
/// those that come nevertheless are dropped.
struct Each<F> {
    op: F,
    flow: ControlFlow<()>,
}

impl<F> Each<F> {
    fn new(op: F) -> Self {
        let flow = ControlFlow::Continue(());
        Self { op, flow }
    }
}

impl<T, F: FnMut(T) -> ControlFlow<()>> Folder<T> for Each<F> {
    type Result = ControlFlow<()>;

    #[inline]
    fn consume(mut self, item: T) -> Self {
        if self.flow.is_continue() {
            self.flow = (self.op)(item);
        }
        self
    }

    fn consume_iter<I: IntoIterator<Item = T>>(mut self, iter: I) -> Self {
        if self.flow.is_continue() {
            self.flow = iter.into_iter().try_for_each(&mut self.op);
        }
        self
    }

    fn complete(self) -> ControlFlow<()> {
        self.flow
    }

    fn full(&self) -> bool {
        self.flow.is_break()
    }
}

/// Folds all items.
struct All<B, F> {
    so_far: B,
    op: F,
}

impl<B, T, F: FnMut(B, T) -> B> Folder<T> for All<B, F> {
    type Result = B;

    #[inline]
    fn consume(mut self, item: T) -> Self {
        self.so_far = (self.op)(self.so_far, item);
        self
    }

    fn consume_iter<I: IntoIterator<Item = T>>(mut self, iter: I) -> Self {
        self.so_far = iter.into_iter().fold(self.so_far, &mut self.op);
        self
    }

    fn complete(self) -> B {
        self.so_far
    }

    fn full(&self) -> bool {
        false
    }
}
