//! Sources that are another one under a name of their own.

/// A source that is another one, `$inner`, under a name of its own: made of a collection, of which
/// `$into` makes what gives the other one. If it shares items by reference (`shared`), a clone
/// needs no clones of them.
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

        impl<$($lifetime,)? $($param: $bound),+> $crate::part::Part
            for $name<$($lifetime,)? $($param),+>
        {
            type Output = $item;

            $crate::part::delegate!(inner);
        }

        impl<$($lifetime,)? $($param: $bound),+> $crate::part::IndexedPart
            for $name<$($lifetime,)? $($param),+>
        {
            $crate::part::delegate_indexed!(inner);
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
            type Item = <Self::Iter as $crate::part::Part>::Output;

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
