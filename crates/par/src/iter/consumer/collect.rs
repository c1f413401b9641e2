//! Collects items whose number is known: each is written once, into its place.

use std::ops::ControlFlow;

use crate::driver::{drive, Consumer};
use crate::part::Part;

/// Appends the `len` items of the iterator to the vector.
///
/// # Panics
///
/// Panics if the iterator gives more or fewer items than it said.
pub(crate) fn collect_into<T, I>(vec: &mut Vec<T>, iter: I, len: usize)
where
    T: Send,
    I: Part<Output = T>,
{
    let places = drive(iter, Places::at_end(vec, len));
    // SAFETY: those of this vector, which was not touched since.
    unsafe { places.give_to(vec) };
}

/// Appends the halves of the `len` pairs of the iterator to a vector each.
///
/// # Panics
///
/// Panics if the iterator gives more or fewer pairs than it said.
pub(crate) fn unzip_into<A, B, I>(left: &mut Vec<A>, right: &mut Vec<B>, iter: I, len: usize)
where
    A: Send,
    B: Send,
    I: Part<Output = (A, B)>,
{
    let places = Pairs(Places::at_end(left, len), Places::at_end(right, len));
    let Pairs(left_places, right_places) = drive(iter, places);
    // SAFETY: those of this vector, which was not touched since.
    unsafe { left_places.give_to(left) };
    // SAFETY: as above.
    unsafe { right_places.give_to(right) };
}

/// Neighbouring places of a vector, beyond its length, the first of which have been written.
///
/// The items that were written are dropped with it. How many there may be is checked at each: a
/// parallel iterator is written in safe code, and may have miscounted.
struct Places<T> {
    /// From here on `len` places are this consumer's alone.
    first: *mut T,
    /// The first `written` of them hold items.
    written: usize,
    len: usize,
}

// SAFETY: the places are its own, and what lies there is sent with it.
unsafe impl<T: Send> Send for Places<T> {}

impl<T> Places<T> {
    /// So many places after the items of the vector.
    fn at_end(vec: &mut Vec<T>, len: usize) -> Self {
        vec.reserve(len);
        Self {
            // SAFETY: within the capacity, as is the end of the places.
            first: unsafe { vec.as_mut_ptr().add(vec.len()) },
            written: 0,
            len,
        }
    }

    /// Makes what was written the vector's.
    ///
    /// # Safety
    ///
    /// 1. The places are all those that [`at_end`](Self::at_end) gave of this vector.
    /// 2. The vector has not been used since.
    unsafe fn give_to(mut self, vec: &mut Vec<T>) {
        let (written, len) = (self.written, self.len);
        assert_eq!(
            written, len,
            "a parallel iterator gives fewer items than it said"
        );
        self.written = 0;
        // SAFETY: all places after the old end (obligations 1 and 2) were written, and this
        // consumer has just forgotten them.
        unsafe { vec.set_len(vec.len() + len) };
    }
}

/// The places that are left, for one call of `run`: what it writes is counted here, where the
/// compiler sees that nothing else looks at the count. A loop over an iterator that can be cut
/// anywhere is as fast then as one that fills a slice.
struct Grain<'p, T> {
    places: &'p mut Places<T>,
    first: *mut T,
    written: usize,
    len: usize,
}

impl<'p, T> Grain<'p, T> {
    #[inline]
    fn new(places: &'p mut Places<T>) -> Self {
        Self {
            // SAFETY: within the places.
            first: unsafe { places.first.add(places.written) },
            written: 0,
            len: places.len - places.written,
            places,
        }
    }

    #[inline]
    fn write(&mut self, item: T) {
        assert!(
            self.written < self.len,
            "a parallel iterator gives more items than it said"
        );
        // SAFETY: one of the places that are left: see `len`.
        unsafe { self.first.add(self.written).write(item) };
        self.written += 1;
    }
}

/// The items that were written are the consumer's, whatever ends the call.
impl<T> Drop for Grain<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.places.written += self.written;
    }
}

impl<T: Send> Consumer<T> for Places<T> {
    #[inline]
    fn consume(&mut self, item: T) -> ControlFlow<()> {
        Grain::new(self).write(item);
        ControlFlow::Continue(())
    }

    #[inline]
    fn take_grain<P>(&mut self, part: &mut P, budget: &mut usize) -> ControlFlow<()>
    where
        P: Part<Output = T>,
    {
        let mut grain = Grain::new(self);
        part.run_fold(budget, (), |(), item| grain.write(item));
        ControlFlow::Continue(())
    }

    fn split(&mut self, lower_len: Option<usize>) -> Self {
        let lower = lower_len.expect("a parallel iterator has forgotten its length");
        let lower_end = self.written.checked_add(lower);
        let upper = lower_end.and_then(|end| self.len.checked_sub(end));
        let len = upper.expect("a parallel iterator has more items than it said");
        self.len -= len;
        Self {
            // SAFETY: within the places.
            first: unsafe { self.first.add(self.len) },
            written: 0,
            len,
        }
    }

    fn merge(&mut self, mut upper: Self) {
        // The upper places lie behind these: they were split off there. Across a gap, the upper
        // items are dropped. That items are missing is said at the end only: if the reason is a
        // panic elsewhere, it must not be hidden by one about that.
        if self.written == self.len {
            self.written += std::mem::take(&mut upper.written);
        }
        self.len += upper.len;
    }
}

impl<T> Drop for Places<T> {
    fn drop(&mut self) {
        let items = std::ptr::slice_from_raw_parts_mut(self.first, self.written);
        // SAFETY: they were written, and nothing else knows of them.
        unsafe { items.drop_in_place() };
    }
}

/// Places for the left and for the right halves of the same pairs.
struct Pairs<A, B>(Places<A>, Places<B>);

impl<A: Send, B: Send> Consumer<(A, B)> for Pairs<A, B> {
    #[inline]
    fn consume(&mut self, (left, right): (A, B)) -> ControlFlow<()> {
        self.0.consume(left)?;
        self.1.consume(right)
    }

    #[inline]
    fn take_grain<P>(&mut self, part: &mut P, budget: &mut usize) -> ControlFlow<()>
    where
        P: Part<Output = (A, B)>,
    {
        let mut left_grain = Grain::new(&mut self.0);
        let mut right_grain = Grain::new(&mut self.1);
        part.run_fold(budget, (), |(), (left, right)| {
            left_grain.write(left);
            right_grain.write(right);
        });
        ControlFlow::Continue(())
    }

    fn split(&mut self, lower_len: Option<usize>) -> Self {
        Self(self.0.split(lower_len), self.1.split(lower_len))
    }

    fn merge(&mut self, upper: Self) {
        self.0.merge(upper.0);
        self.1.merge(upper.1);
    }
}
