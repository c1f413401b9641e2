//! A bridge without order: the workers take turns at the iterator.
//!
//! A part that wants an item takes the iterator out of its place, and puts it back when it has one;
//! so user code runs under no lock, and no part has the iterator while an item runs.
//!
//! A part that finds the place empty must not wait there: `next` of the part that has the iterator
//! may wait for work that lies below on this very stack. It looks for some microseconds and then
//! leaves, if there is another part, which will go on. The last part never ends before the
//! iterator, which no other part has then.
//!
//! An item may wait for a later one. So a part that runs one must not be the only part without
//! having offered another: the driver offers one before a part begins, and if one has left while
//! the iterator was out, the part that brings it back leaves the item with it and returns to the
//! driver, which offers one again. No part has an item in hand there, so that it does not matter
//! what else a worker runs before it comes back. Until then no part is split: halves that leave
//! after each other on the stack of a `next` would never let it go on.

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::{hint, Clock, Mutex};

use super::batch::{take_batch, BATCH_NS};
use crate::part::Part;

/// The items of an iterator in no particular order: see
/// [`ParallelBridge::par_bridge`](super::ParallelBridge::par_bridge).
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct IterBridge<Iter: Iterator> {
    source: Arc<Source<Iter>>,
    /// Items that were taken, and are this part's: between two calls of `run` there are none,
    /// unless batches were asked for.
    batch: VecDeque<Iter::Item>,
    /// So many items are taken in a turn, at most.
    batch_len: usize,
    /// False if this part takes no more turns.
    is_open: bool,
}

/// The state that all parts have in common.
struct Source<Iter: Iterator> {
    place: Mutex<Place<Iter>>,
    /// Relaxed: a part that sees it late looks into the place once more.
    has_ended: AtomicBool,
}

struct Place<Iter: Iterator> {
    /// `None` while a part has it, and at the end. Behind a pointer, to be taken fast.
    feed: Option<Box<Feed<Iter>>>,
    /// The iterator that has ended, which items that are not done may still need: it may be the
    /// receiver of what they send back.
    over: Option<Box<Feed<Iter>>>,
    /// The number of parts that take turns.
    open_parts: usize,
    /// A part was closed, and no other has been told.
    was_left: bool,
}

struct Feed<Iter: Iterator> {
    /// Items that were taken and belong to no part: they come first.
    ahead: VecDeque<Iter::Item>,
    iter: Iter,
}

impl<Iter: Iterator> IterBridge<Iter> {
    pub(super) fn new(iter: Iter) -> Self {
        let ahead = VecDeque::new();
        Self {
            source: Arc::new(Source::new(Some(Feed { ahead, iter }))),
            batch: VecDeque::new(),
            batch_len: 1,
            is_open: true,
        }
    }

    /// Takes up to `len` items in a turn, or as many as come in some microseconds, instead of one.
    ///
    /// For items that cost less than a turn does. An item then waits until those that were taken
    /// before it are done: this may hang if `next` waits for what is done with earlier items, or an
    /// item for what is done with another one.
    ///
    /// # Cost
    ///
    /// Some 10 ns for each item, beside what `next` takes.
    ///
    /// # Panics
    ///
    /// Panics if `len` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let numbers = (1..).take_while(|n| n * n < 1_000_000_u64);
    /// assert_eq!(numbers.par_bridge().in_batches(64).sum::<u64>(), 499_500);
    /// ```
    pub fn in_batches(self, len: usize) -> Self {
        assert!(len > 0, "batches of 0 items were asked for: the least is 1");
        let mut bridge = self;
        bridge.batch_len = len;
        bridge
    }

    /// Takes a turn and up to so many items: gives the first, and keeps the others. `None` if there
    /// is nothing to do here: the part is closed, or the driver is to offer half of it.
    #[inline]
    fn take_turn(&mut self, most: usize) -> Option<Iter::Item> {
        match self.source.turn() {
            Some(turn) => turn.take(self.batch_len.min(most), &mut self.batch),
            None => {
                self.is_open = false;
                None
            }
        }
    }
}

impl<Iter: Iterator> Source<Iter> {
    fn new(feed: Option<Feed<Iter>>) -> Self {
        Self {
            has_ended: AtomicBool::new(feed.is_none()),
            place: Mutex::new(Place {
                feed: feed.map(Box::new),
                over: None,
                open_parts: 1,
                was_left: false,
            }),
        }
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// `None` if the iterator has ended, or if the part has waited for long: it is closed then.
    #[inline]
    fn turn(&self) -> Option<Turn<'_, Iter>> {
        // Not within the `match`, where the lock would still be held.
        let feed = self.place.lock().feed.take();
        match feed {
            Some(feed) => Some(Turn::new(self, feed)),
            None => self.wait_for_turn(),
        }
    }

    #[cold]
    fn wait_for_turn(&self) -> Option<Turn<'_, Iter>> {
        let waiting = Clock::start();
        loop {
            // Not too often, or the part that puts it back would have to wait.
            (0..16).for_each(|_| hint::spin_loop());
            let is_late = waiting.elapsed_ns() > BATCH_NS;
            let mut place = self.place.lock();
            if let Some(feed) = place.feed.take() {
                return Some(Turn::new(self, feed));
            }
            // Under the same lock: the part that has the iterator will see that this one has left.
            if self.has_ended() || (is_late && place.open_parts > 1) {
                place.close();
                return None;
            }
        }
    }

    /// Shows what is left, when it is in its place, or `None` if the iterator has ended.
    fn look<R>(&self, op: impl FnOnce(Option<&Feed<Iter>>) -> R) -> R {
        while !self.has_ended() {
            let feed = self.place.lock().feed.take();
            if let Some(feed) = feed {
                let mut turn = Turn::new(self, feed);
                let seen = op(turn.feed.as_deref());
                self.place.lock().feed = turn.feed.take();
                return seen;
            }
            hint::spin_loop();
        }
        op(None)
    }
}

impl<Iter: Iterator> Place<Iter> {
    /// One more part is to take turns. False if it would only wait, as another has just done for
    /// long: the part that has the iterator offers one when it is back.
    fn open(&mut self) -> bool {
        let is_out = self.feed.is_none() && self.was_left;
        self.open_parts += usize::from(!is_out);
        !is_out
    }

    /// A part takes no more turns.
    fn close(&mut self) {
        self.open_parts -= 1;
        self.was_left = true;
    }
}

/// The time for which a part has the iterator.
struct Turn<'s, Iter: Iterator> {
    source: &'s Source<Iter>,
    /// `None` when it is in its place again.
    feed: Option<Box<Feed<Iter>>>,
}

impl<'s, Iter: Iterator> Turn<'s, Iter> {
    #[inline]
    fn new(source: &'s Source<Iter>, feed: Box<Feed<Iter>>) -> Self {
        let feed = Some(feed);
        Self { source, feed }
    }

    /// The next item; those that follow, up to so many in all, go into the batch. `None` at the
    /// end, or if a part has left: then all stay where they are.
    #[inline]
    fn take(mut self, most: usize, batch: &mut VecDeque<Iter::Item>) -> Option<Iter::Item> {
        let feed = self.feed.as_deref_mut()?;
        let item = match feed.ahead.pop_front() {
            Some(item) => {
                batch.append(&mut feed.ahead);
                item
            }
            None => {
                let item = feed.iter.next()?;
                if most > 1 && !take_batch(&mut feed.iter, most - 1, batch) {
                    return Some(item);
                }
                item
            }
        };
        let mut place = self.source.place.lock();
        let item = if std::mem::take(&mut place.was_left) {
            feed.ahead.push_back(item);
            feed.ahead.append(batch);
            None
        } else {
            Some(item)
        };
        place.feed = self.feed.take();
        item
    }
}

impl<Iter: Iterator> Drop for Turn<'_, Iter> {
    /// A turn that still has the iterator has seen its end, or its panic.
    #[inline]
    fn drop(&mut self) {
        if self.feed.is_some() {
            self.source.place.lock().over = self.feed.take();
            self.source.has_ended.store(true, Ordering::Relaxed);
        }
    }
}

impl<Iter> Part for IterBridge<Iter>
where
    Iter: Iterator<Item: Send> + Send,
{
    type Output = Iter::Item;

    #[inline]
    fn steps(&self) -> usize {
        if self.is_open && !self.source.has_ended() {
            usize::MAX
        } else {
            self.batch.len()
        }
    }

    fn split(&mut self) -> Option<Self> {
        let is_open = self.steps() == usize::MAX;
        let upper_len = self.batch.len() / 2;
        let can_split = if is_open {
            self.source.place.lock().open()
        } else {
            upper_len > 0
        };
        can_split.then(|| Self {
            source: Arc::clone(&self.source),
            batch: self.batch.split_off(self.batch.len() - upper_len),
            batch_len: self.batch_len,
            is_open,
        })
    }

    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(Iter::Item) -> ControlFlow<()>,
    {
        while *budget > 0 {
            let item = match self.batch.pop_front() {
                None if self.is_open => self.take_turn(*budget),
                taken => taken,
            };
            let Some(item) = item else { break };
            *budget -= 1;
            consume(item)?;
        }
        ControlFlow::Continue(())
    }
}

impl<Iter: Iterator> Drop for IterBridge<Iter> {
    fn drop(&mut self) {
        if self.is_open {
            self.source.place.lock().close();
        }
    }
}

impl<Iter: Iterator<Item: Clone> + Clone> Clone for IterBridge<Iter> {
    fn clone(&self) -> Self {
        let source = self.source.look(|feed| {
            Source::new(feed.map(|Feed { ahead, iter }| Feed {
                ahead: ahead.clone(),
                iter: iter.clone(),
            }))
        });
        Self {
            source: Arc::new(source),
            batch: self.batch.clone(),
            batch_len: self.batch_len,
            is_open: true,
        }
    }
}

impl<Iter: Iterator + fmt::Debug> fmt::Debug for IterBridge<Iter> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("IterBridge");
        self.source.look(|feed| {
            f.field("iter", &feed.map(|feed| &feed.iter))
                .finish_non_exhaustive()
        })
    }
}
