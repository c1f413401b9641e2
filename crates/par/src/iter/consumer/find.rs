//! Searches: the result of a closure for any item, for the first or for the last.
//!
//! A part has a range of keys, which is divided when the part is split, so that the key with which
//! a range begins says which of two parts comes first in the search. A part that has found
//! something tells its key, and parts with larger keys stop.

use std::ops::{ControlFlow, Range};

use heist_sync::atomic::{AtomicUsize, Ordering};

use crate::driver::{drive, Consumer};
use crate::part::Part;

/// The find that is wanted, of several.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Any,
    First,
    Last,
}

/// Before the first look at whether something was found elsewhere.
const FIRST_STEPS: usize = 64;
/// Between two later ones, at most.
const MOST_STEPS: usize = 1024;

/// The result of `op` for the wanted item among those for which it gives one.
pub(crate) fn find<I, F, R>(iter: I, wanted: Wanted, op: F) -> Option<R>
where
    I: Part,
    F: Fn(I::Output) -> Option<R> + Sync,
    R: Send,
{
    let find = Find {
        op: &op,
        wanted,
        best: &AtomicUsize::new(usize::MAX),
        keys: match wanted {
            // All parts have the same key, and any find beats it.
            Wanted::Any => 1..1,
            Wanted::First | Wanted::Last => 1..usize::MAX,
        },
        found: None,
    };
    drive(iter, find).found
}

struct Find<'f, F, R> {
    op: &'f F,
    wanted: Wanted,
    /// The smallest key with which something was found.
    ///
    /// It is relaxed, because the finds themselves come with the parts: a part that sees it late
    /// looks at a few items too many.
    best: &'f AtomicUsize,
    /// The key of this part is the first. A range that is too small to be divided gives its key to
    /// both parts, neither of which then stops the other.
    keys: Range<usize>,
    found: Option<R>,
}

impl<F, R> Find<'_, F, R> {
    #[cold]
    fn keep(&mut self, found: R) -> ControlFlow<()> {
        let key = match self.wanted {
            Wanted::Any => 0,
            Wanted::First => self.keys.start,
            // This part goes on, and may be split: none of its keys is larger.
            Wanted::Last => self.keys.start.max(self.keys.end - 1),
        };
        if key < self.best.load(Ordering::Relaxed) {
            self.best.fetch_min(key, Ordering::Relaxed);
        }
        self.found = Some(found);
        match self.wanted {
            Wanted::Last => ControlFlow::Continue(()),
            Wanted::Any | Wanted::First => ControlFlow::Break(()),
        }
    }
}

impl<T, F, R> Consumer<T> for Find<'_, F, R>
where
    F: Fn(T) -> Option<R> + Sync,
    R: Send,
{
    #[inline]
    fn consume(&mut self, item: T) -> ControlFlow<()> {
        if self.best.load(Ordering::Relaxed) < self.keys.start {
            return ControlFlow::Break(());
        }
        match (self.op)(item) {
            None => ControlFlow::Continue(()),
            Some(found) => self.keep(found),
        }
    }

    /// A find elsewhere is seen after some steps: a look at each would cost as much as a cheap
    /// item, and the end of an inner loop, which the processor foretells wrongly, as much as fifty.
    /// They are about as many as the grain has had before, so that no more are in vain.
    #[inline]
    fn take_grain<P>(&mut self, part: &mut P, budget: &mut usize) -> ControlFlow<()>
    where
        P: Part<Output = T>,
    {
        let op = self.op;
        let mut steps = FIRST_STEPS;
        while *budget > 0 && !self.is_full() {
            let most = (*budget).min(steps);
            steps = MOST_STEPS.min(2 * steps);
            let mut left = most;
            part.run(&mut left, |item| match op(item) {
                None => ControlFlow::Continue(()),
                Some(found) => self.keep(found),
            })?;
            *budget -= most - left;
            if left > 0 {
                break;
            }
        }
        ControlFlow::Continue(())
    }

    fn is_full(&self) -> bool {
        self.best.load(Ordering::Relaxed) < self.keys.start
            || (self.found.is_some() && self.wanted != Wanted::Last)
    }

    fn split(&mut self, _lower_len: Option<usize>) -> Self {
        let Range { start, end } = self.keys;
        let middle = start + (end - start) / 2;
        let (lower, upper) = match self.wanted {
            Wanted::Any | Wanted::First => (start..middle, middle..end),
            Wanted::Last => (middle..end, start..middle),
        };
        self.keys = lower;
        Self {
            keys: upper,
            found: None,
            ..*self
        }
    }

    fn merge(&mut self, upper: Self) {
        // This part may go on with the items behind: see `Left` in the driver. If nothing was
        // found, all keys of both are free again. But an item behind a find must not have a larger
        // key than was told.
        self.keys = if self.found.is_none() && upper.found.is_none() {
            let (start, end) = (upper.keys.start, upper.keys.end);
            self.keys.start.min(start)..self.keys.end.max(end)
        } else {
            upper.keys
        };
        if self.found.is_none() || (self.wanted == Wanted::Last && upper.found.is_some()) {
            self.found = upper.found;
        }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Goes through the items as the driver may: splits where it likes, and runs the upper part
    /// before or after the lower one, or with the lower one's consumer.
    fn run<'f, F, R>(
        items: Range<usize>,
        mut find: Find<'f, F, R>,
        choices: &mut impl Iterator<Item = u8>,
    ) -> Find<'f, F, R>
    where
        F: Fn(usize) -> Option<R> + Sync,
        R: Send,
    {
        let Range { mut start, end } = items;
        while start < end && !find.is_full() {
            let middle = start + usize::from(choices.next().unwrap_or(0)) % (end - start);
            match choices.next().unwrap_or(0) % 4 {
                0 => {
                    if find.consume(start).is_break() {
                        break;
                    }
                    start += 1;
                }
                1 => {
                    let kept = find.split(None);
                    find = run(start..middle, find, choices);
                    find.merge(kept);
                    start = middle;
                }
                order => {
                    let mut upper = find.split(None);
                    if order == 2 {
                        upper = run(middle..end, upper, choices);
                        find = run(start..middle, find, choices);
                    } else {
                        find = run(start..middle, find, choices);
                        upper = run(middle..end, upper, choices);
                    }
                    find.merge(upper);
                    break;
                }
            }
        }
        find
    }

    proptest! {
        #[test]
        fn the_first_and_the_last_are_found_however_the_items_are_split(
            is_wanted in prop::collection::vec(prop::bool::weighted(0.2), 0..200),
            choices in prop::collection::vec(any::<u8>(), 0..2000),
            keys in 1..50_usize,
        ) {
            let op = |n: usize| is_wanted[n].then_some(n);
            let search = |wanted, keys| {
                let best = AtomicUsize::new(usize::MAX);
                let find = Find { op: &op, wanted, best: &best, keys, found: None };
                run(0..is_wanted.len(), find, &mut choices.iter().copied()).found
            };
            let all = || (0..is_wanted.len()).filter_map(op);
            for keys in [1..keys, 1..usize::MAX] {
                prop_assert_eq!(search(Wanted::First, keys.clone()), all().next());
                prop_assert_eq!(search(Wanted::Last, keys), all().next_back());
            }
            prop_assert_eq!(search(Wanted::Any, 1..1).is_some(), all().next().is_some());
        }
    }
}
