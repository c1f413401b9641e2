//! `with_cancellation`: the items before a flag is set.

use std::ops::ControlFlow;
use std::sync::Arc;

use heist_core::CancellationToken;
use heist_sync::atomic::{AtomicBool, Ordering};

use crate::granularity::SplitPolicy;
use crate::part::Part;

/// The items before a flag is set: see
/// [`with_cancellation`](crate::iter::ParallelIterator::with_cancellation).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct WithCancellation<I> {
    base: I,
    token: CancellationToken,
    completion: Completion,
}

impl<I> WithCancellation<I> {
    pub(crate) fn new(base: I, token: CancellationToken) -> Self {
        Self {
            base,
            token,
            completion: Completion::default(),
        }
    }

    /// Tells afterwards whether the loop went to its end: a token that is set may have been so
    /// behind the last item. Clones of the iterator have the same one.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    /// use heist::CancellationToken;
    ///
    /// let token = CancellationToken::new();
    /// let numbers = (1..=100_u64).into_par_iter().with_cancellation(&token);
    /// let completion = numbers.completion();
    /// assert_eq!(numbers.sum::<u64>(), 5050);
    /// token.cancel();
    /// assert!(completion.is_complete());
    /// ```
    pub fn completion(&self) -> Completion {
        self.completion.clone()
    }
}

/// Whether a loop was complete that could be cancelled: see
/// [`WithCancellation::completion`].
#[derive(Clone, Debug, Default)]
pub struct Completion {
    /// Relaxed: it is asked for when the loop has returned, which brings all that its workers did.
    was_cut: Arc<AtomicBool>,
}

impl Completion {
    /// False if the token has kept items back; also if it may have, where their number was not
    /// known. Asked before the loop has returned, it is true as long as none was.
    ///
    /// A consumer that wants no more items, as a search that has found one, makes no difference.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.was_cut.load(Ordering::Relaxed)
    }

    #[cold]
    fn cut(&self) {
        self.was_cut.store(true, Ordering::Relaxed);
    }
}

impl<I: Part> Part for WithCancellation<I> {
    type Output = I::Output;

    #[inline]
    fn steps(&self) -> usize {
        let steps = self.base.steps();
        if steps > 0 && self.token.is_cancelled() {
            self.completion.cut();
            return 0;
        }
        steps
    }

    fn split(&mut self) -> Option<Self> {
        let base = self.base.split()?;
        Some(Self {
            base,
            token: self.token.clone(),
            completion: self.completion(),
        })
    }

    #[inline]
    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(I::Output) -> ControlFlow<()>,
    {
        let (token, completion) = (&self.token, &self.completion);
        let mut wants_more = ControlFlow::Continue(());
        let _ = self.base.run(budget, |item| {
            // Without a look at the clock, which `steps` has before each grain.
            if token.is_set() {
                completion.cut();
                return ControlFlow::Break(());
            }
            wants_more = consume(item);
            wants_more
        });
        wants_more
    }

    fn split_policy(&self) -> SplitPolicy {
        let mut policy = self.base.split_policy();
        policy.is_timed |= self.token.has_deadline();
        policy
    }

    fn pause(&mut self) {
        self.base.pause();
    }
}
