//! `chain`: the items of one iterator, and then those of another.

use std::ops::ControlFlow;

use crate::granularity::SplitPolicy;
use crate::part::{open_both, Continuation, IndexedContinuation, IndexedPart, Joint, Part};

/// The items of one iterator, and then those of another: see
/// [`chain`](crate::iter::ParallelIterator::chain).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Chain<A, B> {
    /// `None` at its end, or in a part above it.
    a: Option<A>,
    /// `None` in a part below it.
    b: Option<B>,
}

impl<A, B> Chain<A, B> {
    pub(crate) fn new(a: A, b: B) -> Self {
        let (a, b) = (Some(a), Some(b));
        Self { a, b }
    }
}

impl<A, B> Part for Chain<A, B>
where
    A: Part,
    B: Part<Output = A::Output>,
{
    type Output = A::Output;

    #[inline]
    fn steps(&self) -> usize {
        let a = self.a.as_ref().map_or(0, A::steps);
        let b = self.b.as_ref().map_or(0, B::steps);
        a.saturating_add(b)
    }

    /// Half way in the first, half way in the second, or between them: where it comes closest to
    /// the middle.
    fn split(&mut self) -> Option<Self> {
        let in_a = self.a.as_ref().map_or(0, A::steps);
        let in_b = self.b.as_ref().map_or(0, B::steps);
        if in_a.abs_diff(in_b) >= in_a.min(in_b) {
            if in_a > in_b {
                if let Some(upper) = self.a.as_mut().and_then(A::split) {
                    let (a, b) = (Some(upper), self.b.take());
                    return Some(Self { a, b });
                }
            } else if let Some(upper) = self.b.as_mut().and_then(B::split) {
                let (a, b) = (None, Some(upper));
                return Some(Self { a, b });
            }
        }
        (in_a > 0 && in_b > 0).then(|| Self {
            a: None,
            b: self.b.take(),
        })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(A::Output) -> ControlFlow<()>,
    {
        if let Some(a) = &mut self.a {
            a.run(budget, &mut consume)?;
            if a.steps() > 0 {
                return ControlFlow::Continue(());
            }
            self.a = None;
        }
        match &mut self.b {
            Some(b) if *budget > 0 => b.run(budget, consume),
            _ => ControlFlow::Continue(()),
        }
    }

    #[inline]
    fn run_fold<Folded, G>(&mut self, budget: &mut usize, init: Folded, mut fold: G) -> Folded
    where
        G: FnMut(Folded, A::Output) -> Folded,
    {
        let mut so_far = init;
        if let Some(a) = &mut self.a {
            so_far = a.run_fold(budget, so_far, &mut fold);
            if a.steps() > 0 {
                return so_far;
            }
            self.a = None;
        }
        match &mut self.b {
            Some(b) if *budget > 0 => b.run_fold(budget, so_far, fold),
            _ => so_far,
        }
    }

    fn known_len(&self) -> Option<usize> {
        let a = self.a.as_ref().map_or(Some(0), A::known_len)?;
        let b = self.b.as_ref().map_or(Some(0), B::known_len)?;
        a.checked_add(b)
    }

    fn split_policy(&self) -> SplitPolicy {
        let a = self.a.as_ref().map(A::split_policy).unwrap_or_default();
        let b = self.b.as_ref().map(B::split_policy).unwrap_or_default();
        a.and(b)
    }

    fn pause(&mut self) {
        if let Some(a) = &mut self.a {
            a.pause();
        }
        if let Some(b) = &mut self.b {
            b.pause();
        }
    }

    const IS_LENT: bool = A::IS_LENT || B::IS_LENT;

    fn open<K: Continuation<A::Output>>(self, then: K) -> K::Output {
        let (Some(a), Some(b)) = (self.a, self.b) else {
            unreachable!("{OPENED_FIRST}");
        };
        a.open(First { b, then })
    }
}

const OPENED_FIRST: &str = "a chain is opened before it begins";

/// Goes on with the first of both.
struct First<B, K> {
    b: B,
    then: K,
}

impl<T, B: Part<Output = T>, K: Continuation<T>> Continuation<T> for First<B, K> {
    type Output = K::Output;

    fn run<A: Part<Output = T>>(self, a: A) -> K::Output {
        let Self { b, then } = self;
        b.open(Second { a, then })
    }
}

/// Goes on with the second.
struct Second<A, K> {
    a: A,
    then: K,
}

impl<T, A: Part<Output = T>, K: Continuation<T>> Continuation<T> for Second<A, K> {
    type Output = K::Output;

    fn run<B: Part<Output = T>>(self, b: B) -> K::Output {
        self.then.run(Chain::new(self.a, b))
    }
}

/// A chain without its parts.
struct Chained;

impl<T: Send> Joint<T, T> for Chained {
    type Output = T;
    type Of<A: IndexedPart<Output = T>, B: IndexedPart<Output = T>> = Chain<A, B>;

    fn of<A: IndexedPart<Output = T>, B: IndexedPart<Output = T>>(self, a: A, b: B) -> Chain<A, B> {
        Chain::new(a, b)
    }
}

impl<A, B> IndexedPart for Chain<A, B>
where
    A: IndexedPart,
    B: IndexedPart<Output = A::Output>,
{
    fn part_len(&self) -> usize {
        let a = self.a.as_ref().map_or(0, A::part_len);
        let b = self.b.as_ref().map_or(0, B::part_len);
        a.checked_add(b)
            .expect("a chain has at most `usize::MAX` items")
    }

    fn split_off(&mut self, index: usize) -> Self {
        let in_a = self.a.as_ref().map_or(0, A::part_len);
        match &mut self.a {
            Some(a) if index < in_a => Self {
                a: Some(a.split_off(index)),
                b: self.b.take(),
            },
            _ => Self {
                a: None,
                b: self.b.as_mut().map(|b| b.split_off(index - in_a)),
            },
        }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = A::Output> + ExactSizeIterator {
        let len = self.part_len();
        let a = self.a.into_iter().flat_map(A::into_seq);
        let b = self.b.into_iter().flat_map(B::into_seq);
        let items = a.chain(b);
        Counted { items, len }
    }

    fn open_indexed<K: IndexedContinuation<A::Output>>(self, then: K) -> K::Output {
        let (Some(a), Some(b)) = (self.a, self.b) else {
            unreachable!("{OPENED_FIRST}");
        };
        open_both(a, b, Chained, then)
    }
}

/// Items that were counted before.
struct Counted<I> {
    items: I,
    len: usize,
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        let item = self.items.next()?;
        self.len -= 1;
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl<I: DoubleEndedIterator> DoubleEndedIterator for Counted<I> {
    #[inline]
    fn next_back(&mut self) -> Option<I::Item> {
        let item = self.items.next_back()?;
        self.len -= 1;
        Some(item)
    }
}

impl<I: Iterator> ExactSizeIterator for Counted<I> {}
