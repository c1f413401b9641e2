//! Clones of one item: a number of them, or without an end.

use std::ops::ControlFlow;

use crate::iter::plumbing::split_in_half;
use crate::iter::{IntoParallelIterator, Zip};
use crate::part::{IndexedPart, Part};

/// Gives clones of an item without an end. Take some of them, zip it with what has an end, or stop
/// it: or else it runs for ever.
///
/// # Examples
///
/// ```
/// use heist::iter::repeat;
/// use heist::prelude::*;
///
/// let marked: Vec<_> = repeat('*').zip(vec!["a", "b"]).collect();
/// assert_eq!(marked, [('*', "a"), ('*', "b")]);
/// ```
pub fn repeat<T: Clone + Send>(element: T) -> Repeat<T> {
    Repeat { element }
}

/// Clones of an item without an end: see [`repeat`].
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Repeat<T> {
    element: T,
}

impl<T: Clone + Send> Repeat<T> {
    /// Gives only so many.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::iter::repeat;
    /// use heist::prelude::*;
    ///
    /// assert_eq!(repeat(2).take(10).sum::<u32>(), 20);
    /// ```
    pub fn take(self, n: usize) -> RepeatN<T> {
        repeat_n(self.element, n)
    }

    /// Gives pairs with the items of another iterator, as many as that has.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::iter::repeat;
    /// use heist::prelude::*;
    ///
    /// let doubled = repeat(2).zip(1..4_u32).map(|(two, n)| two * n);
    /// assert_eq!(doubled.collect::<Vec<_>>(), [2, 4, 6]);
    /// ```
    pub fn zip<Z>(self, zip_op: Z) -> Zip<RepeatN<T>, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedPart>,
    {
        let other = zip_op.into_par_iter();
        Zip::new(self.take(other.part_len()), other)
    }
}

impl<T: Clone + Send> Part for Repeat<T> {
    type Output = T;

    #[inline]
    fn steps(&self) -> usize {
        usize::MAX
    }

    fn split(&mut self) -> Option<Self> {
        Some(self.clone())
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(T) -> ControlFlow<()>,
    {
        let n = std::mem::take(budget);
        (0..n).try_for_each(|_| consume(self.element.clone()))
    }

    #[inline]
    fn run_fold<B, F>(&mut self, budget: &mut usize, init: B, mut op: F) -> B
    where
        F: FnMut(B, T) -> B,
    {
        let n = std::mem::take(budget);
        (0..n).fold(init, |so_far, _| op(so_far, self.element.clone()))
    }
}

/// Gives `n` times the same: clones of an item, and at last the item itself.
///
/// # Examples
///
/// ```
/// use heist::iter::repeat_n;
/// use heist::prelude::*;
///
/// assert_eq!(repeat_n("ab", 3).collect::<Vec<_>>().concat(), "ababab");
/// ```
pub fn repeat_n<T: Clone + Send>(element: T, n: usize) -> RepeatN<T> {
    let element = (n > 0).then_some(element);
    RepeatN { element, len: n }
}

/// The former name of a function: see [`repeat_n`].
#[deprecated(note = "use `repeat_n`")]
pub fn repeatn<T: Clone + Send>(element: T, n: usize) -> RepeatN<T> {
    repeat_n(element, n)
}

/// A number of clones of an item: see [`repeat_n`].
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct RepeatN<T> {
    /// Is there if the length is not 0.
    element: Option<T>,
    len: usize,
}

impl<T: Clone> RepeatN<T> {
    #[inline]
    fn next(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        if self.len == 0 {
            self.element.take()
        } else {
            self.element.clone()
        }
    }
}

impl<T: Clone + Send> Part for RepeatN<T> {
    type Output = T;

    #[inline]
    fn steps(&self) -> usize {
        self.len
    }

    fn split(&mut self) -> Option<Self> {
        split_in_half(self)
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(T) -> ControlFlow<()>,
    {
        let n = self.len.min(*budget);
        *budget -= n;
        if let (Some(element), true) = (&self.element, n < self.len) {
            self.len -= n;
            return (0..n).try_for_each(|_| consume(element.clone()));
        }
        while let Some(element) = self.next() {
            consume(element)?;
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn run_fold<B, F>(&mut self, budget: &mut usize, init: B, mut op: F) -> B
    where
        F: FnMut(B, T) -> B,
    {
        let n = self.len.min(*budget);
        *budget -= n;
        if let (Some(element), true) = (&self.element, n < self.len) {
            self.len -= n;
            return (0..n).fold(init, |so_far, _| op(so_far, element.clone()));
        }
        let mut so_far = init;
        while let Some(element) = self.next() {
            so_far = op(so_far, element);
        }
        so_far
    }

    fn known_len(&self) -> Option<usize> {
        Some(self.len)
    }
}

impl<T: Clone + Send> IndexedPart for RepeatN<T> {
    #[inline]
    fn part_len(&self) -> usize {
        self.len
    }

    fn split_off(&mut self, index: usize) -> Self {
        let len = self.len - index;
        self.len = index;
        let element = match (index, len) {
            (_, 0) => None,
            (0, _) => self.element.take(),
            (_, _) => self.element.clone(),
        };
        Self { element, len }
    }

    fn into_seq(mut self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        // They are all the same, from whichever end.
        (0..self.len).map(move |_| self.next().expect("there are so many"))
    }
}
