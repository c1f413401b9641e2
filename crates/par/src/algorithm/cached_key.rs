//! Sorts by keys that are computed once for each item.

use std::mem::{self, MaybeUninit};
use std::ptr;

use heist_core::join;

use super::sort::sort_unstable;
use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

/// Sorts by keys, of which each is computed once. Equal items keep their order.
pub(crate) fn sort_by_cached_key<T, K, F>(items: &mut [T], key: F)
where
    T: Send,
    K: Ord + Send,
    F: Fn(&T) -> K + Sync,
{
    if items.len() < 2 {
        return;
    }
    let keys = items.into_par_iter().enumerate();
    let mut keys: Vec<_> = keys.map(|(index, item)| (key(item), index)).collect();
    // No two are equal, as their indices are not.
    sort_unstable(&mut keys, <[_]>::sort_unstable, <(K, usize)>::lt);
    if !mem::needs_drop::<K>() {
        let order: Vec<_> = keys.into_par_iter().map(|(_, index)| index).collect();
        // SAFETY: sorting does not change the indices, and each was there once.
        return unsafe { permute(items, order) };
    }
    let order: Vec<_> = keys.iter().map(|(_, index)| *index).collect();
    // One worker drops all keys: several would wait for each other in an allocator that remembers
    // which thread has asked for what.
    // SAFETY: as above.
    join(|| drop(keys), || unsafe { permute(items, order) });
}

/// Puts the items in the order of the indices.
///
/// # Safety
///
/// Each index of `items` is in `order` once.
unsafe fn permute<T: Send>(items: &mut [T], order: Vec<usize>) {
    /// Items that several workers copy, each its own.
    struct Items<T>(*mut T);
    // SAFETY: the items are sent to the workers that copy them.
    unsafe impl<T: Send> Sync for Items<T> {}
    impl<T> Items<T> {
        fn get(&self) -> *mut T {
            self.0
        }
    }

    let len = items.len();
    let items = Items(items.as_mut_ptr());
    let copy = |index| {
        // SAFETY: the index is one of an item, and the copy is an item no more ...
        unsafe { items.get().add(index).cast::<MaybeUninit<T>>().read() }
    };
    let sorted: Vec<_> = order.into_par_iter().map(copy).collect();
    // SAFETY: ... until it takes the place of an item, of which there is a copy too.
    unsafe { ptr::copy_nonoverlapping(sorted.as_ptr().cast(), items.get(), len) };
}
