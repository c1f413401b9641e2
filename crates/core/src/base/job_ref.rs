//! A job as one word: the address of a [`Header`], in a frame or in a box.

use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use heist_sync::cell::UnsafeCell;
use heist_sync::thread;

use crate::base::latch::Latch;
use crate::base::unwind;

/// The first field of every job: the function that runs it.
pub(crate) struct Header {
    pub(crate) execute: unsafe fn(NonNull<Self>),
}

/// A job as one word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobRef(NonNull<Header>);

// SAFETY: every constructor of a job demands what makes it safe to run on another thread; the
// reference itself is only an address.
unsafe impl Send for JobRef {}

impl JobRef {
    /// The reference to the job with this header.
    pub(crate) fn new<T>(job: NonNull<T>) -> Self {
        Self(job.cast())
    }

    /// The address of the job.
    pub(crate) fn address(self) -> NonNull<Header> {
        self.0
    }

    /// Runs the job. Does not unwind: every kind holds the closure's panic back.
    ///
    /// # Safety
    ///
    /// 1. This is the one run that J1 allows this reference.
    #[inline]
    pub(crate) unsafe fn execute(self) {
        // SAFETY: by J1 the job is still there: a frame waits for its latch, a box and an `Arc` for
        // their run.
        let execute = unsafe { self.0.as_ref() }.execute;
        // SAFETY: 1. is handed on; the header is that of the function's kind, because each
        // constructor pairs them.
        unsafe { execute(self.0) }
    }
}

impl fmt::Debug for JobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JobRef").field(&self.0).finish()
    }
}

/// A job in the frame that waits for it, in another pool or in none.
#[repr(C)]
pub(crate) struct StackJob<L, F, R> {
    header: Header,
    pub(crate) latch: L,
    /// The closure, until the run takes it.
    closure: UnsafeCell<ManuallyDrop<F>>,
    /// The result, written by the run before it sets the latch.
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
        JobRef::new(NonNull::from(self))
    }

    /// The result of the run through the reference.
    ///
    /// # Safety
    ///
    /// 1. The latch is set.
    /// 2. The result is taken once.
    pub(crate) unsafe fn take_result(&self) -> thread::Result<R> {
        // SAFETY: by 1. the run has written the result, and setting and probing the latch orders
        // this after it; by 2. it is still here.
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
            let result = unwind::catch_job(ManuallyDrop::into_inner(closure));
            // SAFETY: the maker reads the result only after the latch is set.
            this.result.with_mut(|slot| unsafe {
                slot.write(MaybeUninit::new(result));
            });
        }
        // SAFETY: the job is still there. This is the last access: the frame may be gone before
        // `set` returns.
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
    /// 1. The closure's borrows live until it has run.
    /// 2. The closure does not unwind.
    pub(crate) unsafe fn into_job_ref(closure: F) -> JobRef {
        let job = Box::new(Self {
            header: Header {
                execute: Self::execute,
            },
            closure,
        });
        JobRef::new(NonNull::from(Box::leak(job)))
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
