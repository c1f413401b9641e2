//! `with_cancellation`: the items before a flag is set.

use std::ops::ControlFlow;

use heist_core::CancellationToken;

use crate::part::{forward, Part};

/// The items before a flag is set: see
/// [`with_cancellation`](crate::iter::ParallelIterator::with_cancellation).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct WithCancellation<I> {
    base: I,
    token: CancellationToken,
}

impl<I> WithCancellation<I> {
    pub(crate) fn new(base: I, token: CancellationToken) -> Self {
        Self { base, token }
    }
}

impl<I: Part> Part for WithCancellation<I> {
    type Output = I::Output;

    #[inline]
    fn steps(&self) -> usize {
        if self.token.is_cancelled() {
            0
        } else {
            self.base.steps()
        }
    }

    fn split(&mut self) -> Option<Self> {
        let base = self.base.split()?;
        let token = self.token.clone();
        Some(Self { base, token })
    }

    #[inline]
    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(I::Output) -> ControlFlow<()>,
    {
        let (token, mut wants_more) = (&self.token, ControlFlow::Continue(()));
        let _ = self.base.run(budget, |item| {
            // Without a look at the clock, which `steps` has before each grain.
            if token.is_set() {
                return ControlFlow::Break(());
            }
            wants_more = consume(item);
            wants_more
        });
        wants_more
    }

    forward!(base);
}
