//! `while_some`: the contents of the options, until an empty one is found.

use std::ops::ControlFlow::{self, Break, Continue};

use super::quota::Quota;
use crate::part::{adaptor, forward, open, Part};

/// The contents of the options, until an empty one is found: see
/// [`while_some`](crate::iter::ParallelIterator::while_some).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct WhileSome<I> {
    base: I,
    /// Spent when there was an empty one.
    some: Quota,
}

impl<I> WhileSome<I> {
    pub(crate) fn new(base: I) -> Self {
        let some = Quota::new(1);
        Self { base, some }
    }
}

impl<I, T> Part for WhileSome<I>
where
    I: Part<Output = Option<T>>,
    T: Send,
{
    type Output = T;

    #[inline]
    fn steps(&self) -> usize {
        if self.some.is_spent() {
            0
        } else {
            self.base.steps()
        }
    }

    fn split(&mut self) -> Option<Self> {
        let base = self.base.split()?;
        let some = self.some.share();
        Some(Self { base, some })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(T) -> ControlFlow<()>,
    {
        let (some, mut ended) = (&self.some, false);
        let flow = self.base.run(budget, |item| match item {
            Some(item) if !some.is_spent() => consume(item),
            _ => {
                ended = true;
                Break(())
            }
        });
        if ended {
            some.spend();
            return Continue(());
        }
        flow
    }

    forward!(base);
    open!(WhileSome { some });
}

adaptor!([T: Send] WhileSome<> { some } Option<T> => T);
