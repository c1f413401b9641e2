//! Folds each part into a value, and the values of neighbouring parts into one.

use std::ops::ControlFlow;

use crate::driver::Consumer;

/// Folds each part into a value, and the values of neighbouring parts into one.
pub(crate) struct Reduce<'f, V, Begin, Take, Merge> {
    value: V,
    begin: &'f Begin,
    take: &'f Take,
    merge: &'f Merge,
}

impl<'f, V, Begin, Take, Merge> Reduce<'f, V, Begin, Take, Merge>
where
    Begin: Fn() -> V,
{
    /// A part begins with `begin()`, takes items by `take`, and takes in the value of the part
    /// above it by `merge`.
    pub(crate) fn new(begin: &'f Begin, take: &'f Take, merge: &'f Merge) -> Self {
        let value = begin();
        Self {
            value,
            begin,
            take,
            merge,
        }
    }

    pub(crate) fn into_result(self) -> V {
        self.value
    }
}

impl<T, V, Begin, Take, Merge> Consumer<T> for Reduce<'_, V, Begin, Take, Merge>
where
    V: Send,
    Begin: Fn() -> V + Sync,
    Take: Fn(&mut V, T) -> ControlFlow<()> + Sync,
    Merge: Fn(&mut V, V) + Sync,
{
    #[inline]
    fn consume(&mut self, item: T) -> ControlFlow<()> {
        (self.take)(&mut self.value, item)
    }

    fn split(&mut self, _lower_len: Option<usize>) -> Self {
        Self {
            value: (self.begin)(),
            ..*self
        }
    }

    fn merge(&mut self, upper: Self) {
        (self.merge)(&mut self.value, upper.value);
    }
}
