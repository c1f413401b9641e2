//! What a worker may run while it waits.

use crate::pool::Pool;
use crate::worker::Worker;
use heist_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::cell::Cell;
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
/// [`yield_now`](crate::yield_now) is a wish to run any job, and does so; what that job has
/// pushed and not waited for counts as the frame's from then on.
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
    lowest: AtomicUsize,
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
            if inner.lowest.load(Ordering::Relaxed) <= slot {
                return inner.is_strict;
            }
            region = inner.outer;
        }
        self.is_strict
    }

    /// A call that begins, when `lowest` is the next slot. For the owner.
    pub(crate) fn region(&self, waiting: Waiting, lowest: usize) -> Region {
        Region {
            lowest: AtomicUsize::new(lowest),
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

    /// A job is pushed into this slot: it is the innermost call's. For the owner, who holds
    /// the lock of its deque.
    fn lower(&self, slot: usize) {
        let mut region = self.innermost.load(Ordering::Relaxed).cast_const();
        // SAFETY: the owner's own calls, which are under way.
        while let Some(inner) = unsafe { region.as_ref() } {
            inner.lowest.fetch_min(slot, Ordering::Relaxed);
            region = inner.outer;
        }
    }

    /// The call ends. For the owner, who holds the lock of its deque: no thief looks at
    /// the region any more.
    pub(crate) fn close(&self, region: &Region) {
        self.innermost
            .store(region.outer.cast_mut(), Ordering::Relaxed);
    }
}

/// A frame that may wait for descendants only, a job's or a scope's, and the slots that lie
/// below all that it has pushed.
///
/// Jobs of a frame mostly lie above the slot that came next when it began. But when older
/// ones are gone, taken by thieves or run by a [yield](crate::yield_now), the next job lies
/// below that. So each such push lowers what these frames have noted.
pub(crate) struct Watch {
    is_job: bool,
    lowest: Cell<usize>,
    /// The same of the job in which this began, if that has no watch of its own.
    before: Cell<usize>,
    outer: *const Watch,
}

impl Worker {
    /// Calls `op`, a whole job or the part of one in which something is waited for, and
    /// notes what it pushes.
    pub(crate) fn watched<R>(&self, is_job: bool, op: impl FnOnce() -> R) -> R {
        struct End<'a>(&'a Worker, &'a Watch, bool);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                let Self(worker, watch, was_watched) = self;
                let own = worker.own();
                own.watch.set(watch.outer);
                own.is_watched.set(*was_watched);
                // SAFETY: the frames around this one have not ended.
                let outer = unsafe { watch.outer.as_ref() };
                own.base.set(outer.unwrap_or(watch).from(outer.is_some()));
            }
        }
        let (own, next_slot) = (self.own(), self.next_slot());
        self.note(next_slot);
        let watch = Watch {
            is_job,
            lowest: Cell::new(next_slot),
            before: Cell::new(own.base.replace(next_slot)),
            outer: own.watch.get(),
        };
        own.watch.set(ptr::from_ref(&watch));
        let _end = End(self, &watch, own.is_watched.replace(true));
        op()
    }

    /// A job is about to be pushed into this slot, or one above.
    #[inline(always)]
    pub(crate) fn note(&self, slot: usize) {
        if slot < self.own().base.get() {
            self.lower(slot);
        }
    }

    /// The slot lies below what the present frame has noted.
    #[cold]
    #[inline(never)]
    fn lower(&self, slot: usize) {
        let own = self.own();
        own.base.set(slot);
        let mut watch = own.watch.get();
        // SAFETY: the frames that watch have not ended.
        while let Some(inner) = unsafe { watch.as_ref() } {
            inner.lowest.set(inner.lowest.get().min(slot));
            inner.before.set(inner.before.get().min(slot));
            watch = inner.outer;
        }
        self.deque().locked(|| self.seat().manner.lower(slot));
    }

    /// Below this slot lies nothing that the present scope has pushed, or if there is none the
    /// present job.
    pub(crate) fn pushed_from(&self) -> usize {
        self.own().base.get()
    }

    /// Below this slot lies nothing that the present job has pushed.
    pub(crate) fn pushed_in_job_from(&self) -> usize {
        let mut watch = self.own().watch.get();
        // SAFETY: as above.
        while let Some(inner) = unsafe { watch.as_ref() } {
            if inner.is_job || inner.outer.is_null() {
                return inner.from(inner.is_job);
            }
            watch = inner.outer;
        }
        self.own().base.get()
    }
}

impl Watch {
    fn from(&self, its_own: bool) -> usize {
        if its_own {
            self.lowest.get()
        } else {
            self.before.get()
        }
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
