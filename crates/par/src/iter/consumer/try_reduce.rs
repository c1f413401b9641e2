//! Combines what is in all items, until a failure.

use std::ops::ControlFlow;

use heist_sync::atomic::{AtomicBool, Ordering};

use crate::driver::{drive, Consumer};
use crate::iter::Try;
use crate::part::Part;

/// Combines what is in all items by `op`, neighbours with neighbours, or returns a failure: of an
/// item or of `op`.
pub(crate) fn try_reduce<I, R, OP>(iter: I, op: OP) -> Option<R>
where
    I: Part<Output = R>,
    R: Try + Send,
    OP: Fn(R::Output, R::Output) -> R + Sync,
{
    let reduce = TryReduce {
        op: &op,
        has_failed: &AtomicBool::new(false),
        value: None,
    };
    drive(iter, reduce).value
}

struct TryReduce<'f, R, OP> {
    op: &'f OP,
    /// Relaxed, because the failure itself comes with the parts: one that sees it late takes a few
    /// items too many.
    has_failed: &'f AtomicBool,
    value: Option<R>,
}

impl<R, OP> TryReduce<'_, R, OP>
where
    R: Try,
    OP: Fn(R::Output, R::Output) -> R,
{
    /// Takes in the value behind this part's; `Break` if one of the two or what `op` makes of them
    /// is a failure.
    #[inline]
    fn take(&mut self, behind: R) -> ControlFlow<()> {
        let combined = match self.value.take() {
            None => behind.branch(),
            Some(value) => combine(self.op, value, behind),
        };
        match combined {
            ControlFlow::Continue(output) => {
                self.value = Some(R::from_output(output));
                ControlFlow::Continue(())
            }
            ControlFlow::Break(residual) => {
                self.value = Some(R::from_residual(residual));
                self.has_failed.store(true, Ordering::Relaxed);
                ControlFlow::Break(())
            }
        }
    }
}

#[inline]
fn combine<R: Try>(
    op: &impl Fn(R::Output, R::Output) -> R,
    a: R,
    b: R,
) -> ControlFlow<R::Residual, R::Output> {
    op(a.branch()?, b.branch()?).branch()
}

impl<R, OP> Consumer<R> for TryReduce<'_, R, OP>
where
    R: Try + Send,
    OP: Fn(R::Output, R::Output) -> R + Sync,
{
    #[inline]
    fn consume(&mut self, item: R) -> ControlFlow<()> {
        if self.is_full() {
            return ControlFlow::Break(());
        }
        self.take(item)
    }

    /// A failure elsewhere is seen at the next grain.
    #[inline]
    fn take_grain<P>(&mut self, part: &mut P, budget: &mut usize) -> ControlFlow<()>
    where
        P: Part<Output = R>,
    {
        let Some(value) = self.value.take() else {
            return part.run(budget, |item| self.take(item));
        };
        let (mut value, op) = (Some(value), self.op);
        let flow = part.run(budget, |item| {
            let combined = value.take().map(|before| combine(op, before, item));
            let (after, flow) = match combined {
                None => (None, ControlFlow::Continue(())),
                Some(ControlFlow::Continue(output)) => {
                    (Some(R::from_output(output)), ControlFlow::Continue(()))
                }
                Some(ControlFlow::Break(residual)) => {
                    (Some(R::from_residual(residual)), ControlFlow::Break(()))
                }
            };
            value = after;
            flow
        });
        self.value = value;
        if flow.is_break() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        flow
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    fn split(&mut self, _lower_len: Option<usize>) -> Self {
        Self {
            value: None,
            ..*self
        }
    }

    fn merge(&mut self, upper: Self) {
        let Some(value) = upper.value else {
            return;
        };
        if !self.is_full() {
            let _ = self.take(value);
            return;
        }
        // Some parts have stopped early, so that these two may be no neighbours, and `op` is not
        // for them: what counts is a failure.
        let both = self.value.take().into_iter().chain([value]);
        let mut failures = both.filter_map(|value| match value.branch() {
            ControlFlow::Break(residual) => Some(residual),
            ControlFlow::Continue(_) => None,
        });
        self.value = failures.next().map(R::from_residual);
    }
}
