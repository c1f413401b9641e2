//! The bridges, by which iterators of other crates hand their producers to a consumer.

use super::contract::{Consumer, Producer, ProducerCallback, UnindexedConsumer, UnindexedProducer};
use crate::enter::enter;
use crate::iter::IndexedParallelIterator;

/// Hands the producer of an iterator to a consumer: the way to implement
/// [`drive`](IndexedParallelIterator::drive) by
/// [`with_producer`](IndexedParallelIterator::with_producer).
pub fn bridge<I, C>(par_iter: I, consumer: C) -> C::Result
where
    I: IndexedParallelIterator,
    C: Consumer<I::Item>,
{
    struct Bridge<C> {
        len: usize,
        consumer: C,
    }

    impl<T, C: Consumer<T>> ProducerCallback<T> for Bridge<C> {
        type Output = C::Result;

        fn callback<P: Producer<Item = T>>(self, producer: P) -> C::Result {
            bridge_producer_consumer(self.len, producer, self.consumer)
        }
    }

    let len = par_iter.len();
    par_iter.with_producer(Bridge { len, consumer })
}

/// Hands all items of a producer to a consumer, on a worker.
pub fn bridge_producer_consumer<P, C>(len: usize, producer: P, consumer: C) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    enter(Some(len), || consumer.take_producer(len, producer))
}

/// Hands all items of a producer of unknown length to a consumer, on a worker.
pub fn bridge_unindexed<P, C>(producer: P, consumer: C) -> C::Result
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    enter(None, || consumer.take_unindexed(producer))
}
