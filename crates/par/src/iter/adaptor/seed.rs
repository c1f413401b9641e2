//! A value of its own for each part of an iterator.

use super::shared::Counted;

/// Makes a value for each part.
#[expect(unnameable_types, reason = "a detail of the adaptors that use it")]
pub trait Seed: Clone + Send {
    /// The value.
    type Value;

    /// Makes one.
    fn make(&self) -> Self::Value;
}

/// By calling a closure, which all parts share.
#[expect(
    unnameable_types,
    missing_debug_implementations,
    reason = "a detail of the adaptors that use it, which do not show it"
)]
pub struct Call<F>(Counted<F>);

impl<F> Call<F> {
    pub(crate) fn new(init: F) -> Self {
        Self(Counted::new(init))
    }
}

impl<F> Clone for Call<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T, F: Fn() -> T + Sync + Send> Seed for Call<F> {
    type Value = T;

    fn make(&self) -> T {
        (self.0)()
    }
}

/// By cloning a value, of which each part has one: so it need not be `Sync`.
#[expect(
    unnameable_types,
    missing_debug_implementations,
    reason = "a detail of the adaptors that use it, which do not show it"
)]
#[derive(Clone)]
pub struct Template<T>(pub(crate) T);

impl<T: Clone + Send> Seed for Template<T> {
    type Value = T;

    fn make(&self) -> T {
        self.0.clone()
    }
}
