//! Joins on heist: for the recursions that are generic over a join, and a loop over a slice.

use heist_workloads::Join;

/// The join of heist.
pub(super) struct Heist;

impl Join for Heist {
    #[inline]
    fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        heist::join(a, b)
    }
}

/// Calls `body` with every item and its index, by halving the slice with `join` down to single
/// items.
pub(super) fn join_each<T: Send>(items: &mut [T], body: &(impl Fn(usize, &mut T) + Sync)) {
    halve(0, items, body);
}

fn halve<T: Send>(first: usize, items: &mut [T], body: &(impl Fn(usize, &mut T) + Sync)) {
    match items {
        [] => {}
        [item] => body(first, item),
        _ => {
            let middle = items.len() / 2;
            let (left, right) = items.split_at_mut(middle);
            heist::join(
                || halve(first, left, body),
                || halve(first + middle, right, body),
            );
        }
    }
}
