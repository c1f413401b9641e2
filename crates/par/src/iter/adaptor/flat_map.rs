//! `flat_map`, `flatten`: the items of what the items are, in parallel there too.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::debug_without_closures;
use super::shared::Counted;
use crate::granularity::SplitPolicy;
use crate::part::{Adaptor, Continuation, Over, Part};

/// The items of the parallel iterators that the items are: see
/// [`flatten`](crate::iter::ParallelIterator::flatten).
pub type Flatten<I> = FlatMap<I, Itself>;

/// The items of the parallel iterators that a closure makes: see
/// [`flat_map`](crate::iter::ParallelIterator::flat_map).
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct FlatMap<I: Part, F: Expand<I::Output>> {
    /// The iterators that items became and that are not at their end, before all else.
    front: VecDeque<F::Iter>,
    /// `None` in a part of what an item has become.
    base: Option<I>,
    /// The recent cost of a step of the base: itself, and the steps of the iterators that its items
    /// become. At first a guess, by which a single item is worth splitting.
    step_cost: usize,
    op: Counted<F>,
}

debug_without_closures!(FlatMap<I; F> { base } where I: Part, F: Expand<I::Output>);

/// So many steps of the base are taken at once at most, and their items expanded, even if that is
/// more than the budget allows to run.
const BATCH_MAX: usize = 16;

impl<I: Part, F: Expand<I::Output>> FlatMap<I, F> {
    pub(crate) fn new(base: I, op: F) -> Self {
        Self::shared(base, Counted::new(op))
    }

    fn shared(base: I, op: Counted<F>) -> Self {
        Self {
            front: VecDeque::new(),
            base: Some(base),
            step_cost: 2,
            op,
        }
    }

    /// The same over another part.
    fn over(&self, front: VecDeque<F::Iter>, base: Option<I>) -> Self {
        Self {
            front,
            base,
            step_cost: self.step_cost,
            op: self.op.clone(),
        }
    }

    /// Notes how many steps the items of so many steps of the base became.
    #[inline]
    fn learn(step_cost: &mut usize, made: usize, taken: usize) {
        // The mean with what was known before.
        *step_cost = *step_cost / 2 + made / taken.max(1) / 2 + 1;
    }
}

impl<I, F> Clone for FlatMap<I, F>
where
    I: Part + Clone,
    F: Expand<I::Output>,
{
    /// # Panics
    ///
    /// Panics if this part has begun: not all that items become can be cloned.
    fn clone(&self) -> Self {
        assert!(
            self.front.is_empty(),
            "`flat_map` can be cloned only before it has begun"
        );
        self.over(VecDeque::new(), self.base.clone())
    }
}

impl<I, F> Part for FlatMap<I, F>
where
    I: Part,
    F: Expand<I::Output>,
{
    type Output = <F::Iter as Part>::Output;

    #[inline]
    fn steps(&self) -> usize {
        let base = self.base.as_ref().map_or(0, I::steps);
        let base = base.saturating_mul(self.step_cost);
        let front = self.front.iter().map(F::Iter::steps);
        front.fold(base, usize::saturating_add)
    }

    fn split(&mut self) -> Option<Self> {
        if let Some(base) = self.base.as_mut().filter(|base| base.steps() > 0) {
            if let Some(upper) = base.split() {
                return Some(self.over(VecDeque::new(), Some(upper)));
            }
            // The last item is expanded here. The base itself stays in this part: it has begun, and
            // may have to do with this thread.
            if base.steps() == 1 {
                let (front, op) = (&mut self.front, &*self.op);
                let _ = base.run(&mut { 1 }, |item| {
                    front.push_back(op.expand(item));
                    ControlFlow::Continue(())
                });
            }
            if base.steps() > 0 {
                return None;
            }
        }
        let upper = match &mut *self.front.make_contiguous() {
            [] => return None,
            [only] => VecDeque::from([only.split()?]),
            several => {
                let half = several.len() / 2;
                self.front.split_off(half)
            }
        };
        Some(self.over(upper, None))
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(Self::Output) -> ControlFlow<()>,
    {
        let (front, op) = (&mut self.front, &*self.op);
        while *budget > 0 {
            if let Some(inner) = front.front_mut() {
                inner.run(budget, &mut consume)?;
                if inner.steps() == 0 {
                    front.pop_front();
                }
                continue;
            }
            let Some(base) = self.base.as_mut().filter(|base| base.steps() > 0) else {
                break;
            };
            let batch = (*budget / self.step_cost).clamp(1, BATCH_MAX);
            let (mut left, mut made) = (batch, 0_usize);
            base.run(&mut left, |item| {
                let mut inner = op.expand(item);
                made = made.saturating_add(inner.steps());
                if front.is_empty() {
                    while *budget > 0 && inner.steps() > 0 {
                        inner.run(budget, &mut consume)?;
                    }
                }
                if inner.steps() > 0 {
                    front.push_back(inner);
                }
                ControlFlow::Continue(())
            })?;
            let taken = batch - left;
            *budget = budget.saturating_sub(taken);
            Self::learn(&mut self.step_cost, made, taken);
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn run_fold<B, G>(&mut self, budget: &mut usize, init: B, mut fold: G) -> B
    where
        G: FnMut(B, Self::Output) -> B,
    {
        let (front, op) = (&mut self.front, &*self.op);
        let mut so_far = init;
        while *budget > 0 {
            if let Some(inner) = front.front_mut() {
                so_far = inner.run_fold(budget, so_far, &mut fold);
                if inner.steps() == 0 {
                    front.pop_front();
                }
                continue;
            }
            let Some(base) = self.base.as_mut().filter(|base| base.steps() > 0) else {
                break;
            };
            let batch = (*budget / self.step_cost).clamp(1, BATCH_MAX);
            let (mut left, mut made) = (batch, 0_usize);
            so_far = base.run_fold(&mut left, so_far, |mut so_far, item| {
                let mut inner = op.expand(item);
                made = made.saturating_add(inner.steps());
                if front.is_empty() {
                    while *budget > 0 && inner.steps() > 0 {
                        so_far = inner.run_fold(budget, so_far, &mut fold);
                    }
                }
                if inner.steps() > 0 {
                    front.push_back(inner);
                }
                so_far
            });
            let taken = batch - left;
            *budget = budget.saturating_sub(taken);
            Self::learn(&mut self.step_cost, made, taken);
        }
        so_far
    }

    /// Lengths were meant for the steps of the base, which are not those of this one.
    fn split_policy(&self) -> SplitPolicy {
        let base = self.base.as_ref().map(I::split_policy).unwrap_or_default();
        SplitPolicy {
            granularity: base.granularity,
            in_blocks: base.in_blocks,
            is_timed: base.is_timed,
            ..SplitPolicy::default()
        }
    }

    fn pause(&mut self) {
        self.front.iter_mut().for_each(Part::pause);
        if let Some(base) = &mut self.base {
            base.pause();
        }
    }

    const IS_LENT: bool = I::IS_LENT;

    fn open<K: Continuation<Self::Output>>(self, then: K) -> K::Output {
        let base = self.base.expect("a chain is opened before it begins");
        let adaptor = Expanding(self.op);
        base.open(Over { adaptor, then })
    }
}

/// A `flat_map` without its base.
struct Expanding<F>(Counted<F>);

impl<T, F: Expand<T>> Adaptor<T> for Expanding<F> {
    type Output = <F::Iter as Part>::Output;
    type Over<P: Part<Output = T>> = FlatMap<P, F>;

    fn over<P: Part<Output = T>>(self, base: P) -> FlatMap<P, F> {
        FlatMap::shared(base, self.0)
    }
}

/// Makes a parallel iterator of an item.
#[doc(hidden)]
pub trait Expand<T>: Sync + Send {
    /// The iterator.
    type Iter: Part;

    /// Makes the iterator of one item.
    fn expand(&self, item: T) -> Self::Iter;
}

/// Turns an item itself into an iterator.
#[expect(unnameable_types, reason = "a detail of `Flatten`")]
#[derive(Debug)]
pub struct Itself;
