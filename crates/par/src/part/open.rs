//! Parts whose source lends its items only for the duration of a call.
//!
//! An iterator of another crate that speaks rayon's plumbing hands a producer to a callback, and
//! the producer's borrows end when the callback returns. So the chain above such a source is taken
//! apart, put together again over the producer, and driven inside the callback. heist's own drains
//! of vectors are opened too, so that the caller keeps a share of the vector until the end. Where
//! all sources are values, as the others of heist's are, none of this is compiled.

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

/// As [`Adaptor`], of parts that can be cut at any index.
pub(crate) trait IndexedAdaptor<T>: Send {
    /// The items of the whole.
    type Output: Send;
    /// The adaptor over that part.
    type Over<P: IndexedPart<Output = T>>: IndexedPart<Output = Self::Output>;

    /// Puts it over that part.
    fn over<P: IndexedPart<Output = T>>(self, base: P) -> Self::Over<P>;
}

/// An adaptor of two parts, without them.
pub(crate) trait Joint<T, U> {
    /// The items of the whole.
    type Output: Send;
    /// The adaptor of those parts.
    type Of<A: IndexedPart<Output = T>, B: IndexedPart<Output = U>>: IndexedPart<
        Output = Self::Output,
    >;

    /// Puts it over those parts.
    fn of<A, B>(self, a: A, b: B) -> Self::Of<A, B>
    where
        A: IndexedPart<Output = T>,
        B: IndexedPart<Output = U>;
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

impl<T, A, K> IndexedContinuation<T> for Over<A, K>
where
    A: IndexedAdaptor<T>,
    K: IndexedContinuation<A::Output>,
{
    type Output = K::Output;

    fn run<P: IndexedPart<Output = T>>(self, part: P) -> K::Output {
        self.then.run(self.adaptor.over(part))
    }
}

/// Goes on without the length.
pub(crate) struct Unindexed<K>(pub(crate) K);

impl<T, K: Continuation<T>> IndexedContinuation<T> for Unindexed<K> {
    type Output = K::Output;

    fn run<P: IndexedPart<Output = T>>(self, part: P) -> K::Output {
        self.0.run(part)
    }
}

/// Opens two parts, one after the other, and goes on with an adaptor of both.
pub(crate) fn open_both<A, B, J, K>(a: A, b: B, joint: J, then: K) -> K::Output
where
    A: IndexedPart,
    B: IndexedPart,
    J: Joint<A::Output, B::Output>,
    K: IndexedContinuation<J::Output>,
{
    a.open_indexed(First { b, joint, then })
}

/// Goes on with the first of two parts.
struct First<B, J, K> {
    b: B,
    joint: J,
    then: K,
}

impl<T, B, J, K> IndexedContinuation<T> for First<B, J, K>
where
    B: IndexedPart,
    J: Joint<T, B::Output>,
    K: IndexedContinuation<J::Output>,
{
    type Output = K::Output;

    fn run<A: IndexedPart<Output = T>>(self, a: A) -> K::Output {
        let Self { b, joint, then } = self;
        b.open_indexed(Second { a, joint, then })
    }
}

/// Goes on with the second.
struct Second<A, J, K> {
    a: A,
    joint: J,
    then: K,
}

impl<U, A, J, K> IndexedContinuation<U> for Second<A, J, K>
where
    A: IndexedPart,
    J: Joint<A::Output, U>,
    K: IndexedContinuation<J::Output>,
{
    type Output = K::Output;

    fn run<B: IndexedPart<Output = U>>(self, b: B) -> K::Output {
        self.then.run(self.joint.of(self.a, b))
    }
}

/// `open` of an adaptor `$name` whose base is `base: I`, and which has the other fields `$field`;
/// with `indexed`, `open_indexed`.
macro_rules! open {
    (indexed $name:ident $(<$($arg:ident),+>)? { $($field:ident),* }) => {
        fn open_indexed<K: $crate::part::IndexedContinuation<Self::Output>>(
            self,
            then: K,
        ) -> K::Output {
            let Self { base, $($field),* } = self;
            let adaptor = $name $(::<(), $($arg),+>)? { base: (), $($field),* };
            base.open_indexed($crate::part::Over { adaptor, then })
        }
    };
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

/// `open` of an adaptor of `$base`, all of which need the length, by its `open_indexed`.
macro_rules! open_by_length {
    ($first:ident $(, $second:ident)?) => {
        const IS_LENT: bool = $first::IS_LENT $(|| $second::IS_LENT)?;

        fn open<K: $crate::part::Continuation<Self::Output>>(self, then: K) -> K::Output {
            self.open_indexed($crate::part::Unindexed(then))
        }
    };
}
pub(crate) use open_by_length;

/// The adaptor `$name` over another part: what it makes of items of type `$item`. With `indexed`,
/// over a part that can be cut at any index; with `both`, over either.
macro_rules! adaptor {
    (both $($adaptor:tt)*) => {
        $crate::part::adaptor!($($adaptor)*);
        $crate::part::adaptor!(indexed $($adaptor)*);
    };
    (indexed $($adaptor:tt)*) => {
        $crate::part::adaptor!(IndexedAdaptor, IndexedPart: $($adaptor)*);
    };
    ([$($generics:tt)*] $($adaptor:tt)*) => {
        $crate::part::adaptor!(Adaptor, Part: [$($generics)*] $($adaptor)*);
    };
    (
        $trait:ident, $part:ident:
        [$($generics:tt)+] $name:ident<$($arg:ident),*> { $($field:ident),* }
        $item:ty => $output:ty $(where $($bounds:tt)+)?
    ) => {
        impl<$($generics)+> $crate::part::$trait<$item> for $name<() $(, $arg)*>
        $(where $($bounds)+)?
        {
            type Output = $output;
            type Over<Base: $crate::part::$part<Output = $item>> = $name<Base $(, $arg)*>;

            fn over<Base: $crate::part::$part<Output = $item>>(
                self,
                base: Base,
            ) -> Self::Over<Base> {
                let Self { base: (), $($field),* } = self;
                $name { base, $($field),* }
            }
        }
    };
}
pub(crate) use adaptor;
