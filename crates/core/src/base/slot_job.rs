//! The lent job, in a slot of its owner's deque.

use std::any::type_name;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use heist_deque::{Slot, PAYLOAD};
use heist_sync::thread;

use crate::base::argument::Argument;
use crate::base::job::{JobSlot, Kind};
use crate::base::latch::CoreLatch;
use crate::base::unwind::{self, Payload};

/// A job in a slot of its owner's deque: the closure, or its address in the owner's frame if it is
/// too large; later the result, or the address of its box.
///
/// The owner writes nothing but the closure. The thief makes the latch.
#[repr(C)]
struct InPayload<T> {
    latch: MaybeUninit<CoreLatch>,
    content: T,
}

impl<T> InPayload<T> {
    const FITS: bool = size_of::<Self>() <= PAYLOAD && align_of::<Self>() <= align_of::<u64>();

    /// # Safety
    ///
    /// 1. The payload is in use for a `SlotJob`, and a `T` fits.
    #[inline(always)]
    unsafe fn content(payload: NonNull<u8>) -> *mut T {
        // SAFETY: by 1.
        unsafe { &raw mut (*payload.cast::<Self>().as_ptr()).content }
    }
}

/// The closure of a lent job that was cancelled, in a box: its owner may have to run it.
struct Declined(NonNull<u8>);

// SAFETY: made of closures that may run anywhere.
unsafe impl Send for Declined {}

/// The layout in a slot of a closure `B` with argument `X` and result `R`.
pub(crate) struct SlotJob<B, R, X>(std::marker::PhantomData<fn(B, X) -> R>);

impl<B, R, X> SlotJob<B, R, X>
where
    B: FnOnce(X) -> R,
    X: Argument,
{
    pub(crate) const KIND: &'static Kind = &Kind {
        run: Self::run,
        run_in_turn: Self::run,
        is_cancelled: |_| false,
        may_run_here: |_| true,
        discard: Self::decline,
        lent: true,
        claimed: false,
        carries: false,
        gathers: false,
        woken: false,
        words: 0,
        name: type_name::<B>,
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
        let payload = unsafe { Slot::payload(slot) };
        if InPayload::<B>::FITS {
            // SAFETY: by 1. By 2. one of the two is used.
            unsafe { InPayload::<B>::content(payload).write(std::ptr::read(&raw const **closure)) };
        } else {
            // SAFETY: by 1.
            unsafe { InPayload::<*const B>::content(payload).write(&raw const **closure) };
        }
    }

    /// Takes the closure out.
    ///
    /// # Safety
    ///
    /// 1. The job in this slot was put there with these types and is the caller's to run, and this
    ///    is done once, before anything else is put there.
    #[inline(always)]
    pub(crate) unsafe fn take(slot: JobSlot) -> B {
        // SAFETY: by 1.
        unsafe { Self::take_from(Slot::payload(slot)) }
    }

    /// As [`take`](Self::take), from the slot with this payload.
    ///
    /// # Safety
    ///
    /// 1. As there.
    #[inline(always)]
    unsafe fn take_from(payload: NonNull<u8>) -> B {
        if InPayload::<B>::FITS {
            // SAFETY: by 1. it is still where `put` has put it.
            unsafe { InPayload::<B>::content(payload).read() }
        } else {
            // SAFETY: as above; the frame is still there.
            unsafe { InPayload::<*const B>::content(payload).read().read() }
        }
    }

    /// Runs the job on its thief. Does not set the latch.
    ///
    /// # Safety
    ///
    /// 1. The job in the payload was put there with these types, and this is its one run.
    unsafe fn run(payload: NonNull<u8>) {
        // SAFETY: by 1.
        let closure = unsafe { Self::take_from(payload) };
        let result = unwind::catch_job(|| X::on_thief(closure));
        // SAFETY: by 1., and the closure has left the slot, whose owner waits.
        unsafe { Self::leave(payload, result) };
    }

    /// Declines the job on its thief: the owner gets the job back if it was cancelled, and
    /// otherwise the reason.
    ///
    /// # Safety
    ///
    /// 1. As for `run`.
    unsafe fn decline(payload: NonNull<u8>, why: Payload) {
        // SAFETY: by 1.
        let closure = unsafe { Self::take_from(payload) };
        if !unwind::is_cancellation(&why) {
            unwind::discard(closure);
            // SAFETY: as in `run`.
            return unsafe { Self::leave(payload, Err(why)) };
        }
        let closure = Box::new(closure);
        let declined = Declined(NonNull::from(Box::leak(closure)).cast());
        // SAFETY: as in `run`.
        unsafe { Self::leave(payload, Err(Box::new(declined))) };
    }

    /// The closure that the thief has [declined](Self::decline) to run, or the payload back.
    ///
    /// # Safety
    ///
    /// 1. The payload was the result of a job of these types.
    pub(crate) unsafe fn declined(payload: Payload) -> Result<B, Payload> {
        let declined = payload.downcast::<Declined>()?;
        // SAFETY: by 1. it is that of `decline`, which has leaked the box for this one time.
        Ok(*unsafe { Box::from_raw(declined.0.cast::<B>().as_ptr()) })
    }

    /// Leaves the result for the owner.
    ///
    /// # Safety
    ///
    /// 1. The payload is that of a job of these types that has been taken out.
    unsafe fn leave(payload: NonNull<u8>, result: thread::Result<R>) {
        if InPayload::<thread::Result<R>>::FITS {
            // SAFETY: by 1.
            unsafe { InPayload::<thread::Result<R>>::content(payload).write(result) };
        } else {
            let result = Box::into_raw(Box::new(result));
            // SAFETY: as above.
            unsafe { InPayload::<*mut thread::Result<R>>::content(payload).write(result) };
        }
    }

    /// The result of the thief's run.
    ///
    /// # Safety
    ///
    /// 1. The latch of the job in `slot` is set, and the result is taken once.
    pub(crate) unsafe fn take_result(slot: JobSlot) -> thread::Result<R> {
        // SAFETY: by 1.
        let payload = unsafe { Slot::payload(slot) };
        if InPayload::<thread::Result<R>>::FITS {
            // SAFETY: by 1. `run` has written it.
            unsafe { InPayload::<thread::Result<R>>::content(payload).read() }
        } else {
            // SAFETY: by 1. `run` has leaked the box for this one time.
            *unsafe { Box::from_raw(InPayload::<*mut thread::Result<R>>::content(payload).read()) }
        }
    }
}
