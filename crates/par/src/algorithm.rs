//! Algorithms on slices, as functions. The sorts are methods of
//! [`ParallelSliceMut`](crate::slice::ParallelSliceMut).
//!
//! Small slices are worked at by the caller alone. Otherwise a caller from outside of all pools
//! participates in the global one.

mod cached_key;
mod fill;
mod histogram;
pub(crate) mod loose;
mod merge;
mod order;
mod partition;
mod sample;
mod scan;
mod select;
mod sort;
mod stable;
mod unstable;

pub(crate) use cached_key::sort_by_cached_key;
pub use fill::{par_clone_from_slice, par_copy_from_slice, par_fill};
pub use histogram::par_histogram;
pub use merge::{par_merge, par_merge_by};
pub use partition::par_partition;
pub use scan::{par_exclusive_scan, par_inclusive_scan};
pub use select::{par_select_nth_unstable, par_select_nth_unstable_by};
pub(crate) use sort::{sort_stable, sort_unstable};

/// A number of items, for what is worth its trouble from there on. An interpreter (Miri) has no
/// time for so many, and is to see the trouble.
const fn worth(items: usize) -> usize {
    if cfg!(miri) {
        items / 256
    } else {
        items
    }
}

/// As `join`, of a call that ends here if it is cancelled.
fn both<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    heist_core::checkpoint();
    heist_core::join(a, b)
}

/// The items of a part, for work that is little and the same for each item: some parts for each
/// worker, but none that is too small to be shared.
fn part_len(len: usize) -> usize {
    (len / (4 * heist_core::current_num_threads())).max(worth(4096))
}
