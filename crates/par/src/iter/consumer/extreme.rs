//! The smallest or the largest item.

use std::ops::ControlFlow::{self, Continue};

use crate::driver::{drive, Consumer};
use crate::part::Part;

/// The item that is left if of each two neighbours `op` leaves one.
///
/// Apart from [`Reduce`](super::Reduce), because these loops, and those over large accumulators,
/// are compiled well in different forms.
pub(crate) fn extreme<I, OP>(iter: I, op: OP) -> Option<I::Output>
where
    I: Part,
    OP: Fn(I::Output, I::Output) -> I::Output + Sync,
{
    let extreme = Extreme {
        so_far: None,
        op: &op,
    };
    drive(iter, extreme).so_far
}

struct Extreme<'f, T, OP> {
    so_far: Option<T>,
    op: &'f OP,
}

impl<T, OP> Consumer<T> for Extreme<'_, T, OP>
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
        let Some(so_far) = self.so_far.take() else {
            return part.run(budget, |item| self.consume(item));
        };
        // Not the field, of which a loop would have to look at each item whether it is empty.
        let (mut so_far, op) = (Some(so_far), self.op);
        let flow = part.run(budget, |item| {
            so_far = so_far.take().map(|before| op(before, item));
            Continue(())
        });
        self.so_far = so_far;
        flow
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
