//! Streams of parallel iterators: workers compute ahead of whoever awaits the items, and no further
//! than a bound.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::vec;

use futures_core::Stream;
use heist_core::hosting::Host;
use heist_par::iter::ParallelIterator;
use heist_sync::thread;

use crate::handle::FutureHandle;
use crate::spawn::spawn_in;

/// The most parts that are kept: enough to halve the longest possible range down to a single item.
/// An iterator that does not know its length could be split for ever.
const MOST_PARTS: usize = 128;

/// The items of a parallel iterator as a stream; its methods have examples.
pub trait IntoStream: ParallelIterator + 'static {
    /// The items in their order, computed by the pool of the calling worker, or else by the global
    /// pool, while others are awaited.
    ///
    /// At most `bound` items have been begun and not been taken: when the consumer is slow, workers
    /// do something else. Where an adaptor yields none or several items for each item of its
    /// source, as `filter` and `flat_map_iter` do, the bound counts those of the source. No worker
    /// and no thread is blocked meanwhile. Dropping the stream drops the items that nobody has
    /// taken; those that a worker is computing are finished first.
    ///
    /// # Panics
    ///
    /// Panics if `bound` is 0. The stream panics where it is polled if the computation of an item
    /// has, with the same payload; after that it has ended.
    ///
    /// # Cost
    ///
    /// One spawned future, and one vector, for a quarter to a half of the `bound`: choose it so
    /// that half of it is worth some tens of microseconds.
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
            rest: vec![self],
            bound,
            batches: VecDeque::new(),
            ready: Vec::new().into_iter(),
        }
    }
}

impl<I: ParallelIterator + 'static> IntoStream for I {}

/// A stream of the items of a parallel iterator: see [`IntoStream`].
#[must_use = "a stream does nothing unless it is polled"]
pub struct ParStream<I: ParallelIterator> {
    host: Host,
    /// The parts that nobody has begun, those of the first items last.
    rest: Vec<I>,
    bound: usize,
    /// Parts that workers are computing, in the order of their items.
    batches: VecDeque<Batch<I>>,
    /// The items of the last finished part.
    ready: vec::IntoIter<I::Item>,
}

/// A part of the items, or the panic of one of them.
struct Batch<I: ParallelIterator> {
    items: FutureHandle<thread::Result<Done<I>>>,
    /// The number of steps of the iterator in it.
    steps: usize,
    len: Option<usize>,
    /// True if more of the items may come back with it: then nothing behind it is begun.
    is_open: bool,
}

/// The items, and the part of which they were the first, if it has more and could not be split.
type Done<I> = (Vec<<I as ParallelIterator>::Item>, Option<I>);

impl<I: ParallelIterator + 'static> ParStream<I> {
    /// Begins as many parts as the bound allows.
    fn begin(&mut self) {
        let most = self.bound.div_ceil(2);
        let mut begun: usize = self.batches.iter().map(|batch| batch.steps).sum();
        begun += self.ready.len();
        while begun + most <= self.bound && !self.batches.iter().any(|batch| batch.is_open) {
            let Some(part) = self.next_part(most) else {
                return;
            };
            let (steps, len) = (part.steps().min(most), part.known_len());
            let is_open = part.steps() > most;
            // Caught, so that a panic is nobody's when the stream has been dropped.
            let items = AssertUnwindSafe(move || match is_open {
                true => some_of(part, most),
                false => (part.collect(), None),
            });
            let items = spawn_in(self.host.clone(), async { panic::catch_unwind(items) });
            begun += steps;
            self.batches.push_back(Batch {
                items,
                steps,
                len,
                is_open,
            });
        }
    }

    /// The next part, of so many steps at most if it can be split.
    fn next_part(&mut self, most: usize) -> Option<I> {
        loop {
            let mut part = self.rest.pop()?;
            match part.steps() {
                0 => {}
                steps if steps <= most || self.rest.len() >= MOST_PARTS => return Some(part),
                _ => match part.split() {
                    Some(upper) => self.rest.extend([upper, part]),
                    None => return Some(part),
                },
            }
        }
    }
}

/// The items of so many steps, and the rest.
fn some_of<I: ParallelIterator>(mut part: I, mut steps: usize) -> Done<I> {
    let mut items = Vec::new();
    let flow = part.run(&mut steps, |item| {
        items.push(item);
        ControlFlow::Continue(())
    });
    part.pause();
    let has_more = flow.is_continue() && part.steps() > 0;
    (items, has_more.then_some(part))
}

// Nothing in it is pinned.
impl<I: ParallelIterator> Unpin for ParStream<I> {}

impl<I: ParallelIterator + 'static> Stream for ParStream<I> {
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
                Ok(Ok((items, rest))) => {
                    self.ready = items.into_iter();
                    self.rest.extend(rest);
                }
                Ok(Err(payload)) => {
                    self.end();
                    panic::resume_unwind(payload)
                }
                Err(_) => {
                    self.end();
                    panic!("the pool of a stream has ended; keep its handle for as long")
                }
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let begun = self.batches.iter().map(|batch| batch.len);
        let rest = self.rest.iter().map(I::known_len);
        let ready = self.ready.len();
        let left = begun
            .chain(rest)
            .try_fold(ready, |sum, len| sum.checked_add(len?));
        (left.unwrap_or(ready), left)
    }
}

impl<I: ParallelIterator> ParStream<I> {
    /// Drops what has not been taken.
    fn end(&mut self) {
        for mut batch in self.batches.drain(..) {
            batch.items.abort();
        }
        self.rest.clear();
    }
}

impl<I: ParallelIterator> Drop for ParStream<I> {
    fn drop(&mut self) {
        self.end();
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
