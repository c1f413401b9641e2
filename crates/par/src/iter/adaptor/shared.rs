//! A closure that all parts of an adaptor call.

use std::mem;
use std::sync::Arc;

/// A closure that lies in its part until the part is split, and is counted from then on. So a loop
/// that nobody helps with allocates nothing for it.
#[derive(Clone)]
pub(crate) struct Shared<F>(Place<F>);

#[derive(Clone)]
enum Place<F> {
    Here(F),
    Counted(Arc<F>),
    /// Within `share`.
    Nowhere,
}

impl<F> Shared<F> {
    #[inline]
    pub(crate) fn new(op: F) -> Self {
        Self(Place::Here(op))
    }

    /// The closure.
    #[inline]
    pub(crate) fn get(&self) -> &F {
        match &self.0 {
            Place::Here(op) => op,
            Place::Counted(op) => op,
            Place::Nowhere => unreachable!("a closure lies somewhere"),
        }
    }

    /// The same closure, for another part.
    pub(crate) fn share(&mut self) -> Self {
        let op = match mem::replace(&mut self.0, Place::Nowhere) {
            Place::Here(op) => Arc::new(op),
            Place::Counted(op) => op,
            Place::Nowhere => unreachable!("a closure lies somewhere"),
        };
        self.0 = Place::Counted(Arc::clone(&op));
        Self(Place::Counted(op))
    }
}
