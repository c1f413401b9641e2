//! The traits of all parallel iterators, and of what becomes one or is made of one: rayon's
//! contract below, heist's methods above.
//!
//! Each method hands the iterator as a [`Lazy`] part to the method of heist's that has its name,
//! and whose documentation is its own. They all name each other, and so lie in one file.
// Long: a trait cannot be divided.

use std::cmp::Ordering;
use std::collections::LinkedList;
use std::fmt;
use std::iter::{Product, Sum};
use std::ops::ControlFlow;

use either::Either;
use heist_par::foreign::{self, Continuation, Expand, Part, Try};
use heist_par::iter::{self, ParallelIterator as Heist};
use heist_par::vec::IntoIter;
use heist_par::SplitPolicy;

use super::plumbing::{pass_through, UnindexedConsumer};
use crate::enter::enter;

/// A sequence of items that several workers can go through at the same time.
///
/// To implement it, write [`drive_unindexed`](Self::drive_unindexed), and
/// [`opt_len`](Self::opt_len) if the length is known.
#[allow(missing_docs, reason = "heist documents the methods of these names")]
pub trait ParallelIterator: Sized + Send {
    /// The type of the items.
    type Item: Send;

    /// Hands all items to a consumer.
    fn drive_unindexed<C>(self, consumer: C) -> C::Result
    where
        C: UnindexedConsumer<Self::Item>;

    /// The exact number of items, if it is known.
    fn opt_len(&self) -> Option<usize> {
        None
    }

    fn flat_map<F, PI>(self, op: F) -> FlatMap<Self, F>
    where
        F: Fn(Self::Item) -> PI + Sync + Send,
        PI: IntoParallelIterator,
    {
        foreign::flat_map(Lazy::new(self), By(op))
    }

    fn flatten(self) -> Flatten<Self>
    where
        Self::Item: IntoParallelIterator,
    {
        foreign::flat_map(Lazy::new(self), Itself)
    }

    fn chain<C>(self, other: C) -> Chain<Self, C::Iter>
    where
        C: IntoParallelIterator<Item = Self::Item>,
    {
        Heist::chain(Lazy::new(self), Lazy::new(other.into_par_iter()))
    }

    fn collect<C>(self) -> C
    where
        C: FromParallelIterator<Self::Item>,
    {
        C::from_par_iter(self)
    }

    fn unzip<A, B, FromA, FromB>(self) -> (FromA, FromB)
    where
        Self: ParallelIterator<Item = (A, B)>,
        FromA: Default + Send + ParallelExtend<A>,
        FromB: Default + Send + ParallelExtend<B>,
        A: Send,
        B: Send,
    {
        let mut both = (FromA::default(), FromB::default());
        both.par_extend(self);
        both
    }

    fn partition<A, B, P>(self, predicate: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<Self::Item>,
        B: Default + Send + ParallelExtend<Self::Item>,
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        let (chosen, others): (Vec<_>, Vec<_>) = enter(self.opt_len(), || {
            Heist::partition(Lazy::new(self), predicate)
        });
        let mut both = (A::default(), B::default());
        both.0.par_extend(chosen);
        both.1.par_extend(others);
        both
    }

    fn partition_map<A, B, P, L, R>(self, predicate: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<L>,
        B: Default + Send + ParallelExtend<R>,
        P: Fn(Self::Item) -> Either<L, R> + Sync + Send,
        L: Send,
        R: Send,
    {
        let mut both = (A::default(), B::default());
        both.par_extend(self.map(predicate));
        both
    }

    #[doc(hidden)]
    #[deprecated(
        note = "it finds any item, not the first: say `find_any`, `find_first` or \
                         `find_last`"
    )]
    fn find<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.find_any(predicate)
    }

    fn for_each<F>(self, op: F)
    where
        F: Fn(Self::Item) + Sync + Send,
    {
        enter(self.opt_len(), || Heist::for_each(Lazy::new(self), op));
    }

    fn map<F, R>(self, op: F) -> Map<Self, F>
    where
        F: Fn(Self::Item) -> R + Sync + Send,
        R: Send,
    {
        Heist::map(Lazy::new(self), op)
    }

    fn filter<P>(self, predicate: P) -> Filter<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        Heist::filter(Lazy::new(self), predicate)
    }

    fn intersperse(self, element: Self::Item) -> Intersperse<Self>
    where
        Self::Item: Clone,
    {
        Heist::intersperse(Lazy::new(self), element)
    }

    fn map_with<F, T, R>(self, init: T, op: F) -> MapWith<Self, T, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Send,
    {
        Heist::map_with(Lazy::new(self), init, op)
    }

    fn map_init<F, INIT, T, R>(self, init: INIT, op: F) -> MapInit<Self, INIT, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Send,
    {
        Heist::map_init(Lazy::new(self), init, op)
    }

    fn cloned<'a, T>(self) -> Cloned<Self>
    where
        T: 'a + Clone + Send,
        Self: ParallelIterator<Item = &'a T>,
    {
        Heist::cloned(Lazy::new(self))
    }

    fn copied<'a, T>(self) -> Copied<Self>
    where
        T: 'a + Copy + Send,
        Self: ParallelIterator<Item = &'a T>,
    {
        Heist::copied(Lazy::new(self))
    }

    fn inspect<OP>(self, op: OP) -> Inspect<Self, OP>
    where
        OP: Fn(&Self::Item) + Sync + Send,
    {
        Heist::inspect(Lazy::new(self), op)
    }

    fn update<F>(self, op: F) -> Update<Self, F>
    where
        F: Fn(&mut Self::Item) + Sync + Send,
    {
        Heist::update(Lazy::new(self), op)
    }

    fn filter_map<P, R>(self, op: P) -> FilterMap<Self, P>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        Heist::filter_map(Lazy::new(self), op)
    }

    fn flat_map_iter<F, SI>(self, op: F) -> FlatMapIter<Self, F>
    where
        F: Fn(Self::Item) -> SI + Sync + Send,
        SI: IntoIterator<Item: Send>,
    {
        Heist::flat_map_iter(Lazy::new(self), op)
    }

    fn flatten_iter(self) -> FlattenIter<Self>
    where
        Self::Item: IntoIterator<Item: Send>,
    {
        Heist::flatten_iter(Lazy::new(self))
    }

    fn fold<T, ID, F>(self, identity: ID, op: F) -> Fold<Self, ID, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        T: Send,
    {
        Heist::fold(Lazy::new(self), identity, op)
    }

    fn fold_with<F, T>(self, init: T, op: F) -> FoldWith<Self, T, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        T: Send + Clone,
    {
        Heist::fold_with(Lazy::new(self), init, op)
    }

    fn try_fold<T, R, ID, F>(self, identity: ID, op: F) -> TryFold<Self, R, ID, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        R: Try<Output = T> + Send,
    {
        Heist::try_fold(Lazy::new(self), identity, op)
    }

    fn try_fold_with<F, T, R>(self, init: T, op: F) -> TryFoldWith<Self, R, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        R: Try<Output = T> + Send,
        T: Clone + Send,
    {
        Heist::try_fold_with(Lazy::new(self), init, op)
    }

    fn while_some<T>(self) -> WhileSome<Self>
    where
        Self: ParallelIterator<Item = Option<T>>,
        T: Send,
    {
        Heist::while_some(Lazy::new(self))
    }

    fn panic_fuse(self) -> PanicFuse<Self> {
        Heist::panic_fuse(Lazy::new(self))
    }

    fn take_any(self, n: usize) -> TakeAny<Self> {
        Heist::take_any(Lazy::new(self), n)
    }

    fn skip_any(self, n: usize) -> SkipAny<Self> {
        Heist::skip_any(Lazy::new(self), n)
    }

    fn take_any_while<P>(self, predicate: P) -> TakeAnyWhile<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        Heist::take_any_while(Lazy::new(self), predicate)
    }

    fn skip_any_while<P>(self, predicate: P) -> SkipAnyWhile<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        Heist::skip_any_while(Lazy::new(self), predicate)
    }

    fn reduce<OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        ID: Fn() -> Self::Item + Sync + Send,
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        enter(self.opt_len(), || {
            Heist::reduce(Lazy::new(self), identity, op)
        })
    }

    fn reduce_with<OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        enter(self.opt_len(), || Heist::reduce_with(Lazy::new(self), op))
    }

    fn sum<S>(self) -> S
    where
        S: Send + Sum<Self::Item> + Sum<S>,
    {
        enter(self.opt_len(), || Heist::sum(Lazy::new(self)))
    }

    fn for_each_with<OP, T>(self, init: T, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        T: Send + Clone,
    {
        enter(self.opt_len(), || {
            Heist::for_each_with(Lazy::new(self), init, op);
        });
    }

    fn for_each_init<OP, INIT, T>(self, init: INIT, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
    {
        enter(self.opt_len(), || {
            Heist::for_each_init(Lazy::new(self), init, op);
        });
    }

    fn count(self) -> usize {
        enter(self.opt_len(), || Heist::count(Lazy::new(self)))
    }

    fn try_for_each<OP, R>(self, op: OP) -> R
    where
        OP: Fn(Self::Item) -> R + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        enter(self.opt_len(), || Heist::try_for_each(Lazy::new(self), op))
    }

    fn try_for_each_with<OP, T, R>(self, init: T, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Try<Output = ()> + Send,
    {
        enter(self.opt_len(), || {
            Heist::try_for_each_with(Lazy::new(self), init, op)
        })
    }

    fn try_for_each_init<OP, INIT, T, R>(self, init: INIT, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        enter(self.opt_len(), || {
            Heist::try_for_each_init(Lazy::new(self), init, op)
        })
    }

    fn try_reduce<T, OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        enter(self.opt_len(), || {
            Heist::try_reduce(Lazy::new(self), identity, op)
        })
    }

    fn try_reduce_with<T, OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        enter(self.opt_len(), || {
            Heist::try_reduce_with(Lazy::new(self), op)
        })
    }

    fn product<P>(self) -> P
    where
        P: Send + Product<Self::Item> + Product<P>,
    {
        enter(self.opt_len(), || Heist::product(Lazy::new(self)))
    }

    fn min(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        enter(self.opt_len(), || Heist::min(Lazy::new(self)))
    }

    fn min_by<F>(self, f: F) -> Option<Self::Item>
    where
        F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering,
    {
        enter(self.opt_len(), || Heist::min_by(Lazy::new(self), f))
    }

    fn min_by_key<K, F>(self, f: F) -> Option<Self::Item>
    where
        K: Ord + Send,
        F: Sync + Send + Fn(&Self::Item) -> K,
    {
        enter(self.opt_len(), || Heist::min_by_key(Lazy::new(self), f))
    }

    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        enter(self.opt_len(), || Heist::max(Lazy::new(self)))
    }

    fn max_by<F>(self, f: F) -> Option<Self::Item>
    where
        F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering,
    {
        enter(self.opt_len(), || Heist::max_by(Lazy::new(self), f))
    }

    fn max_by_key<K, F>(self, f: F) -> Option<Self::Item>
    where
        K: Ord + Send,
        F: Sync + Send + Fn(&Self::Item) -> K,
    {
        enter(self.opt_len(), || Heist::max_by_key(Lazy::new(self), f))
    }

    fn find_any<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        enter(self.opt_len(), || {
            Heist::find_any(Lazy::new(self), predicate)
        })
    }

    fn find_first<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        enter(self.opt_len(), || {
            Heist::find_first(Lazy::new(self), predicate)
        })
    }

    fn find_last<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        enter(self.opt_len(), || {
            Heist::find_last(Lazy::new(self), predicate)
        })
    }

    fn find_map_any<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        enter(self.opt_len(), || {
            Heist::find_map_any(Lazy::new(self), predicate)
        })
    }

    fn find_map_first<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        enter(self.opt_len(), || {
            Heist::find_map_first(Lazy::new(self), predicate)
        })
    }

    fn find_map_last<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        enter(self.opt_len(), || {
            Heist::find_map_last(Lazy::new(self), predicate)
        })
    }

    fn any<P>(self, predicate: P) -> bool
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        enter(self.opt_len(), || Heist::any(Lazy::new(self), predicate))
    }

    fn all<P>(self, predicate: P) -> bool
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        enter(self.opt_len(), || Heist::all(Lazy::new(self), predicate))
    }

    fn collect_vec_list(self) -> LinkedList<Vec<Self::Item>> {
        enter(self.opt_len(), || Heist::collect_vec_list(Lazy::new(self)))
    }

    /// Whether it is a part of heist's, so that it has the `part_` methods: they are those of
    /// [`Part`].
    #[doc(hidden)]
    const IS_PART: bool = false;

    /// Goes on with a part that has all items.
    #[doc(hidden)]
    fn with_part<K: Continuation<Self::Item>>(self, then: K) -> K::Output {
        pass_through(then, |pass| self.drive_unindexed(pass))
    }

    #[doc(hidden)]
    fn part_steps(&self) -> usize {
        unreachable!("only parts have steps")
    }

    #[doc(hidden)]
    fn part_split(&mut self) -> Option<Self> {
        unreachable!("only parts split")
    }

    #[doc(hidden)]
    fn part_run<F>(&mut self, _budget: &mut usize, _consume: F) -> ControlFlow<()>
    where
        F: FnMut(Self::Item) -> ControlFlow<()>,
    {
        unreachable!("only parts run")
    }

    #[doc(hidden)]
    fn part_run_fold<B, F>(&mut self, _budget: &mut usize, _init: B, _op: F) -> B
    where
        F: FnMut(B, Self::Item) -> B,
    {
        unreachable!("only parts run")
    }

    #[doc(hidden)]
    fn part_split_policy(&self) -> SplitPolicy {
        SplitPolicy::default()
    }

    #[doc(hidden)]
    fn part_pause(&mut self) {}
}

/// A value that turns into a parallel iterator.
pub trait IntoParallelIterator {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of its items.
    type Item: Send;

    /// Turns this into a parallel iterator.
    fn into_par_iter(self) -> Self::Iter;
}

impl<I: ParallelIterator> IntoParallelIterator for I {
    type Iter = Self;
    type Item = I::Item;

    fn into_par_iter(self) -> Self {
        self
    }
}

/// A collection, or another value, that is made from the items of a parallel iterator.
pub trait FromParallelIterator<T: Send> {
    /// Makes it from all the items.
    fn from_par_iter<I>(iter: I) -> Self
    where
        I: IntoParallelIterator<Item = T>;
}

/// A collection that takes in the items of a parallel iterator.
pub trait ParallelExtend<T: Send> {
    /// Takes in all the items, in their order where there is one.
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = T>;
}

/// A parallel iterator below an adaptor or a consumer of heist's.
///
/// It is gone before anything runs: a consumer opens the chain, and what takes its place is the
/// part that the iterator is, or the producer that it lends. Where an adaptor wants to cut it
/// unopened, a part of heist's cuts itself; the items of any other iterator are collected first.
#[expect(unnameable_types, reason = "a detail of the adaptors")]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Lazy<I: ParallelIterator>(pub(super) State<I>);

pub(super) enum State<I: ParallelIterator> {
    Unopened(I),
    Collected(IntoIter<I::Item>),
}
pub(super) use State::{Collected, Unopened};

impl<I: ParallelIterator> Lazy<I> {
    pub(crate) fn new(iter: I) -> Self {
        Self(Unopened(iter))
    }

    /// Items that are collected.
    pub(super) fn of(items: Vec<I::Item>) -> Self {
        Self(Collected(iter::IntoParallelIterator::into_par_iter(items)))
    }

    /// The iterator, if it is a part of heist's: nothing collects its items. The constant
    /// is to be asked for first: then one copy is compiled of what is done to the items, and not
    /// another one for items that were collected.
    pub(super) fn part(&mut self) -> &mut I {
        match &mut self.0 {
            Unopened(iter) if I::IS_PART => iter,
            _ => unreachable!("asked for where it is a part"),
        }
    }

    /// As [`part`](Self::part).
    pub(super) fn into_part(self) -> I {
        match self.0 {
            Unopened(iter) if I::IS_PART => iter,
            _ => unreachable!("asked for where it is a part"),
        }
    }

    /// The items in a vector, collected now if they are not.
    pub(super) fn collected(&mut self) -> &mut IntoIter<I::Item> {
        if let Unopened(_) = self.0 {
            if let Unopened(iter) = std::mem::replace(self, Self::of(Vec::new())).0 {
                *self = Self::of(iter.with_part(Collect));
            }
        }
        match &mut self.0 {
            Collected(items) => items,
            Unopened(_) => unreachable!("it was collected above"),
        }
    }
}

impl<I: ParallelIterator + Clone> Clone for Lazy<I> {
    fn clone(&self) -> Self {
        match &self.0 {
            Unopened(iter) => Self::new(iter.clone()),
            Collected(_) => unreachable!("a chain that has begun is nobody's to clone"),
        }
    }
}

impl<I: ParallelIterator + fmt::Debug> fmt::Debug for Lazy<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Unopened(iter) => iter.fmt(f),
            Collected(_) => f.write_str("(collected)"),
        }
    }
}

impl<I: ParallelIterator> Part for Lazy<I> {
    type Output = I::Item;

    fn steps(&self) -> usize {
        match &self.0 {
            Unopened(iter) if I::IS_PART => iter.part_steps(),
            Unopened(iter) => iter.opt_len().unwrap_or(usize::MAX),
            Collected(items) => items.steps(),
        }
    }

    fn split(&mut self) -> Option<Self> {
        if I::IS_PART {
            self.part().part_split().map(Self::new)
        } else {
            let upper = self.collected().split();
            upper.map(|upper| Self(Collected(upper)))
        }
    }

    #[inline]
    fn run<F>(&mut self, budget: &mut usize, consume: F) -> ControlFlow<()>
    where
        F: FnMut(I::Item) -> ControlFlow<()>,
    {
        if I::IS_PART {
            self.part().part_run(budget, consume)
        } else {
            self.collected().run(budget, consume)
        }
    }

    #[inline]
    fn run_fold<B, F>(&mut self, budget: &mut usize, init: B, op: F) -> B
    where
        F: FnMut(B, I::Item) -> B,
    {
        if I::IS_PART {
            self.part().part_run_fold(budget, init, op)
        } else {
            self.collected().run_fold(budget, init, op)
        }
    }

    fn known_len(&self) -> Option<usize> {
        match &self.0 {
            Unopened(iter) => iter.opt_len(),
            Collected(items) => items.known_len(),
        }
    }

    fn split_policy(&self) -> SplitPolicy {
        match &self.0 {
            Unopened(iter) => iter.part_split_policy(),
            Collected(_) => SplitPolicy::default(),
        }
    }

    fn pause(&mut self) {
        if let Unopened(iter) = &mut self.0 {
            iter.part_pause();
        }
    }

    const IS_LENT: bool = true;

    fn open<K: Continuation<I::Item>>(self, then: K) -> K::Output {
        if I::IS_PART {
            return self.into_part().with_part(then);
        }
        match self.0 {
            Unopened(iter) => iter.with_part(then),
            Collected(items) => then.run(items),
        }
    }
}

/// Collects all items.
struct Collect;

impl<T: Send> Continuation<T> for Collect {
    type Output = Vec<T>;

    fn run<P: Part<Output = T>>(self, part: P) -> Vec<T> {
        part.collect()
    }
}

/// Adaptors of one iterator, and what else they are made with.
macro_rules! adaptors {
    ($($name:ident<I $(, $param:ident)*>;)*) => { $(
        #[doc = concat!("Heist's [`", stringify!($name), "`](iter::", stringify!($name), ").")]
        pub type $name<I $(, $param)*> = iter::$name<Lazy<I> $(, $param)*>;
    )* };
}

adaptors! {
    Chunks<I>;
    Cloned<I>;
    Copied<I>;
    Enumerate<I>;
    ExponentialBlocks<I>;
    Filter<I, P>;
    FilterMap<I, P>;
    FlatMapIter<I, F>;
    FlattenIter<I>;
    Fold<I, ID, F>;
    FoldChunks<I, ID, F>;
    FoldChunksWith<I, T, F>;
    FoldWith<I, T, F>;
    Inspect<I, F>;
    Intersperse<I>;
    Map<I, F>;
    MapInit<I, INIT, F>;
    MapWith<I, T, F>;
    MaxLen<I>;
    MinLen<I>;
    PanicFuse<I>;
    Positions<I, P>;
    Rev<I>;
    Skip<I>;
    SkipAny<I>;
    SkipAnyWhile<I, P>;
    StepBy<I>;
    Take<I>;
    TakeAny<I>;
    TakeAnyWhile<I, P>;
    TryFold<I, U, ID, F>;
    TryFoldWith<I, U, F>;
    UniformBlocks<I>;
    Update<I, F>;
    WhileSome<I>;
}

/// Adaptors of two iterators.
macro_rules! adaptors_of_two {
    ($($name:ident)*) => { $(
        #[doc = concat!("Heist's [`", stringify!($name), "`](iter::", stringify!($name), ").")]
        pub type $name<A, B> = iter::$name<Lazy<A>, Lazy<B>>;
    )* };
}

adaptors_of_two!(Chain Interleave InterleaveShortest Zip ZipEq);

/// Heist's [`FlatMap`](iter::FlatMap).
pub type FlatMap<I, F> = iter::FlatMap<Lazy<I>, By<F>>;

/// Heist's [`Flatten`](iter::Flatten).
pub type Flatten<I> = iter::FlatMap<Lazy<I>, Itself>;

/// Expands an item by a closure.
#[expect(unnameable_types, reason = "a detail of `flat_map`")]
#[derive(Debug)]
pub struct By<F>(F);

impl<T, F, PI> Expand<T> for By<F>
where
    F: Fn(T) -> PI + Sync + Send,
    PI: IntoParallelIterator,
{
    type Iter = Lazy<PI::Iter>;

    #[inline]
    fn expand(&self, item: T) -> Lazy<PI::Iter> {
        Lazy::new((self.0)(item).into_par_iter())
    }
}

/// Expands an item, which is itself many.
#[expect(unnameable_types, reason = "a detail of `flat_map`")]
#[derive(Debug)]
pub struct Itself;

impl<T: IntoParallelIterator> Expand<T> for Itself {
    type Iter = Lazy<T::Iter>;

    #[inline]
    fn expand(&self, item: T) -> Lazy<T::Iter> {
        Lazy::new(item.into_par_iter())
    }
}
