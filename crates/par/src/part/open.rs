//! Parts whose source lends its items only for the time of a call.
//!
//! An iterator of another crate that speaks rayon's plumbing hands a producer to a callback, and
//! what the producer borrows is gone when the callback returns. So the chain above it is taken
//! apart down to such a source, put together again over what the source lends, and driven there.
//! Where all sources are values, as all of ours are, nothing of this is compiled.

use super::{IndexedPart, Part};

/// The rest of a consumer, which gets a part.
pub trait Continuation<T: Send>: Send {
    /// The result.
    type Output: Send;

    /// Goes on with that part.
    fn run<P: Part<Output = T>>(self, part: P) -> Self::Output;
}

/// The same, of a consumer that needs the length.
pub trait IndexedContinuation<T: Send> {
    /// The result.
    type Output;

    /// Goes on with that part.
    fn run<P: IndexedPart<Output = T>>(self, part: P) -> Self::Output;
}
