//! `fork`: a spawned job whose handle is joined for its value.

use crate::completion::Completion;
use crate::handle::ThreadPool;
use crate::pool::Pool;
use crate::spawn;
use crate::unwind;
use heist_sync::{thread, Mutex};
use std::fmt;
use std::sync::Arc;

/// Starts a job in the pool of the calling worker, or else in the global pool,
/// and returns a handle to its value.
///
/// For two closures of which the caller runs one, [`join`](crate::join) is
/// cheaper and lets them borrow.
///
/// # Examples
///
/// ```
/// let left = heist_core::fork(|| (1..=10).sum::<u32>());
/// let right: u32 = (11..=20).sum();
/// assert_eq!(left.join() + right, 210);
/// ```
pub fn fork<F, T>(job: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    fork_in(&Pool::current(), job)
}

impl ThreadPool {
    /// [`fork`] in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.fork(|| 6 * 7).join(), 42);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn fork<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        fork_in(self.pool(), job)
    }
}

fn fork_in<T: Send + 'static>(
    pool: &Arc<Pool>,
    job: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let shared = Arc::new(Shared {
        pool: Arc::clone(pool),
        completion: Completion::default(),
        result: Mutex::new(None),
    });
    shared.completion.add();
    let task = Arc::clone(&shared);
    spawn::spawn_in(pool, move || {
        let result = unwind::halt_job(job);
        *task.result.lock() = Some(result);
        task.completion.finish();
    });
    JoinHandle { shared }
}

/// A handle to the value of a job: see [`fork`].
///
/// Dropping the handle lets the job run on and drops its value. A panic that
/// nobody joins goes to the pool's
/// [panic handler](crate::ThreadPoolBuilder::panic_handler), as with
/// [`spawn`](crate::spawn).
#[must_use = "a job whose value nobody wants is a `spawn`"]
pub struct JoinHandle<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    pool: Arc<Pool>,
    completion: Completion,
    result: Mutex<Option<thread::Result<T>>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the job and returns its value. A worker runs jobs while it
    /// waits; any other thread blocks.
    ///
    /// # Panics
    ///
    /// Panics if the job did, with the same payload.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(heist_core::fork(|| "done").join(), "done");
    /// ```
    pub fn join(self) -> T {
        self.shared.completion.wait(&self.shared.pool);
        let result = self.shared.result.lock().take();
        match result.expect("a job that has ended has left its result") {
            Ok(value) => value,
            Err(payload) => unwind::resume(payload),
        }
    }

    /// True if the job has ended, so that [`join`](Self::join) returns at once.
    ///
    /// # Examples
    ///
    /// ```
    /// let handle = heist_core::fork(|| 1);
    /// while !handle.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(handle.join(), 1);
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.shared.completion.is_done()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("is_finished", &self.is_finished())
            .finish()
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        match self.result.lock().take() {
            Some(Err(payload)) => self.pool.handle_panic(payload),
            Some(Ok(value)) => unwind::discard(value),
            None => {}
        }
    }
}
