//! Collects into two vectors, in one pass.

use std::ops::ControlFlow;

use either::Either;

use super::{unzip_into, Chunks, Reduce};
use crate::driver::drive;
use crate::part::Part;

/// The left halves and the right halves of all pairs.
pub(crate) fn unzip<I, A, B>(iter: I) -> (Vec<A>, Vec<B>)
where
    I: Part<Output = (A, B)>,
    A: Send,
    B: Send,
{
    let Some(len) = iter.known_len() else {
        return into_two(iter, |sides, (left, right)| {
            sides.0.push(left);
            sides.1.push(right);
        });
    };
    let (mut left, mut right) = (Vec::new(), Vec::new());
    unzip_into(&mut left, &mut right, iter, len);
    (left, right)
}

/// The items that `side` puts on the left, and those that it puts on the right.
pub(crate) fn partition_map<I, A, B, F>(iter: I, side: F) -> (Vec<A>, Vec<B>)
where
    I: Part,
    A: Send,
    B: Send,
    F: Fn(I::Output) -> Either<A, B> + Sync,
{
    into_two(iter, |sides, item| match side(item) {
        Either::Left(item) => sides.0.push(item),
        Either::Right(item) => sides.1.push(item),
    })
}

fn into_two<I, A, B, F>(iter: I, put: F) -> (Vec<A>, Vec<B>)
where
    I: Part,
    A: Send,
    B: Send,
    F: Fn(&mut (Chunks<A>, Chunks<B>), I::Output) + Sync,
{
    let begin = || (Chunks::new(), Chunks::new());
    let take = |sides: &mut (Chunks<A>, Chunks<B>), item| {
        put(sides, item);
        ControlFlow::Continue(())
    };
    let merge = |sides: &mut (Chunks<A>, Chunks<B>), upper: (Chunks<A>, Chunks<B>)| {
        sides.0.append(upper.0);
        sides.1.append(upper.1);
    };
    let (left, right) = drive(iter, Reduce::new(&begin, &take, &merge)).into_result();
    (left.into_vec(), right.into_vec())
}
