//! The items of a grain as an ordinary iterator, for what only such iterators are given to.

use std::collections::VecDeque;
use std::ops::ControlFlow::{self, Continue};

use crate::part::Part;

/// The items that [`run`](Part::run) gives for a budget.
///
/// `fold`, and what is made of it, is one call of `run`. `next` is one for each step that gives
/// items, and a few for those between.
pub(crate) struct GrainItems<'p, P: Part> {
    part: &'p mut P,
    budget: &'p mut usize,
    /// The last answer of `run`, once it has been given.
    flow: &'p mut Option<ControlFlow<()>>,
    /// Items that came with one that was asked for.
    ahead: VecDeque<P::Output>,
}

impl<P: Part> GrainItems<'_, P> {
    /// Hands the items to `op`, which need not take them all: the others are dropped.
    #[inline]
    pub(crate) fn with<R>(
        part: &mut P,
        budget: &mut usize,
        op: impl FnOnce(GrainItems<'_, P>) -> R,
    ) -> (R, ControlFlow<()>) {
        let mut flow = None;
        let result = op(GrainItems {
            part: &mut *part,
            budget: &mut *budget,
            flow: &mut flow,
            ahead: VecDeque::new(),
        });
        let flow = flow.unwrap_or_else(|| part.run(budget, |_| Continue(())));
        (result, flow)
    }
}

impl<P: Part> Iterator for GrainItems<'_, P> {
    type Item = P::Output;

    fn next(&mut self) -> Option<P::Output> {
        let mut first = self.ahead.pop_front();
        let mut steps = 1;
        while first.is_none() && self.flow.is_none() && *self.budget > 0 {
            steps = steps.min(*self.budget);
            let (mut left, ahead) = (steps, &mut self.ahead);
            let flow = self.part.run(&mut left, |item| {
                match first {
                    None => first = Some(item),
                    Some(_) => ahead.push_back(item),
                }
                Continue(())
            });
            *self.budget -= steps - left;
            if flow.is_break() || left > 0 {
                *self.flow = Some(flow);
            }
            // Most steps give nothing here.
            steps *= 2;
        }
        first
    }

    #[inline]
    fn fold<B, F>(self, init: B, mut f: F) -> B
    where
        F: FnMut(B, P::Output) -> B,
    {
        let mut so_far = self.ahead.into_iter().fold(init, &mut f);
        if self.flow.is_none() {
            so_far = self.part.run_fold(self.budget, so_far, f);
            *self.flow = Some(Continue(()));
        }
        so_far
    }
}
