//! Rayon's contract of producers and consumers, and the loop in which they meet.

use std::ops::ControlFlow;

use heist_par::foreign::Part;
use rayon_core::{current_num_threads, join_context};

/// Gets the producer of an [`IndexedParallelIterator`](crate::iter::IndexedParallelIterator), whose type it cannot name.
pub trait ProducerCallback<T> {
    /// The result.
    type Output;

    /// Goes on with the producer.
    fn callback<P>(self, producer: P) -> Self::Output
    where
        P: Producer<Item = T>;
}

/// A sequence of known length that can be cut at any index.
pub trait Producer: Send + Sized {
    /// The type of the items.
    type Item;
    /// The same items one after the other.
    type IntoIter: Iterator<Item = Self::Item> + DoubleEndedIterator + ExactSizeIterator;

    /// Turns into the same items one after the other.
    fn into_iter(self) -> Self::IntoIter;

    /// No part should have fewer items.
    fn min_len(&self) -> usize {
        1
    }

    /// No part should have more items.
    fn max_len(&self) -> usize {
        usize::MAX
    }

    /// Cuts it before the item with this index.
    fn split_at(self, index: usize) -> (Self, Self);

    /// Hands items to the folder until it is full.
    fn fold_with<F>(self, folder: F) -> F
    where
        F: Folder<Self::Item>,
    {
        folder.consume_iter(self.into_iter())
    }
}

/// A sequence of unknown length that can be split.
pub trait UnindexedProducer: Send + Sized {
    /// The type of the items.
    type Item;

    /// Splits the later part off, if it can be split.
    fn split(self) -> (Self, Option<Self>);

    /// Hands items to the folder until it is full.
    fn fold_with<F>(self, folder: F) -> F
    where
        F: Folder<Self::Item>;
}

/// Takes the items of a sequence, cut as the sequence is.
pub trait Consumer<Item>: Send + Sized {
    /// Takes the items of one part.
    type Folder: Folder<Item, Result = Self::Result>;
    /// Makes one result of those of two parts.
    type Reducer: Reducer<Self::Result>;
    /// The result of one part.
    type Result: Send;

    /// Cuts it before the item with this index.
    fn split_at(self, index: usize) -> (Self, Self, Self::Reducer);

    /// Turns into what takes the items.
    fn into_folder(self) -> Self::Folder;

    /// Whether no more items are wanted.
    fn full(&self) -> bool;

    /// All of a producer.
    #[doc(hidden)]
    fn take_producer<P>(self, len: usize, producer: P) -> Self::Result
    where
        P: Producer<Item = Item>,
    {
        Halves::of(len, &producer).indexed(len, producer, self)
    }
}

/// A consumer that can be split without knowing where.
pub trait UnindexedConsumer<I>: Consumer<I> {
    /// Makes the consumer of all items before those that this one goes on with.
    fn split_off_left(&self) -> Self;

    /// Makes what joins the results of both.
    fn to_reducer(&self) -> Self::Reducer;

    /// All of a producer of unknown length.
    #[doc(hidden)]
    fn take_unindexed<P>(self, producer: P) -> Self::Result
    where
        P: UnindexedProducer<Item = I>,
    {
        Halves::new().unindexed(producer, self)
    }

    /// All of a part of heist's.
    #[doc(hidden)]
    fn take_part<P>(self, part: P) -> Self::Result
    where
        P: Part<Output = I>,
        I: Send,
    {
        Halves::of_part(&part).part(part, self)
    }
}

/// Takes items, one after the other.
pub trait Folder<Item>: Sized {
    /// The result.
    type Result;

    /// Takes one.
    #[must_use]
    fn consume(self, item: Item) -> Self;

    /// Takes several, until it is full.
    #[must_use]
    fn consume_iter<I>(mut self, iter: I) -> Self
    where
        I: IntoIterator<Item = Item>,
    {
        for item in iter {
            self = self.consume(item);
            if self.full() {
                break;
            }
        }
        self
    }

    /// Ends it.
    fn complete(self) -> Self::Result;

    /// Whether no more items are wanted.
    fn full(&self) -> bool;
}

/// Joins the results of two parts.
pub trait Reducer<Result> {
    /// Makes one of both.
    fn reduce(self, left: Result, right: Result) -> Result;
}

/// How often a part is yet to be halved: until there are as many as workers, and again as often
/// where a part was stolen.
#[derive(Clone, Copy)]
struct Halves {
    left: usize,
    min_len: usize,
}

impl Halves {
    fn new() -> Self {
        Self {
            left: current_num_threads(),
            min_len: 1,
        }
    }

    /// The same for a producer that has wishes.
    fn of<P: Producer>(len: usize, producer: &P) -> Self {
        Self::wished(len, producer.min_len(), producer.max_len())
    }

    /// The same for a part of heist's.
    fn of_part<P: Part>(part: &P) -> Self {
        let policy = part.split_policy();
        let len = part.known_len();
        len.map_or_else(Self::new, |len| {
            Self::wished(len, policy.min_len, policy.max_len)
        })
    }

    fn wished(len: usize, min_len: usize, max_len: usize) -> Self {
        let parts = len / max_len.max(1);
        Self {
            left: current_num_threads().max(parts),
            min_len: min_len.max(1),
        }
    }

    /// Whether to halve once more.
    fn again(&mut self) -> bool {
        let again = self.left > 0;
        self.left /= 2;
        again
    }

    /// The same for a half, which was stolen or not.
    fn of_half(mut self, stolen: bool) -> Self {
        if stolen {
            self.left = self.left.max(current_num_threads());
        }
        self
    }

    fn indexed<P, C>(mut self, len: usize, producer: P, consumer: C) -> C::Result
    where
        P: Producer,
        C: Consumer<P::Item>,
    {
        if consumer.full() {
            return consumer.into_folder().complete();
        }
        let middle = len / 2;
        if middle < self.min_len || !self.again() {
            return producer.fold_with(consumer.into_folder()).complete();
        }
        let (lower, upper) = producer.split_at(middle);
        let (left, right, reducer) = consumer.split_at(middle);
        let (left, right) = join_context(
            |context| {
                let halves = self.of_half(context.migrated());
                halves.indexed(middle, lower, left)
            },
            |context| {
                let halves = self.of_half(context.migrated());
                halves.indexed(len - middle, upper, right)
            },
        );
        reducer.reduce(left, right)
    }

    fn unindexed<P, C>(mut self, producer: P, consumer: C) -> C::Result
    where
        P: UnindexedProducer,
        C: UnindexedConsumer<P::Item>,
    {
        if consumer.full() {
            return consumer.into_folder().complete();
        }
        if !self.again() {
            return producer.fold_with(consumer.into_folder()).complete();
        }
        let (lower, upper) = match producer.split() {
            (lower, Some(upper)) => (lower, upper),
            (all, None) => return all.fold_with(consumer.into_folder()).complete(),
        };
        let reducer = consumer.to_reducer();
        let left = consumer.split_off_left();
        let (left, right) = join_context(
            |context| self.of_half(context.migrated()).unindexed(lower, left),
            |context| {
                let halves = self.of_half(context.migrated());
                halves.unindexed(upper, consumer)
            },
        );
        reducer.reduce(left, right)
    }

    /// A part of heist's. Where its length is known the consumer is cut at an index, because an
    /// iterator that tells its length promises that.
    fn part<P, C>(mut self, mut part: P, consumer: C) -> C::Result
    where
        P: Part,
        C: UnindexedConsumer<P::Output>,
    {
        if consumer.full() {
            return consumer.into_folder().complete();
        }
        let is_long = (part.known_len()).is_none_or(|len| len / 2 >= self.min_len);
        if !is_long || !self.again() {
            return fold_with(part, consumer.into_folder()).complete();
        }
        let Some(upper) = part.split() else {
            return fold_with(part, consumer.into_folder()).complete();
        };
        let (left, right, reducer) = match part.known_len() {
            Some(len) => consumer.split_at(len),
            None => {
                let reducer = consumer.to_reducer();
                (consumer.split_off_left(), consumer, reducer)
            }
        };
        let (left, right) = join_context(
            |context| self.of_half(context.migrated()).part(part, left),
            |context| self.of_half(context.migrated()).part(upper, right),
        );
        reducer.reduce(left, right)
    }
}

/// Hands the items of a part to a folder until it is full.
pub(super) fn fold_with<P: Part, F: Folder<P::Output>>(mut part: P, folder: F) -> F {
    // It is away only while it takes an item, and lost if it panics.
    let mut here = Some(folder);
    let mut is_full = here.as_ref().is_some_and(F::full);
    while !is_full && part.steps() > 0 {
        let flow = part.run(&mut { usize::MAX }, |item| {
            let folder = here.take().map(|folder| folder.consume(item));
            let is_full = folder.as_ref().is_some_and(F::full);
            here = folder;
            match is_full {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        is_full = flow.is_break();
    }
    here.expect("a folder comes back from each item")
}
