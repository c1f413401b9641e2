//! `take_any`, `skip_any`: a number of items, those that come first in time.

use std::ops::ControlFlow::{self, Break, Continue};

use super::quota::Quota;
use crate::part::{adaptor, forward, open, Part};

/// A number of the items, wherever they lie: see
/// [`take_any`](crate::iter::ParallelIterator::take_any).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct TakeAny<I> {
    base: I,
    /// The number that may yet be taken.
    quota: Quota,
}

impl<I> TakeAny<I> {
    pub(crate) fn new(base: I, n: usize) -> Self {
        let quota = Quota::new(n);
        Self { base, quota }
    }
}

impl<I: Part> Part for TakeAny<I> {
    type Output = I::Output;

    #[inline]
    fn steps(&self) -> usize {
        if self.quota.is_spent() {
            0
        } else {
            self.base.steps()
        }
    }

    fn split(&mut self) -> Option<Self> {
        let base = self.base.split()?;
        let quota = self.quota.share();
        Some(Self { base, quota })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(I::Output) -> ControlFlow<()>,
    {
        let (quota, mut ended) = (&self.quota, self.quota.is_spent());
        if ended {
            return Continue(());
        }
        let flow = self.base.run(budget, |item| {
            ended = !quota.take_one();
            if !ended {
                consume(item)?;
                // Asked now, so that no item is made in vain.
                ended = quota.is_spent();
            }
            if ended {
                Break(())
            } else {
                Continue(())
            }
        });
        if ended {
            Continue(())
        } else {
            flow
        }
    }

    forward!(base);
    open!(TakeAny { quota });
}

adaptor!([T: Send] TakeAny<> { quota } T => T);

/// All but a number of the items, wherever they lie: see
/// [`skip_any`](crate::iter::ParallelIterator::skip_any).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct SkipAny<I> {
    base: I,
    /// The number that is yet to be skipped.
    quota: Quota,
}

impl<I> SkipAny<I> {
    pub(crate) fn new(base: I, n: usize) -> Self {
        let quota = Quota::new(n);
        Self { base, quota }
    }
}

impl<I: Part> Part for SkipAny<I> {
    type Output = I::Output;

    fn split(&mut self) -> Option<Self> {
        let base = self.base.split()?;
        let quota = self.quota.share();
        Some(Self { base, quota })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(I::Output) -> ControlFlow<()>,
    {
        let quota = &self.quota;
        if quota.is_spent() {
            return self.base.run(budget, consume);
        }
        self.base.run(budget, |item| {
            if quota.take_one() {
                Continue(())
            } else {
                consume(item)
            }
        })
    }

    forward!(base, steps);
    open!(SkipAny { quota });
}

adaptor!([T: Send] SkipAny<> { quota } T => T);
