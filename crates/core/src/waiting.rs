//! What a worker may run while it waits.

use crate::pool::Pool;
use heist_sync::atomic::{AtomicPtr, Ordering};
use std::ptr;

/// What a worker may run on top of a frame that waits, for the second half of a
/// join that was stolen, or for the jobs of a scope.
///
/// | | [`Any`](Self::Any) | [`Descendants`](Self::Descendants) |
/// |---|---|---|
/// | a waiting worker runs | any job of the pool | what the waiting frame itself has begun |
/// | its stack holds | the frames of unrelated jobs, one on top of the other | not more than the job would take serially |
/// | a lock that is held over a `join` | waits for itself if such a job wants it | is safe |
/// | while nothing of that kind is there | nothing is lost | a spare worker takes the place, in a pool that was built so |
///
/// Jobs for [every worker](crate::broadcast()) run on waiting frames in both cases.
/// [`yield_now`](crate::yield_now) is a wish to run any job, and does so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// Any job of the pool, as rayon does.
    #[default]
    Any,
    /// Only jobs that the waiting frame, or what it has called, has pushed.
    ///
    /// The idea is that of leapfrogging (Wagner and Calder, "Leapfrogging: a portable
    /// technique for implementing efficient futures", PPoPP 1993), in its strictest
    /// form.
    Descendants,
}

/// Calls `op`; what waits in it, on this worker or on one that has stolen a part of
/// it, waits in this way. A caller from outside takes part in the global pool, as
/// in [`join`](crate::join()).
///
/// In a pool that was not [built](crate::ThreadPoolBuilder::waiting) for
/// [`Waiting::Descendants`] there are no spare workers: while a worker waits in that
/// way and finds nothing, its place stays empty.
///
/// # Panics
///
/// Panics if `op` does.
///
/// # Examples
///
/// ```
/// use heist_core::{join, with_waiting, Waiting};
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
pub fn with_waiting<OP, R>(waiting: Waiting, op: OP) -> R
where
    OP: FnOnce() -> R + Send,
    R: Send,
{
    Pool::on_worker(|worker| worker.with_waiting(waiting, op))
}

/// How waits on one seat run: for the whole of it, and for the calls of [`with_waiting`]
/// that are under way there.
///
/// A thief has to know how the job waits that it takes: as did the frame that pushed it,
/// whatever its owner has called since. So each call notes the slot that comes next when
/// it begins, and a job in that slot or above, and below the next such call's, is its own.
#[derive(Debug)]
pub(crate) struct Manner {
    is_strict: bool,
    /// The innermost call. It lies in the frame of that call, which is there as long as
    /// this points to it.
    innermost: AtomicPtr<Region>,
}

/// One call of [`with_waiting`].
#[derive(Debug)]
pub(crate) struct Region {
    lowest: usize,
    is_strict: bool,
    outer: *const Region,
}

impl Region {
    pub(crate) fn is_strict(&self) -> bool {
        self.is_strict
    }
}

impl Manner {
    pub(crate) fn new(waiting: Waiting) -> Self {
        Self {
            is_strict: waiting == Waiting::Descendants,
            innermost: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// How the job in this slot waits.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the seat's deque.
    pub(crate) unsafe fn is_strict_at(&self, slot: usize) -> bool {
        // Relaxed, here and below: the lock orders all of it.
        let mut region = self.innermost.load(Ordering::Relaxed).cast_const();
        // SAFETY: by 1. none of them closes meanwhile.
        while let Some(inner) = unsafe { region.as_ref() } {
            if inner.lowest <= slot {
                return inner.is_strict;
            }
            region = inner.outer;
        }
        self.is_strict
    }

    /// A call that begins, when `lowest` is the next slot. For the owner.
    pub(crate) fn region(&self, waiting: Waiting, lowest: usize) -> Region {
        Region {
            lowest,
            is_strict: waiting == Waiting::Descendants,
            outer: self.innermost.load(Ordering::Relaxed),
        }
    }

    /// Jobs that are pushed from now on are of this call. For the owner, who holds the lock
    /// of its deque.
    ///
    /// # Safety
    ///
    /// 1. The region is the seat's newest, and stays in place until `close`.
    pub(crate) unsafe fn open(&self, region: &Region) {
        self.innermost
            .store(ptr::from_ref(region).cast_mut(), Ordering::Relaxed);
    }

    /// The call ends. For the owner, who holds the lock of its deque: no thief looks at
    /// the region any more.
    pub(crate) fn close(&self, region: &Region) {
        self.innermost
            .store(region.outer.cast_mut(), Ordering::Relaxed);
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use crate::job::Job;
    use crate::worker::Worker;
    use crate::{spawn, with_waiting, ThreadPoolBuilder, Waiting};
    use heist_deque::Steal;

    /// Takes the oldest job of the calling worker as a thief would, and runs it: true if it
    /// was to wait for descendants only.
    fn stolen_strictly() -> bool {
        let worker = Worker::current().expect("the test runs on a worker");
        let Steal::Success(job) = worker.seat().steal(|| true) else {
            panic!("there is a job")
        };
        let is_strict = matches!(
            job,
            Job::Detached {
                is_strict: true,
                ..
            }
        );
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
