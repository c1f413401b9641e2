//! Options and results: a collection if all items are there, or else a failure.

use std::ops::ControlFlow;

use heist_sync::Mutex;

use crate::iter::{FromParallelIterator, IntoParallelIterator, ParallelIterator, Try};

/// Collects what is in the items, until one is a failure.
fn collect_outputs<C, R, I>(iter: I) -> Result<C, R::Residual>
where
    C: FromParallelIterator<R::Output>,
    R: Try<Output: Send, Residual: Send> + Send,
    I: IntoParallelIterator<Item = R>,
{
    let failure = Mutex::new(None);
    let outputs = iter.into_par_iter().map(|item| match item.branch() {
        ControlFlow::Continue(output) => Some(output),
        ControlFlow::Break(residual) => {
            // Dropped when the lock is free again.
            let _earlier = failure.lock().replace(residual);
            None
        }
    });
    let collection = outputs.while_some().collect();
    let failure = failure.lock().take();
    failure.map_or(Ok(collection), Err)
}

/// Nothing if an item is nothing: then the others need not begin.
impl<C, T> FromParallelIterator<Option<T>> for Option<C>
where
    C: FromParallelIterator<T>,
    T: Send,
{
    fn from_par_iter<I>(iter: I) -> Self
    where
        I: IntoParallelIterator<Item = Option<T>>,
    {
        collect_outputs(iter).ok()
    }
}

/// The error of one of the items, if any is one: then the others need not begin.
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
        collect_outputs(iter)
    }
}
