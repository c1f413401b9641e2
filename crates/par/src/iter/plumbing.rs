//! The tools to write a parallel iterator of your own.
//!
//! A parallel iterator is a sequence that can be cut, a [`Part`]. It says how many
//! [`steps`](Part::steps) are left, [`split`](Part::split)s off its upper half, and
//! [`run`](Part::run)s some steps from its lower end, handing the items to a closure. The methods
//! of [`ParallelIterator`](super::ParallelIterator) follow from that. The runtime decides, while
//! the loop runs, when to split and which worker runs which part.
//!
//! If items can be counted and the sequence can be cut anywhere, implement [`IndexedPart`] too, and
//! the three methods are one line each: the functions of this module.
//!
//! # Examples
//!
//! ```
//! use heist::iter::plumbing::{self, IndexedPart, Part};
//! use heist::prelude::*;
//! use std::ops::ControlFlow;
//!
//! /// The numbers from `next` to `end`, and their squares.
//! struct Squares {
//!     next: u64,
//!     end: u64,
//! }
//!
//! impl Part for Squares {
//!     type Output = (u64, u64);
//!
//!     fn steps(&self) -> usize {
//!         self.part_len()
//!     }
//!
//!     fn split(&mut self) -> Option<Self> {
//!         plumbing::split_in_half(self)
//!     }
//!
//!     fn run<F>(&mut self, budget: &mut usize, consume: F) -> ControlFlow<()>
//!     where
//!         F: FnMut(Self::Output) -> ControlFlow<()>,
//!     {
//!         plumbing::run_front(self, budget, consume)
//!     }
//!
//!     fn known_len(&self) -> Option<usize> {
//!         Some(self.part_len())
//!     }
//! }
//!
//! impl IndexedPart for Squares {
//!     fn part_len(&self) -> usize {
//!         (self.end - self.next) as usize
//!     }
//!
//!     fn split_off(&mut self, index: usize) -> Self {
//!         let (middle, end) = (self.next + index as u64, self.end);
//!         self.end = middle;
//!         Self { next: middle, end }
//!     }
//!
//!     fn into_seq(self) -> impl DoubleEndedIterator<Item = Self::Output> + ExactSizeIterator {
//!         let range = self.next as u32..self.end as u32;
//!         range.map(|n| (n.into(), u64::from(n) * u64::from(n)))
//!     }
//! }
//!
//! let squares = Squares { next: 0, end: 1000 };
//! assert_eq!(squares.map(|(_, square)| square).sum::<u64>(), 332_833_500);
//! ```

pub use crate::part::{IndexedPart, Part};

use std::ops::ControlFlow;

/// [`split`](Part::split) for an iterator that can be cut anywhere: in the middle. The
/// [module](self) has an example.
pub fn split_in_half<I: IndexedPart>(iter: &mut I) -> Option<I> {
    let len = iter.part_len();
    (len > 1).then(|| iter.split_off(len / 2))
}

/// [`run`](Part::run) for an iterator that can be cut anywhere: cuts the first items off and goes
/// through them. The [module](self) has an example.
#[inline]
pub fn run_front<I, F>(iter: &mut I, budget: &mut usize, consume: F) -> ControlFlow<()>
where
    I: IndexedPart,
    F: FnMut(I::Output) -> ControlFlow<()>,
{
    let front = front(iter, budget);
    front.into_seq().try_for_each(consume)
}

/// Cuts the first items off, as many as the budget allows, and charges it: see [`run_front`], which
/// goes through them.
#[inline]
pub fn front<I: IndexedPart>(iter: &mut I, budget: &mut usize) -> I {
    let len = iter.part_len().min(*budget);
    *budget -= len;
    let rest = iter.split_off(len);
    std::mem::replace(iter, rest)
}

/// The plumbing of an iterator that can be cut anywhere, `but_run` if that is written by hand.
macro_rules! indexed {
    () => {
        $crate::iter::plumbing::indexed!(but_run);

        #[inline]
        fn run<Consume>(
            &mut self,
            budget: &mut usize,
            consume: Consume,
        ) -> std::ops::ControlFlow<()>
        where
            Consume: FnMut(Self::Output) -> std::ops::ControlFlow<()>,
        {
            $crate::iter::plumbing::run_front(self, budget, consume)
        }

        #[inline]
        fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
        where
            Op: FnMut(Folded, Self::Output) -> Folded,
        {
            let front = $crate::iter::plumbing::front(self, budget);
            $crate::part::IndexedPart::into_seq(front).fold(init, op)
        }
    };
    (but_run) => {
        #[inline]
        fn steps(&self) -> usize {
            $crate::part::IndexedPart::part_len(self)
        }

        fn split(&mut self) -> Option<Self> {
            $crate::iter::plumbing::split_in_half(self)
        }

        fn known_len(&self) -> Option<usize> {
            Some($crate::part::IndexedPart::part_len(self))
        }
    };
}
pub(crate) use indexed;
