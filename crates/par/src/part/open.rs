//! Parts whose source lends its items only for the duration of a call.
//!
//! An iterator of another crate that speaks rayon's plumbing hands a producer to a callback, and
//! the producer's borrows end when the callback returns. So the chain above such a source is taken
//! apart, put together again over the producer, and driven inside the callback. Where all sources
//! are values, as all of heist's are, none of this is compiled.

use super::{IndexedPart, Part};

/// The continuation of a consumer, which is called with the part to drive.
pub trait Continuation<T>: Send {
    /// The result.
    type Output: Send;

    /// Goes on with that part.
    fn run<P: Part<Output = T>>(self, part: P) -> Self::Output;
}

/// The continuation of a consumer that needs the length.
pub trait IndexedContinuation<T> {
    /// The result.
    type Output;

    /// Goes on with that part.
    fn run<P: IndexedPart<Output = T>>(self, part: P) -> Self::Output;
}

/// An adaptor without its base: it is put together again over another part.
pub(crate) trait Adaptor<T>: Send {
    /// The items of the whole.
    type Output: Send;
    /// The adaptor over that part.
    type Over<P: Part<Output = T>>: Part<Output = Self::Output>;

    /// Puts it over that part.
    fn over<P: Part<Output = T>>(self, base: P) -> Self::Over<P>;
}

/// A continuation that puts an adaptor over the part, and goes on.
pub(crate) struct Over<A, K> {
    pub(crate) adaptor: A,
    pub(crate) then: K,
}

impl<T, A, K> Continuation<T> for Over<A, K>
where
    A: Adaptor<T>,
    K: Continuation<A::Output>,
{
    type Output = K::Output;

    fn run<P: Part<Output = T>>(self, part: P) -> K::Output {
        self.then.run(self.adaptor.over(part))
    }
}

/// `open` of an adaptor `$name` whose base is `base: I`, and which has the other fields `$field`.
macro_rules! open {
    ($name:ident $(<$($arg:ident),+>)? { $($field:ident),* }) => {
        const IS_LENT: bool = I::IS_LENT;

        fn open<K: $crate::part::Continuation<Self::Output>>(self, then: K) -> K::Output {
            let Self { base, $($field),* } = self;
            let adaptor = $name $(::<(), $($arg),+>)? { base: (), $($field),* };
            base.open($crate::part::Over { adaptor, then })
        }
    };
}
pub(crate) use open;

/// The adaptor `$name` over another part: what it makes of items of type `$item`.
macro_rules! adaptor {
    (
        [$($generics:tt)+] $name:ident<$($arg:ident),*> { $($field:ident),* }
        $item:ty => $output:ty $(where $($bounds:tt)+)?
    ) => {
        impl<$($generics)+> $crate::part::Adaptor<$item> for $name<() $(, $arg)*>
        $(where $($bounds)+)?
        {
            type Output = $output;
            type Over<Base: Part<Output = $item>> = $name<Base $(, $arg)*>;

            fn over<Base: Part<Output = $item>>(self, base: Base) -> Self::Over<Base> {
                let Self { base: (), $($field),* } = self;
                $name { base, $($field),* }
            }
        }
    };
}
pub(crate) use adaptor;
