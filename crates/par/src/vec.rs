//! Parallel iterators over vectors, by value.

use crate::iter::plumbing::indexed;
use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

/// The items of a vector.
pub struct IntoIter<T> {
    items: Owned<T, Memory<T>>,
}

/// Some of the items that lie in memory which somebody else keeps.
///
/// The items are dropped with it, and `keeper` with the last part.
struct Owned<T, K> {
    first: NonNull<T>,
    len: usize,
    keeper: Arc<K>,
}

// SAFETY: the items are its own.
unsafe impl<T: Send, K: Send + Sync> Send for Owned<T, K> {}
// SAFETY: by reference it shows the items.
unsafe impl<T: Sync, K: Send + Sync> Sync for Owned<T, K> {}

impl<T, K> Owned<T, K> {
    fn as_slice(&self) -> &[T] {
        // SAFETY: the items are there, and this part's.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }

    fn split_off(&mut self, index: usize) -> Self {
        assert!(index <= self.len);
        let len = self.len - index;
        self.len = index;
        Self {
            // SAFETY: within the items.
            first: unsafe { self.first.add(index) },
            len,
            keeper: Arc::clone(&self.keeper),
        }
    }
}

impl<T, K> Drop for Owned<T, K> {
    fn drop(&mut self) {
        let items = std::ptr::slice_from_raw_parts_mut(self.first.as_ptr(), self.len);
        // SAFETY: they are this part's, and not used again.
        unsafe { items.drop_in_place() };
    }
}

impl<T, K> Iterator for Owned<T, K> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        // SAFETY: it is this part's, and no more afterwards.
        unsafe {
            let item = self.first.read();
            self.first = self.first.add(1);
            self.len -= 1;
            Some(item)
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl<T, K> DoubleEndedIterator for Owned<T, K> {
    fn next_back(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: it was this part's, and is no more.
        Some(unsafe { self.first.add(self.len).read() })
    }
}

impl<T, K> ExactSizeIterator for Owned<T, K> {}

/// The memory of a vector, without its items.
struct Memory<T> {
    first: NonNull<T>,
    capacity: usize,
}

// SAFETY: it touches no items.
unsafe impl<T> Send for Memory<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Memory<T> {}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        // SAFETY: it was a vector's, whose items are gone.
        drop(unsafe { Vec::from_raw_parts(self.first.as_ptr(), 0, self.capacity) });
    }
}

impl<T: Send> IntoParallelIterator for Vec<T> {
    type Iter = IntoIter<T>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T> {
        let mut vec = ManuallyDrop::new(self);
        let first = NonNull::new(vec.as_mut_ptr()).expect("a vector's pointer is not null");
        let capacity = vec.capacity();
        let items = Owned {
            first,
            len: vec.len(),
            keeper: Arc::new(Memory { first, capacity }),
        };
        IntoIter { items }
    }
}

impl<'data, T: Sync> IntoParallelIterator for &'data Vec<T> {
    type Iter = crate::slice::Iter<'data, T>;
    type Item = &'data T;

    fn into_par_iter(self) -> Self::Iter {
        self.as_slice().into_par_iter()
    }
}

impl<'data, T: Send> IntoParallelIterator for &'data mut Vec<T> {
    type Iter = crate::slice::IterMut<'data, T>;
    type Item = &'data mut T;

    fn into_par_iter(self) -> Self::Iter {
        self.as_mut_slice().into_par_iter()
    }
}

impl<T: Send> ParallelIterator for IntoIter<T> {
    type Item = T;

    indexed!();
}

impl<T: Send> IndexedParallelIterator for IntoIter<T> {
    fn len(&self) -> usize {
        self.items.len
    }

    fn split_off(&mut self, index: usize) -> Self {
        let items = self.items.split_off(index);
        Self { items }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        self.items
    }
}

impl<T: Clone + Send> Clone for IntoIter<T> {
    fn clone(&self) -> Self {
        self.items.as_slice().to_vec().into_par_iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for IntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IntoIter")
            .field(&self.items.as_slice())
            .finish()
    }
}
