//! One of two kinds of parallel iterator.

use std::ops::ControlFlow;

use ::either::Either;

use crate::granularity::SplitPolicy;
use crate::part::{IndexedPart, Part};

/// Asks the one that is there.
macro_rules! of_either {
    ($value:expr, $iter:ident => $result:expr) => {
        match $value {
            Either::Left($iter) => $result,
            Either::Right($iter) => $result,
        }
    };
}

impl<L, R> Part for Either<L, R>
where
    L: Part,
    R: Part<Output = L::Output>,
{
    type Output = L::Output;

    #[inline]
    fn steps(&self) -> usize {
        of_either!(self, iter => iter.steps())
    }

    fn split(&mut self) -> Option<Self> {
        Some(match self {
            Either::Left(iter) => Either::Left(iter.split()?),
            Either::Right(iter) => Either::Right(iter.split()?),
        })
    }

    #[inline]
    fn run<F>(&mut self, budget: &mut usize, consume: F) -> ControlFlow<()>
    where
        F: FnMut(L::Output) -> ControlFlow<()>,
    {
        of_either!(self, iter => iter.run(budget, consume))
    }

    #[inline]
    fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
    where
        Op: FnMut(Folded, L::Output) -> Folded,
    {
        of_either!(self, iter => iter.run_fold(budget, init, op))
    }

    fn known_len(&self) -> Option<usize> {
        of_either!(self, iter => iter.known_len())
    }

    fn split_policy(&self) -> SplitPolicy {
        of_either!(self, iter => iter.split_policy())
    }

    fn pause(&mut self) {
        of_either!(self, iter => iter.pause());
    }
}

impl<L, R> IndexedPart for Either<L, R>
where
    L: IndexedPart,
    R: IndexedPart<Output = L::Output>,
{
    fn part_len(&self) -> usize {
        of_either!(self, iter => iter.part_len())
    }

    fn split_off(&mut self, index: usize) -> Self {
        match self {
            Either::Left(iter) => Either::Left(iter.split_off(index)),
            Either::Right(iter) => Either::Right(iter.split_off(index)),
        }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = L::Output> + ExactSizeIterator {
        match self {
            Either::Left(iter) => Either::Left(iter.into_seq()),
            Either::Right(iter) => Either::Right(iter.into_seq()),
        }
    }
}
