//! Collections are made from the items of any parallel iterator, and take them in, as heist does.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use either::Either;
use heist_par::iter;

use super::parallel::{
    FromParallelIterator, IntoParallelIterator, Lazy, ParallelExtend, ParallelIterator,
};
use crate::enter::enter;

/// Collects and extends as heist does.
macro_rules! extend {
    ($([$($params:tt)*] $collection:ty: $item:ty;)*) => { $(
        impl<$($params)*> ParallelExtend<$item> for $collection {
            fn par_extend<I>(&mut self, iter: I)
            where
                I: IntoParallelIterator<Item = $item>,
            {
                let iter = iter.into_par_iter();
                let (len, iter) = (iter.opt_len(), Lazy::new(iter));
                enter(len, || iter::ParallelExtend::par_extend(self, iter));
            }
        }
    )* };
}

extend! {
    [] (): ();
    [T: Send] Vec<T>: T;
    ['a, T: 'a + Copy + Send + Sync] Vec<T>: &'a T;
    [T: Send] LinkedList<T>: T;
    ['a, T: 'a + Copy + Send + Sync] LinkedList<T>: &'a T;
    [T: Send] VecDeque<T>: T;
    ['a, T: 'a + Copy + Send + Sync] VecDeque<T>: &'a T;
    [T: Ord + Send] BinaryHeap<T>: T;
    ['a, T: 'a + Copy + Ord + Send + Sync] BinaryHeap<T>: &'a T;
    [T: Ord + Send] BTreeSet<T>: T;
    ['a, T: 'a + Copy + Ord + Send + Sync] BTreeSet<T>: &'a T;
    [K: Ord + Send, V: Send] BTreeMap<K, V>: (K, V);
    ['a, K: 'a + Copy + Ord + Send + Sync, V: 'a + Copy + Send + Sync]
        BTreeMap<K, V>: (&'a K, &'a V);
    [T: Eq + Hash + Send, S: BuildHasher + Send] HashSet<T, S>: T;
    ['a, T: 'a + Copy + Eq + Hash + Send + Sync, S: BuildHasher + Send] HashSet<T, S>: &'a T;
    [K: Eq + Hash + Send, V: Send, S: BuildHasher + Send] HashMap<K, V, S>: (K, V);
    ['a, K: 'a + Copy + Eq + Hash + Send + Sync, V: 'a + Copy + Send + Sync,
        S: BuildHasher + Send] HashMap<K, V, S>: (&'a K, &'a V);
    [] String: char;
    ['a] String: &'a char;
    ['a] String: &'a str;
    [] String: String;
    [] String: Box<str>;
    ['a] String: Cow<'a, str>;
    ['a] OsString: &'a OsStr;
    [] OsString: OsString;
    ['a] OsString: Cow<'a, OsStr>;
}

/// Begins with nothing.
macro_rules! from_empty {
    ($([$($params:tt)*] $collection:ty: $item:ty;)*) => { $(
        impl<$($params)*> FromParallelIterator<$item> for $collection {
            fn from_par_iter<I>(iter: I) -> Self
            where
                I: IntoParallelIterator<Item = $item>,
            {
                let mut collection = Self::default();
                collection.par_extend(iter);
                collection
            }
        }
    )* };
}

from_empty! {
    [] (): ();
    [T: Send] Vec<T>: T;
    [T: Send] LinkedList<T>: T;
    [T: Eq + Hash + Send, S: BuildHasher + Default + Send] HashSet<T, S>: T;
    [K: Eq + Hash + Send, V: Send, S: BuildHasher + Default + Send] HashMap<K, V, S>: (K, V);
    [] String: char;
    ['a] String: &'a char;
    ['a] String: &'a str;
    [] String: String;
    [] String: Box<str>;
    ['a] String: Cow<'a, str>;
    ['a] OsString: &'a OsStr;
    [] OsString: OsString;
    ['a] OsString: Cow<'a, OsStr>;
}

/// Begins with another collection, by an expression.
macro_rules! from_other {
    ($([$($params:tt)*] $collection:ty: $item:ty, $other:ty, $from:expr;)*) => { $(
        impl<$($params)*> FromParallelIterator<$item> for $collection {
            fn from_par_iter<I>(iter: I) -> Self
            where
                I: IntoParallelIterator<Item = $item>,
            {
                $from(<$other>::from_par_iter(iter))
            }
        }
    )* };
}

from_other! {
    [T: Send] Box<[T]>: T, Vec<T>, Self::from;
    [T: Send] Rc<[T]>: T, Vec<T>, Self::from;
    [T: Send] Arc<[T]>: T, Vec<T>, Self::from;
    [T: Send] VecDeque<T>: T, Vec<T>, Self::from;
    [T: Ord + Send] BinaryHeap<T>: T, Vec<T>, Self::from;
    [T: Ord + Send] BTreeSet<T>: T, Vec<T>, Self::from_iter;
    [K: Ord + Send, V: Send] BTreeMap<K, V>: (K, V), Vec<(K, V)>, Self::from_iter;
}

/// A string first.
macro_rules! from_string {
    ($($text:ty),*) => { $(
        impl<T: Send> FromParallelIterator<T> for $text
        where
            String: FromParallelIterator<T>,
        {
            fn from_par_iter<I>(iter: I) -> Self
            where
                I: IntoParallelIterator<Item = T>,
            {
                String::from_par_iter(iter).into()
            }
        }
    )* };
}

from_string!(Box<str>, Rc<str>, Arc<str>);

impl<C, T> FromParallelIterator<T> for Cow<'_, C>
where
    C: ToOwned<Owned: FromParallelIterator<T>> + ?Sized,
    T: Send,
{
    fn from_par_iter<I>(iter: I) -> Self
    where
        I: IntoParallelIterator<Item = T>,
    {
        Cow::Owned(C::Owned::from_par_iter(iter))
    }
}

impl<C, T> FromParallelIterator<Option<T>> for Option<C>
where
    C: FromParallelIterator<T>,
    T: Send,
{
    fn from_par_iter<I>(iter: I) -> Self
    where
        I: IntoParallelIterator<Item = Option<T>>,
    {
        let results = iter.into_par_iter().map(|item| item.ok_or(()));
        Result::from_par_iter(results).ok()
    }
}

impl<C, T, E> FromParallelIterator<Result<T, E>> for Result<C, E>
where
    C: FromParallelIterator<T>,
    T: Send,
    E: Send,
{
    fn from_par_iter<I>(iter: I) -> Self
    where
        I: IntoParallelIterator<Item = Result<T, E>>,
    {
        let failure = Mutex::new(None);
        let outputs = iter.into_par_iter().map(|item| match item {
            Ok(output) => Some(output),
            Err(error) => {
                // Dropped when the lock is free again; one that was poisoned there is kept.
                let _earlier = failure.lock().ok()?.replace(error);
                None
            }
        });
        let collection = outputs.while_some().collect();
        match failure.into_inner() {
            Ok(Some(error)) => Err(error),
            _ => Ok(collection),
        }
    }
}

impl<A, B, FromA, FromB> ParallelExtend<(A, B)> for (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: Send + ParallelExtend<A>,
    FromB: Send + ParallelExtend<B>,
{
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = (A, B)>,
    {
        let (left, right): (Vec<A>, Vec<B>) = halves(iter);
        self.0.par_extend(left);
        self.1.par_extend(right);
    }
}

impl<A, B, FromA, FromB> FromParallelIterator<(A, B)> for (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: Send + FromParallelIterator<A>,
    FromB: Send + FromParallelIterator<B>,
{
    fn from_par_iter<I>(iter: I) -> Self
    where
        I: IntoParallelIterator<Item = (A, B)>,
    {
        let (left, right): (Vec<A>, Vec<B>) = halves(iter);
        (FromA::from_par_iter(left), FromB::from_par_iter(right))
    }
}

impl<L, R, A, B> ParallelExtend<Either<L, R>> for (A, B)
where
    L: Send,
    R: Send,
    A: Send + ParallelExtend<L>,
    B: Send + ParallelExtend<R>,
{
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = Either<L, R>>,
    {
        let (left, right): (Vec<L>, Vec<R>) = halves(iter);
        self.0.par_extend(left);
        self.1.par_extend(right);
    }
}

impl<L, R, A, B> FromParallelIterator<Either<L, R>> for (A, B)
where
    L: Send,
    R: Send,
    A: Send + FromParallelIterator<L>,
    B: Send + FromParallelIterator<R>,
{
    fn from_par_iter<I>(iter: I) -> Self
    where
        I: IntoParallelIterator<Item = Either<L, R>>,
    {
        let (left, right): (Vec<L>, Vec<R>) = halves(iter);
        (A::from_par_iter(left), B::from_par_iter(right))
    }
}

impl<L, R, T> ParallelExtend<T> for Either<L, R>
where
    L: ParallelExtend<T>,
    R: ParallelExtend<T>,
    T: Send,
{
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = T>,
    {
        match self {
            Either::Left(collection) => collection.par_extend(iter),
            Either::Right(collection) => collection.par_extend(iter),
        }
    }
}

/// Two vectors, of pairs or of either.
fn halves<T, A, B, I>(iter: I) -> (Vec<A>, Vec<B>)
where
    A: Send,
    B: Send,
    T: Send,
    I: IntoParallelIterator<Item = T>,
    (Vec<A>, Vec<B>): iter::FromParallelIterator<T>,
{
    let iter = iter.into_par_iter();
    let (len, iter) = (iter.opt_len(), Lazy::new(iter));
    enter(len, || iter::FromParallelIterator::from_par_iter(iter))
}
