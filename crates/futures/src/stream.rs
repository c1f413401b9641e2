//! Streams of parallel iterators: workers compute ahead of whoever awaits the items, and no further
//! than a bound.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::vec;

use futures_core::Stream;
use heist_core::hosting::Host;
use heist_par::iter::{IndexedParallelIterator, ParallelIterator};
use heist_sync::thread;

use crate::handle::FutureHandle;
use crate::spawn::spawn_in;

/// The items of a parallel iterator as a stream.
pub trait IntoStream: IndexedParallelIterator + 'static {
    /// The items in their order, computed by the pool of the calling worker, or else by the global
    /// pool, while others are awaited.
    ///
    /// At most `bound` items have been begun and not been taken: when the consumer is slow, workers
    /// do something else. No worker and no thread is blocked meanwhile. Dropping the stream drops
    /// the items that nobody has taken; those that a worker is about are finished first.
    ///
    /// # Panics
    ///
    /// Panics if `bound` is 0. The stream panics where it is polled if the computation of an item
    /// has, with the same payload.
    ///
    /// # Cost
    ///
    /// One spawned future, and one vector, for each half of the `bound`: choose it so that half of
    /// it is worth some tens of microseconds.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_lite::StreamExt;
    /// use heist::futures::{block_on, IntoStream};
    /// use heist::prelude::*;
    ///
    /// let squares = (0..1_000_u32).into_par_iter().map(|n| u64::from(n * n)).into_stream(64);
    /// let sum = block_on(squares.fold(0, |sum, square| sum + square));
    /// assert_eq!(sum, 332_833_500);
    /// ```
    #[track_caller]
    fn into_stream(self, bound: usize) -> ParStream<Self> {
        assert!(
            bound > 0,
            "could not make a stream that computes 0 items ahead; say at least 1"
        );
        ParStream {
            host: Host::current(),
            rest: Some(self),
            bound,
            batches: VecDeque::new(),
            ready: Vec::new().into_iter(),
        }
    }
}

impl<I: IndexedParallelIterator + 'static> IntoStream for I {}

/// A stream of the items of a parallel iterator: see [`IntoStream`].
#[must_use = "a stream does nothing unless it is polled"]
pub struct ParStream<I: ParallelIterator> {
    host: Host,
    /// The part that nobody has begun.
    rest: Option<I>,
    bound: usize,
    /// Parts that workers are about, in the order of their items.
    batches: VecDeque<Batch<I::Item>>,
    /// Of the last part that was finished.
    ready: vec::IntoIter<I::Item>,
}

/// A part of the items, or the panic of one of them, and how many they are.
struct Batch<T> {
    items: FutureHandle<thread::Result<Vec<T>>>,
    len: usize,
}

impl<I: IndexedParallelIterator + 'static> ParStream<I> {
    /// Begins as many parts as the bound allows.
    fn begin(&mut self) {
        let len = self.bound.div_ceil(2);
        let mut begun: usize = self.batches.iter().map(|batch| batch.len).sum();
        begun += self.ready.len();
        while begun + len <= self.bound {
            let Some(mut part) = self.rest.take() else {
                return;
            };
            let len = match part.len() {
                0 => return,
                left if left > len => {
                    self.rest = Some(part.split_off(len));
                    len
                }
                left => left,
            };
            // Caught, so that a panic is nobody's when the stream has been dropped.
            let items = AssertUnwindSafe(|| part.collect());
            let items = spawn_in(self.host.clone(), async { panic::catch_unwind(items) });
            self.batches.push_back(Batch { items, len });
            begun += len;
        }
    }
}

// Nothing in it is pinned.
impl<I: ParallelIterator> Unpin for ParStream<I> {}

impl<I: IndexedParallelIterator + 'static> Stream for ParStream<I> {
    type Item = I::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<I::Item>> {
        loop {
            self.begin();
            if let Some(item) = self.ready.next() {
                return Poll::Ready(Some(item));
            }
            let Some(batch) = self.batches.front_mut() else {
                return Poll::Ready(None);
            };
            let items = ready!(Pin::new(&mut batch.items).poll(cx));
            self.batches.pop_front();
            match items {
                Ok(Ok(items)) => self.ready = items.into_iter(),
                Ok(Err(payload)) => {
                    self.rest = None;
                    panic::resume_unwind(payload)
                }
                Err(_) => panic!("the pool of a stream has ended; keep its handle for as long"),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let begun: usize = self.batches.iter().map(|batch| batch.len).sum();
        let rest = self.rest.as_ref().map_or(0, I::len);
        let left = self.ready.len() + begun + rest;
        (left, Some(left))
    }
}

impl<I: ParallelIterator> Drop for ParStream<I> {
    fn drop(&mut self) {
        for batch in &mut self.batches {
            batch.items.abort();
        }
    }
}

impl<I: ParallelIterator> fmt::Debug for ParStream<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParStream")
            .field("bound", &self.bound)
            .field("ready", &self.ready.len())
            .finish_non_exhaustive()
    }
}
