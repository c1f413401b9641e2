//! Parallel iterators that take characters out of a `String`.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{ControlFlow, Range, RangeBounds};
use std::sync::Arc;

use crate::iter::drain::range_within;
use crate::iter::ParallelDrainRange;
use crate::part::Part;
use crate::str::text::{Anywhere, Text};

/// The characters of a range, out of a `String`, which keeps the others: see
/// [`ParallelDrainRange`].
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Drain<'a> {
    /// The text that was taken out, of which this range is left.
    text: Arc<str>,
    range: Range<usize>,
    string: PhantomData<&'a mut String>,
}

/// The range is taken out, and copied, at once.
impl<'a> ParallelDrainRange<usize> for &'a mut String {
    type Iter = Drain<'a>;
    type Item = char;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Drain<'a> {
        let range = range_within(&range, self.len());
        let text = Arc::from(&self[range.clone()]);
        drop(self.drain(range.clone()));
        Drain {
            text,
            range: 0..range.len(),
            string: PhantomData,
        }
    }
}

impl Drain<'_> {
    fn text(&self) -> Text<'_> {
        Text::new(&self.text[self.range.clone()])
    }

    /// Cuts off what the budget allows, and charges it.
    #[inline]
    fn front(&mut self, budget: &mut usize) -> &str {
        let begin = self.range.start;
        let front_len = self.text().front(budget, &Anywhere).rest.len();
        self.range.start += front_len;
        &self.text[begin..self.range.start]
    }
}

impl Part for Drain<'_> {
    type Output = char;

    #[inline]
    fn steps(&self) -> usize {
        self.range.len()
    }

    fn split(&mut self) -> Option<Self> {
        let upper_len = self.text().split(&Anywhere)?.rest.len();
        let middle = self.range.end - upper_len;
        let end = std::mem::replace(&mut self.range.end, middle);
        Some(Self {
            text: Arc::clone(&self.text),
            range: middle..end,
            ..*self
        })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, consume: C) -> ControlFlow<()>
    where
        C: FnMut(char) -> ControlFlow<()>,
    {
        self.front(budget).chars().try_for_each(consume)
    }

    #[inline]
    fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
    where
        Op: FnMut(Folded, char) -> Folded,
    {
        self.front(budget).chars().fold(init, op)
    }
}

impl fmt::Debug for Drain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Drain").field(&self.text().rest).finish()
    }
}
