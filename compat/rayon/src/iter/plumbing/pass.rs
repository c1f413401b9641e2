//! The ways through an iterator of another crate: as a consumer, and as a callback.

use std::cell::Cell;
use std::collections::LinkedList;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use heist_par::foreign::{Continuation, IndexedContinuation, IndexedPart, Part};
use heist_par::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::contract::{
    Consumer, Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer, UnindexedProducer,
};
use super::part::AsProducer;
use super::producer::{ProducerPart, UnindexedPart};

/// Goes on with the producer or part that a consumer meets in an iterator of another crate, whose
/// `drive_unindexed` is `drive`.
///
/// The iterator may instead split the consumer, wrap it, push items into it or drop a part of it.
/// Then the items are gathered, and the continuation goes on with all of them at the end.
pub(crate) fn pass_through<T, K, D>(then: K, drive: D) -> K::Output
where
    T: Send,
    K: Continuation<T>,
    D: FnOnce(Pass<'_, K>) -> Passed<T, K>,
{
    let then = Mutex::new(Some(then));
    let is_split = Cell::new(false);
    let pass = Pass {
        then: &then,
        is_split,
    };
    match drive(pass) {
        Passed::Done(output) => output,
        Passed::Gathered(items) => {
            let items: Vec<_> = items.into_iter().flatten().collect();
            take(&then).run(items.into_par_iter())
        }
    }
}

/// The continuation, which is called once.
fn take<K>(then: &Mutex<Option<K>>) -> K {
    let then = then.lock().unwrap_or_else(PoisonError::into_inner).take();
    then.expect("an iterator has one consumer that is not split")
}

/// The consumer that goes through the iterator.
pub(crate) struct Pass<'then, K> {
    then: &'then Mutex<Option<K>>,
    is_split: Cell<bool>,
}

impl<K> Pass<'_, K> {
    fn take<T: Send, P: Part<Output = T>>(self, part: P) -> Passed<T, K>
    where
        K: Continuation<T>,
    {
        if self.is_split.get() {
            return Passed::Gathered(LinkedList::from([part.collect()]));
        }
        Passed::Done(take(self.then).run(part))
    }
}

/// The end of the way.
pub(crate) enum Passed<T: Send, K: Continuation<T>> {
    Done(K::Output),
    Gathered(LinkedList<Vec<T>>),
}

impl<T: Send, K: Continuation<T>> Consumer<T> for Pass<'_, K> {
    type Folder = Gather<T, K>;
    type Reducer = Append;
    type Result = Passed<T, K>;

    fn split_at(self, _index: usize) -> (Self, Self, Append) {
        let left = UnindexedConsumer::<T>::split_off_left(&self);
        (left, self, Append)
    }

    fn into_folder(self) -> Gather<T, K> {
        Gather {
            then: PhantomData,
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

impl<T: Send, K: Continuation<T>> UnindexedConsumer<T> for Pass<'_, K> {
    fn split_off_left(&self) -> Self {
        self.is_split.set(true);
        Self {
            then: self.then,
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
    then: PhantomData<K>,
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
        Passed::Gathered(LinkedList::from([self.items]))
    }

    fn full(&self) -> bool {
        false
    }
}

/// Joins what was gathered.
pub(crate) struct Append;

impl<T: Send, K: Continuation<T>> Reducer<Passed<T, K>> for Append {
    fn reduce(self, left: Passed<T, K>, right: Passed<T, K>) -> Passed<T, K> {
        let (Passed::Gathered(mut items), Passed::Gathered(upper)) = (left, right) else {
            panic!("an iterator joins results of which one was not split off the other");
        };
        items.extend(upper);
        Passed::Gathered(items)
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
