//! Merges two sorted runs into memory of its own, in parallel.
//!
//! The output is cut in halves, and a binary search finds which items of either run belong into
//! which half ("merge path": Odeh, Green, Mwassi, Shmueli and Birk, 2012), so that parts are
//! equally long whatever the items are. A worker cuts its part once more, into some lanes, and
//! makes one step in each of them by turns: a step waits for the comparison before it in its lane,
//! and not for those in the other lanes.
//!
//! Items are copied bit by bit. Those in the runs stay what they are, and the caller sees to it
//! that of two copies one is forgotten. Nothing here trusts the comparison: what it says decides
//! the order, but never where is read or written.

use std::cmp::Ordering;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr;

use heist_core::participate;

use super::{both, part_len, worth};

/// Below so many items one worker is as fast as several.
const MIN_LEN: usize = worth(32_768);
/// Below so many items a lane is not worth a cut.
const LANE_MIN_LEN: usize = if cfg!(miri) { 4 } else { 64 };

/// Merges two sorted vectors. Of equal items those of `left` come first.
///
/// If they are not sorted, the result has the same items in some order.
///
/// # Cost
///
/// Allocates the result.
///
/// # Examples
///
/// ```
/// use heist::algorithm::par_merge;
///
/// assert_eq!(par_merge(vec![1, 4, 6], vec![2, 4]), [1, 2, 4, 4, 6]);
/// ```
#[must_use]
pub fn par_merge<T: Ord + Send>(left: Vec<T>, right: Vec<T>) -> Vec<T> {
    merge(left, right, T::lt)
}

/// Merges two vectors that are sorted by `compare`, as [`par_merge`] does.
///
/// # Panics
///
/// Panics if `compare` does; the items are then dropped.
///
/// # Cost
///
/// Allocates the result.
///
/// # Examples
///
/// ```
/// use heist::algorithm::par_merge_by;
///
/// let merged = par_merge_by(vec!["tin", "gold"], vec!["lead"], |a, b| a.len().cmp(&b.len()));
/// assert_eq!(merged, ["tin", "gold", "lead"]);
/// ```
#[must_use]
pub fn par_merge_by<T, F>(left: Vec<T>, right: Vec<T>, compare: F) -> Vec<T>
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    merge(left, right, |a: &T, b: &T| compare(a, b).is_lt())
}

fn merge<T, L>(mut left: Vec<T>, mut right: Vec<T>, is_less: L) -> Vec<T>
where
    T: Send,
    L: Fn(&T, &T) -> bool + Sync,
{
    let len = left.len() + right.len();
    let mut merged = Vec::with_capacity(len);
    let out = &mut merged.spare_capacity_mut()[..len];
    if len < MIN_LEN {
        merge_into(&mut left, &mut right, out, MIN_LEN, &is_less);
    } else {
        participate(|| merge_into(&mut left, &mut right, out, part_len(len), &is_less));
    }
    // SAFETY: all items have been copied to `merged`, and are forgotten where they were.
    unsafe {
        left.set_len(0);
        right.set_len(0);
        merged.set_len(len);
    }
    merged
}

/// Copies the items of both runs to `out`, in order; of equal ones those of `left` come first.
/// Parts of at most `part_len` items are not cut further.
///
/// If a run is not sorted, the order is any, but each item is still copied once.
///
/// # Panics
///
/// Panics if `out` is not as long as both runs, or if `is_less` does.
pub(super) fn merge_into<T, L>(
    left: &mut [T],
    right: &mut [T],
    out: &mut [MaybeUninit<T>],
    part_len: usize,
    is_less: &L,
) where
    T: Send,
    L: Fn(&T, &T) -> bool + Sync,
{
    assert_eq!(left.len() + right.len(), out.len());
    if size_of::<T>() == 0 {
        // There is nothing to copy, and lanes count by addresses.
        return;
    }
    if out.len() <= part_len {
        // Comparing what does not fit into a register takes longer, and more lanes help.
        if is_wide::<T>() {
            merge_part::<8, _, _>(left, right, out, is_less);
        } else {
            merge_part::<4, _, _>(left, right, out, is_less);
        }
        return;
    }
    let middle = out.len() / 2;
    let (left_cut, right_cut) = cut(left, right, middle, is_less);
    let (left_0, left_1) = left.split_at_mut(left_cut);
    let (right_0, right_1) = right.split_at_mut(right_cut);
    let (out_0, out_1) = out.split_at_mut(middle);
    both(
        || merge_into(left_0, right_0, out_0, part_len, is_less),
        || merge_into(left_1, right_1, out_1, part_len, is_less),
    );
}

/// The number of items of either run among the first `len` of the output.
fn cut<T, L>(left: &[T], right: &[T], len: usize, is_less: &L) -> (usize, usize)
where
    L: Fn(&T, &T) -> bool,
{
    let mut low = len.saturating_sub(right.len());
    let mut high = len.min(left.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if is_less(&right[len - 1 - middle], &left[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    (low, len - low)
}

/// Merges in so many lanes.
fn merge_part<const LANES: usize, T, L>(
    mut left: &[T],
    mut right: &[T],
    mut out: &mut [MaybeUninit<T>],
    is_less: &L,
) where
    L: Fn(&T, &T) -> bool,
{
    if out.len() < LANES * LANE_MIN_LEN {
        return Lane::new(left, right, out).finish(is_less);
    }
    let mut rest = LANES;
    let mut lanes = [(); LANES].map(|()| {
        let len = out.len() / rest;
        rest -= 1;
        let (left_cut, right_cut) = cut(left, right, len, is_less);
        let (left_0, right_0, out_0);
        (left_0, left) = left.split_at(left_cut);
        (right_0, right) = right.split_at(right_cut);
        (out_0, out) = std::mem::take(&mut out).split_at_mut(len);
        Lane::new(left_0, right_0, out_0)
    });
    loop {
        let steps = lanes.iter().map(Lane::sure_steps).min().unwrap_or(0);
        if steps == 0 {
            break;
        }
        for _ in 0..steps {
            for lane in &mut lanes {
                // SAFETY: so many steps are sure in each lane.
                unsafe { lane.step(is_less) };
            }
        }
    }
    for lane in lanes {
        lane.finish(is_less);
    }
}

/// Whether an item is larger than a register.
pub(super) fn is_wide<T>() -> bool {
    size_of::<T>() > size_of::<usize>()
}

/// The rest of a merge: from `left` and `right` up to their ends, and at least as much room from
/// `out` on as there are items in both.
///
/// It is used only while the runs and the room that it was made of are borrowed.
struct Lane<T> {
    left: *const T,
    left_end: *const T,
    right: *const T,
    right_end: *const T,
    out: *mut T,
}

impl<T> Lane<T> {
    fn new(left: &[T], right: &[T], out: &mut [MaybeUninit<T>]) -> Self {
        assert_eq!(left.len() + right.len(), out.len());
        let (left, right) = (left.as_ptr_range(), right.as_ptr_range());
        Self {
            left: left.start,
            left_end: left.end,
            right: right.start,
            right_end: right.end,
            out: out.as_mut_ptr().cast(),
        }
    }

    fn left_len(&self) -> usize {
        // SAFETY: both point into one run, or to its end, and not behind each other.
        unsafe { self.left_end.offset_from(self.left) as usize }
    }

    fn right_len(&self) -> usize {
        // SAFETY: as above.
        unsafe { self.right_end.offset_from(self.right) as usize }
    }

    /// So many steps come to the end of no run before the last one, whichever run they take from.
    fn sure_steps(&self) -> usize {
        self.left_len().min(self.right_len())
    }

    /// Copies the lesser of the first items.
    ///
    /// # Safety
    ///
    /// Neither run is at its end.
    #[inline(always)]
    unsafe fn step<L: Fn(&T, &T) -> bool>(&mut self, is_less: &L) {
        // SAFETY: both runs have an item, and there is as much room. The pointer of the run from
        // which it comes moves by one item, that of the other does not.
        unsafe {
            let mut right_first = is_less(&*self.right, &*self.left);
            if is_wide::<T>() {
                // Or else the compiler makes a branch of it, which is hard to foretell.
                right_first = black_box(right_first);
            }
            let first = if right_first { self.right } else { self.left };
            ptr::copy_nonoverlapping(first, self.out, 1);
            self.right = self.right.add(usize::from(right_first));
            self.left = self.left.add(usize::from(!right_first));
            self.out = self.out.add(1);
        }
    }

    /// Does all that is left.
    fn finish<L: Fn(&T, &T) -> bool>(mut self, is_less: &L) {
        loop {
            let steps = self.sure_steps();
            if steps == 0 {
                break;
            }
            for _ in 0..steps {
                // SAFETY: so many steps are sure.
                unsafe { self.step(is_less) };
            }
        }
        let (left_len, right_len) = (self.left_len(), self.right_len());
        // SAFETY: one of both is empty, and there is room for the other one.
        unsafe {
            ptr::copy_nonoverlapping(self.left, self.out, left_len);
            ptr::copy_nonoverlapping(self.right, self.out, right_len);
        }
    }
}
