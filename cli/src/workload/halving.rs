//! A loop over a slice, in its plainest form on heist.

/// Calls `body` with every item and its index, by halving the slice with `join`
/// down to single items.
pub(crate) fn join_each<T: Send>(items: &mut [T], body: &(impl Fn(usize, &mut T) + Sync)) {
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
    halve(0, items, body);
}
