//! Sorts by closures that may not be an order, for the package in rayon's place.
//!
//! `a.partial_cmp(b)`, say, is none where there are NaNs. Rayon sorts such items somehow. The
//! standard library's sorts, which do our parts, panic if they find out, which they may where they
//! sort copies of a few items at a time. They copy no items that can change behind a shared
//! reference, since a comparison might change the original meanwhile: so these are made to look so.
//!
//! That costs an unstable sort of floats a third of its time, and other sorts little or nothing.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ptr;

use super::{sort_stable, sort_unstable};

/// Sorts as [`par_sort_by`], and does not panic where
/// `compare` is no order: then the order of the items is unspecified. [`par_sort_by`] has an
/// example.
///
/// [`par_sort_by`]: crate::slice::ParallelSliceMut::par_sort_by
pub fn sort_by<T, F>(items: &mut [T], compare: F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let compare = |a: &Loose<T>, b: &Loose<T>| compare(a.get(), b.get());
    let sort = |part: &mut [Loose<T>]| part.sort_by(|a, b| compare(a, b));
    sort_stable(Loose::all(items), sort, |a, b| compare(a, b).is_lt());
}

/// As [`sort_by`]; equal items may end up in any order. [`par_sort_by`] has an example.
///
/// [`par_sort_by`]: crate::slice::ParallelSliceMut::par_sort_by
pub fn sort_unstable_by<T, F>(items: &mut [T], compare: F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let compare = |a: &Loose<T>, b: &Loose<T>| compare(a.get(), b.get());
    let sort = |part: &mut [Loose<T>]| part.sort_unstable_by(|a, b| compare(a, b));
    sort_unstable(Loose::all(items), sort, |a, b| compare(a, b).is_lt());
}

#[repr(transparent)]
struct Loose<T>(Cell<T>);

impl<T> Loose<T> {
    fn all(items: &mut [T]) -> &mut [Self] {
        // SAFETY: in memory it is as an item, and the borrow is handed on.
        unsafe { &mut *(ptr::from_mut(items) as *mut [Self]) }
    }

    fn get(&self) -> &T {
        // SAFETY: it is borrowed, and nothing changes it behind a shared reference.
        unsafe { &*self.0.as_ptr() }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_order_sorts_somehow() {
        let pool = heist_core::ThreadPoolBuilder::new().num_threads(3).build();
        pool.unwrap().install(|| {
            for len in (0..100).chain([1_000, 50_000]) {
                let items = (0..len).map(|n| match n % 3 {
                    0 => f64::NAN,
                    _ => f64::from(n * 7919 % 1009),
                });
                let items: Vec<_> = items.collect();
                let total = |items: &[f64]| {
                    let mut bits: Vec<_> = items.iter().map(|x| x.to_bits()).collect();
                    bits.sort_unstable();
                    bits
                };
                let compare = |a: &f64, b: &f64| a.partial_cmp(b).unwrap_or(Ordering::Equal);
                let mut sorted = items.clone();
                sort_by(&mut sorted, compare);
                assert_eq!(total(&sorted), total(&items));
                sort_unstable_by(&mut sorted, compare);
                assert_eq!(total(&sorted), total(&items));
            }
        });
    }
}
