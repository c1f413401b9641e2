//! The plumbing of a parallel iterator that is another one under a name of its own.

/// The methods of `ParallelIterator`, of a struct whose field `$inner` is the other one.
/// A `$marker` is a field without contents.
macro_rules! delegate {
    ($inner:ident $(, $marker:ident)?) => {
        #[inline]
        fn steps(&self) -> usize {
            self.$inner.steps()
        }

        fn split(&mut self) -> Option<Self> {
            Some(Self {
                $inner: self.$inner.split()?,
                $($marker: self.$marker,)?
            })
        }

        #[inline]
        fn run<Consume>(
            &mut self,
            budget: &mut usize,
            consume: Consume,
        ) -> std::ops::ControlFlow<()>
        where
            Consume: FnMut(Self::Item) -> std::ops::ControlFlow<()>,
        {
            self.$inner.run(budget, consume)
        }

        fn opt_len(&self) -> Option<usize> {
            self.$inner.opt_len()
        }
    };
}
pub(crate) use delegate;

/// The methods of `IndexedParallelIterator`, in the same way.
macro_rules! delegate_indexed {
    ($inner:ident) => {
        #[inline]
        fn len(&self) -> usize {
            $crate::iter::IndexedParallelIterator::len(&self.$inner)
        }

        fn split_off(&mut self, index: usize) -> Self {
            Self {
                $inner: self.$inner.split_off(index),
            }
        }

        fn into_seq(self) -> impl DoubleEndedIterator<Item = Self::Item> + ExactSizeIterator {
            self.$inner.into_seq()
        }
    };
}
pub(crate) use delegate_indexed;
