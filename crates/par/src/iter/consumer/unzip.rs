//! Collects into two vectors, in one pass.

use super::{unzip_into, Both, Chunks, Reduce};
use crate::engine::drive;
use crate::iter::ParallelIterator;
use either::Either;
use std::ops::ControlFlow;

/// The left halves and the right halves of all pairs.
pub(crate) fn unzip<I, A, B>(iter: I) -> (Vec<A>, Vec<B>)
where
    I: ParallelIterator<Item = (A, B)>,
    A: Send,
    B: Send,
{
    if let Some(len) = iter.opt_len() {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        unzip_into(&mut left, &mut right, iter, len);
        return (left, right);
    }
    let Both(left, right) = drive(iter, Both(Chunks::new(), Chunks::new()));
    (left.into_vec(), right.into_vec())
}

/// What `side` puts on the left, and what it puts on the right.
pub(crate) fn partition<I, A, B, F>(iter: I, side: F) -> (Vec<A>, Vec<B>)
where
    I: ParallelIterator,
    A: Send,
    B: Send,
    F: Fn(I::Item) -> Either<A, B> + Sync,
{
    let take = |sides: &mut (Chunks<A>, Chunks<B>), item| {
        match side(item) {
            Either::Left(item) => sides.0.push(item),
            Either::Right(item) => sides.1.push(item),
        }
        ControlFlow::Continue(())
    };
    let merge = |sides: &mut (Chunks<A>, Chunks<B>), upper: (Chunks<A>, Chunks<B>)| {
        sides.0.append(upper.0);
        sides.1.append(upper.1);
    };
    let begin = || (Chunks::new(), Chunks::new());
    let (left, right) = drive(iter, Reduce::new(&begin, &take, &merge)).into_result();
    (left.into_vec(), right.into_vec())
}
