//! The wakers of a task.

use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable};

use super::head::Head;
use super::state::Duty;

/// The waker of a task, with a reference.
///
/// # Safety
///
/// 1. The task is there.
pub(super) unsafe fn raw_waker<M: Send + Sync + 'static>(head: NonNull<Head<M>>) -> RawWaker {
    // SAFETY: by 1.
    let table = unsafe { &head.as_ref().vtable.waker };
    RawWaker::new(head.as_ptr().cast_const().cast(), table)
}

impl<M: Send + Sync + 'static> Head<M> {
    pub(super) const WAKER: RawWakerVTable = RawWakerVTable::new(
        Self::clone_waker,
        Self::wake,
        Self::wake_by_ref,
        Self::drop_waker,
    );

    /// # Safety
    ///
    /// 1. The pointer is that of a waker of such a task.
    unsafe fn clone_waker(this: *const ()) -> RawWaker {
        // SAFETY: by 1 the waker's reference keeps it.
        let head = unsafe { Self::of(this) };
        // SAFETY: as above.
        unsafe { head.as_ref() }.state.add_waker();
        // SAFETY: as above.
        unsafe { raw_waker(head) }
    }

    /// # Safety
    ///
    /// 1. As for `clone_waker`. 2. The waker is gone.
    unsafe fn wake(this: *const ()) {
        // SAFETY: by 1 and 2 its reference is the caller's.
        let head = unsafe { Self::of(this) };
        // SAFETY: as above.
        let duty = unsafe { head.as_ref() }.state.wake(true);
        // SAFETY: 1. as above. 2. Said by `wake`.
        unsafe { Self::fulfil(head, duty) };
    }

    /// # Safety
    ///
    /// 1. As for `clone_waker`.
    unsafe fn wake_by_ref(this: *const ()) {
        // SAFETY: by 1 the waker's reference keeps it.
        let head = unsafe { Self::of(this) };
        // SAFETY: as above.
        let duty = unsafe { head.as_ref() }.state.wake(false);
        // SAFETY: 1. as above. 2. Said by `wake`.
        unsafe { Self::fulfil(head, duty) };
    }

    /// # Safety
    ///
    /// 1. As for `clone_waker`. 2. The waker is gone.
    unsafe fn drop_waker(this: *const ()) {
        // SAFETY: by 1 and 2 its reference is the caller's.
        let head = unsafe { Self::of(this) };
        // SAFETY: as above.
        let duty = unsafe { head.as_ref() }.state.leave();
        // SAFETY: 1. as above. 2. Said by `leave`.
        unsafe { Self::fulfil(head, duty) };
    }

    /// # Safety
    ///
    /// 1. As for `clone_waker`.
    unsafe fn of(this: *const ()) -> NonNull<Self> {
        // SAFETY: by 1 it came from `raw_waker`.
        unsafe { NonNull::new_unchecked(this.cast_mut().cast()) }
    }

    /// # Safety
    ///
    /// 1. Unless the duty is nothing, the task is there. 2. The duty is the caller's.
    #[inline]
    unsafe fn fulfil(head: NonNull<Self>, duty: Duty) {
        match duty {
            Duty::Nothing => {}
            // SAFETY: by 1, and by 2 the run's reference is the caller's.
            Duty::Queue => unsafe { (head.as_ref().vtable.schedule)(head, false) },
            // SAFETY: by 1, and by 2 the caller is the last.
            Duty::Free => unsafe { (head.as_ref().vtable.free)(head) },
        }
    }
}
