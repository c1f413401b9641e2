//! The order of a sort, and the order in which items lie already.

use std::ops::Range;

use super::both;

/// The order that a sort makes, and how it goes about it.
pub(super) struct Order<'f, S, L> {
    /// Sorts a part.
    pub(super) sort: &'f S,
    /// Compares two items.
    pub(super) is_less: &'f L,
    /// The number of workers to share the items among.
    pub(super) workers: usize,
    /// Work that is little for each item is not split below so many of them.
    pub(super) part_len: usize,
}

impl<S, L> Order<'_, S, L> {
    /// The number of times to halve the items: into a part for each worker, or into some more if
    /// the workers could not share these evenly.
    pub(super) fn halvings(&self) -> u32 {
        let odd = !self.workers.is_power_of_two();
        self.workers.next_power_of_two().ilog2() + u32::from(odd)
    }
}

/// In which order items are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// No item is less than the one before it.
    Ascending,
    /// Each item is less than the one before it.
    Descending,
}

/// The order in which the items are, if they are in one.
///
/// An item may be looked at by one worker at a time only, as it need not be `Sync`: so neighbours
/// in different parts are compared at the end.
pub(super) fn direction<T, L>(items: &mut [T], part_len: usize, is_less: &L) -> Option<Direction>
where
    T: Send,
    L: Fn(&T, &T) -> bool + Sync,
{
    let middle = items.len() / 2;
    if items.len() <= part_len || middle < 2 {
        return direction_alone(items, is_less);
    }
    let (lower, upper) = items.split_at_mut(middle);
    let directions = both(
        || direction(lower, part_len, is_less),
        || direction(upper, part_len, is_less),
    );
    let (Some(direction), true) = (directions.0, directions.0 == directions.1) else {
        return None;
    };
    let descends = is_less(&items[middle], &items[middle - 1]);
    (descends == (direction == Direction::Descending)).then_some(direction)
}

fn direction_alone<T, L>(items: &[T], is_less: &L) -> Option<Direction>
where
    L: Fn(&T, &T) -> bool,
{
    let mut pairs = items.iter().zip(items.get(1..)?);
    let (first, second) = pairs.next()?;
    if is_less(second, first) {
        pairs
            .all(|(item, next)| is_less(next, item))
            .then_some(Direction::Descending)
    } else {
        pairs
            .all(|(item, next)| !is_less(next, item))
            .then_some(Direction::Ascending)
    }
}

/// The number of items at the end that are in one order, and that order.
pub(super) fn last_run<T, L>(items: &[T], is_less: &L) -> (usize, Direction)
where
    L: Fn(&T, &T) -> bool,
{
    let descends = |pair: &[T]| is_less(&pair[1], &pair[0]);
    let mut pairs = items.windows(2).rev();
    let Some(last) = pairs.next() else {
        return (items.len(), Direction::Ascending);
    };
    if descends(last) {
        let others = pairs.take_while(|pair| descends(pair)).count();
        (2 + others, Direction::Descending)
    } else {
        let others = pairs.take_while(|pair| !descends(pair)).count();
        (2 + others, Direction::Ascending)
    }
}

/// The range of items that two sorted runs, the second of which begins at `middle`, have in each
/// other's place: those before and behind it are where they belong.
pub(super) fn overlap<T, L>(items: &[T], middle: usize, is_less: &L) -> Range<usize>
where
    L: Fn(&T, &T) -> bool,
{
    let (lower, upper) = items.split_at(middle);
    match (lower.last(), upper.first()) {
        (Some(greatest), Some(least)) if is_less(least, greatest) => {
            let start = lower.partition_point(|item| !is_less(least, item));
            start..middle + upper.partition_point(|item| is_less(item, greatest))
        }
        _ => middle..middle,
    }
}

/// Reverses the items, parts of `part_len` at a time.
pub(super) fn reverse<T: Send>(items: &mut [T], part_len: usize) {
    let (lower, rest) = items.split_at_mut(items.len() / 2);
    let (_, upper) = rest.split_at_mut(rest.len() - lower.len());
    swap_reversed(lower, upper, part_len);
}

/// Swaps the first of the ones with the last of the others, and so on.
fn swap_reversed<T: Send>(lower: &mut [T], upper: &mut [T], part_len: usize) {
    if lower.len() <= part_len {
        for (a, b) in lower.iter_mut().zip(upper.iter_mut().rev()) {
            std::mem::swap(a, b);
        }
        return;
    }
    let middle = lower.len() / 2;
    let (lower_0, lower_1) = lower.split_at_mut(middle);
    let (upper_0, upper_1) = upper.split_at_mut(upper.len() - middle);
    both(
        || swap_reversed(lower_0, upper_1, part_len),
        || swap_reversed(lower_1, upper_0, part_len),
    );
}

/// Swaps the items of two parts that are equally long, each with its like.
pub(super) fn swap<T: Send>(ones: &mut [T], others: &mut [T], part_len: usize) {
    if ones.len() <= part_len {
        return ones.swap_with_slice(others);
    }
    let middle = ones.len() / 2;
    let (ones_0, ones_1) = ones.split_at_mut(middle);
    let (others_0, others_1) = others.split_at_mut(middle);
    both(
        || swap(ones_0, others_0, part_len),
        || swap(ones_1, others_1, part_len),
    );
}
