//! A join that is serial or parallel, so that divide and conquer is written once.

/// Runs two closures and returns both results.
pub trait Join {
    /// Returns when both closures have ended.
    fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send;
}

/// One closure after the other.
#[derive(Debug)]
pub struct Sequential;

impl Join for Sequential {
    #[inline]
    fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        (a(), b())
    }
}
