//! A sample of the items, from which pivots are taken.

use heist_core::policy::Rng;

/// Brings a sample of so many items to the front: one from each of as many stretches.
pub(super) fn take_sample<T>(items: &mut [T], len: usize) -> &mut [T] {
    let stretch = items.len() / len;
    let mut rng = Rng::new(items.len() as u64);
    for i in 0..len {
        items.swap(i, i * stretch + rng.below(stretch));
    }
    &mut items[..len]
}
