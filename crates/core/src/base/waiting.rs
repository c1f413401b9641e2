//! The modes of waiting: the jobs that a worker may run while it waits.

use std::ptr;

/// The jobs that a worker may run on top of a waiting frame: one that waits for the stolen half of
/// a join, say, or for the jobs of a scope.
///
/// | | [`Any`](Self::Any) | [`Descendants`](Self::Descendants) |
/// |---|---|---|
/// | a waiting worker runs | any job of the pool | the jobs that the waiting frame itself has begun |
/// | its stack holds | the frames of unrelated jobs, one on top of the other | not more than the job would take serially |
/// | a lock that is held over a `join` | waits for itself if such a job wants it | is safe |
/// | a worker that is free, while jobs from outside wait | steals first, where victims are few | takes those first: an owner would wait for the thief |
/// | while nothing of that kind is there | nothing is lost | a compensation worker takes the place, in a pool that was built so |
///
/// Jobs that no other worker may run, those for [every worker](crate::broadcast()) or
/// [only one](crate::JobBuilder::only_on) and local futures, run on waiting frames in both cases: so
/// they must not want a lock that is held over a `join` on their worker. On top of the initialiser
/// of a [`Once`](crate::Once) they do not.
/// [`yield_now`](crate::yield_now) runs any job in both cases; the jobs that this one has pushed
/// and not waited for then count as the frame's. A job that runs on top of a frame with
/// `Descendants` waits for descendants only itself, whatever its own mode: if it waits for a job
/// that another one has begun, another worker has to run that.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::{ThreadPoolBuilder, Waiting};
/// use std::sync::Mutex;
///
/// // A job may hold a lock over its joins: only its own jobs run on top of it.
/// let pool = ThreadPoolBuilder::new().num_threads(2).waiting(Waiting::Descendants).build()?;
/// let sums = Mutex::new(Vec::new());
/// let add = |n: u64| {
///     let mut sums = sums.lock().unwrap();
///     let (a, b) = heist::join(|| (0..n).sum::<u64>(), || (n..2 * n).sum::<u64>());
///     sums.push(a + b);
/// };
/// pool.join(|| add(10), || add(20));
/// assert_eq!(sums.into_inner().unwrap().iter().sum::<u64>(), 190 + 780);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
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

/// The way in which the frames of a job wait, and the `Once` whose value needs them.
///
/// A pointer to the state of a [`Once`](crate::Once), in whose initialiser they are, or
/// [`UNKNOWN`], or null; and in the bits that no such address uses, why they wait strictly, if they
/// do. The state is there as long as the initialiser runs, and it waits for all of these frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitMode(*const ());

/// Descendants only, because the program has asked for it.
const DESCENDANTS: usize = 1;
/// Pieces of the initialiser only, for its sake, whichever of its frames has pushed them.
const PIECES: usize = 2;
const BITS: usize = DESCENDANTS | PIECES;

/// In place of the state of a `Once`: some initialiser may wait for these frames, and may have
/// ended.
const UNKNOWN: *const () = ptr::null::<u8>().wrapping_add(BITS + 1).cast();

impl WaitMode {
    pub(crate) fn new(waiting: Waiting) -> Self {
        Self(ptr::null()).with(waiting)
    }

    /// The mode of a call that asks for this, in a frame of this mode.
    pub(crate) fn with(self, waiting: Waiting) -> Self {
        let bits = match waiting {
            Waiting::Any => 0,
            Waiting::Descendants => DESCENDANTS,
        };
        Self::tagged(self.needing(), bits)
    }

    /// The mode of a job for which some initialiser waits, wherever it runs.
    pub(crate) fn needed() -> Self {
        Self::tagged(UNKNOWN, DESCENDANTS)
    }

    /// The mode of the initialiser of this `Once`, called in a frame of this mode.
    pub(crate) fn initialising(self, once: *const ()) -> Self {
        debug_assert!(once as usize & BITS == 0, "its words are aligned");
        let is_asked_for = self.bits() == DESCENDANTS;
        Self::tagged(once, if is_asked_for { DESCENDANTS } else { PIECES })
    }

    /// The mode of a detached job that a thief has stolen from a frame of this mode. An initialiser
    /// that needs the frame may wait for the job, or not.
    pub(crate) fn detached(self) -> Self {
        let needing = if self.is_needed() {
            UNKNOWN
        } else {
            ptr::null()
        };
        Self::tagged(needing, if self.is_strict() { DESCENDANTS } else { 0 })
    }

    /// The mode of a part that a frame of this mode has sent to a particular worker: an initialiser
    /// needs it there too.
    pub(crate) fn elsewhere(self) -> Self {
        if self.is_needed() {
            self
        } else {
            Self(ptr::null())
        }
    }

    /// True if only some jobs may run on top.
    pub(crate) fn is_strict(self) -> bool {
        self.bits() != 0
    }

    /// True if frames wait in the default way.
    pub(crate) fn is_plain(self) -> bool {
        self.0.is_null()
    }

    /// True if an initialiser may wait for these frames.
    pub(crate) fn is_needed(self) -> bool {
        !self.needing().is_null()
    }

    /// The `Once` whose initialiser is known to need these frames, or null.
    pub(crate) fn once(self) -> *const () {
        let needing = self.needing();
        if needing == UNKNOWN {
            ptr::null()
        } else {
            needing
        }
    }

    /// True if a job of the mode `other` that a frame of this mode has pushed is seen to be one for
    /// which an initialiser may wait, by its slot.
    pub(crate) fn needs_what(self, other: Self) -> bool {
        self.is_needed() && (other.once().is_null() || self.once() == other.once())
    }

    /// The `Once` of whose initialiser any piece may run on top, or null.
    pub(crate) fn shares(self) -> *const () {
        if self.bits() == PIECES {
            self.once()
        } else {
            ptr::null()
        }
    }

    fn needing(self) -> *const () {
        self.0.cast::<u8>().wrapping_sub(self.bits()).cast()
    }

    fn tagged(needing: *const (), bits: usize) -> Self {
        Self(needing.cast::<u8>().wrapping_add(bits).cast())
    }

    fn bits(self) -> usize {
        self.0 as usize & BITS
    }
}
