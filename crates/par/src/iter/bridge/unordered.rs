//! A bridge without order: the workers take turns at the iterator.
//!
//! A part that wants an item takes a turn, and gives the iterator back when it has one; so user
//! code runs under no lock, and no part has the iterator while an item runs. The only part there
//! is takes one turn for many items, because nobody else could want one.
//!
//! A part that finds the iterator out must not wait for it: `next` of the part that has it may wait
//! for work that lies below on this very stack. It looks for some microseconds and then leaves, if
//! there is another part, which will go on. The last part never ends before the iterator, which no
//! other part has then.
//!
//! An item may wait for a later one. So a part that runs one must not be the only part without
//! having offered another: the driver offers one before a part begins, and if one has left while
//! the iterator was out, the part that brings it back leaves the item with it and returns to the
//! driver, which offers one again. No part has an item in hand there, so that it does not matter
//! what else a worker runs before it comes back. Until then no part is split: halves that leave
//! after each other on the stack of a `next` would never let it go on.

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;

use heist_core::give_way;
use heist_sync::{hint, Clock};

use super::batch::{take_batch, BATCH_NS};
use super::turns::{Turn, Turns};
use crate::part::Part;

/// The items of an iterator in no particular order: see
/// [`ParallelBridge::par_bridge`](super::ParallelBridge::par_bridge).
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct IterBridge<Iter: Iterator> {
    /// All parts have it in common.
    source: Arc<Turns<Feed<Iter>>>,
    /// Items that were taken, and are this part's: between two calls of `run` there are none,
    /// unless batches were asked for.
    batch: VecDeque<Iter::Item>,
    /// So many items are taken in a turn, at most.
    batch_len: usize,
    /// False if this part takes no more turns.
    is_open: bool,
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
            source: Arc::new(Turns::new(Feed { ahead, iter })),
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
    /// Some nanoseconds for each item, beside what `next` takes.
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

    /// Folds so many items, or those that are left. `Break` if `op` has returned it.
    #[inline]
    fn try_fold<B, F>(&mut self, budget: &mut usize, init: B, mut op: F) -> ControlFlow<(), B>
    where
        F: FnMut(B, Iter::Item) -> ControlFlow<(), B>,
    {
        if let Some(mut turn) = self.only_turn() {
            let (flow, has_more) = turn.with(|feed| feed.try_fold(budget, init, op));
            if has_more {
                turn.put_back(true);
            }
            return flow;
        }
        let mut so_far = init;
        while *budget > 0 {
            let item = match self.batch.pop_front() {
                None if self.is_open => self.take_turn(*budget),
                taken => taken,
            };
            let Some(item) = item else { break };
            *budget -= 1;
            so_far = op(so_far, item)?;
        }
        Continue(so_far)
    }

    /// A turn for many items, if this is the only part there is: nobody else can want one before
    /// it is split.
    #[inline]
    fn only_turn(&mut self) -> Option<Turn<'_, Feed<Iter>>> {
        let is_alone = self.is_open && self.batch.is_empty();
        let is_alone = is_alone && Arc::get_mut(&mut self.source).is_some();
        is_alone.then(|| self.source.take()).flatten()
    }

    /// Takes a turn and up to so many items: gives the first, and keeps the others. `None` if there
    /// is nothing to do here: the part is closed, or the driver is to offer half of it.
    #[inline]
    fn take_turn(&mut self, most: usize) -> Option<Iter::Item> {
        let Some(mut turn) = turn(&self.source) else {
            self.is_open = false;
            return None;
        };
        let (most, batch) = (self.batch_len.min(most), &mut self.batch);
        let (item, has_more) = turn.with(|feed| feed.take(most, batch));
        let item = item?;
        if !has_more {
            return Some(item);
        }
        let Err(mut turn) = turn.give_back() else {
            return Some(item);
        };
        turn.with(|feed| {
            feed.ahead.push_back(item);
            feed.ahead.append(batch);
        });
        turn.put_back(true);
        None
    }

    /// Shows what is left, when it is in its place, or `None` if the iterator has ended.
    fn look<R>(&self, op: impl FnOnce(&Feed<Iter>) -> R) -> Option<R> {
        while !self.source.are_over() {
            if let Some(mut turn) = self.source.take_late() {
                let seen = turn.with(|feed| op(feed));
                turn.put_back(false);
                return Some(seen);
            }
            spin(1);
        }
        None
    }
}

/// Passes a moment in which another part may put the iterator back.
fn spin(times: u32) {
    if !give_way() {
        (0..times).for_each(|_| hint::spin_loop());
    }
}

/// `None` if the value's turns are over, or if the part has waited for long: it is closed then.
#[inline]
fn turn<T>(source: &Turns<T>) -> Option<Turn<'_, T>> {
    source.take().or_else(|| wait_for_turn(source))
}

#[cold]
fn wait_for_turn<T>(source: &Turns<T>) -> Option<Turn<'_, T>> {
    let waiting = Clock::start();
    loop {
        // Not too often, or the part that puts it back would have to wait.
        spin(16);
        let is_late = waiting.elapsed_ns() > BATCH_NS;
        if let Some(turn) = source.take_late() {
            return Some(turn);
        }
        if source.leave(is_late) {
            return None;
        }
    }
}

impl<Iter: Iterator> Feed<Iter> {
    /// The next item, and whether there may be more; those that follow, up to so many in all, go
    /// into the batch.
    #[inline]
    fn take(
        &mut self,
        most: usize,
        batch: &mut VecDeque<Iter::Item>,
    ) -> (Option<Iter::Item>, bool) {
        if let Some(item) = self.ahead.pop_front() {
            batch.append(&mut self.ahead);
            return (Some(item), true);
        }
        let item = self.iter.next();
        let has_more = item.is_some();
        let has_more = has_more && (most == 1 || take_batch(&mut self.iter, most - 1, batch));
        (item, has_more)
    }

    /// Folds so many items, or those that are left: then there are no more.
    #[inline]
    fn try_fold<B, F>(
        &mut self,
        budget: &mut usize,
        init: B,
        mut op: F,
    ) -> (ControlFlow<(), B>, bool)
    where
        F: FnMut(B, Iter::Item) -> ControlFlow<(), B>,
    {
        let mut so_far = init;
        while *budget > 0 {
            let Some(item) = self.ahead.pop_front() else {
                break;
            };
            *budget -= 1;
            so_far = match op(so_far, item) {
                Continue(so_far) => so_far,
                Break(()) => return (Break(()), true),
            };
        }
        let mut left = *budget;
        let flow = self
            .iter
            .by_ref()
            .take(*budget)
            .try_fold(so_far, |so_far, item| {
                left -= 1;
                op(so_far, item)
            });
        *budget = left;
        let has_more = left == 0 || flow.is_break();
        (flow, has_more)
    }
}

impl<Iter> Part for IterBridge<Iter>
where
    Iter: Iterator<Item: Send> + Send,
{
    type Output = Iter::Item;

    #[inline]
    fn steps(&self) -> usize {
        if self.is_open && !self.source.are_over() {
            usize::MAX
        } else {
            self.batch.len()
        }
    }

    fn split(&mut self) -> Option<Self> {
        let is_open = self.steps() == usize::MAX;
        let upper_len = self.batch.len() / 2;
        let can_split = if is_open {
            self.source.open()
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

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(Iter::Item) -> ControlFlow<()>,
    {
        self.try_fold(budget, (), |(), item| consume(item))
    }

    #[inline]
    fn run_fold<B, F>(&mut self, budget: &mut usize, init: B, mut op: F) -> B
    where
        F: FnMut(B, Iter::Item) -> B,
    {
        match self.try_fold(budget, init, |so_far, item| Continue(op(so_far, item))) {
            Continue(folded) => folded,
            Break(()) => unreachable!("a fold takes all"),
        }
    }
}

impl<Iter: Iterator> Drop for IterBridge<Iter> {
    fn drop(&mut self) {
        if self.is_open {
            self.source.close();
        }
    }
}

impl<Iter: Iterator<Item: Clone> + Clone> Clone for IterBridge<Iter> {
    fn clone(&self) -> Self {
        let source = self.look(|Feed { ahead, iter }| {
            let (ahead, iter) = (ahead.clone(), iter.clone());
            Arc::new(Turns::new(Feed { ahead, iter }))
        });
        Self {
            is_open: source.is_some(),
            // An iterator that has ended serves both.
            source: source.unwrap_or_else(|| Arc::clone(&self.source)),
            batch: self.batch.clone(),
            batch_len: self.batch_len,
        }
    }
}

impl<Iter: Iterator + fmt::Debug> fmt::Debug for IterBridge<Iter> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("IterBridge");
        if self
            .look(|feed| _ = f.field("iter", &Some(&feed.iter)))
            .is_none()
        {
            f.field("iter", &None::<Iter>);
        }
        f.finish_non_exhaustive()
    }
}
