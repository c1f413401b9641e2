//! Calls a closure with each item, and keeps nothing.

use std::ops::ControlFlow;

use crate::driver::Consumer;
use crate::part::Part;

/// Calls a closure with each item.
pub(crate) struct ForEach<'f, F> {
    op: &'f F,
}

impl<'f, F> ForEach<'f, F> {
    pub(crate) fn new(op: &'f F) -> Self {
        Self { op }
    }
}

impl<T, F: Fn(T) + Sync> Consumer<T> for ForEach<'_, F> {
    #[inline]
    fn consume(&mut self, item: T) -> ControlFlow<()> {
        (self.op)(item);
        ControlFlow::Continue(())
    }

    #[inline]
    fn take_grain<P>(&mut self, part: &mut P, budget: &mut usize) -> ControlFlow<()>
    where
        P: Part<Output = T>,
    {
        part.run_fold(budget, (), |(), item| (self.op)(item));
        ControlFlow::Continue(())
    }

    fn split(&mut self, _lower_len: Option<usize>) -> Self {
        Self { op: self.op }
    }

    fn merge(&mut self, _upper: Self) {}
}
