//! Sums, products and counts of items: a total of each grain, and a total of those.

use std::iter::{empty, once, Product, Sum};
use std::marker::PhantomData;
use std::ops::ControlFlow::{self, Continue};

use super::grain::GrainItems;
use crate::driver::{drive, Consumer};
use crate::part::Part;

/// The sum of all items.
pub(crate) fn sum<I, S>(iter: I) -> S
where
    I: Part,
    S: Send + Sum<I::Output> + Sum<S>,
{
    total::<_, _, Sums>(iter)
}

/// The product of all items.
pub(crate) fn product<I, S>(iter: I) -> S
where
    I: Part,
    S: Send + Product<I::Output> + Product<S>,
{
    total::<_, _, Products>(iter)
}

/// The number of items.
pub(crate) fn count<I: Part>(iter: I) -> usize {
    total::<_, _, Counts>(iter)
}

/// A total of items of type `T`, and of totals of them.
trait Combine<T, S> {
    fn items(items: impl Iterator<Item = T>) -> S;
    fn totals(totals: impl Iterator<Item = S>) -> S;

    #[inline]
    fn grain<P: Part<Output = T>>(part: &mut P, budget: &mut usize) -> (S, ControlFlow<()>) {
        GrainItems::with(part, budget, |items| Self::items(items))
    }
}

struct Sums;

impl<T, S: Sum<T> + Sum<S>> Combine<T, S> for Sums {
    #[inline]
    fn items(items: impl Iterator<Item = T>) -> S {
        items.sum()
    }

    #[inline]
    fn totals(totals: impl Iterator<Item = S>) -> S {
        totals.sum()
    }
}

struct Products;

impl<T, S: Product<T> + Product<S>> Combine<T, S> for Products {
    #[inline]
    fn items(items: impl Iterator<Item = T>) -> S {
        items.product()
    }

    #[inline]
    fn totals(totals: impl Iterator<Item = S>) -> S {
        totals.product()
    }
}

struct Counts;

impl<T> Combine<T, usize> for Counts {
    #[inline]
    fn items(items: impl Iterator<Item = T>) -> usize {
        items.count()
    }

    /// Written without an iterator in between, so that it compiles to a loop over a number.
    #[inline]
    fn grain<P: Part<Output = T>>(part: &mut P, budget: &mut usize) -> (usize, ControlFlow<()>) {
        let count = part.run_fold(budget, 0, |count, _| count + 1);
        (count, Continue(()))
    }

    #[inline]
    fn totals(totals: impl Iterator<Item = usize>) -> usize {
        totals.sum()
    }
}

fn total<I, S, By>(iter: I) -> S
where
    I: Part,
    S: Send,
    By: Combine<I::Output, S> + Send,
{
    let total = Total::<S, By> {
        so_far: None,
        by: PhantomData,
    };
    let so_far = drive(iter, total).so_far;
    so_far.unwrap_or_else(|| By::totals(empty()))
}

struct Total<S, By> {
    /// `None` before the first grain.
    so_far: Option<S>,
    by: PhantomData<By>,
}

impl<S, By> Total<S, By> {
    #[inline]
    fn add<T>(&mut self, next: S)
    where
        By: Combine<T, S>,
    {
        self.so_far = Some(match self.so_far.take() {
            None => next,
            Some(so_far) => By::totals([so_far, next].into_iter()),
        });
    }
}

impl<T, S, By> Consumer<T> for Total<S, By>
where
    S: Send,
    By: Combine<T, S> + Send,
{
    #[inline]
    fn consume(&mut self, item: T) -> ControlFlow<()> {
        self.add(By::items(once(item)));
        Continue(())
    }

    #[inline]
    fn take_grain<P>(&mut self, part: &mut P, budget: &mut usize) -> ControlFlow<()>
    where
        P: Part<Output = T>,
    {
        let (next, flow) = By::grain(part, budget);
        self.add(next);
        flow
    }

    fn split(&mut self, _lower_len: Option<usize>) -> Self {
        Self {
            so_far: None,
            by: PhantomData,
        }
    }

    fn merge(&mut self, upper: Self) {
        if let Some(upper) = upper.so_far {
            self.add(upper);
        }
    }
}
