//! Loops whose body gets whole sub-ranges: over one range, or over tiles of several.

use std::ops::{ControlFlow, Range};

use crate::driver::drive;
use crate::iter::consumer::{ForEach, Reduce};
use crate::part::Part;

/// Calls `body` with sub-ranges that together are `range`, each index once, perhaps in parallel;
/// returns when all calls have ended.
///
/// There is no grain size to choose. A worker runs the sub-ranges that it keeps in ascending order.
/// A caller outside any pool participates in the global one, as with `join`.
///
/// It is [`sub_ranges`] and [`for_each`](crate::iter::ParallelIterator::for_each).
///
/// # Panics
///
/// If calls of `body` panic, the loop panics with the payload of one of them, once all calls that
/// had begun have ended. Sub-ranges of the panicking part that had not begun may be left out.
///
/// # Cost
///
/// No allocation. An empty range costs nothing; otherwise one job for the first split and one for
/// each time that a thief has taken one, and a reading of the clock for every few microseconds of
/// work.
///
/// # Examples
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let sum = AtomicU64::new(0);
/// heist::parallel_for(0..1_000_000, |part| {
///     let part: u64 = part.map(|i| i as u64).sum();
///     sum.fetch_add(part, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_999_500_000);
/// ```
pub fn parallel_for<F>(range: Range<usize>, body: F)
where
    F: Fn(Range<usize>) + Sync,
{
    drive(sub_ranges(range), ForEach::new(&body));
}

/// Folds sub-ranges that together are `range`: `body` takes in one sub-range after the other,
/// beginning with `identity()`, and `combine` puts the results of neighbouring parts together, the
/// lower one first.
///
/// # Panics
///
/// As [`parallel_for`].
///
/// # Cost
///
/// As [`parallel_for`], with one call of `identity` for the whole and one for each part that a
/// thief has taken.
///
/// # Examples
///
/// ```
/// let numbers: Vec<f64> = (0..1000).map(f64::from).collect();
/// let sum_of_squares = heist::parallel_reduce(
///     0..numbers.len(),
///     || 0.0,
///     |sum, part| numbers[part].iter().fold(sum, |sum, n| sum + n * n),
///     |lower, upper| lower + upper,
/// );
/// assert_eq!(sum_of_squares, 332_833_500.0);
/// ```
pub fn parallel_reduce<T, ID, F, OP>(range: Range<usize>, identity: ID, body: F, combine: OP) -> T
where
    T: Send,
    ID: Fn() -> T + Sync,
    F: Fn(T, Range<usize>) -> T + Sync,
    OP: Fn(T, T) -> T + Sync,
{
    let take = |sum: &mut Option<T>, part| {
        *sum = Some(body(sum.take().unwrap_or_else(&identity), part));
        ControlFlow::Continue(())
    };
    let merge = |sum: &mut Option<T>, upper: Option<T>| {
        *sum = match (sum.take(), upper) {
            (Some(lower), Some(upper)) => Some(combine(lower, upper)),
            (lower, upper) => lower.or(upper),
        };
    };
    let sum = drive(sub_ranges(range), Reduce::new(&|| None, &take, &merge)).into_result();
    sum.unwrap_or_else(&identity)
}

/// The sub-ranges of a range, each index in one of them: see [`sub_ranges`].
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct SubRanges {
    range: Range<usize>,
}

/// A parallel iterator that gives sub-ranges which together are `range`: as many as it takes to
/// keep the workers busy.
///
/// For bodies with work to do once per sub-range, or that the compiler optimises when it sees the
/// whole loop.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
/// use heist::{sub_ranges, Granularity};
///
/// let parts: Vec<_> = sub_ranges(0..10)
///     .with_granularity(Granularity::Static(5))
///     .collect();
/// assert_eq!(parts, [0..5, 5..10]);
/// ```
pub fn sub_ranges(range: Range<usize>) -> SubRanges {
    SubRanges { range }
}

impl Part for SubRanges {
    type Output = Range<usize>;

    #[inline]
    fn steps(&self) -> usize {
        self.range.len()
    }

    fn split(&mut self) -> Option<Self> {
        let len = self.range.len();
        if len < 2 {
            return None;
        }
        let middle = self.range.start + len / 2;
        let end = std::mem::replace(&mut self.range.end, middle);
        Some(Self { range: middle..end })
    }

    #[inline]
    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(Range<usize>) -> ControlFlow<()>,
    {
        let len = self.range.len().min(*budget);
        if len == 0 {
            return ControlFlow::Continue(());
        }
        *budget -= len;
        let start = self.range.start;
        self.range.start += len;
        consume(start..start + len)
    }
}

/// The tiles of a space of `D` dimensions: see [`tiles`].
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Tiles<const D: usize> {
    /// Blocks that are left; the lowest is the last.
    blocks: Vec<[Range<usize>; D]>,
}

/// A parallel iterator that gives tiles, a range for each dimension, which together are the product
/// of the ranges, each cell once.
///
/// Tiles are cut at the middle of their longest side, so that they are about as high as wide, and
/// neighbours stay together: stencils and transpositions find more in the cache than with rows. A
/// worker runs the tiles that it keeps in the order of a recursive halving.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
/// use heist::tiles;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let (width, height) = (300, 200);
/// let from = vec![1_u32; width * height];
/// let to: Vec<_> = (0..from.len()).map(|_| AtomicU32::new(0)).collect();
/// tiles([0..height, 0..width]).for_each(|[rows, columns]| {
///     for y in rows {
///         for x in columns.clone() {
///             to[x * height + y].store(from[y * width + x], Ordering::Relaxed);
///         }
///     }
/// });
/// assert!(to.into_iter().all(|cell| cell.into_inner() == 1));
/// ```
pub fn tiles<const D: usize>(space: [Range<usize>; D]) -> Tiles<D> {
    let mut blocks = Vec::new();
    if cells(&space) > 0 {
        blocks.push(space);
    }
    Tiles { blocks }
}

/// The number of cells in a block, or the largest number if there are more.
fn cells<const D: usize>(block: &[Range<usize>; D]) -> usize {
    let sides = block.iter().map(Range::len);
    // In that order, since a product with 0 must be 0 even if another one overflows.
    match sides.clone().min() {
        Some(0) => 0,
        _ => sides.fold(1, usize::saturating_mul),
    }
}

/// Cuts the upper half of the longest side off. `None` if the block is one cell.
fn halve<const D: usize>(block: &mut [Range<usize>; D]) -> Option<[Range<usize>; D]> {
    let longest = (0..D).max_by_key(|&side| block[side].len())?;
    let side = &mut block[longest];
    if side.len() < 2 {
        return None;
    }
    let middle = side.start + side.len() / 2;
    let upper_side = middle..std::mem::replace(&mut side.end, middle);
    let mut upper = block.clone();
    upper[longest] = upper_side;
    Some(upper)
}

impl<const D: usize> Part for Tiles<D> {
    type Output = [Range<usize>; D];

    fn steps(&self) -> usize {
        let all = self.blocks.iter().map(cells);
        all.fold(0, usize::saturating_add)
    }

    fn split(&mut self) -> Option<Self> {
        // The first is the highest, and the largest: at least about half of what is left.
        let blocks = match &mut self.blocks[..] {
            [] => return None,
            [only] => vec![halve(only)?],
            _ => vec![self.blocks.remove(0)],
        };
        Some(Self { blocks })
    }

    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut([Range<usize>; D]) -> ControlFlow<()>,
    {
        while *budget > 0 {
            let Some(mut block) = self.blocks.pop() else {
                break;
            };
            while cells(&block) > *budget {
                match halve(&mut block) {
                    Some(upper) => self.blocks.push(upper),
                    None => break,
                }
            }
            *budget -= cells(&block);
            consume(block)?;
        }
        ControlFlow::Continue(())
    }
}
