//! `fold`, `try_fold` and their kin: each part becomes one item.

use std::marker::PhantomData;
use std::ops::ControlFlow::{self, Break, Continue};

use super::debug_without_closures;
use super::seed::{Call, Seed, Template};
use super::shared::Counted;
use crate::iter::Try;
use crate::part::{adaptor, forward, open, Part};

/// The result of each part's fold: see [`fold`](crate::iter::ParallelIterator::fold).
pub type Fold<I, ID, F> = FoldParts<I, Call<ID>, Plain, F>;

/// The result of each part's fold: see [`fold_with`](crate::iter::ParallelIterator::fold_with).
pub type FoldWith<I, T, F> = FoldParts<I, Template<T>, Plain, F>;

/// The result of each part's fold, which may fail: see
/// [`try_fold`](crate::iter::ParallelIterator::try_fold).
pub type TryFold<I, U, ID, F> = FoldParts<I, Call<ID>, Tried<U>, F>;

/// The result of each part's fold, which may fail: see
/// [`try_fold_with`](crate::iter::ParallelIterator::try_fold_with).
pub type TryFoldWith<I, U, F> = FoldParts<I, Template<<U as Try>::Output>, Tried<U>, F>;

/// The result of each part's fold.
#[expect(unnameable_types, reason = "it is named `Fold`, `TryFold` and so on")]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct FoldParts<I, S: Seed, O: Outcome<S::Value>, F> {
    base: I,
    seed: S,
    /// The result if the part ended here. `None` before it begins.
    so_far: Option<O::Given>,
    /// It has been given.
    done: bool,
    op: Counted<F>,
}

debug_without_closures!(FoldParts<I; S, O, F> { base } where S: Seed, O: Outcome<S::Value>);

impl<I, S: Seed, O: Outcome<S::Value>, F> FoldParts<I, S, O, F> {
    fn new(base: I, seed: S, op: F) -> Self {
        Self {
            base,
            seed,
            so_far: None,
            done: false,
            op: Counted::new(op),
        }
    }

    /// The same over another part, which begins afresh.
    fn over(&self, base: I) -> Self {
        Self {
            base,
            seed: self.seed.clone(),
            so_far: None,
            done: false,
            op: self.op.clone(),
        }
    }
}

impl<I, ID, T, O, F> FoldParts<I, Call<ID>, O, F>
where
    ID: Fn() -> T + Sync + Send,
    O: Outcome<T>,
{
    pub(crate) fn from_identity(base: I, identity: ID, op: F) -> Self {
        Self::new(base, Call::new(identity), op)
    }
}

impl<I, T, O, F> FoldParts<I, Template<T>, O, F>
where
    T: Clone + Send,
    O: Outcome<T>,
{
    pub(crate) fn from_init(base: I, init: T, op: F) -> Self {
        Self::new(base, Template(init), op)
    }
}

impl<I: Clone, S: Seed, O: Outcome<S::Value>, F> Clone for FoldParts<I, S, O, F> {
    /// # Panics
    ///
    /// Panics if this part has begun: what it has been folded into so far need not be `Clone`.
    fn clone(&self) -> Self {
        assert!(
            self.so_far.is_none() && !self.done,
            "`fold` and its kin can be cloned only before they have begun"
        );
        self.over(self.base.clone())
    }
}

impl<I, S, O, F> Part for FoldParts<I, S, O, F>
where
    I: Part,
    S: Seed,
    O: Outcome<S::Value>,
    F: Fn(S::Value, I::Output) -> O::Given + Sync + Send,
{
    type Output = O::Given;

    /// Those of the base: the last of them gives the item. If there are none, one for it.
    #[inline]
    fn steps(&self) -> usize {
        if self.done {
            0
        } else {
            self.base.steps().max(1)
        }
    }

    fn split(&mut self) -> Option<Self> {
        let upper = self.base.split()?;
        Some(self.over(upper))
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(O::Given) -> ControlFlow<()>,
    {
        if self.done {
            return Continue(());
        }
        if self.base.steps() == 0 {
            *budget = budget.saturating_sub(1);
        }
        let before = match self.so_far.take() {
            Some(so_far) => O::branch(so_far),
            None => Continue(self.seed.make()),
        };
        let folded = match before {
            Continue(acc) => O::fold(&mut self.base, budget, acc, &*self.op),
            failed => failed,
        };
        let given = match folded {
            Break(failed) => failed,
            Continue(acc) => {
                let so_far = O::of(acc);
                if self.base.steps() > 0 {
                    self.so_far = Some(so_far);
                    return Continue(());
                }
                so_far
            }
        };
        self.done = true;
        consume(given)
    }

    forward!(base);
    open!(FoldParts<S, O, F> { seed, so_far, done, op });
}

adaptor! {
    [T, S: Seed, O: Outcome<S::Value>, F] FoldParts<S, O, F> { seed, so_far, done, op } T => O::Given
    where F: Fn(S::Value, T) -> O::Given + Sync + Send
}

/// The result of a fold whose accumulators are of type `A`.
#[expect(unnameable_types, reason = "a detail of `FoldParts`")]
pub trait Outcome<A> {
    /// The result, and the type that each call returns.
    type Given: Send;

    /// The result if this is the last accumulator.
    fn of(acc: A) -> Self::Given;

    /// Whether the fold goes on, and with what.
    fn branch(returned: Self::Given) -> ControlFlow<Self::Given, A>;

    /// Folds the items that the budget allows into an accumulator.
    fn fold<I: Part>(
        base: &mut I,
        budget: &mut usize,
        acc: A,
        op: impl Fn(A, I::Output) -> Self::Given,
    ) -> ControlFlow<Self::Given, A>;
}

/// The accumulator itself: it always goes on.
#[expect(unnameable_types, reason = "a detail of `FoldParts`")]
#[derive(Debug)]
pub struct Plain;

impl<A: Send> Outcome<A> for Plain {
    type Given = A;

    #[inline]
    fn of(acc: A) -> A {
        acc
    }

    #[inline]
    fn branch(returned: A) -> ControlFlow<A, A> {
        Continue(returned)
    }

    #[inline]
    #[expect(
        clippy::redundant_closure,
        reason = "by reference it would not be inlined"
    )]
    fn fold<I: Part>(
        base: &mut I,
        budget: &mut usize,
        acc: A,
        op: impl Fn(A, I::Output) -> A,
    ) -> ControlFlow<A, A> {
        Continue(base.run_fold(budget, acc, |acc, item| op(acc, item)))
    }
}

/// An `Option`, a `Result` or the like, which may end it.
#[expect(unnameable_types, reason = "a detail of `FoldParts`")]
#[derive(Debug)]
pub struct Tried<U>(PhantomData<U>);

impl<U: Try + Send> Outcome<U::Output> for Tried<U> {
    type Given = U;

    #[inline]
    fn of(acc: U::Output) -> U {
        U::from_output(acc)
    }

    #[inline]
    fn branch(returned: U) -> ControlFlow<U, U::Output> {
        match returned.branch() {
            Continue(acc) => Continue(acc),
            Break(residual) => Break(U::from_residual(residual)),
        }
    }

    #[inline]
    fn fold<I: Part>(
        base: &mut I,
        budget: &mut usize,
        acc: U::Output,
        op: impl Fn(U::Output, I::Output) -> U,
    ) -> ControlFlow<U, U::Output> {
        let mut now = Some(Continue(acc));
        let _ = base.run(budget, |item| {
            now = now.take().map(|before| match before {
                Continue(acc) => Self::branch(op(acc, item)),
                failed => failed,
            });
            match now {
                Some(Continue(_)) => Continue(()),
                _ => Break(()),
            }
        });
        now.expect("only a panic leaves nothing")
    }
}
