//! `blocking`: a call that waits for something else than the pool.

use crate::worker::Worker;

/// Calls `op`, which may block: on a file, a socket, a lock, a channel, a child process.
///
/// A worker that blocks runs no jobs. In a pool that was built with
/// [compensation workers](crate::ThreadPoolBuilder::compensation_workers), one of them works in its
/// place meanwhile, so that as many work as the pool has workers. In any pool, thieves find all
/// jobs of a worker that blocks, and no wake-up is wasted on it. On a thread that is no worker `op`
/// is just called.
///
/// The worker counts as blocked until `op` ends, or calls an operation of heist that pushes or runs
/// jobs, such as [`spawn`](crate::spawn()) or [`join`](crate::join()): so let `op` do nothing but
/// block. In the [counters](crate::WorkerCounters) it works.
///
/// # Panics
///
/// Panics if `op` does.
///
/// # Cost
///
/// A tenth of a microsecond or two. If a job waits, and nobody is free for it, a compensation
/// worker is woken, or a thread started for it, if it has none yet; if such a job comes later, by
/// whoever queues that.
///
/// A wake-up takes some 20 us. So where job after job blocks, up to four compensation workers are
/// woken before they are wanted, and each of them may run a job while as many work as the pool has
/// workers. 400 jobs that sleep for a millisecond each take 5 ms with one worker.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use std::sync::mpsc::channel;
/// // One worker: without another in its place the second job would never run.
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).compensation_workers(1).build()?;
/// let (say, heard) = channel();
/// let answer = pool.submit(move || heist::blocking(|| heard.recv()));
/// pool.spawn(move || say.send(42).unwrap());
/// assert_eq!(answer.join(), Ok(42));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
pub fn blocking<OP, R>(op: OP) -> R
where
    OP: FnOnce() -> R,
{
    match Worker::current_or_hidden() {
        Some(worker) if worker.is_blocked() => op(),
        // Current, so that the deque's tail is exact.
        _ => match Worker::current() {
            Some(worker) => worker.block(op),
            None => op(),
        },
    }
}
