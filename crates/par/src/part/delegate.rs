//! The methods that an adaptor delegates to its base part.

/// The methods of `Part`, of a struct whose field `$inner` is the other one. A `$marker` is a field
/// without contents.
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
            Consume: FnMut(Self::Output) -> std::ops::ControlFlow<()>,
        {
            self.$inner.run(budget, consume)
        }

        #[inline]
        fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
        where
            Op: FnMut(Folded, Self::Output) -> Folded,
        {
            self.$inner.run_fold(budget, init, op)
        }

        fn known_len(&self) -> Option<usize> {
            self.$inner.known_len()
        }

        $crate::part::forward!($inner);
    };
}
pub(crate) use delegate;

/// The methods of `IndexedPart`, in the same way.
macro_rules! delegate_indexed {
    ($inner:ident $(, $marker:ident)?) => {
        #[inline]
        fn part_len(&self) -> usize {
            self.$inner.part_len()
        }

        fn split_off(&mut self, index: usize) -> Self {
            Self {
                $inner: self.$inner.split_off(index),
                $($marker: self.$marker,)?
            }
        }

        fn into_seq(self) -> impl DoubleEndedIterator<Item = Self::Output> + ExactSizeIterator {
            self.$inner.into_seq()
        }
    };
}
pub(crate) use delegate_indexed;

/// `open` and `open_indexed`, in the same way: they are those of the other one, which lends.
macro_rules! delegate_open {
    ($inner:ident) => {
        const IS_LENT: bool = true;

        fn open<K: $crate::part::Continuation<Self::Output>>(self, then: K) -> K::Output {
            self.$inner.open(then)
        }
    };
    (indexed $inner:ident) => {
        fn open_indexed<K: $crate::part::IndexedContinuation<Self::Output>>(
            self,
            then: K,
        ) -> K::Output {
            self.$inner.open_indexed(then)
        }
    };
}
pub(crate) use delegate_open;

/// `split_policy` and `pause` of an adaptor, and `steps` and `known_len` if they are named, from
/// the field in which its base is.
macro_rules! forward {
    ($base:ident, steps $(, $known_len:ident)?) => {
        #[inline]
        fn steps(&self) -> usize {
            self.$base.steps()
        }

        $(
            fn $known_len(&self) -> Option<usize> {
                self.$base.$known_len()
            }
        )?

        $crate::part::forward!($base);
    };
    ($($base:ident).+) => {
        fn split_policy(&self) -> $crate::SplitPolicy {
            self.$($base).+.split_policy()
        }

        fn pause(&mut self) {
            self.$($base).+.pause();
        }
    };
}
pub(crate) use forward;
