//! Parallel iterators that are another one under a name of their own.

/// A source that is another one, `$inner`, under a name of its own: made of a
/// collection, of which `$into` makes what gives the other one. If it shares items by
/// reference (`shared`), a clone needs no clones of them.
macro_rules! source {
    (
        $(#[$attribute:meta])*
        $name:ident $generics:tt($inner:ty) -> $item:ty $(, $kind:ident)?;
        |$collection:ident: $from:ty| $into:expr $(, for all $other:ident)?
    ) => {
        $crate::delegate::source!(@type $generics $name, $inner, $item, $(#[$attribute])*);
        $crate::delegate::source!(@from $generics $name, $collection, $from, $into $(, $other)?);
        $($crate::delegate::source!(@$kind $generics $name);)?
    };
    (
        @type [$($lifetime:lifetime,)? $($param:ident: $bound:ident),+]
        $name:ident, $inner:ty, $item:ty, $(#[$attribute:meta])*
    ) => {
        $(#[$attribute])*
        #[derive(Debug)]
        #[must_use = "a parallel iterator does nothing until it is consumed"]
        pub struct $name<$($lifetime,)? $($param),+> {
            inner: $inner,
        }

        impl<$($lifetime,)? $($param: $bound),+> $crate::iter::ParallelIterator
            for $name<$($lifetime,)? $($param),+>
        {
            type Item = $item;

            $crate::delegate::delegate!(inner);
        }

        impl<$($lifetime,)? $($param: $bound),+> $crate::iter::IndexedParallelIterator
            for $name<$($lifetime,)? $($param),+>
        {
            $crate::delegate::delegate_indexed!(inner);
        }
    };
    (
        @from [$($lifetime:lifetime,)? $($param:ident: $bound:ident),+]
        $name:ident, $collection:ident, $from:ty, $into:expr $(, $other:ident)?
    ) => {
        impl<$($lifetime,)? $($param: $bound,)+ $($other)?> $crate::iter::IntoParallelIterator
            for $from
        {
            type Iter = $name<$($lifetime,)? $($param),+>;
            type Item = <Self::Iter as $crate::iter::ParallelIterator>::Item;

            fn into_par_iter(self) -> Self::Iter {
                let $collection = self;
                let inner = $crate::iter::IntoParallelIterator::into_par_iter($into);
                $name { inner }
            }
        }
    };
    (@shared [$lifetime:lifetime, $($param:ident: $bound:ident),+] $name:ident) => {
        impl<$lifetime, $($param),+> Clone for $name<$lifetime, $($param),+> {
            fn clone(&self) -> Self {
                let inner = self.inner.clone();
                Self { inner }
            }
        }
    };
}
pub(crate) use source;

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

        fn split_policy(&self) -> $crate::SplitPolicy {
            self.$inner.split_policy()
        }

        fn pause(&mut self) {
            self.$inner.pause();
        }
    };
}
pub(crate) use delegate;

/// The methods of `IndexedParallelIterator`, in the same way.
macro_rules! delegate_indexed {
    ($inner:ident $(, $marker:ident)?) => {
        #[inline]
        fn len(&self) -> usize {
            $crate::iter::IndexedParallelIterator::len(&self.$inner)
        }

        fn split_off(&mut self, index: usize) -> Self {
            Self {
                $inner: self.$inner.split_off(index),
                $($marker: self.$marker,)?
            }
        }

        fn into_seq(self) -> impl DoubleEndedIterator<Item = Self::Item> + ExactSizeIterator {
            self.$inner.into_seq()
        }
    };
}
pub(crate) use delegate_indexed;
