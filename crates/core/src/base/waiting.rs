//! Waiting: which jobs a worker may run meanwhile.

use std::cell::Cell;
use std::ptr;

use heist_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The jobs that a worker may run on top of a frame that waits, for the second half of a join that
/// was stolen, or for the jobs of a scope.
///
/// | | [`Any`](Self::Any) | [`Descendants`](Self::Descendants) |
/// |---|---|---|
/// | a waiting worker runs | any job of the pool | what the waiting frame itself has begun |
/// | its stack holds | the frames of unrelated jobs, one on top of the other | not more than the job would take serially |
/// | a lock that is held over a `join` | waits for itself if such a job wants it | is safe |
/// | while nothing of that kind is there | nothing is lost | a compensation worker takes the place, in a pool that was built so |
///
/// Jobs for [every worker](crate::broadcast()) run on waiting frames in both cases.
/// [`yield_now`](crate::yield_now) is a wish to run any job, and does so; what that job has pushed
/// and not waited for counts as the frame's from then on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// Any job of the pool, as rayon does.
    #[default]
    Any,
    /// Only jobs that the waiting frame, or what it has called, has pushed.
    ///
    /// The idea is that of leapfrogging (Wagner and Calder, "Leapfrogging: a portable technique for
    /// implementing efficient futures", PPoPP 1993), in its strictest form.
    Descendants,
}

/// How one worker waits: for the whole of it, and for the calls of [`with_waiting`](crate::with_waiting) that are under
/// way there.
///
/// A thief has to know how the job waits that it takes: as did the frame that pushed it, whatever
/// its owner has called since. So each call notes the slot that comes next when it begins, and a
/// job in that slot or above, and below the next such call's, is its own.
#[derive(Debug)]
pub(crate) struct WaitModes {
    is_strict: bool,
    /// The innermost call. It lies in the frame of that call, which is there as long as this points
    /// to it.
    innermost: AtomicPtr<Region>,
}

/// One call of [`with_waiting`](crate::with_waiting).
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

impl WaitModes {
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
    /// 1. The caller holds the lock of the worker's deque.
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

    /// Jobs that are pushed from now on are of this call. For the owner, who holds the lock of its
    /// deque.
    ///
    /// # Safety
    ///
    /// 1. The region is the worker's newest, and stays in place until `close`.
    pub(crate) unsafe fn open(&self, region: &Region) {
        self.innermost
            .store(ptr::from_ref(region).cast_mut(), Ordering::Relaxed);
    }

    /// A job is pushed into this slot: it is the innermost call's. For the owner, who holds the
    /// lock of its deque.
    pub(crate) fn lower(&self, slot: usize) {
        let mut region = self.innermost.load(Ordering::Relaxed).cast_const();
        // SAFETY: the owner's own calls, which are under way.
        while let Some(inner) = unsafe { region.as_ref() } {
            inner.lowest.fetch_min(slot, Ordering::Relaxed);
            region = inner.outer;
        }
    }

    /// The call ends. For the owner, who holds the lock of its deque: no thief looks at the region
    /// any more.
    pub(crate) fn close(&self, region: &Region) {
        self.innermost
            .store(region.outer.cast_mut(), Ordering::Relaxed);
    }
}

/// A frame that may wait for descendants only, a job's or a scope's, and the slots that lie below
/// all that it has pushed.
///
/// Jobs of a frame mostly lie above the slot that came next when it began. But when older ones are
/// gone, taken by thieves or run by a [yield](crate::yield_now), the next job lies below that. So
/// each such push lowers what these frames have noted.
pub(crate) struct Watch {
    pub(crate) is_job: bool,
    pub(crate) lowest: Cell<usize>,
    /// The same of the job in which this began, if that has no watch of its own.
    pub(crate) before: Cell<usize>,
    pub(crate) outer: *const Self,
}

impl Watch {
    pub(crate) fn from(&self, its_own: bool) -> usize {
        if its_own {
            self.lowest.get()
        } else {
            self.before.get()
        }
    }
}
