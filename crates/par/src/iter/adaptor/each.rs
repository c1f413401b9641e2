//! `cloned`, `copied`, `inspect`, `update`: one item for each, by a fixed rule.

use std::ops::ControlFlow;

use super::debug_without_closures;
use super::shared::Shared;
use crate::part::{adaptor, forward, open, IndexedPart, Part};

/// Clones of the items: see [`cloned`](crate::iter::ParallelIterator::cloned).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Cloned<I> {
    base: I,
}

/// Copies of the items: see [`copied`](crate::iter::ParallelIterator::copied).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Copied<I> {
    base: I,
}

/// The items, of which a closure has had a look: see
/// [`inspect`](crate::iter::ParallelIterator::inspect).
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Inspect<I, F> {
    base: I,
    op: Shared<F>,
}

debug_without_closures!(Inspect<I; F> { base });

/// The items as a closure has changed them: see [`update`](crate::iter::ParallelIterator::update).
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Update<I, F> {
    base: I,
    op: Shared<F>,
}

debug_without_closures!(Update<I; F> { base });

/// An adaptor that turns each `item` of its base into `gives`.
macro_rules! each {
    (
        [$($generic:tt)+] $name:ident<$($arg:ident),+> { base $(, $op:ident)? }
        where [$($bounds:tt)+]
        $item:ident => $gives:expr, $type:ty
        $(, $run_sparse:item)?
    ) => {
        impl<$($arg),+> $name<$($arg),+> {
            pub(crate) fn new(base: I $(, $op: F)?) -> Self {
                Self { base $(, $op: Shared::new($op))? }
            }

            /// The same over another part.
            fn over(&mut self, base: I) -> Self {
                Self { base $(, $op: self.$op.share())? }
            }
        }

        impl<$($generic)+> Part for $name<$($arg),+>
        where
            I: Part,
            $($bounds)+
        {
            type Output = $type;

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
                C: FnMut($type) -> ControlFlow<()>,
            {
                $(let $op = self.$op.get();)?
                self.base.run(budget, |$item| consume($gives))
            }

            $($run_sparse)?

            #[inline]
            fn run_fold<Folded, G>(&mut self, budget: &mut usize, init: Folded, mut fold: G) -> Folded
            where
                G: FnMut(Folded, $type) -> Folded,
            {
                $(let $op = self.$op.get();)?
                self.base
                    .run_fold(budget, init, |so_far, $item| fold(so_far, $gives))
            }

            fn known_len(&self) -> Option<usize> {
                self.base.known_len()
            }

            forward!(base);
            open!($name { $($op)? });
        }

        impl<$($generic)+> IndexedPart for $name<$($arg),+>
        where
            I: IndexedPart,
            $($bounds)+
        {
            fn part_len(&self) -> usize {
                self.base.part_len()
            }

            fn split_off(&mut self, index: usize) -> Self {
                let upper = self.base.split_off(index);
                self.over(upper)
            }

            fn into_seq(self) -> impl DoubleEndedIterator<Item = $type> + ExactSizeIterator {
                $(let shared = self.$op;)?
                self.base.into_seq().map(move |$item| {
                    $(let $op = shared.get();)?
                    $gives
                })
            }

            open!(indexed $name { $($op)? });
        }
    };
}

each! {
    ['a, T, I] Cloned<I> { base }
    where [I: Part<Output = &'a T>, T: 'a + Clone + Send]
    item => T::clone(item), T
}

each! {
    ['a, T, I] Copied<I> { base }
    where [I: Part<Output = &'a T>, T: 'a + Copy + Send]
    item => *item, T,
    #[inline]
    fn run_sparse<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(Option<T>, bool) -> ControlFlow<()>,
    {
        self.base
            .run_sparse(budget, |item, counts| consume(item.copied(), counts))
    }
}

each! {
    [I, F] Inspect<I, F> { base, op }
    where [I: Part, F: Fn(&I::Output) + Sync + Send]
    item => { op(&item); item }, I::Output
}

each! {
    [I, F] Update<I, F> { base, op }
    where [I: Part, F: Fn(&mut I::Output) + Sync + Send]
    item => { let mut item = item; op(&mut item); item }, I::Output
}

adaptor!(both ['a, T: 'a + Clone + Send] Cloned<> {} &'a T => T);
adaptor!(both ['a, T: 'a + Copy + Send] Copied<> {} &'a T => T);
adaptor!(both [T: Send, F] Inspect<F> { op } T => T where F: Fn(&T) + Sync + Send);
adaptor!(both [T: Send, F] Update<F> { op } T => T where F: Fn(&mut T) + Sync + Send);
