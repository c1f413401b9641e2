//! The ways through an iterator of another crate: as a consumer, and as a callback.

use std::cell::Cell;
use std::collections::LinkedList;

use heist_par::foreign::{Continuation, IndexedContinuation, IndexedPart, Part};
use heist_par::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::contract::{
    Consumer, Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer, UnindexedProducer,
};
use super::part::AsProducer;
use super::producer::{ProducerPart, UnindexedPart};

/// A continuation that passes through `drive_unindexed` as a consumer, and goes on with the
/// producer or part that it meets there.
///
/// An iterator may instead split it, wrap it or push items into it. Then they are gathered, and the
/// continuation goes on with all of them at the end.
pub(crate) struct Pass<K> {
    /// None in what was split off to the left.
    then: Option<K>,
    is_split: Cell<bool>,
}

impl<K> Pass<K> {
    pub(crate) fn new(then: K) -> Self {
        Self {
            then: Some(then),
            is_split: Cell::new(false),
        }
    }

    fn take<T: Send, P: Part<Output = T>>(self, part: P) -> Passed<T, K>
    where
        K: Continuation<T>,
    {
        match self.then {
            Some(then) if !self.is_split.get() => Passed::Done(then.run(part)),
            then => {
                let items = LinkedList::from([part.collect()]);
                Passed::Gathered { then, items }
            }
        }
    }
}

/// The end of the way.
pub(crate) enum Passed<T: Send, K: Continuation<T>> {
    Done(K::Output),
    Gathered {
        then: Option<K>,
        items: LinkedList<Vec<T>>,
    },
}

impl<T: Send, K: Continuation<T>> Passed<T, K> {
    pub(crate) fn result(self) -> K::Output {
        match self {
            Self::Done(output) => output,
            Self::Gathered { then, items } => {
                let then = then.expect("an iterator has lost a part of its consumer");
                let items: Vec<T> = items.into_iter().flatten().collect();
                then.run(items.into_par_iter())
            }
        }
    }
}

impl<T: Send, K: Continuation<T>> Consumer<T> for Pass<K> {
    type Folder = Gather<T, K>;
    type Reducer = Append;
    type Result = Passed<T, K>;

    fn split_at(self, _index: usize) -> (Self, Self, Append) {
        let left = UnindexedConsumer::<T>::split_off_left(&self);
        (left, self, Append)
    }

    fn into_folder(self) -> Gather<T, K> {
        Gather {
            then: self.then,
            items: Vec::new(),
        }
    }

    fn full(&self) -> bool {
        false
    }

    fn take_producer<P: Producer<Item = T>>(self, len: usize, producer: P) -> Passed<T, K> {
        self.take(ProducerPart::new(producer, len))
    }
}

impl<T: Send, K: Continuation<T>> UnindexedConsumer<T> for Pass<K> {
    fn split_off_left(&self) -> Self {
        self.is_split.set(true);
        Self {
            then: None,
            is_split: Cell::new(true),
        }
    }

    fn to_reducer(&self) -> Append {
        Append
    }

    fn take_unindexed<P: UnindexedProducer<Item = T>>(self, producer: P) -> Passed<T, K> {
        self.take(UnindexedPart::new(producer))
    }

    fn take_part<P: Part<Output = T>>(self, part: P) -> Passed<T, K> {
        self.take(part)
    }
}

/// Gathers items that are pushed.
pub(crate) struct Gather<T, K> {
    then: Option<K>,
    items: Vec<T>,
}

impl<T: Send, K: Continuation<T>> Folder<T> for Gather<T, K> {
    type Result = Passed<T, K>;

    fn consume(mut self, item: T) -> Self {
        self.items.push(item);
        self
    }

    fn consume_iter<I: IntoIterator<Item = T>>(mut self, iter: I) -> Self {
        self.items.extend(iter);
        self
    }

    fn complete(self) -> Passed<T, K> {
        Passed::Gathered {
            then: self.then,
            items: LinkedList::from([self.items]),
        }
    }

    fn full(&self) -> bool {
        false
    }
}

/// Joins what was gathered.
pub(crate) struct Append;

impl<T: Send, K: Continuation<T>> Reducer<Passed<T, K>> for Append {
    fn reduce(self, left: Passed<T, K>, right: Passed<T, K>) -> Passed<T, K> {
        let (
            Passed::Gathered { then, mut items },
            Passed::Gathered {
                then: last,
                items: upper,
            },
        ) = (left, right)
        else {
            panic!("an iterator joins results of which one was not split off the other");
        };
        items.extend(upper);
        Passed::Gathered {
            then: then.or(last),
            items,
        }
    }
}

/// Hands a part of heist's over to a consumer.
pub(crate) struct HandOver<C>(pub(crate) C);

impl<T: Send, C: UnindexedConsumer<T>> Continuation<T> for HandOver<C> {
    type Output = C::Result;

    fn run<P: Part<Output = T>>(self, part: P) -> C::Result {
        self.0.take_part(part)
    }
}

impl<T: Send, C: Consumer<T>> IndexedContinuation<T> for HandOver<C> {
    type Output = C::Result;

    fn run<P: IndexedPart<Output = T>>(self, part: P) -> C::Result {
        self.0.take_producer(part.part_len(), AsProducer(part))
    }
}

/// Hands a part of heist's over to a callback, as a producer.
pub(crate) struct HandProducer<B>(pub(crate) B);

impl<T: Send, B: ProducerCallback<T>> IndexedContinuation<T> for HandProducer<B> {
    type Output = B::Output;

    fn run<P: IndexedPart<Output = T>>(self, part: P) -> B::Output {
        self.0.callback(AsProducer(part))
    }
}
