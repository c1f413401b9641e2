//! One item of all, by an operation that leaves one of two neighbours.

use std::mem::needs_drop;
use std::ops::ControlFlow::{self, Continue};

use crate::driver::{drive, Consumer};
use crate::part::Part;

/// The item that is left if `op` makes one of each two neighbours; none if there are no items.
///
/// Apart from [`Reduce`](super::Reduce), whose accumulators are changed in their place: these loops
/// have theirs in registers, and those over numbers are vectorised.
pub(crate) fn reduce_with<I, OP>(iter: I, op: OP) -> Option<I::Output>
where
    I: Part,
    OP: Fn(I::Output, I::Output) -> I::Output + Sync,
{
    begun_with(iter, &|| None, op)
}

/// As [`reduce_with`], and `identity()` if there are no items. Each part begins with one, if it is
/// a number or the like: then the loop is that over all items, without the first one apart. A value
/// that allocates begins as the first item, because `op` may copy all that it holds.
pub(crate) fn reduce<I, ID, OP>(iter: I, identity: ID, op: OP) -> I::Output
where
    I: Part,
    ID: Fn() -> I::Output + Sync,
    OP: Fn(I::Output, I::Output) -> I::Output + Sync,
{
    let is_plain = !needs_drop::<I::Output>() && size_of::<I::Output>() <= FEW_BYTES;
    let begin = || is_plain.then(&identity);
    begun_with(iter, &begin, op).unwrap_or_else(&identity)
}

fn begun_with<I, Begin, OP>(iter: I, begin: &Begin, op: OP) -> Option<I::Output>
where
    I: Part,
    Begin: Fn() -> Option<I::Output> + Sync,
    OP: Fn(I::Output, I::Output) -> I::Output + Sync,
{
    let reduce = ReduceWith {
        so_far: None,
        begin,
        op: &op,
    };
    drive(iter, reduce).so_far
}

/// A larger value is no number.
const FEW_BYTES: usize = 64;
/// The first items are taken one by one: so many of a long grain, for the alignment of the others.
const FIRST: usize = 64;

struct ReduceWith<'f, T, Begin, OP> {
    so_far: Option<T>,
    /// The value with which a part begins, if not with its first item.
    begin: &'f Begin,
    op: &'f OP,
}

impl<T, Begin, OP> Consumer<T> for ReduceWith<'_, T, Begin, OP>
where
    T: Send,
    Begin: Fn() -> Option<T> + Sync,
    OP: Fn(T, T) -> T + Sync,
{
    #[inline]
    fn consume(&mut self, item: T) -> ControlFlow<()> {
        self.so_far = Some(match self.so_far.take() {
            None => item,
            Some(so_far) => (self.op)(so_far, item),
        });
        Continue(())
    }

    #[inline]
    #[expect(
        clippy::redundant_closure,
        reason = "by reference it would not be inlined"
    )]
    fn take_grain<P>(&mut self, part: &mut P, budget: &mut usize) -> ControlFlow<()>
    where
        P: Part<Output = T>,
    {
        // The fold begins with the first item, which most parts give at their first step.
        let is_long = (*budget).min(part.steps()) >= 16 * FIRST;
        let mut most = if is_long { FIRST } else { 1 };
        loop {
            if let Some(so_far) = self.so_far.take().or_else(self.begin) {
                let op = self.op;
                self.so_far = Some(part.run_fold(budget, so_far, |a, b| op(a, b)));
                return Continue(());
            }
            let steps = most.min(*budget);
            let mut left = steps;
            part.run(&mut left, |item| self.consume(item))?;
            *budget -= steps - left;
            if left > 0 || *budget == 0 {
                return Continue(());
            }
            most = steps.saturating_mul(2);
        }
    }

    fn split(&mut self, _lower_len: Option<usize>) -> Self {
        Self {
            so_far: None,
            ..*self
        }
    }

    fn merge(&mut self, upper: Self) {
        if let Some(upper) = upper.so_far {
            let _ = self.consume(upper);
        }
    }
}
