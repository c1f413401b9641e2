//! A value for each worker, checked out and given back.

use std::fmt;

use heist_sync::{CachePadded, Mutex};

/// Values of which each worker uses its own: buffers, caches, partial results.
///
/// [`with`](Self::with) checks a value out and gives it back afterwards. If the closure waits in a
/// parallel operation, and the worker runs another job of the same kind meanwhile, that one gets
/// another value: no job meets a value in the middle of a change, and nothing blocks. So there are
/// about as many values as workers, and some more where calls nest.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
/// use heist::WorkerLocal;
///
/// // One buffer for each worker, and not one for each line.
/// let buffers = WorkerLocal::new(String::new);
/// let lengths = (0..100).into_par_iter().map(|n| {
///     buffers.with(|buffer| {
///         buffer.clear();
///         buffer.push_str(&n.to_string());
///         buffer.len()
///     })
/// });
/// assert_eq!(lengths.sum::<usize>(), 190);
/// ```
///
/// Partial results, put together at the end:
///
/// ```
/// use heist::prelude::*;
/// use heist::WorkerLocal;
///
/// let counts = WorkerLocal::new(|| [0; 10]);
/// (0..1000).into_par_iter().for_each(|n| counts.with(|counts| counts[n % 10] += 1));
/// let seven: i32 = counts.into_iter().map(|counts| counts[7]).sum();
/// assert_eq!(seven, 100);
/// ```
pub struct WorkerLocal<T, F = fn() -> T> {
    init: F,
    /// The values that are not in use: by the worker that had them last.
    shelves: Box<[CachePadded<Mutex<Vec<T>>>]>,
}

impl<T, F> WorkerLocal<T, F>
where
    T: Send,
    F: Fn() -> T + Sync,
{
    /// For the workers of the present pool, or else of the global one. `init` makes a value when
    /// one is asked for and none is there.
    pub fn new(init: F) -> Self {
        let shelves = (0..heist_core::current_num_threads()).map(|_| CachePadded::default());
        Self {
            init,
            shelves: shelves.collect(),
        }
    }

    /// Calls `op` with a value that nothing else uses meanwhile.
    ///
    /// Any thread may call it; those that are no workers share the first worker's values.
    ///
    /// # Panics
    ///
    /// Panics if `op` or the initialiser does. The value of a panicking `op` is dropped.
    ///
    /// # Cost
    ///
    /// Locking and unlocking a lock that hardly anybody else wants, twice.
    pub fn with<R>(&self, op: impl FnOnce(&mut T) -> R) -> R {
        let worker = heist_core::current_thread_index().unwrap_or(0);
        let shelf = &self.shelves[worker % self.shelves.len()];
        let value = shelf.lock().pop();
        let mut value = value.unwrap_or_else(&self.init);
        let result = op(&mut value);
        shelf.lock().push(value);
        result
    }
}

impl<T, F> IntoIterator for WorkerLocal<T, F> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    /// All values, in no particular order.
    fn into_iter(self) -> Self::IntoIter {
        let shelves = self.shelves.iter();
        let values: Vec<_> = shelves
            .flat_map(|shelf| std::mem::take(&mut *shelf.lock()))
            .collect();
        values.into_iter()
    }
}

impl<T, F> fmt::Debug for WorkerLocal<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerLocal")
            .field("shelves", &self.shelves.len())
            .finish_non_exhaustive()
    }
}
