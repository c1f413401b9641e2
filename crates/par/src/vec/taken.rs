//! Items taken out of a vector, part by part, in whose memory they still lie.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::iter::plumbing::split_in_half;
use crate::part::{Continuation, IndexedContinuation, IndexedPart, Part};

/// Items taken out of a vector, where they still lie; `V` is the vector or holds it.
pub(crate) struct Taken<T, V: Holder<T>> {
    /// These come first, to be dropped first: they lie in the keeper's memory.
    items: Items<T>,
    keeper: Arc<Keeper<T, V>>,
}

impl<T, V: Holder<T>> Taken<T, V> {
    pub(crate) fn new(mut holder: V, range: Range<usize>) -> Self {
        let vec = holder.vec();
        let len = vec.len();
        assert!(range.start <= range.end && range.end <= len);
        // If all this is leaked, the vector knows of no items that are taken.
        // SAFETY: there are more items than that.
        unsafe { vec.set_len(range.start) };
        let vec_first = NonNull::new(vec.as_mut_ptr()).expect("a vector's pointer is not null");
        // SAFETY: within the items that there are.
        let (first, tail) = unsafe { (vec_first.add(range.start), vec_first.add(range.end)) };
        Self {
            items: Items {
                first,
                len: range.len(),
            },
            keeper: Arc::new(Keeper {
                holder,
                tail,
                tail_len: len - range.end,
            }),
        }
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        self.items.as_slice()
    }
}

impl<T: fmt::Debug, V: Holder<T>> fmt::Debug for Taken<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl<T: Send, V: Holder<T> + Send> Part for Taken<T, V> {
    type Output = T;

    #[inline]
    fn steps(&self) -> usize {
        self.items.len
    }

    fn split(&mut self) -> Option<Self> {
        split_in_half(self)
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, consume: C) -> ControlFlow<()>
    where
        C: FnMut(T) -> ControlFlow<()>,
    {
        let len = self.items.len.min(*budget);
        *budget -= len;
        let rest = self.items.split_off(len);
        // The keeper is here as long as these, and need not be cloned for them.
        let mut front = std::mem::replace(&mut self.items, rest);
        front.try_for_each(consume)
    }

    #[inline]
    fn run_fold<B, F>(&mut self, budget: &mut usize, init: B, op: F) -> B
    where
        F: FnMut(B, T) -> B,
    {
        let len = self.items.len.min(*budget);
        *budget -= len;
        let rest = self.items.split_off(len);
        std::mem::replace(&mut self.items, rest).fold(init, op)
    }

    fn known_len(&self) -> Option<usize> {
        Some(self.items.len)
    }

    const IS_LENT: bool = V::IS_BORROWED;

    /// The caller keeps a share of the keeper. Otherwise the last part to end would put the tail
    /// back, and if that is a thief's, move items that lie in the caller's cache.
    fn open<K: Continuation<T>>(self, then: K) -> K::Output {
        let _last = Arc::clone(&self.keeper);
        then.run(self)
    }
}

impl<T: Send, V: Holder<T> + Send> IndexedPart for Taken<T, V> {
    fn part_len(&self) -> usize {
        self.items.len
    }

    fn split_off(&mut self, index: usize) -> Self {
        let items = self.items.split_off(index);
        let keeper = Arc::clone(&self.keeper);
        Self { items, keeper }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        self
    }

    fn open_indexed<K: IndexedContinuation<T>>(self, then: K) -> K::Output {
        let _last = Arc::clone(&self.keeper);
        then.run(self)
    }
}

impl<T, V: Holder<T>> Iterator for Taken<T, V> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.items.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<T, V: Holder<T>> DoubleEndedIterator for Taken<T, V> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        self.items.len = self.items.len.checked_sub(1)?;
        // SAFETY: it was the last of its own, and is no more.
        Some(unsafe { self.items.first.add(self.items.len).read() })
    }
}

impl<T, V: Holder<T>> ExactSizeIterator for Taken<T, V> {}

/// Items that are its own, in memory that another value keeps for as long as it lives: the
/// [`Keeper`] of the [`Taken`] in which, or in whose methods, this is.
struct Items<T> {
    first: NonNull<T>,
    len: usize,
}

// SAFETY: the items are its own.
unsafe impl<T: Send> Send for Items<T> {}
// SAFETY: by reference it shows the items, and that is all.
unsafe impl<T: Sync> Sync for Items<T> {}

impl<T> Items<T> {
    fn as_slice(&self) -> &[T] {
        // SAFETY: the items are there, and its own.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }

    fn split_off(&mut self, index: usize) -> Self {
        assert!(index <= self.len);
        let len = self.len - index;
        self.len = index;
        // SAFETY: within the items.
        let first = unsafe { self.first.add(index) };
        Self { first, len }
    }
}

impl<T> Drop for Items<T> {
    fn drop(&mut self) {
        let items = std::ptr::slice_from_raw_parts_mut(self.first.as_ptr(), self.len);
        // SAFETY: they are its own, and not used again.
        unsafe { items.drop_in_place() };
    }
}

impl<T> Iterator for Items<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        let item = self.first;
        // SAFETY: within the items, or just after the last.
        self.first = unsafe { item.add(1) };
        // SAFETY: it was the first of its own, and is no more.
        Some(unsafe { item.read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }

    #[inline]
    fn fold<B, F>(mut self, init: B, mut op: F) -> B
    where
        F: FnMut(B, T) -> B,
    {
        if std::mem::needs_drop::<T>() {
            let mut so_far = init;
            for item in self.by_ref() {
                so_far = op(so_far, item);
            }
            return so_far;
        }
        // A loop over a slice can be vectorised, and nothing is lost if `op` panics.
        self.as_slice().iter().fold(init, |so_far, item| {
            // SAFETY: it is its own, and need not be dropped, so that it may stay behind there.
            op(so_far, unsafe { std::ptr::read(item) })
        })
    }
}

/// The vector out of which items were taken, without them and those behind them.
struct Keeper<T, V: Holder<T>> {
    holder: V,
    /// The items behind those that were taken, which go back.
    tail: NonNull<T>,
    tail_len: usize,
}

// SAFETY: the vector and the tail are its own.
unsafe impl<T: Send, V: Holder<T> + Send> Send for Keeper<T, V> {}
// SAFETY: nothing can be done with it by reference.
unsafe impl<T: Send, V: Holder<T> + Send> Sync for Keeper<T, V> {}

impl<T, V: Holder<T>> Drop for Keeper<T, V> {
    fn drop(&mut self) {
        if self.tail_len == 0 {
            return;
        }
        let vec = self.holder.vec();
        let len = vec.len();
        // SAFETY: the tail lies in the vector's memory, and what lay between it and the items
        // before is gone with the last part.
        unsafe {
            let gap = vec.as_mut_ptr().add(len);
            self.tail.as_ptr().copy_to(gap, self.tail_len);
        }
        // SAFETY: so many are there now.
        unsafe { vec.set_len(len + self.tail_len) };
    }
}

/// A vector, or a value that holds one.
///
/// # Safety
///
/// It is always the same vector, and the holder does nothing with it before it is dropped itself.
pub(crate) unsafe trait Holder<T> {
    /// Whether the vector is somebody else's, who gets it back.
    const IS_BORROWED: bool;

    /// That vector.
    fn vec(&mut self) -> &mut Vec<T>;
}

// SAFETY: it is that vector.
unsafe impl<T> Holder<T> for Vec<T> {
    const IS_BORROWED: bool = false;

    fn vec(&mut self) -> &mut Vec<T> {
        self
    }
}

// SAFETY: it does nothing at all.
unsafe impl<T> Holder<T> for &mut Vec<T> {
    const IS_BORROWED: bool = true;

    fn vec(&mut self) -> &mut Vec<T> {
        self
    }
}

// SAFETY: see `drop`, which is all that it does.
unsafe impl<T, C> Holder<T> for Lent<'_, T, C> {
    const IS_BORROWED: bool = true;

    fn vec(&mut self) -> &mut Vec<T> {
        &mut self.vec
    }
}

/// The vector that a collection was made into, and that is put back when it is dropped.
pub(crate) struct Lent<'data, T, C> {
    vec: Vec<T>,
    collection: &'data mut C,
    put_back: fn(Vec<T>) -> C,
}

impl<'data, T, C: Default> Lent<'data, T, C>
where
    Vec<T>: From<C>,
{
    /// Takes a range of items out of a collection.
    pub(crate) fn take(
        collection: &'data mut C,
        range: Range<usize>,
        put_back: fn(Vec<T>) -> C,
    ) -> Taken<T, Self> {
        let vec = Vec::from(std::mem::take(collection));
        let lent = Self {
            vec,
            collection,
            put_back,
        };
        Taken::new(lent, range)
    }
}

impl<T, C> Drop for Lent<'_, T, C> {
    fn drop(&mut self) {
        *self.collection = (self.put_back)(std::mem::take(&mut self.vec));
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use std::sync::{Barrier, Mutex};
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use heist_core::ThreadPoolBuilder;

    use super::*;
    use crate::iter::{IndexedParallelIterator, ParallelIterator};

    /// Tells on which thread it was dropped.
    struct Watched<'a> {
        vec: Vec<u32>,
        dropped_on: &'a Mutex<Option<ThreadId>>,
    }

    // SAFETY: the vector is always the same, and nothing is done with it.
    unsafe impl Holder<u32> for Watched<'_> {
        const IS_BORROWED: bool = true;

        fn vec(&mut self) -> &mut Vec<u32> {
            &mut self.vec
        }
    }

    impl Drop for Watched<'_> {
        fn drop(&mut self) {
            *self.dropped_on.lock().unwrap() = Some(thread::current().id());
        }
    }

    #[test]
    fn the_caller_puts_the_tail_back_also_if_the_thief_is_the_last_to_end() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let dropped_on = Mutex::new(None);
        let (both_began, sum) = (Barrier::new(2), Mutex::new(0));
        let caller = pool.install(|| {
            let caller = thread::current().id();
            let holder = Watched {
                vec: vec![1, 2, 3, 4],
                dropped_on: &dropped_on,
            };
            Taken::new(holder, 0..2).with_max_len(1).for_each(|item| {
                both_began.wait();
                if thread::current().id() != caller {
                    thread::sleep(Duration::from_millis(20));
                }
                *sum.lock().unwrap() += item;
            });
            caller
        });
        assert_eq!(*sum.lock().unwrap(), 3);
        assert_eq!(*dropped_on.lock().unwrap(), Some(caller));
    }
}
