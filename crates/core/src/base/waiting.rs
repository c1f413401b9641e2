//! The modes of waiting: the jobs that a worker may run while it waits.

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use heist_deque::Owner;
use heist_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use heist_sync::fault;

use crate::base::region::Context;

/// The jobs that a worker may run on top of a waiting frame: one that waits for the stolen half of
/// a join, say, or for the jobs of a scope.
///
/// | | [`Any`](Self::Any) | [`Descendants`](Self::Descendants) |
/// |---|---|---|
/// | a waiting worker runs | any job of the pool | the jobs that the waiting frame itself has begun |
/// | its stack holds | the frames of unrelated jobs, one on top of the other | not more than the job would take serially |
/// | a lock that is held over a `join` | waits for itself if such a job wants it | is safe |
/// | while nothing of that kind is there | nothing is lost | a compensation worker takes the place, in a pool that was built so |
///
/// Jobs for [every worker](crate::broadcast()) run on waiting frames in both cases.
/// [`yield_now`](crate::yield_now) runs any job in both cases; the jobs that this one has pushed
/// and not waited for then count as the frame's.
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
/// A pointer to the state of a [`Once`](crate::Once), in whose initialiser they are, or null; and
/// in the bits that no such address uses, why they wait strictly, if they do. The state is there as
/// long as the initialiser runs, and it waits for all of these frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitMode(*const ());

/// Descendants only, because the program has asked for it.
const DESCENDANTS: usize = 1;
/// Pieces of the initialiser only, for its sake, whichever of its frames has pushed them.
const PIECES: usize = 2;
const BITS: usize = DESCENDANTS | PIECES;

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
        Self::tagged(self.once(), bits)
    }

    /// The mode of the initialiser of this `Once`, called in a frame of this mode.
    pub(crate) fn initialising(self, once: *const ()) -> Self {
        debug_assert!(once as usize & BITS == 0, "its words are aligned");
        let is_asked_for = self.bits() == DESCENDANTS;
        Self::tagged(once, if is_asked_for { DESCENDANTS } else { PIECES })
    }

    /// The mode of a detached job that a thief has stolen from a frame of this mode: no initialiser
    /// is known to need it.
    pub(crate) fn detached(self) -> Self {
        Self::new(if self.is_strict() {
            Waiting::Descendants
        } else {
            Waiting::Any
        })
    }

    /// The mode of a part that a frame of this mode has sent to a particular worker: an initialiser
    /// needs it there too.
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

    /// True if frames wait in the default way.
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

/// The regions of one worker: the calls under way there that apply to all jobs that they begin,
/// such as [`with_waiting`](crate::with_waiting), [`with_cancellation`](crate::with_cancellation)
/// and initialisers; and the mode of its waits outside them.
///
/// A thief has to know the region of the job that it takes: that of the frame that pushed it,
/// whatever its owner has called since. So each call notes the next slot when it begins, and owns
/// the jobs from that slot up to the next such call's.
#[derive(Debug)]
pub(crate) struct Regions {
    outermost: WaitMode,
    /// The innermost call. It lies in the frame of that call, which is there as long as this points
    /// to it.
    innermost: AtomicPtr<Region>,
}

/// One such call, or the run of a job that a thief has taken from one.
#[derive(Debug)]
pub(crate) struct Region {
    lowest: AtomicUsize,
    mode: WaitMode,
    /// The state without regions.
    context: Option<Arc<Context>>,
    outer: *const Region,
}

impl Region {
    pub(crate) fn context(&self) -> Option<&Arc<Context>> {
        self.context.as_ref()
    }

    /// The lowest slot of its own jobs.
    pub(crate) fn lowest(&self) -> usize {
        self.lowest.load(Ordering::Relaxed)
    }

    /// The context around this region. For the owner.
    pub(crate) fn context_around(&self) -> Option<&Arc<Context>> {
        // SAFETY: the frames around this one have not ended.
        unsafe { self.outer.as_ref() }.and_then(Self::context)
    }
}

impl Regions {
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

    /// The mode of the frame on top. For the owner.
    pub(crate) fn present(&self) -> WaitMode {
        // SAFETY: the owner's own calls, which are under way.
        let innermost = unsafe { self.innermost.load(Ordering::Relaxed).as_ref() };
        innermost.map_or(self.outermost, |region| region.mode)
    }

    /// True if some frame of this worker is needed by the initialiser of this `Once`. For the
    /// owner.
    pub(crate) fn is_needed_by(&self, once: *const ()) -> bool {
        self.any(|region| region.mode.once() == once)
    }

    /// True if some frame of this worker waits strictly. For the owner.
    pub(crate) fn is_strict_anywhere(&self) -> bool {
        self.outermost.is_strict() || self.any(|region| region.mode.is_strict())
    }

    fn any(&self, is_such: impl Fn(&Region) -> bool) -> bool {
        let mut region = self.innermost.load(Ordering::Relaxed).cast_const();
        // SAFETY: the owner's own calls, which are under way.
        while let Some(inner) = unsafe { region.as_ref() } {
            if is_such(inner) {
                return true;
            }
            region = inner.outer;
        }
        false
    }

    /// The context of the frame on top.
    ///
    /// # Safety
    ///
    /// 1. The caller is the owner, and does not keep the reference beyond its call.
    #[inline]
    pub(crate) unsafe fn context(&self) -> Option<&Arc<Context>> {
        // SAFETY: by 1.
        unsafe { self.innermost.load(Ordering::Relaxed).as_ref() }.and_then(Region::context)
    }

    /// The mode of the job in this slot.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the worker's deque.
    pub(crate) unsafe fn at(&self, slot: usize) -> WaitMode {
        // SAFETY: handed on.
        unsafe { self.region_at(slot) }.map_or(self.outermost, |region| region.mode)
    }

    /// The context of the job in this slot.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the worker's deque, or is the owner.
    #[inline]
    pub(crate) unsafe fn context_at(&self, slot: usize) -> Option<Arc<Context>> {
        // SAFETY: handed on.
        unsafe { self.region_at(slot) }.and_then(|region| region.context.clone())
    }

    /// The region of the job in this slot.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the worker's deque, or is the owner, as long as it uses the
    ///    region.
    #[inline]
    unsafe fn region_at(&self, slot: usize) -> Option<&Region> {
        // Relaxed, here and below: the lock orders all of it.
        let mut region = self.innermost.load(Ordering::Relaxed).cast_const();
        // SAFETY: by 1. none of them closes meanwhile.
        while let Some(inner) = unsafe { region.as_ref() } {
            if inner.lowest() <= slot {
                return Some(inner);
            }
            region = inner.outer;
        }
        None
    }

    /// The region of a call that begins when `lowest` is the next slot. For the owner.
    pub(crate) fn region(
        &self,
        mode: WaitMode,
        context: Option<Arc<Context>>,
        lowest: usize,
    ) -> Region {
        Region {
            lowest: AtomicUsize::new(lowest),
            mode,
            context,
            outer: self.innermost.load(Ordering::Relaxed),
        }
    }

    /// Opens the region of a call: it owns the jobs that are pushed from now on. For the owner,
    /// with its deque.
    ///
    /// # Safety
    ///
    /// 1. The region is the worker's newest, and stays in place until `close`.
    pub(crate) unsafe fn open<K>(&self, region: &Region, deque: &Owner<K>) {
        let region = ptr::from_ref(region).cast_mut();
        deque.locked(|| self.innermost.store(region, Ordering::Relaxed));
    }

    /// Notes that a job of the innermost call is pushed into this slot. For the owner, with its
    /// deque.
    pub(crate) fn lower<K>(&self, slot: usize, deque: &Owner<K>) {
        if fault::planted("waiting.lower") {
            return;
        }
        deque.locked(|| {
            let mut region = self.innermost.load(Ordering::Relaxed).cast_const();
            // SAFETY: the owner's own calls, which are under way.
            while let Some(inner) = unsafe { region.as_ref() } {
                inner.lowest.fetch_min(slot, Ordering::Relaxed);
                region = inner.outer;
            }
        });
    }

    /// Closes the region at the end of its call: no thief looks at it any longer. For the owner,
    /// with its deque.
    pub(crate) fn close<K>(&self, region: &Region, deque: &Owner<K>) {
        let close = || {
            self.innermost
                .store(region.outer.cast_mut(), Ordering::Relaxed);
        };
        if fault::planted("waiting.close") {
            close();
        } else {
            deque.locked(close);
        }
    }
}

/// A frame that may wait for descendants only, a job's or a scope's, and the lowest slot that it
/// may have pushed.
///
/// Jobs of a frame are mostly in slots from the one that was next when it began. But when older
/// jobs are gone, taken by thieves or run by a [yield](crate::yield_now), the next job comes to lie
/// below. Each such push lowers the slots that these frames have noted.
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

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_deque::{Deque, Steal};
    use heist_sync::{thread, Barrier, BarrierRequest};

    use super::{Context, Region, Regions, Waiting};
    use crate::base::cancellation::CancellationToken;

    /// Whether a job was pushed in the region.
    type Inside = bool;

    struct Worker {
        deque: Deque<Inside>,
        regions: Regions,
    }

    impl Worker {
        fn new() -> Arc<Self> {
            let barrier = Barrier::new(BarrierRequest::Auto).unwrap();
            Arc::new(Self {
                deque: Deque::new(4, barrier).unwrap(),
                regions: Regions::new(Waiting::Any),
            })
        }

        /// The deque's owner, for the thread of the model itself.
        fn owner(&self) -> &heist_deque::Owner<Inside> {
            // SAFETY: there is one such thread.
            unsafe { self.deque.owner() }
        }

        fn next_slot(&self) -> usize {
            self.owner().vacant().as_ptr() as usize
        }

        fn push(&self, inside: &'static Inside) {
            let owner = self.owner();
            // SAFETY: no job of the model has a payload.
            if unsafe { owner.push(owner.vacant(), inside) } {
                assert!(owner.service());
            }
        }

        /// Takes what lies from this slot on.
        fn pop_from(&self, lowest: usize) {
            while self.next_slot() > lowest {
                // SAFETY: as above.
                if unsafe { self.owner().pop_if(|_| true) }.is_none() {
                    break;
                }
            }
        }

        fn open(&self) -> Region {
            let context = Context::new(CancellationToken::new(), None);
            let mode = self.regions.present();
            self.regions.region(mode, Some(context), self.next_slot())
        }

        /// Closes the region, whose frame goes then.
        fn close(&self, region: &mut Region) {
            self.pop_from(region.lowest());
            self.regions.close(region, self.owner());
            // Loom looks whether anybody else may be at it.
            region.lowest.with_mut(|lowest| *lowest = 0);
        }

        /// A thief, who must find the region of those jobs that were pushed in it.
        fn robbed(self: &Arc<Self>, times: usize) -> thread::JoinHandle<()> {
            let worker = Arc::clone(self);
            thread::spawn(move || {
                for _ in 0..times {
                    let claim = |inside: &'static Inside, slot: std::ptr::NonNull<_>| {
                        // SAFETY: in the claim the lock is held.
                        let context = unsafe { worker.regions.context_at(slot.as_ptr() as usize) };
                        assert_eq!(context.is_some(), *inside);
                    };
                    // SAFETY: no job has a payload.
                    let _: Steal<()> = unsafe { worker.deque.thief().steal(|| true, claim) };
                }
            })
        }
    }

    fn check(model: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(model);
    }

    #[test]
    fn a_thief_looks_at_no_region_that_has_ended() {
        check(|| {
            let worker = Worker::new();
            worker.push(&false);
            let thief = worker.robbed(2);
            let mut region = worker.open();
            // SAFETY: in place until `close`.
            unsafe { worker.regions.open(&region, worker.owner()) };
            worker.push(&true);
            worker.close(&mut region);
            thief.join().unwrap();
        });
    }

    /// The older job is gone before the region pushes, which then lies where that was.
    #[test]
    fn a_thief_finds_the_region_of_a_job_that_lies_lower() {
        check(|| {
            let worker = Worker::new();
            let first = worker.next_slot();
            worker.push(&false);
            let thief = worker.robbed(2);
            let mut region = worker.open();
            // SAFETY: in place until `close`.
            unsafe { worker.regions.open(&region, worker.owner()) };
            worker.pop_from(first);
            worker.regions.lower(worker.next_slot(), worker.owner());
            worker.push(&true);
            worker.close(&mut region);
            thief.join().unwrap();
        });
    }
}
