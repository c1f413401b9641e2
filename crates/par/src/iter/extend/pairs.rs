//! Two collections at once, and either of two.

use either::Either;

use crate::iter::consumer::{partition_map, unzip};
use crate::iter::{FromParallelIterator, IntoParallelIterator, ParallelExtend};

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
        let (left, right) = unzip(iter.into_par_iter());
        self.0.extend_collected(left);
        self.1.extend_collected(right);
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
        let (left, right) = unzip(iter.into_par_iter());
        (FromA::from_collected(left), FromB::from_collected(right))
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
        let (left, right) = partition_map(iter.into_par_iter(), |item| item);
        self.0.extend_collected(left);
        self.1.extend_collected(right);
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
        let (left, right) = partition_map(iter.into_par_iter(), |item| item);
        (A::from_collected(left), B::from_collected(right))
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
