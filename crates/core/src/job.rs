//! The erased job: one word, and who frees what.
//!
//! A [`JobRef`] points to a [`Header`], whose only field is the function that
//! runs the job. Behind the header lies one of three kinds:
//!
//! | kind | memory | runs | freed by |
//! |---|---|---|---|
//! | [`StackJob`] | the frame of whoever waits for it | once | the frame, after the latch is set or the job was popped back |
//! | [`HeapJob`] | a box | once | the run itself |
//! | [`SharedJob`] | an `Arc` | once for each reference | the last run |
//!
//! Invariant J1: each `JobRef` that is made is run exactly once, or popped back
//! by its maker and not run through the reference at all.

use crate::latch::Latch;
use crate::unwind;
use heist_deque::{Injector, Word};
use heist_sync::cell::UnsafeCell;
use heist_sync::thread;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::sync::Arc;

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

// SAFETY: 1. the word is the pointer. 2. Nothing here panics.
unsafe impl Word for JobRef {
    #[inline(always)]
    fn into_word(self) -> NonNull<()> {
        self.0.cast()
    }

    #[inline(always)]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        Self(word.cast())
    }
}

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

/// A job in the frame of whoever waits for it.
///
/// The closure is told whether it migrated: true if it runs through the
/// reference, false if its maker popped it back and runs it in place.
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
    F: FnOnce(bool) -> R,
{
    #[inline(always)]
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
    /// 1. The job stays in place until the reference was popped back or the
    ///    latch is set.
    /// 2. The closure may run on another thread, and its result come back.
    #[inline(always)]
    pub(crate) unsafe fn as_job_ref(&self) -> JobRef {
        // The whole job, not only the header, is what the run will look at.
        JobRef(NonNull::from(self).cast())
    }

    /// Runs the job in place.
    ///
    /// # Safety
    ///
    /// 1. The reference was popped back, so nobody else can run it.
    #[inline(always)]
    pub(crate) unsafe fn run_in_place(&self, migrated: bool) -> R {
        // SAFETY: by 1. this is the one run, and the closure is taken once.
        let closure = self.closure.with(|closure| unsafe { closure.read() });
        ManuallyDrop::into_inner(closure)(migrated)
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
            // SAFETY: the one run by J1.
            let result = unwind::halt(|| unsafe { this.run_in_place(true) });
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

/// A job that runs once for each of its references.
#[repr(C)]
pub(crate) struct SharedJob<F> {
    header: Header,
    closure: F,
}

impl<F: Fn() + Send + Sync> SharedJob<F> {
    pub(crate) fn new(closure: F) -> Arc<Self> {
        Arc::new(Self {
            header: Header {
                execute: Self::execute,
            },
            closure,
        })
    }

    /// One more reference to push.
    ///
    /// # Safety
    ///
    /// 1. What the closure borrows lives until all references have run.
    /// 2. The closure does not unwind.
    pub(crate) unsafe fn as_job_ref(this: &Arc<Self>) -> JobRef {
        let counted = Arc::into_raw(Arc::clone(this)).cast_mut();
        // SAFETY: `Arc::into_raw` is not null.
        JobRef(unsafe { NonNull::new_unchecked(counted.cast()) })
    }

    /// # Safety
    ///
    /// As for [`JobRef::execute`], with the reference of a job of this type.
    unsafe fn execute(header: NonNull<Header>) {
        // SAFETY: the reference owns one count, for this one run.
        let job = unsafe { Arc::from_raw(header.cast::<Self>().as_ptr()) };
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
    queue: Injector<JobRef>,
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
    pub(crate) unsafe fn queue(&self, job: JobRef) -> JobRef {
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
        // SAFETY: taken from the queue, where it was put once.
        unsafe { job.execute() }
    }
}
