//! Gives the halves of pairs to a consumer each.

use crate::engine::Consumer;
use std::ops::ControlFlow;

/// Gives the halves of pairs to a consumer each.
pub(crate) struct Both<A, B>(pub(crate) A, pub(crate) B);

impl<T, U, A, B> Consumer<(T, U)> for Both<A, B>
where
    A: Consumer<T>,
    B: Consumer<U>,
{
    #[inline]
    fn consume(&mut self, (left, right): (T, U)) -> ControlFlow<()> {
        self.0.consume(left)?;
        self.1.consume(right)
    }

    fn split(&mut self, lower_len: Option<usize>) -> Self {
        Self(self.0.split(lower_len), self.1.split(lower_len))
    }

    fn merge(&mut self, upper: Self) {
        self.0.merge(upper.0);
        self.1.merge(upper.1);
    }
}
