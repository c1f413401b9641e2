//! The erased job: in a slot or as one word, and who frees what.
//!
//! | kind | memory | runs | freed by |
//! |---|---|---|---|
//! | [`SlotJob`] | a slot of the deque of the worker that waits for it | once | the worker, after the latch is set or the job was taken back |
//! | [`StackJob`] | the frame of whoever waits for it | once | the frame, after the latch is set |
//! | [`DetachedJob`] | a slot or the injector, until it is taken | once | the run itself |
//! | [`HeapJob`] | a box | once | the run itself |
//!
//! A deque holds whole jobs: the second half of a join is a `SlotJob`, which runs
//! in its slot; what a worker spawns is a `DetachedJob`, which moves out first. So
//! does the injector. Mailboxes hold a [`JobRef`] for each job, which points to a
//! [`Header`], whose only field is the function that runs the job; what does not fit
//! a slot is a `DetachedJob` that runs such a reference.
//!
//! Invariant J1: each `JobRef` that is made is run exactly once.

use crate::join::Told;
use crate::latch::{CoreLatch, Latch};
use crate::unwind;
use heist_deque::{Injector, Slot, ROOM};
use heist_sync::cell::UnsafeCell;
use heist_sync::thread;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

/// The first field of every job: how to run it.
pub(crate) struct Header {
    execute: unsafe fn(NonNull<Header>),
}

/// A job as one word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobRef(NonNull<Header>);

// SAFETY: every constructor of a job demands what makes it safe to run on
// another thread; the reference itself is only an address.
unsafe impl Send for JobRef {}

impl JobRef {
    /// Runs the job. Does not unwind: every kind holds the closure's panic back.
    ///
    /// # Safety
    ///
    /// 1. This is the one run that J1 allows this reference.
    #[inline]
    pub(crate) unsafe fn execute(self) {
        // SAFETY: by J1 the job is still there: a frame waits for its latch, a
        // box and an `Arc` for their run.
        let execute = unsafe { self.0.as_ref() }.execute;
        // SAFETY: 1. is handed on; the header is that of the function's kind,
        // because each constructor pairs them.
        unsafe { execute(self.0) }
    }
}

impl fmt::Debug for JobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JobRef").field(&self.0).finish()
    }
}

/// A job in the frame of whoever waits for it, in another pool or in none.
#[repr(C)]
pub(crate) struct StackJob<L, F, R> {
    header: Header,
    pub(crate) latch: L,
    /// Taken by the one run.
    closure: UnsafeCell<ManuallyDrop<F>>,
    /// Written by a run through the reference, before it sets the latch.
    result: UnsafeCell<MaybeUninit<thread::Result<R>>>,
}

impl<L, F, R> StackJob<L, F, R>
where
    L: Latch,
    F: FnOnce() -> R,
{
    pub(crate) fn new(closure: F, latch: L) -> Self {
        Self {
            header: Header {
                execute: Self::execute,
            },
            latch,
            closure: UnsafeCell::new(ManuallyDrop::new(closure)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The reference to push.
    ///
    /// # Safety
    ///
    /// 1. The job stays in place until the latch is set.
    /// 2. The closure may run on another thread, and its result come back.
    pub(crate) unsafe fn as_job_ref(&self) -> JobRef {
        // The whole job, not only the header, is what the run will look at.
        JobRef(NonNull::from(self).cast())
    }

    /// What the run through the reference gave.
    ///
    /// # Safety
    ///
    /// 1. The latch is set.
    /// 2. The result is taken once.
    pub(crate) unsafe fn take_result(&self) -> thread::Result<R> {
        // SAFETY: by 1. the run has written the result, and setting and probing
        // the latch orders this after it; by 2. it is still here.
        self.result
            .with(|result| unsafe { result.read().assume_init() })
    }

    /// # Safety
    ///
    /// As for [`JobRef::execute`], with the reference of a job of this type.
    unsafe fn execute(header: NonNull<Header>) {
        let this: *const Self = header.as_ptr().cast_const().cast();
        {
            // SAFETY: the frame keeps the job in place until the latch is set.
            let this = unsafe { &*this };
            // SAFETY: the one run by J1, so that the closure is taken once.
            let closure = this.closure.with(|closure| unsafe { closure.read() });
            let result = unwind::halt_job(ManuallyDrop::into_inner(closure));
            // SAFETY: the maker reads the result only after the latch is set.
            this.result.with_mut(|slot| unsafe {
                slot.write(MaybeUninit::new(result));
            });
        }
        // SAFETY: the job is still there. This is the last access: the frame
        // may be gone before `set` returns.
        unsafe { L::set(&raw const (*this).latch) }
    }
}

/// A job in a box of its own, freed by its run.
#[repr(C)]
pub(crate) struct HeapJob<F> {
    header: Header,
    closure: F,
}

impl<F: FnOnce() + Send> HeapJob<F> {
    /// Boxes the closure and gives the reference to push.
    ///
    /// # Safety
    ///
    /// 1. What the closure borrows lives until it has run.
    /// 2. The closure does not unwind.
    pub(crate) unsafe fn into_job_ref(closure: F) -> JobRef {
        let job = Box::new(Self {
            header: Header {
                execute: Self::execute,
            },
            closure,
        });
        JobRef(NonNull::from(Box::leak(job)).cast())
    }

    /// # Safety
    ///
    /// As for [`JobRef::execute`], with the reference of a job of this type.
    unsafe fn execute(header: NonNull<Header>) {
        // SAFETY: the box was leaked for this one run.
        let job = unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) };
        (job.closure)();
    }
}

/// Turns a deque, where the newest comes first, into a queue for some jobs.
///
/// For each job the queue's own reference is pushed to the deque; whoever runs
/// that reference runs the oldest job of the queue.
#[repr(C)]
pub(crate) struct Fifo {
    header: Header,
    queue: Injector<DetachedJob>,
}

impl Fifo {
    pub(crate) fn new() -> Self {
        Self {
            header: Header {
                execute: Self::execute,
            },
            queue: Injector::new(),
        }
    }

    /// Queues a job and gives the reference to push to the deque in its place.
    ///
    /// # Safety
    ///
    /// 1. The queue stays in place until the reference has run.
    pub(crate) unsafe fn queue(&self, job: DetachedJob) -> JobRef {
        self.queue.push(job);
        JobRef(NonNull::from(self).cast())
    }

    /// # Safety
    ///
    /// As for [`JobRef::execute`], with a reference from `queue`.
    unsafe fn execute(header: NonNull<Header>) {
        // SAFETY: whoever queued keeps the queue in place until this has run,
        // and the job below, which may be what it waits for, starts only after
        // this borrow has ended.
        let job = unsafe { header.cast::<Self>().as_ref() }.queue.take();
        let job = job.expect("one reference was pushed for each queued job");
        // SAFETY: taken from the queue, which hands each job out once.
        unsafe { job.execute() }
    }
}

/// A place in a worker's deque.
pub(crate) type JobSlot = NonNull<Slot<Kind>>;

/// What is in a slot's room, and what becomes of it.
pub(crate) struct Kind {
    /// Runs the job whose content lies at this address.
    run: unsafe fn(NonNull<u8>),
    /// Its owner waits for it: it runs in its slot. Otherwise it moves out first.
    lent: bool,
}

impl Kind {
    pub(crate) fn is_detached(&self) -> bool {
        !self.lent
    }
}

/// A job that has been taken from where it waited, and is to be run once.
pub(crate) enum Job {
    Reference(JobRef),
    /// Still in the slot from which the worker popped it, which is vacant: it must
    /// start before anything else is pushed.
    Popped {
        slot: JobSlot,
        kind: &'static Kind,
    },
    /// From outside the pool.
    Injected(DetachedJob),
    Detached {
        job: DetachedJob,
        /// Waits in it are for descendants only.
        is_strict: bool,
    },
    /// In the slot of the worker with this index, which waits for it.
    Lent {
        slot: JobSlot,
        kind: &'static Kind,
        owner: usize,
        /// As above.
        is_strict: bool,
    },
}

impl Job {
    /// What a thief takes from the slot of the worker with index `owner`.
    ///
    /// # Safety
    ///
    /// 1. The caller has just taken the job in `slot`, which is of this kind, and
    ///    nobody else looks at the slot meanwhile.
    pub(crate) unsafe fn claim(
        kind: &'static Kind,
        slot: JobSlot,
        owner: usize,
        is_strict: bool,
    ) -> Self {
        if kind.lent {
            // SAFETY: by 1. the slot holds a `SlotJob`, whose latch is made by the
            // one thief.
            unsafe { lent_latch(slot).write(CoreLatch::new()) };
            Self::Lent {
                slot,
                kind,
                owner,
                is_strict,
            }
        } else {
            // SAFETY: by 1.
            let job = unsafe { DetachedJob::move_from(slot, kind) };
            Self::Detached { job, is_strict }
        }
    }
}

/// A job that nobody waits for, while it is in no slot.
pub(crate) struct DetachedJob {
    kind: &'static Kind,
    content: [MaybeUninit<u64>; ROOM / size_of::<u64>()],
}

// SAFETY: `new` and `put` take closures that may run anywhere.
unsafe impl Send for DetachedJob {}

impl DetachedJob {
    /// Whether a closure can lie in a slot.
    pub(crate) const fn fits<F>() -> bool {
        size_of::<F>() <= ROOM && align_of::<F>() <= align_of::<u64>()
    }

    /// A job that is in no slot yet. Boxes a closure that does not fit one.
    ///
    /// # Safety
    ///
    /// 1. What the closure borrows lives until it has run.
    /// 2. The closure does not unwind.
    #[inline]
    pub(crate) unsafe fn new<F: FnOnce() + Send>(closure: F) -> Self {
        if !Self::fits::<F>() {
            // SAFETY: as for this function.
            return Self::from(unsafe { HeapJob::into_job_ref(closure) });
        }
        let mut content = [MaybeUninit::uninit(); ROOM / size_of::<u64>()];
        // SAFETY: the closure fits, and the content is aligned as it needs.
        unsafe { content.as_mut_ptr().cast::<F>().write(closure) };
        let kind = Self::kind_of::<F>();
        Self { kind, content }
    }

    const fn kind_of<F: FnOnce() + Send>() -> &'static Kind {
        const {
            &Kind {
                run: Self::run::<F>,
                lent: false,
            }
        }
    }

    /// Puts a closure into a slot, and gives the kind to publish it with.
    ///
    /// # Safety
    ///
    /// 1. The slot is vacant and the caller's, and the closure fits.
    /// 2. What the closure borrows lives until it has run.
    /// 3. The closure does not unwind.
    #[inline]
    pub(crate) unsafe fn put<F: FnOnce() + Send>(slot: JobSlot, closure: F) -> &'static Kind {
        // SAFETY: by 1.
        unsafe { Slot::room(slot).cast::<F>().write(closure) };
        Self::kind_of::<F>()
    }

    /// The job in a slot, which is free then.
    ///
    /// # Safety
    ///
    /// 1. The caller has taken the job, which is detached and of this kind.
    #[inline]
    pub(crate) unsafe fn move_from(slot: JobSlot, kind: &'static Kind) -> Self {
        // SAFETY: by 1. the room is the caller's; its bytes need not mean anything.
        let content = unsafe { Slot::room(slot).cast().read() };
        Self { kind, content }
    }

    /// Puts the job back into a slot, and gives the kind to publish it with.
    ///
    /// # Safety
    ///
    /// 1. The slot is vacant and the caller's.
    pub(crate) unsafe fn put_back(self, slot: JobSlot) -> &'static Kind {
        // SAFETY: by 1.
        unsafe { Slot::room(slot).cast().write(self.content) };
        self.kind
    }

    /// Runs the job.
    ///
    /// # Safety
    ///
    /// 1. This is its one run: it was taken from where it was put.
    #[inline]
    pub(crate) unsafe fn execute(mut self) {
        // SAFETY: the content is that of the kind; 1. is handed on.
        unsafe { (self.kind.run)(NonNull::from(&mut self.content).cast()) }
    }

    /// # Safety
    ///
    /// 1. At `content` lies an `F`, to be moved out once.
    unsafe fn run<F: FnOnce()>(content: NonNull<u8>) {
        // SAFETY: by 1.
        let closure = unsafe { content.cast::<F>().read() };
        closure();
    }
}

impl From<JobRef> for DetachedJob {
    fn from(job: JobRef) -> Self {
        // SAFETY: 1. and 2. are those of the job. By J1 this is its one run.
        unsafe { Self::new(move || job.execute()) }
    }
}

/// The latch of the [`SlotJob`] in a slot; meaningful once a thief has it.
///
/// # Safety
///
/// 1. The slot is in use for a `SlotJob`.
#[inline(always)]
pub(crate) unsafe fn lent_latch(slot: JobSlot) -> NonNull<CoreLatch> {
    // SAFETY: by 1. The latch comes first.
    unsafe { Slot::room(slot) }.cast()
}

/// Runs a job that is in its slot. The latch of a lent one is the caller's to set.
///
/// # Safety
///
/// 1. The caller has taken the job, which is of this kind, and this is its one run.
/// 2. A lent job's slot stays in use; into that of another one nothing was put.
#[inline]
pub(crate) unsafe fn run_in_slot(slot: JobSlot, kind: &'static Kind) {
    // SAFETY: by 1. and 2. A job that is not lent moves out before it starts.
    unsafe { (kind.run)(Slot::room(slot)) };
}

/// A job that lies in a slot of its owner's deque: the closure, or where it is
/// in the owner's frame if it is too large; later the result, or where that is.
///
/// The owner writes the closure and nothing else. The latch is the thief's to
/// make.
#[repr(C)]
struct InRoom<T> {
    latch: MaybeUninit<CoreLatch>,
    content: T,
}

impl<T> InRoom<T> {
    const FITS: bool = size_of::<Self>() <= ROOM && align_of::<Self>() <= align_of::<u64>();

    /// # Safety
    ///
    /// 1. The room is in use for a `SlotJob`, and a `T` fits.
    #[inline(always)]
    unsafe fn content(room: NonNull<u8>) -> *mut T {
        // SAFETY: by 1.
        unsafe { &raw mut (*room.cast::<Self>().as_ptr()).content }
    }
}

/// How a closure `B` with result `R`, which is told an `X`, lies in a slot.
pub(crate) struct SlotJob<B, R, X>(std::marker::PhantomData<fn(B, X) -> R>);

impl<B, R, X> SlotJob<B, R, X>
where
    B: FnOnce(X) -> R,
    X: Told,
{
    pub(crate) const KIND: &'static Kind = &Kind {
        run: Self::run,
        lent: true,
    };

    /// Puts the closure into the slot, or its address if it is too large.
    ///
    /// # Safety
    ///
    /// 1. The slot is vacant and the caller's.
    /// 2. `closure` stays where it is until the job was taken back or is done. One of the two
    ///    copies is used, once: either of them if the job was taken back.
    #[inline(always)]
    pub(crate) unsafe fn put(slot: JobSlot, closure: &ManuallyDrop<B>) {
        // SAFETY: by 1.
        let room = unsafe { Slot::room(slot) };
        if InRoom::<B>::FITS {
            // SAFETY: by 1. By 2. one of the two is used.
            unsafe { InRoom::<B>::content(room).write(std::ptr::read(&raw const **closure)) };
        } else {
            // SAFETY: by 1.
            unsafe { InRoom::<*const B>::content(room).write(&raw const **closure) };
        }
    }

    /// Takes the closure out.
    ///
    /// # Safety
    ///
    /// 1. The job in this slot was put there with these types and is the caller's to run,
    ///    and this is done once, before anything else is put there.
    #[inline(always)]
    pub(crate) unsafe fn take(slot: JobSlot) -> B {
        // SAFETY: by 1.
        unsafe { Self::take_from(Slot::room(slot)) }
    }

    /// As [`take`](Self::take), from the slot with this room.
    #[inline(always)]
    unsafe fn take_from(room: NonNull<u8>) -> B {
        if InRoom::<B>::FITS {
            // SAFETY: by 1. it is still where `put` has put it.
            unsafe { InRoom::<B>::content(room).read() }
        } else {
            // SAFETY: as above; the frame is still there.
            unsafe { InRoom::<*const B>::content(room).read().read() }
        }
    }

    /// The thief's run. It does not set the latch.
    ///
    /// # Safety
    ///
    /// 1. The job in the room was put there with these types, and this is its one
    ///    run.
    unsafe fn run(room: NonNull<u8>) {
        // SAFETY: by 1.
        let closure = unsafe { Self::take_from(room) };
        let result = unwind::halt_job(|| X::on_thief(closure));
        if InRoom::<thread::Result<R>>::FITS {
            // SAFETY: the closure has left the slot, whose owner waits.
            unsafe { InRoom::<thread::Result<R>>::content(room).write(result) };
        } else {
            let result = Box::into_raw(Box::new(result));
            // SAFETY: as above.
            unsafe { InRoom::<*mut thread::Result<R>>::content(room).write(result) };
        }
    }

    /// What the thief's run gave.
    ///
    /// # Safety
    ///
    /// 1. The latch of the job in `slot` is set, and the result is taken once.
    pub(crate) unsafe fn take_result(slot: JobSlot) -> thread::Result<R> {
        // SAFETY: by 1.
        let room = unsafe { Slot::room(slot) };
        if InRoom::<thread::Result<R>>::FITS {
            // SAFETY: by 1. `run` has written it.
            unsafe { InRoom::<thread::Result<R>>::content(room).read() }
        } else {
            // SAFETY: by 1. `run` has leaked the box for this one time.
            *unsafe { Box::from_raw(InRoom::<*mut thread::Result<R>>::content(room).read()) }
        }
    }
}
