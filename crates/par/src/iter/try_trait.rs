//! The types that `?` works on, in a form that stable Rust lets us name.

use std::ops::ControlFlow::{self, Break, Continue};
use std::task::Poll;

/// A type that `?` works on: `Option`, `Result`, `ControlFlow`, or `Poll` of results.
///
/// Sealed: it cannot be named elsewhere.
#[doc(hidden)]
pub trait Try {
    /// The value to go on with.
    type Output;
    /// The value that stops it.
    type Residual;

    /// To go on with this.
    fn from_output(output: Self::Output) -> Self;

    /// To stop because of this.
    fn from_residual(residual: Self::Residual) -> Self;

    /// Whether it goes on.
    fn branch(self) -> ControlFlow<Self::Residual, Self::Output>;
}

impl<T> Try for Option<T> {
    type Output = T;
    type Residual = ();

    fn from_output(output: T) -> Self {
        Some(output)
    }

    fn from_residual((): ()) -> Self {
        None
    }

    fn branch(self) -> ControlFlow<(), T> {
        self.map_or(Break(()), Continue)
    }
}

impl<T, E> Try for Result<T, E> {
    type Output = T;
    type Residual = E;

    fn from_output(output: T) -> Self {
        Ok(output)
    }

    fn from_residual(residual: E) -> Self {
        Err(residual)
    }

    fn branch(self) -> ControlFlow<E, T> {
        self.map_or_else(Break, Continue)
    }
}

impl<B, C> Try for ControlFlow<B, C> {
    type Output = C;
    type Residual = B;

    fn from_output(output: C) -> Self {
        Continue(output)
    }

    fn from_residual(residual: B) -> Self {
        Break(residual)
    }

    fn branch(self) -> Self {
        self
    }
}

impl<T, E> Try for Poll<Result<T, E>> {
    type Output = Poll<T>;
    type Residual = E;

    fn from_output(output: Poll<T>) -> Self {
        output.map(Ok)
    }

    fn from_residual(residual: E) -> Self {
        Self::Ready(Err(residual))
    }

    fn branch(self) -> ControlFlow<E, Poll<T>> {
        match self {
            Self::Pending => Continue(Poll::Pending),
            Self::Ready(Ok(output)) => Continue(Poll::Ready(output)),
            Self::Ready(Err(error)) => Break(error),
        }
    }
}

impl<T, E> Try for Poll<Option<Result<T, E>>> {
    type Output = Poll<Option<T>>;
    type Residual = E;

    fn from_output(output: Poll<Option<T>>) -> Self {
        output.map(|output| output.map(Ok))
    }

    fn from_residual(residual: E) -> Self {
        Self::Ready(Some(Err(residual)))
    }

    fn branch(self) -> ControlFlow<E, Poll<Option<T>>> {
        match self {
            Self::Pending => Continue(Poll::Pending),
            Self::Ready(None) => Continue(Poll::Ready(None)),
            Self::Ready(Some(Ok(output))) => Continue(Poll::Ready(Some(output))),
            Self::Ready(Some(Err(error))) => Break(error),
        }
    }
}
