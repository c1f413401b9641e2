//! `map_with`, `map_init`: a closure that has something to work with.

use std::ops::ControlFlow;

use send_wrapper::SendWrapper;

use super::debug_without_closures;
use super::seed::{Call, Seed, Template};
use super::shared::Counted;
use crate::granularity::SplitPolicy;
use crate::part::{adaptor, open, IndexedPart, Part};

/// The results of a closure that works with a clone of a value: see
/// [`map_with`](crate::iter::ParallelIterator::map_with).
pub type MapWith<I, T, F> = MapWithState<I, Template<T>, F>;

/// The results of a closure that works with a value that another has made: see
/// [`map_init`](crate::iter::ParallelIterator::map_init).
pub type MapInit<I, INIT, F> = MapWithState<I, Call<INIT>, F>;

/// The results of a closure that works with a value: see
/// [`map_with`](crate::iter::ParallelIterator::map_with) and
/// [`map_init`](crate::iter::ParallelIterator::map_init).
#[expect(unnameable_types, reason = "it is named `MapWith` or `MapInit`")]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct MapWithState<I, S: Seed, F> {
    base: I,
    seed: S,
    /// Made when the part begins. A part that has begun stays on its thread until it pauses: so the
    /// value need not be `Send`. If the part is moved without a pause, it panics.
    state: Option<SendWrapper<S::Value>>,
    op: Counted<F>,
}

debug_without_closures!(MapWithState<I; S, F> { base } where S: Seed);

/// To move more bytes than these costs more than it may save.
const FEW_BYTES: usize = 64;

impl<I, T: Clone + Send, F> MapWith<I, T, F> {
    pub(crate) fn with(base: I, init: T, op: F) -> Self {
        Self::new(base, Template(init), op)
    }
}

impl<I, INIT, T, F> MapInit<I, INIT, F>
where
    INIT: Fn() -> T + Sync + Send,
{
    pub(crate) fn init(base: I, init: INIT, op: F) -> Self {
        Self::new(base, Call::new(init), op)
    }
}

impl<I, S: Seed, F> MapWithState<I, S, F> {
    fn new(base: I, seed: S, op: F) -> Self {
        Self {
            base,
            seed,
            state: None,
            op: Counted::new(op),
        }
    }

    /// Calls `op` with the base and the value of this part, which is made if there is none.
    ///
    /// A value of a few words lies in a variable meanwhile: a loop over items can keep it in
    /// registers then, if `op` does.
    #[inline]
    fn with_state<R>(&mut self, op: impl FnOnce(&mut I, &mut S::Value, &F) -> R) -> R {
        let Self {
            base, seed, state, ..
        } = self;
        if size_of::<S::Value>() > FEW_BYTES {
            let state = state.get_or_insert_with(|| SendWrapper::new(seed.make()));
            return op(base, state, &self.op);
        }
        let mut here = match state.take() {
            Some(state) => state.take(),
            None => seed.make(),
        };
        let result = op(base, &mut here, &self.op);
        *state = Some(SendWrapper::new(here));
        result
    }

    /// The same over another part, which begins with a value of its own.
    fn over(&self, base: I) -> Self {
        Self {
            base,
            seed: self.seed.clone(),
            state: None,
            op: self.op.clone(),
        }
    }
}

impl<I: Clone, S: Seed, F> Clone for MapWithState<I, S, F> {
    fn clone(&self) -> Self {
        self.over(self.base.clone())
    }
}

impl<I, S, F, R> Part for MapWithState<I, S, F>
where
    I: Part,
    S: Seed,
    F: Fn(&mut S::Value, I::Output) -> R + Sync + Send,
    R: Send,
{
    type Output = R;

    #[inline]
    fn steps(&self) -> usize {
        self.base.steps()
    }

    fn split(&mut self) -> Option<Self> {
        let upper = self.base.split()?;
        Some(self.over(upper))
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(R) -> ControlFlow<()>,
    {
        self.with_state(|base, state, op| base.run(budget, |item| consume(op(state, item))))
    }

    #[inline]
    fn run_fold<Folded, G>(&mut self, budget: &mut usize, init: Folded, mut fold: G) -> Folded
    where
        G: FnMut(Folded, R) -> Folded,
    {
        self.with_state(|base, state, op| {
            base.run_fold(budget, init, |so_far, item| fold(so_far, op(state, item)))
        })
    }

    fn known_len(&self) -> Option<usize> {
        self.base.known_len()
    }

    fn split_policy(&self) -> SplitPolicy {
        self.base.split_policy()
    }

    fn pause(&mut self) {
        self.state = None;
        self.base.pause();
    }

    open!(MapWithState { seed, state, op });
}

adaptor! {
    both [T, S, F, R] MapWithState<S, F> { seed, state, op } T => R
    where S: Seed, F: Fn(&mut S::Value, T) -> R + Sync + Send, R: Send
}

impl<I, S, F, R> IndexedPart for MapWithState<I, S, F>
where
    I: IndexedPart,
    S: Seed,
    F: Fn(&mut S::Value, I::Output) -> R + Sync + Send,
    R: Send,
{
    fn part_len(&self) -> usize {
        self.base.part_len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let upper = self.base.split_off(index);
        self.over(upper)
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = R> + ExactSizeIterator {
        let (seed, op) = (self.seed, self.op);
        let mut state = self.state.map_or_else(|| seed.make(), SendWrapper::take);
        self.base.into_seq().map(move |item| op(&mut state, item))
    }

    open!(indexed MapWithState { seed, state, op });
}
