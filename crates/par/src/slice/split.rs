//! Slices that are cut where a closure says: at separators, or between neighbours.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::cut::Cut;
use crate::part::{delegate, Part};

/// A type of pieces: they are `$slice`s of a slice of `$bound` items, cut at `$marks`.
macro_rules! pieces {
    ($(
        $(#[$doc:meta])*
        $name:ident($slice:ty, $bound:ident), $marks:ident, $closure:path;
    )*) => { $(
        $(#[$doc])*
        #[must_use = "a parallel iterator does nothing until it is consumed"]
        pub struct $name<'data, T, P> {
            pieces: Pieces<$slice, $marks<P>>,
        }

        impl<'data, T, P> $name<'data, T, P>
        where
            P: $closure + Sync + Send,
        {
            pub(super) fn new(slice: $slice, closure: P) -> Self {
                let pieces = Pieces::new(slice, $marks(closure));
                Self { pieces }
            }
        }

        impl<'data, T, P> Part for $name<'data, T, P>
        where
            T: $bound,
            P: $closure + Sync + Send,
        {
            type Output = $slice;

            delegate!(pieces);
        }

        impl<T: fmt::Debug, P> fmt::Debug for $name<'_, T, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("slice", &self.pieces.slice)
                    .finish_non_exhaustive()
            }
        }
    )* };
}

pieces! {
    /// The items between separators: see
    /// [`ParallelSlice::par_split`](super::ParallelSlice::par_split).
    Split(&'data [T], Sync), Separators, Fn(&T) -> bool;
    /// The items between separators: see
    /// [`ParallelSliceMut::par_split_mut`](super::ParallelSliceMut::par_split_mut).
    SplitMut(&'data mut [T], Send), Separators, Fn(&T) -> bool;
    /// Items up to a terminator and with it: see
    /// [`ParallelSlice::par_split_inclusive`](super::ParallelSlice::par_split_inclusive).
    SplitInclusive(&'data [T], Sync), Terminators, Fn(&T) -> bool;
    /// Items up to a terminator and with it: see
    /// [`ParallelSliceMut::par_split_inclusive_mut`](super::ParallelSliceMut::par_split_inclusive_mut).
    SplitInclusiveMut(&'data mut [T], Send), Terminators, Fn(&T) -> bool;
    /// Neighbours that belong together: see
    /// [`ParallelSlice::par_chunk_by`](super::ParallelSlice::par_chunk_by).
    ChunkBy(&'data [T], Sync), Partings, Fn(&T, &T) -> bool;
    /// Neighbours that belong together: see
    /// [`ParallelSliceMut::par_chunk_by_mut`](super::ParallelSliceMut::par_chunk_by_mut).
    ChunkByMut(&'data mut [T], Send), Partings, Fn(&T, &T) -> bool;
}

macro_rules! shared_pieces {
    ($($name:ident),*) => { $(
        impl<T, P> Clone for $name<'_, T, P> {
            fn clone(&self) -> Self {
                let pieces = self.pieces.clone();
                Self { pieces }
            }
        }
    )* };
}

shared_pieces!(Split, SplitInclusive, ChunkBy);

/// The places where a slice is cut: an item is marked if a piece ends with it, or just before it.
trait Marks<T>: Send + Sync {
    /// Whether a marked item lies between two pieces, and is in neither.
    const SEPARATE: bool;

    /// The number of the first items of a slice that may be marked.
    fn places(slice: &[T]) -> usize {
        slice.len()
    }

    /// The first item of the range that is marked.
    fn first(&self, slice: &[T], range: Range<usize>) -> Option<usize>;

    /// The last item of the range that is marked.
    fn last(&self, slice: &[T], range: Range<usize>) -> Option<usize>;
}

/// Items that lie between pieces.
struct Separators<P>(P);

/// Items with which pieces end.
struct Terminators<P>(P);

/// Items which do not belong together with the next one.
struct Partings<P>(P);

macro_rules! marked_items {
    ($marks:ident, $separate:literal) => {
        impl<T, P> Marks<T> for $marks<P>
        where
            P: Fn(&T) -> bool + Send + Sync,
        {
            const SEPARATE: bool = $separate;

            #[inline]
            fn first(&self, slice: &[T], range: Range<usize>) -> Option<usize> {
                let start = range.start;
                let index = slice[range].iter().position(&self.0)?;
                Some(start + index)
            }

            fn last(&self, slice: &[T], range: Range<usize>) -> Option<usize> {
                let start = range.start;
                let index = slice[range].iter().rposition(&self.0)?;
                Some(start + index)
            }
        }
    };
}

marked_items!(Separators, true);
marked_items!(Terminators, false);

impl<T, P> Marks<T> for Partings<P>
where
    P: Fn(&T, &T) -> bool + Send + Sync,
{
    const SEPARATE: bool = false;

    /// All but the last, which has no next one.
    fn places(slice: &[T]) -> usize {
        slice.len().saturating_sub(1)
    }

    #[inline]
    fn first(&self, slice: &[T], range: Range<usize>) -> Option<usize> {
        let start = range.start;
        let mut pairs = slice[start..range.end + 1].windows(2);
        let index = pairs.position(|pair| !self.0(&pair[0], &pair[1]))?;
        Some(start + index)
    }

    fn last(&self, slice: &[T], range: Range<usize>) -> Option<usize> {
        let start = range.start;
        let mut pairs = slice[start..range.end + 1].windows(2);
        let index = pairs.rposition(|pair| !self.0(&pair[0], &pair[1]))?;
        Some(start + index)
    }
}

/// The pieces of a slice, all of them, one by one.
trait OneByOne<S> {
    fn one_by_one(&self, slice: S) -> impl Iterator<Item = S>;
}

macro_rules! one_by_one {
    ($($marks:ident, $slice:ty, $closure:path, $method:ident;)*) => { $(
        impl<'data, T, P: $closure> OneByOne<$slice> for $marks<P> {
            #[inline]
            fn one_by_one(&self, slice: $slice) -> impl Iterator<Item = $slice> {
                slice.$method(&self.0)
            }
        }
    )* };
}

one_by_one! {
    Separators, &'data [T], Fn(&T) -> bool, split;
    Separators, &'data mut [T], Fn(&T) -> bool, split_mut;
    Terminators, &'data [T], Fn(&T) -> bool, split_inclusive;
    Terminators, &'data mut [T], Fn(&T) -> bool, split_inclusive_mut;
    Partings, &'data [T], Fn(&T, &T) -> bool, chunk_by;
    Partings, &'data mut [T], Fn(&T, &T) -> bool, chunk_by_mut;
}

/// The pieces of a slice, whichever they are.
struct Pieces<S, M> {
    slice: S,
    /// The items that have not been looked at: there are no marks elsewhere.
    unknown: Range<usize>,
    /// The last piece has been given.
    is_done: bool,
    marks: Arc<M>,
}

impl<S: Cut, M: Marks<S::Item>> Pieces<S, M> {
    fn new(slice: S, marks: M) -> Self {
        Self {
            unknown: 0..M::places(&slice),
            is_done: Self::is_nothing(&slice),
            slice,
            marks: Arc::new(marks),
        }
    }

    /// A piece between separators may be empty, but no other.
    fn is_nothing(slice: &S) -> bool {
        slice.is_empty() && !M::SEPARATE
    }

    /// Takes away what lies before a mark, or up to it.
    #[inline]
    fn cut_at(&mut self, mark: usize) -> S {
        let slice = std::mem::take(&mut self.slice);
        let end = if M::SEPARATE { mark } else { mark + 1 };
        let (lower, upper) = slice.cut(end);
        self.slice = upper.cut(mark + 1 - end).1;
        self.is_done = Self::is_nothing(&self.slice);
        let Range { start, end } = self.unknown;
        self.unknown = start.saturating_sub(mark + 1)..end - (mark + 1);
        lower
    }

    /// Cuts off the pieces that end within the budget, and charges it.
    #[inline]
    fn front(&mut self, budget: &mut usize) -> Front<S> {
        let mut front = Front {
            first: None,
            many: None,
            last: None,
        };
        if self.is_done {
            return front;
        }
        let Range { start, end } = self.unknown;
        let mut stop = end.min(start.saturating_add(*budget));
        *budget -= stop - start;
        if let Some(mark) = self.marks.first(&self.slice, start..stop) {
            front.first = Some(self.cut_at(mark));
            stop -= mark + 1;
            if let Some(mark) = self.marks.last(&self.slice, 0..stop) {
                front.many = Some(self.cut_at(mark));
                stop -= mark + 1;
            }
        }
        self.unknown.start = stop;
        // If there is anything left to spend, this is the end.
        if *budget > 0 && !self.is_done {
            *budget -= 1;
            self.is_done = true;
            front.last = Some(std::mem::take(&mut self.slice));
        }
        front
    }
}

/// The first pieces of a slice.
struct Front<S> {
    /// Perhaps a long piece, of which some items have been looked at.
    first: Option<S>,
    /// Short ones, not yet cut.
    many: Option<S>,
    /// The last piece of all.
    last: Option<S>,
}

impl<S, M> Part for Pieces<S, M>
where
    S: Cut + Send,
    M: Marks<S::Item> + OneByOne<S>,
{
    type Output = S;

    /// An item to look at is a step, and the last piece is one.
    #[inline]
    fn steps(&self) -> usize {
        if self.is_done {
            0
        } else {
            self.unknown.len().saturating_add(1)
        }
    }

    /// Cuts at the first mark behind the middle, or else at the last one before it.
    fn split(&mut self) -> Option<Self> {
        if self.unknown.is_empty() {
            return None;
        }
        let Range { start, end } = self.unknown;
        let middle = start + self.unknown.len() / 2;
        let mut mark = self.marks.first(&self.slice, middle..end);
        if mark.is_none() {
            mark = self.marks.last(&self.slice, start..middle);
            // All have been looked at, but for those below the mark.
            self.unknown.start = end;
        }
        let mark = mark?;
        let lower = Self {
            slice: self.cut_at(mark),
            unknown: start..middle.min(mark),
            is_done: false,
            marks: Arc::clone(&self.marks),
        };
        Some(std::mem::replace(self, lower))
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(S) -> ControlFlow<()>,
    {
        let Front { first, many, last } = self.front(budget);
        if let Some(piece) = first {
            consume(piece)?;
        }
        if let Some(slice) = many {
            self.marks.one_by_one(slice).try_for_each(&mut consume)?;
        }
        last.map_or(ControlFlow::Continue(()), consume)
    }

    #[inline]
    fn run_fold<B, F>(&mut self, budget: &mut usize, init: B, mut op: F) -> B
    where
        F: FnMut(B, S) -> B,
    {
        let Front { first, many, last } = self.front(budget);
        let mut so_far = init;
        if let Some(piece) = first {
            so_far = op(so_far, piece);
        }
        if let Some(slice) = many {
            so_far = self.marks.one_by_one(slice).fold(so_far, &mut op);
        }
        match last {
            Some(piece) => op(so_far, piece),
            None => so_far,
        }
    }
}

impl<S: Clone, M> Clone for Pieces<S, M> {
    fn clone(&self) -> Self {
        Self {
            slice: self.slice.clone(),
            unknown: self.unknown.clone(),
            is_done: self.is_done,
            marks: Arc::clone(&self.marks),
        }
    }
}
