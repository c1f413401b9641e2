//! One item of all, by an operation that leaves one of two neighbours.

use std::any::type_name;
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
    let reduce = ReduceWith {
        so_far: None,
        op: &op,
    };
    drive(iter, reduce).so_far
}

/// True for integers of 64 bits, and pairs of them. As a fold, the larger of two is vectorised for
/// processors that cannot compare such integers in vectors, and takes three times as long as
/// without; in the form of `run` it is not, while sums still are. Floats are vectorised well as a
/// fold only. Which loop is run is known when it is compiled, and if the names of types should ever
/// be written in another way, the result is the same.
#[inline(always)]
fn is_wide_integer<T>() -> bool {
    let name = type_name::<T>();
    matches!(
        name,
        "u64" | "i64" | "usize" | "isize" | "(u64, u64)" | "(i64, i64)" | "(usize, usize)"
    )
}

/// Folds the items of a grain. It is a function of its own, so that the loop is the plain one:
/// within the driver's, the pairs of the least and the largest took one and a half times as long.
#[inline(never)]
#[expect(
    clippy::redundant_closure,
    reason = "by reference it would not be inlined"
)]
fn fold<P, OP>(part: &mut P, budget: &mut usize, first: P::Output, op: &OP) -> P::Output
where
    P: Part,
    OP: Fn(P::Output, P::Output) -> P::Output,
{
    if !is_wide_integer::<P::Output>() {
        return part.run_fold(budget, first, |a, b| op(a, b));
    }
    let mut so_far = Some(first);
    let _ = part.run(budget, |item| {
        so_far = so_far.take().map(|so_far| op(so_far, item));
        Continue(())
    });
    so_far.expect("only a panic leaves nothing")
}

struct ReduceWith<'f, T, OP> {
    so_far: Option<T>,
    op: &'f OP,
}

impl<T, OP> Consumer<T> for ReduceWith<'_, T, OP>
where
    T: Send,
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
    fn take_grain<P>(&mut self, part: &mut P, budget: &mut usize) -> ControlFlow<()>
    where
        P: Part<Output = T>,
    {
        // The fold begins with the first item, which most parts give at their first step.
        let mut most = 1;
        loop {
            if let Some(so_far) = self.so_far.take() {
                self.so_far = Some(fold(part, budget, so_far, self.op));
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
            op: self.op,
        }
    }

    fn merge(&mut self, upper: Self) {
        if let Some(upper) = upper.so_far {
            let _ = self.consume(upper);
        }
    }
}
