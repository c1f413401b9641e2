//! Parallel iterators over ranges of integers.

use crate::iter::plumbing::indexed;
use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use std::ops::Range;

/// The integers of a range.
#[derive(Clone, Debug)]
pub struct Iter<T> {
    range: Range<T>,
}

// For all types at once: or else the compiler could not tell the type of `0..10`.
impl<T> IntoParallelIterator for Range<T>
where
    Iter<T>: ParallelIterator,
{
    type Iter = Iter<T>;
    type Item = <Iter<T> as ParallelIterator>::Item;

    fn into_par_iter(self) -> Iter<T> {
        Iter { range: self }
    }
}

macro_rules! indexed_range {
    ($($int:ty),*) => { $(
        impl ParallelIterator for Iter<$int> {
            type Item = $int;

            indexed!();
        }

        impl IndexedParallelIterator for Iter<$int> {
            #[inline]
            fn len(&self) -> usize {
                self.range.len()
            }

            fn split_off(&mut self, index: usize) -> Self {
                let middle = self.range.start.wrapping_add(index as $int);
                let end = std::mem::replace(&mut self.range.end, middle);
                Self { range: middle..end }
            }

            fn into_seq(self) -> impl DoubleEndedIterator<Item = $int> + ExactSizeIterator {
                self.range
            }
        }
    )* };
}

indexed_range!(u8, i8, u16, i16, u32, i32, usize, isize);
