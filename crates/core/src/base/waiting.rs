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

/// How the frames of a job wait, and for whose value they are needed.
///
/// A pointer to the state of a [`Once`](crate::Once), in whose initialiser they are, or null; and
/// in the bits that no such address uses, why they wait strictly, if they do. The state is there as
/// long as the initialiser runs, and it waits for all of these frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitMode(*const ());

/// The program has asked for it: descendants only.
const DESCENDANTS: usize = 1;
/// For the sake of the initialiser: pieces of it only, whichever of its frames has pushed them.
const PIECES: usize = 2;
const BITS: usize = DESCENDANTS | PIECES;

impl WaitMode {
    pub(crate) fn new(waiting: Waiting) -> Self {
        Self(ptr::null()).with(waiting)
    }

    /// Of a call that asks for this, in a frame that waits so.
    pub(crate) fn with(self, waiting: Waiting) -> Self {
        let bits = match waiting {
            Waiting::Any => 0,
            Waiting::Descendants => DESCENDANTS,
        };
        Self::tagged(self.once(), bits)
    }

    /// Of the initialiser of this `Once`, which is called in a frame that waits so.
    pub(crate) fn initialising(self, once: *const ()) -> Self {
        debug_assert!(once as usize & BITS == 0, "its words are aligned");
        let is_asked_for = self.bits() == DESCENDANTS;
        Self::tagged(once, if is_asked_for { DESCENDANTS } else { PIECES })
    }

    /// Of a job that nobody waits for, as far as is known, and that another worker has stolen from
    /// such a frame: no initialiser needs it.
    pub(crate) fn detached(self) -> Self {
        Self::new(if self.is_strict() {
            Waiting::Descendants
        } else {
            Waiting::Any
        })
    }

    /// Of a part of such a frame that it has sent to other workers by name: an initialiser needs it
    /// there too.
    pub(crate) fn elsewhere(self) -> Self {
        if self.once().is_null() {
            Self(ptr::null())
        } else {
            self
        }
    }

    /// True if only some jobs may run on top.
    pub(crate) fn is_strict(self) -> bool {
        self.bits() != 0
    }

    /// True if nothing is special.
    pub(crate) fn is_plain(self) -> bool {
        self.0.is_null()
    }

    /// The `Once` whose initialiser needs these frames, or null.
    pub(crate) fn once(self) -> *const () {
        self.0.cast::<u8>().wrapping_sub(self.bits()).cast()
    }

    /// The `Once` of whose initialiser any piece may run on top, or null.
    pub(crate) fn shares(self) -> *const () {
        if self.bits() == PIECES {
            self.once()
        } else {
            ptr::null()
        }
    }

    fn tagged(once: *const (), bits: usize) -> Self {
        Self(once.cast::<u8>().wrapping_add(bits).cast())
    }

    fn bits(self) -> usize {
        self.0 as usize & BITS
    }
}

/// How one worker waits: for the whole of it, and for the calls of
/// [`with_waiting`](crate::with_waiting) and the initialisers that are under way there.
///
/// A thief has to know how the job waits that it takes: as did the frame that pushed it, whatever
/// its owner has called since. So each call notes the slot that comes next when it begins, and a
/// job in that slot or above, and below the next such call's, is its own.
#[derive(Debug)]
pub(crate) struct WaitModes {
    outermost: WaitMode,
    /// The innermost call. It lies in the frame of that call, which is there as long as this points
    /// to it.
    innermost: AtomicPtr<Region>,
}

/// One call of [`with_waiting`](crate::with_waiting), of an initialiser, or of a job that a thief
/// has taken from such.
#[derive(Debug)]
pub(crate) struct Region {
    lowest: AtomicUsize,
    mode: WaitMode,
    outer: *const Region,
}

impl WaitModes {
    pub(crate) fn new(waiting: Waiting) -> Self {
        Self {
            outermost: WaitMode::new(waiting),
            innermost: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// False if no call is under way, as far as the caller sees. A hint.
    pub(crate) fn has_regions(&self) -> bool {
        !self.innermost.load(Ordering::Relaxed).is_null()
    }

    /// How the frame on top waits. For the owner.
    pub(crate) fn present(&self) -> WaitMode {
        // SAFETY: the owner's own calls, which are under way.
        let innermost = unsafe { self.innermost.load(Ordering::Relaxed).as_ref() };
        innermost.map_or(self.outermost, |region| region.mode)
    }

    /// True if some frame of this worker is needed by the initialiser of this `Once`. For the
    /// owner.
    pub(crate) fn is_needed_by(&self, once: *const ()) -> bool {
        let mut region = self.innermost.load(Ordering::Relaxed).cast_const();
        // SAFETY: as above.
        while let Some(inner) = unsafe { region.as_ref() } {
            if inner.mode.once() == once {
                return true;
            }
            region = inner.outer;
        }
        false
    }

    /// How the job in this slot waits.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the worker's deque.
    pub(crate) unsafe fn at(&self, slot: usize) -> WaitMode {
        // Relaxed, here and below: the lock orders all of it.
        let mut region = self.innermost.load(Ordering::Relaxed).cast_const();
        // SAFETY: by 1. none of them closes meanwhile.
        while let Some(inner) = unsafe { region.as_ref() } {
            if inner.lowest.load(Ordering::Relaxed) <= slot {
                return inner.mode;
            }
            region = inner.outer;
        }
        self.outermost
    }

    /// A call that begins, when `lowest` is the next slot. For the owner.
    pub(crate) fn region(&self, mode: WaitMode, lowest: usize) -> Region {
        Region {
            lowest: AtomicUsize::new(lowest),
            mode,
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
