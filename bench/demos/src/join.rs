//! The join of rayon.

pub(crate) use heist_workloads::{Join, Sequential};

/// Both at the same time, if a worker is free.
pub(crate) struct Parallel;

impl Join for Parallel {
    fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        rayon::join(a, b)
    }
}
