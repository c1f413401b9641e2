//! A bridge without order: the workers take turns at the iterator.
//!
//! Whoever wants items takes the iterator out of its place, and puts it back when it
//! has some; so user code runs under no lock. A part that finds the place empty must
//! not wait there: perhaps `next` of the one who has it waits for work that lies below
//! on this very stack. It looks for some microseconds and then ends, if there is
//! another part, which will go on. The last part never ends before the iterator, and
//! when it is the last, nobody has the iterator but itself.
//!
//! While nobody else wants it, and items are cheap, a part keeps the iterator in its
//! hands while it gives the items of a piece.

use super::{take_batch, BATCH_NS};
use crate::iter::ParallelIterator;
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heist_sync::{hint, Clock, Mutex};
use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The items of an iterator in no particular order: see
/// [`ParallelBridge::par_bridge`](super::ParallelBridge::par_bridge).
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct IterBridge<Iter: Iterator> {
    source: Arc<Source<Iter>>,
    /// Items that were taken, and are this part's.
    batch: VecDeque<Iter::Item>,
    /// False if this part takes no more turns.
    is_open: bool,
}

/// Who is to take so many steps at once has cheap items: see [`Grain`].
///
/// [`Grain`]: heist_core::policy::Grain
const CHEAP_STEPS: usize = 256;

/// What all parts have in common. All of its atomics are relaxed: the iterator comes
/// and goes with the lock.
struct Source<Iter> {
    /// Empty while a part has it, and at the end. Behind a pointer, to be taken fast.
    place: Mutex<Option<Box<Iter>>>,
    has_ended: AtomicBool,
    /// Set by those who find the place empty.
    is_wanted: AtomicBool,
    /// How many parts are open.
    open: AtomicUsize,
}

impl<Iter: Iterator> IterBridge<Iter> {
    pub(super) fn new(iter: Iter) -> Self {
        Self {
            source: Arc::new(Source::new(Some(iter))),
            batch: VecDeque::new(),
            is_open: true,
        }
    }
}

impl<Iter> Source<Iter> {
    fn new(iter: Option<Iter>) -> Self {
        Self {
            has_ended: AtomicBool::new(iter.is_none()),
            place: Mutex::new(iter.map(Box::new)),
            is_wanted: AtomicBool::new(false),
            open: AtomicUsize::new(1),
        }
    }

    /// `None` if the iterator has ended, or if the part has waited for long and is
    /// closed, which it has counted.
    #[inline]
    fn turn(&self) -> Option<Turn<'_, Iter>> {
        // Not within the `match`, where the lock would still be held.
        let iter = self.place.lock().take();
        match iter {
            Some(iter) => Some(Turn::new(self, iter)),
            None => self.wait_for_turn(),
        }
    }

    #[cold]
    fn wait_for_turn(&self) -> Option<Turn<'_, Iter>> {
        let waiting = Clock::start();
        while !self.has_ended.load(Ordering::Relaxed) {
            self.is_wanted.store(true, Ordering::Relaxed);
            // Not too often, or the one who puts it back would have to wait.
            (0..16).for_each(|_| hint::spin_loop());
            let iter = self.place.lock().take();
            if let Some(iter) = iter {
                return Some(Turn::new(self, iter));
            }
            if waiting.elapsed_ns() > BATCH_NS && self.close_unless_last() {
                return None;
            }
        }
        self.open.fetch_sub(1, Ordering::Relaxed);
        None
    }

    /// True if somebody has wanted the iterator since this was asked.
    #[inline]
    fn was_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed) && self.is_wanted.swap(false, Ordering::Relaxed)
    }

    /// Shows the iterator, when it is in its place, or `None` if it has ended.
    fn look<R>(&self, op: impl FnOnce(Option<&Iter>) -> R) -> R {
        while !self.has_ended.load(Ordering::Relaxed) {
            let iter = self.place.lock().take();
            if let Some(iter) = iter {
                return op(Turn::new(self, iter).iter.as_deref());
            }
            hint::spin_loop();
        }
        op(None)
    }

    fn close_unless_last(&self) -> bool {
        let close = |open| (open > 1).then(|| open - 1);
        let (relaxed, open) = (Ordering::Relaxed, &self.open);
        open.fetch_update(relaxed, relaxed, close).is_ok()
    }
}

/// The time for which a part has the iterator.
struct Turn<'s, Iter> {
    source: &'s Source<Iter>,
    /// Put back at the end; `None` if it has ended, or has panicked.
    iter: Option<Box<Iter>>,
}

impl<'s, Iter> Turn<'s, Iter> {
    fn new(source: &'s Source<Iter>, iter: Box<Iter>) -> Self {
        let iter = Some(iter);
        Self { source, iter }
    }
}

impl<Iter: Iterator> Turn<'_, Iter> {
    #[inline]
    fn next(&mut self) -> Option<Iter::Item> {
        let mut iter = self.iter.take()?;
        let item = iter.next()?;
        self.iter = Some(iter);
        Some(item)
    }

    /// As many items as the iterator promises, but at most so many, and one if it
    /// promises none.
    fn take(&mut self, most: usize, batch: &mut VecDeque<Iter::Item>) {
        let Some(mut iter) = self.iter.take() else {
            return;
        };
        let len = iter.size_hint().0.clamp(1, most);
        if take_batch(&mut *iter, len, batch) {
            self.iter = Some(iter);
        }
    }
}

impl<Iter> Drop for Turn<'_, Iter> {
    fn drop(&mut self) {
        match self.iter.take() {
            Some(iter) => *self.source.place.lock() = Some(iter),
            None => self.source.has_ended.store(true, Ordering::Relaxed),
        }
    }
}

impl<Iter> ParallelIterator for IterBridge<Iter>
where
    Iter: Iterator<Item: Send> + Send,
{
    type Item = Iter::Item;

    #[inline]
    fn steps(&self) -> usize {
        if self.is_open && !self.source.has_ended.load(Ordering::Relaxed) {
            usize::MAX
        } else {
            self.batch.len()
        }
    }

    fn split(&mut self) -> Option<Self> {
        let batch = self.batch.split_off(self.batch.len().div_ceil(2));
        if self.steps() < usize::MAX && batch.is_empty() {
            return None;
        }
        if self.is_open {
            self.source.open.fetch_add(1, Ordering::Relaxed);
        }
        Some(Self {
            source: Arc::clone(&self.source),
            batch,
            is_open: self.is_open,
        })
    }

    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(Iter::Item) -> ControlFlow<()>,
    {
        while *budget > 0 {
            if let Some(item) = self.batch.pop_front() {
                *budget -= 1;
                consume(item)?;
                continue;
            }
            if !self.is_open {
                break;
            }
            let source = &*self.source;
            let Some(mut turn) = source.turn() else {
                self.is_open = false;
                break;
            };
            if *budget < CHEAP_STEPS {
                turn.take(*budget, &mut self.batch);
            } else {
                while *budget > 0 {
                    let Some(item) = turn.next() else {
                        break;
                    };
                    if source.is_wanted.load(Ordering::Relaxed) {
                        self.batch.push_back(item);
                        break;
                    }
                    *budget -= 1;
                    consume(item)?;
                }
            }
            drop(turn);
            // Somebody is hungry, and is to be offered a part before this one goes on,
            // perhaps with an item that takes long.
            if source.was_wanted() {
                break;
            }
        }
        ControlFlow::Continue(())
    }
}

impl<Iter: Iterator> Drop for IterBridge<Iter> {
    fn drop(&mut self) {
        if self.is_open {
            self.source.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl<Iter: Iterator<Item: Clone> + Clone> Clone for IterBridge<Iter> {
    fn clone(&self) -> Self {
        let source = self.source.look(|iter| Source::new(iter.cloned()));
        Self {
            source: Arc::new(source),
            batch: self.batch.clone(),
            is_open: true,
        }
    }
}

impl<Iter: Iterator + fmt::Debug> fmt::Debug for IterBridge<Iter> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("IterBridge");
        self.source
            .look(|iter| f.field("iter", &iter).finish_non_exhaustive())
    }
}
