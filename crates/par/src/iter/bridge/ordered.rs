//! A bridge that keeps the order: the iterator travels from worker to worker.

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;

use super::batch::take_batch;
use crate::part::Part;

/// At most so many items are taken ahead at once.
const BATCH_MAX: usize = 1024;

/// The items of an iterator in their order: see
/// [`ParallelBridge::par_bridge_ordered`](super::ParallelBridge::par_bridge_ordered).
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct OrderedBridge<I: Iterator> {
    /// In the part whose items come last; `None` if it has ended.
    iter: Option<I>,
    /// In all other parts: items that were taken before.
    batch: VecDeque<I::Item>,
    /// The number of items to take when the iterator is passed on.
    next_len: usize,
}

impl<I: Iterator> OrderedBridge<I> {
    pub(super) fn new(iter: I) -> Self {
        Self {
            iter: Some(iter),
            batch: VecDeque::new(),
            next_len: 1,
        }
    }
}

impl<I> Part for OrderedBridge<I>
where
    I: Iterator<Item: Send> + Send,
{
    type Output = I::Item;

    #[inline]
    fn steps(&self) -> usize {
        match self.iter {
            Some(_) => usize::MAX,
            None => self.batch.len(),
        }
    }

    fn split(&mut self) -> Option<Self> {
        let mut upper = Self {
            iter: None,
            batch: VecDeque::new(),
            next_len: (2 * self.next_len).min(BATCH_MAX),
        };
        if let Some(mut iter) = self.iter.take() {
            if take_batch(&mut iter, self.next_len, &mut self.batch) {
                upper.iter = Some(iter);
                return Some(upper);
            }
        }
        upper.batch = self.batch.split_off(self.batch.len().div_ceil(2));
        (!upper.batch.is_empty()).then_some(upper)
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(I::Item) -> ControlFlow<()>,
    {
        while *budget > 0 {
            let item = match &mut self.iter {
                Some(iter) => iter.next(),
                None => self.batch.pop_front(),
            };
            let Some(item) = item else {
                self.iter = None;
                break;
            };
            *budget -= 1;
            consume(item)?;
        }
        ControlFlow::Continue(())
    }
}

impl<I: Iterator<Item: Clone> + Clone> Clone for OrderedBridge<I> {
    fn clone(&self) -> Self {
        Self {
            iter: self.iter.clone(),
            batch: self.batch.clone(),
            next_len: self.next_len,
        }
    }
}

impl<I: Iterator + fmt::Debug> fmt::Debug for OrderedBridge<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderedBridge")
            .field("iter", &self.iter)
            .finish_non_exhaustive()
    }
}
