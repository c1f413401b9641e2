//! `with_waiting`: the jobs that may run on top of a waiting frame.

use crate::base::waiting::Waiting;
use crate::state::Pool;

/// Calls `op`, in which every wait is of this kind, including those of workers that steal a part of
/// it. An external caller participates in the global pool, as in [`join`](crate::join()).
///
/// A worker that waits for [`Waiting::Descendants`] and finds none idles, unless the pool has
/// compensation workers: because it was [built](crate::ThreadPoolBuilder::waiting) for such waits,
/// or [with some](crate::ThreadPoolBuilder::compensation_workers). Jobs of a
/// [group](crate::TaskGroup) that began before the call are not descendants: to wait for them
/// inside `op` takes another worker that runs them.
///
/// # Panics
///
/// Panics if `op` does.
///
/// # Cost
///
/// Some tens of nanoseconds on a worker. A join or a push in `op` costs nothing more; a worker that
/// waits for descendants and has none stays idle, unless the pool has compensation workers.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::{join, with_waiting, Waiting};
/// use std::sync::Mutex;
///
/// let account = Mutex::new(1);
/// let deposit = || {
///     let mut account = account.lock().unwrap();
///     // Another deposit must not run on top of this frame: it wants the lock.
///     *account += with_waiting(Waiting::Descendants, || join(|| 2, || 3)).0;
/// };
/// join(deposit, deposit);
/// assert_eq!(*account.lock().unwrap(), 5);
/// ```
#[track_caller]
pub fn with_waiting<OP, R>(waiting: Waiting, op: OP) -> R
where
    OP: FnOnce() -> R + Send,
    R: Send,
{
    Pool::on_worker(|worker| worker.with_waiting(waiting, op))
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use heist_deque::Steal;

    use crate::base::job::Job;
    use crate::worker::Worker;
    use crate::{spawn, with_waiting, ThreadPoolBuilder, Waiting};

    /// Takes the oldest job of the calling worker as a thief would, and runs it: true if it was to
    /// wait for descendants only.
    fn stolen_strictly() -> bool {
        let worker = Worker::current().expect("the test runs on a worker");
        let Steal::Success(job) = worker.state().steal(|| true) else {
            panic!("there is a job")
        };
        let is_strict = matches!(job, Job::Detached { mode, .. } if mode.is_strict());
        worker.execute(job);
        is_strict
    }

    #[test]
    fn a_thief_waits_as_the_frame_that_pushed_the_job_and_not_as_its_owner_does_now() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build();
        pool.expect("a pool").install(|| {
            spawn(|| ());
            with_waiting(Waiting::Descendants, || {
                spawn(|| ());
                with_waiting(Waiting::Any, || {
                    spawn(|| ());
                    assert!(!stolen_strictly(), "of before the first call");
                    assert!(stolen_strictly(), "of the first call");
                    assert!(!stolen_strictly(), "of the second");
                });
                spawn(|| ());
                assert!(stolen_strictly(), "of the first call again");
            });
            spawn(|| ());
            assert!(!stolen_strictly(), "of after both");
        });
    }
}
