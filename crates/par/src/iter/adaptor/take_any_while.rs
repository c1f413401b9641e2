//! `take_any_while`, `skip_any_while`: items until a closure returns false for one of them.

use std::ops::ControlFlow::{self, Break, Continue};

use super::debug_without_closures;
use super::quota::Quota;
use super::shared::Counted;
use crate::part::{adaptor, forward, open, Part};

/// The items until a closure returns false for one: see
/// [`take_any_while`](crate::iter::ParallelIterator::take_any_while).
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct TakeAnyWhile<I, P> {
    base: I,
    predicate: Counted<P>,
    /// Spent when it has returned false.
    taking: Quota,
}

debug_without_closures!(TakeAnyWhile<I; P> { base });

impl<I, P> TakeAnyWhile<I, P> {
    pub(crate) fn new(base: I, predicate: P) -> Self {
        Self {
            base,
            predicate: Counted::new(predicate),
            taking: Quota::new(1),
        }
    }
}

impl<I, P> Part for TakeAnyWhile<I, P>
where
    I: Part,
    P: Fn(&I::Output) -> bool + Sync + Send,
{
    type Output = I::Output;

    #[inline]
    fn steps(&self) -> usize {
        if self.taking.is_spent() {
            0
        } else {
            self.base.steps()
        }
    }

    fn split(&mut self) -> Option<Self> {
        let base = self.base.split()?;
        Some(Self {
            base,
            predicate: self.predicate.clone(),
            taking: self.taking.share(),
        })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(I::Output) -> ControlFlow<()>,
    {
        let (predicate, taking, mut ended) = (&*self.predicate, &self.taking, false);
        let flow = self.base.run(budget, |item| {
            if !taking.is_spent() && predicate(&item) {
                consume(item)
            } else {
                ended = true;
                Break(())
            }
        });
        if ended {
            taking.spend();
            return Continue(());
        }
        flow
    }

    forward!(base);
    open!(TakeAnyWhile { predicate, taking });
}

adaptor! {
    [T: Send, P] TakeAnyWhile<P> { predicate, taking } T => T
    where P: Fn(&T) -> bool + Sync + Send
}

/// The items since a closure returned false for one: see
/// [`skip_any_while`](crate::iter::ParallelIterator::skip_any_while).
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct SkipAnyWhile<I, P> {
    base: I,
    predicate: Counted<P>,
    /// Spent when it has returned false.
    skipping: Quota,
}

debug_without_closures!(SkipAnyWhile<I; P> { base });

impl<I, P> SkipAnyWhile<I, P> {
    pub(crate) fn new(base: I, predicate: P) -> Self {
        Self {
            base,
            predicate: Counted::new(predicate),
            skipping: Quota::new(1),
        }
    }
}

impl<I, P> Part for SkipAnyWhile<I, P>
where
    I: Part,
    P: Fn(&I::Output) -> bool + Sync + Send,
{
    type Output = I::Output;

    fn split(&mut self) -> Option<Self> {
        let base = self.base.split()?;
        Some(Self {
            base,
            predicate: self.predicate.clone(),
            skipping: self.skipping.share(),
        })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(I::Output) -> ControlFlow<()>,
    {
        let (predicate, skipping) = (&*self.predicate, &self.skipping);
        if skipping.is_spent() {
            return self.base.run(budget, consume);
        }
        self.base.run(budget, |item| {
            if !skipping.is_spent() {
                if predicate(&item) {
                    return Continue(());
                }
                skipping.spend();
            }
            consume(item)
        })
    }

    forward!(base, steps);
    open!(SkipAnyWhile {
        predicate,
        skipping
    });
}

adaptor! {
    [T: Send, P] SkipAnyWhile<P> { predicate, skipping } T => T
    where P: Fn(&T) -> bool + Sync + Send
}
