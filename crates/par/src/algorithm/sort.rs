//! The sorts: what is too small or in order already, and otherwise which way is taken.

use heist_core::{current_num_threads, may_be_interrupted, participate};

use super::order::{direction, reverse, Direction, Order};
use super::{part_len, stable, unstable, worth};

/// A worker's share is not worth the trouble below so many items.
const MIN_SHARE: usize = worth(8192);

/// A share of a sort that may be interrupted between two shares only: some milliseconds.
const INTERRUPTIBLE_SHARE: usize = 8 * MIN_SHARE;

/// Sorts so that equal items keep their order. `sort` does that too, alone.
pub(crate) fn sort_stable<T, S, L>(items: &mut [T], sort: S, is_less: L)
where
    T: Send,
    S: Fn(&mut [T]) + Sync,
    L: Fn(&T, &T) -> bool + Sync,
{
    sort_by_way(items, sort, is_less, stable::sort);
}

/// Sorts; equal items may end up in any order. `sort` does that too, alone.
pub(crate) fn sort_unstable<T, S, L>(items: &mut [T], sort: S, is_less: L)
where
    T: Send,
    S: Fn(&mut [T]) + Sync,
    L: Fn(&T, &T) -> bool + Sync,
{
    sort_by_way(items, sort, is_less, unstable::sort);
}

fn sort_by_way<T, S, L>(
    items: &mut [T],
    sort: S,
    is_less: L,
    way: impl FnOnce(&mut [T], &Order<'_, S, L>) + Send,
) where
    T: Send,
    S: Fn(&mut [T]) + Sync,
    L: Fn(&T, &T) -> bool + Sync,
{
    if size_of::<T>() == 0 || items.len() < 2 * MIN_SHARE {
        return sort(items);
    }
    let (sort, is_less) = (&sort, &is_less);
    participate(move || {
        let shares = match may_be_interrupted() {
            // The standard library's sort goes on to its end.
            true => items.len().div_ceil(INTERRUPTIBLE_SHARE),
            false => 1,
        };
        let workers = current_num_threads().max(shares);
        let workers = workers.min(items.len() / MIN_SHARE);
        let part_len = part_len(items.len());
        let order = Order {
            sort,
            is_less,
            workers,
            part_len,
        };
        if workers == 1 {
            return way(items, &order);
        }
        match direction(items, part_len, is_less) {
            Some(Direction::Ascending) => {}
            Some(Direction::Descending) => reverse(items, part_len),
            None => way(items, &order),
        }
    });
}
