//! Several items that are taken out of an iterator at once.

use std::collections::VecDeque;

use heist_sync::Clock;

/// A batch ends when taking its items has lasted that long.
pub(super) const BATCH_NS: u64 = 8_000;

/// Takes so many items, or fewer if they cost much. False if there are no more.
pub(super) fn take_batch<I: Iterator>(
    iter: &mut I,
    len: usize,
    batch: &mut VecDeque<I::Item>,
) -> bool {
    let mut clock = None;
    // Looks at the clock after 1, 2, 4, 8 items, and then after every 16.
    let mut look_at = 1;
    for taken in 0..len {
        if taken == look_at {
            look_at += taken.min(16);
            if clock.get_or_insert_with(Clock::start).elapsed_ns() > BATCH_NS {
                break;
            }
        }
        let Some(item) = iter.next() else {
            return false;
        };
        batch.push_back(item);
    }
    true
}
