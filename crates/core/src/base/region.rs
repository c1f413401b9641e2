//! Regions: the calls under way on a worker that apply to all jobs that they begin.
//!
//! `region/README.md` has the protocol.

mod context;
mod watch;

use std::ptr;
use std::sync::Arc;

use heist_deque::Owner;
use heist_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use heist_sync::fault;

use crate::base::waiting::{WaitMode, Waiting};

pub(crate) use context::{is_same, is_surrounded, may_run, Context};
pub(crate) use watch::Watch;

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

    /// True if an initialiser may wait for its jobs.
    pub(crate) fn is_needed(&self) -> bool {
        self.mode.is_needed()
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
        if fault::planted("region.lower") {
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
        if fault::planted("region.close") {
            close();
        } else {
            deque.locked(close);
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
        fn steal_from(self: &Arc<Self>, times: usize) -> thread::JoinHandle<()> {
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
            let thief = worker.steal_from(2);
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
            let thief = worker.steal_from(2);
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
