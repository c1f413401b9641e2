//! Joins with a context: the deque's tail goes along as an argument.
//!
//! A plain join reads from memory where its job is to lie, and writes there where the
//! next one is. A [`JoinContext`] has that place in a register, as the tasks of Lace do
//! (van Dijk and van de Pol, Euro-Par 2014 workshops), and writes it nowhere: while
//! contexts *carry* the tail, the one in memory lags behind.
//!
//! Everything else that a worker does reads the tail in memory. So a worker whose tail is
//! carried is hidden from [`Worker::current`], which finds the tail before it hands the
//! worker out, and from then on the tail in memory is exact. Each join by a context looks
//! which of the two it is. It carries the tail on from where it is exact, if it lies where
//! the context would have it: then the jobs in the deque are just those of the joins
//! around it. Otherwise something was left there, a spawned job say, and it is a plain join.

use crate::job::{JobSlot, SlotJob};
use crate::join::{both, finish_and_resume, join_on, FnContext, Told};
use crate::pool::Pool;
use crate::unwind;
use crate::worker::Worker;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr;

/// Calls `op` with a context for joins, on the calling worker; a caller from outside
/// [takes part](crate::take_part) in the global pool.
///
/// For recursions that do little but join: such a join costs little more than
/// half of what [`join`](crate::join()) costs. Each closure of a join gets a context of its own, to join
/// with and to hand on.
///
/// # Panics
///
/// Panics if `op` does.
///
/// # Cost
///
/// Some nanoseconds on a worker, else that of [`take_part`](crate::take_part). Any other
/// operation of this crate in `op` costs some nanoseconds more than elsewhere, and so does
/// the next join with the context.
///
/// # Examples
///
/// ```
/// use heist_core::JoinContext;
///
/// fn fib(mut cx: JoinContext<'_>, n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = cx.join(move |cx| fib(cx, n - 1), move |cx| fib(cx, n - 2));
///     a + b
/// }
/// assert_eq!(heist_core::with_context(|cx| fib(cx, 20)), 6765);
/// ```
pub fn with_context<OP, R>(op: OP) -> R
where
    OP: FnOnce(JoinContext<'_>) -> R + Send,
    R: Send,
{
    Pool::on_worker(|worker| worker.carry(|place| op(place.context())))
}

/// The means to join inside of [`with_context`].
///
/// It is for the closure that it was given to, on its thread:
///
/// ```compile_fail,E0277
/// heist_core::with_context(|mut cx| {
///     // Would run on another thread.
///     heist_core::join(|| (), || cx.join(|_| (), |_| ()));
/// });
/// ```
///
/// ```compile_fail
/// let kept = heist_core::with_context(|cx| cx); // would outlive the call
/// ```
///
/// ```compile_fail,E0499
/// heist_core::with_context(|mut cx| {
///     let mut outer = cx.reborrow();
///     cx.join(|_| outer.join(|_| (), |_| ()), |_| ()); // the inner one is the one to use
/// });
/// ```
pub struct JoinContext<'call> {
    worker: &'call Worker,
    /// The slot of the next job.
    next: JobSlot,
}

impl JoinContext<'_> {
    /// As [`join`](crate::join()): runs both closures, perhaps in parallel, and returns both
    /// results. The first runs on the calling thread and need not be `Send`.
    ///
    /// # Panics
    ///
    /// As [`join`](crate::join()).
    ///
    /// # Cost
    ///
    /// Not stolen: the second closure is copied into the deque, and three words are looked at.
    /// It does not appear in the [counters](crate::WorkerCounters), where counting it would be
    /// a good part of what it costs. Closures that `move` what they capture, and functions
    /// that take the context by value, keep it in registers; a context behind a reference
    /// costs as much as a plain join.
    ///
    /// # Examples
    ///
    /// ```
    /// let sums = heist_core::with_context(|mut cx| {
    ///     let first = cx.join(|_| 1 + 2, |_| 3 + 4);
    ///     let second = cx.join(|mut cx| cx.join(|_| 5, |_| 6), |_| 7);
    ///     (first, second)
    /// });
    /// assert_eq!(sums, ((3, 7), ((5, 6), 7)));
    /// ```
    #[inline(always)]
    pub fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(JoinContext<'_>) -> RA,
        B: FnOnce(JoinContext<'_>) -> RB + Send,
        RB: Send,
    {
        join_ahead(
            self.worker,
            self.next,
            |place: Place| a(place.context()),
            |place: Place| b(place.context()),
        )
    }

    /// The same context, to hand on to a call and to use again afterwards.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_core::JoinContext;
    ///
    /// fn both(mut cx: JoinContext<'_>) -> (u8, u8) {
    ///     cx.join(|_| 1, |_| 2)
    /// }
    /// heist_core::with_context(|mut cx| {
    ///     assert_eq!(both(cx.reborrow()), both(cx));
    /// });
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn reborrow(&mut self) -> JoinContext<'_> {
        let Self { worker, next } = *self;
        JoinContext { worker, next }
    }
}

/// A context whose lifetime is left to whoever uses it: inside one closure of a join.
pub(crate) struct Place {
    worker: *const Worker,
    next: JobSlot,
}

impl Place {
    #[inline(always)]
    fn context<'call>(self) -> JoinContext<'call> {
        JoinContext {
            // SAFETY: made in this file for a closure that is about to run on this worker,
            // which keeps its seat until that has ended. The closure takes any lifetime, so
            // that nothing that it returns or leaves behind can hold the context.
            worker: unsafe { &*self.worker },
            next: self.next,
        }
    }
}

impl Told for Place {
    #[inline(always)]
    fn in_place(worker: &Worker, slot: JobSlot) -> Self {
        Self { worker, next: slot }
    }

    fn on_thief<R>(job: impl FnOnce(Self) -> R) -> R {
        Worker::current().expect("jobs run on workers").carry(job)
    }
}

/// Joins on this worker, whose next job lies in `slot`, says a context.
#[inline(always)]
fn join_ahead<A, B, RA, RB>(worker: &Worker, slot: JobSlot, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(Place) -> RA,
    B: FnOnce(Place) -> RB,
{
    if !worker.is_carried() && !worker.carry_on(slot) {
        return join_plainly(worker, a, b);
    }
    debug_assert_ne!(slot, NOWHERE);

    let b = ManuallyDrop::new(b);
    // SAFETY: 1. `b` stays in this frame until the job is taken back or done. 2. `b` is
    // Send, and so is its result, by the bounds of our caller. 3. The tail is carried, and
    // by the one context that is not borrowed.
    if !unsafe { worker.lend_ahead::<B, RB>(slot, &b) } {
        return join_plainly(worker, a, ManuallyDrop::into_inner(b));
    }
    let next = above(slot);
    let ra = match unwind::halt(|| a(Place { worker, next })) {
        Ok(ra) => ra,
        // SAFETY: lent above, with these types.
        Err(payload) => unsafe { finish_and_resume::<B, RB, Place>(worker, slot, payload) },
    };
    // SAFETY: lent above.
    if unsafe { worker.take_back_ahead(slot) } {
        // SAFETY: as in `join_on`, but out of the slot: what a context's closures move in would
        // otherwise take registers.
        let b = unsafe { SlotJob::<B, RB, Place>::take(slot) };
        return (ra, b(Place { worker, next: slot }));
    }
    // SAFETY: lent above, with these types, and a thief has it.
    unsafe { both::<B, RA, RB, Place>(worker, slot, ra) }
}

/// In a context that carries nothing.
const NOWHERE: JobSlot = JobSlot::dangling();

/// The slot behind this one.
#[inline(always)]
fn above(slot: JobSlot) -> JobSlot {
    // SAFETY: a job was published in it, so that there is one more behind it.
    unsafe { slot.add(1) }
}

/// A join among jobs that are not those of the joins around it, or of which there are so
/// many that the deque has no room. The contexts in it carry nothing.
#[cold]
#[inline(never)]
fn join_plainly<A, B, RA, RB>(worker: &Worker, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(Place) -> RA,
    B: FnOnce(Place) -> RB,
{
    let here = ptr::from_ref(worker);
    let nowhere = move || Place {
        worker: here,
        next: NOWHERE,
    };
    let a = |_: FnContext| a(nowhere());
    let b = |told: FnContext| {
        if told.migrated() {
            Place::on_thief(b)
        } else {
            b(nowhere())
        }
    };
    join_on(worker, false, a, b)
}

impl Worker {
    /// Calls `op` with the place that carries the tail from here.
    fn carry<R>(&self, op: impl FnOnce(Place) -> R) -> R {
        struct End<'a>(&'a Worker, JobSlot);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                let Self(worker, outer) = *self;
                worker.settle();
                worker.own().lowest.set(outer);
            }
        }
        let next = self.deque().vacant();
        let _end = End(self, self.own().lowest.replace(next));
        self.hide();
        op(Place { worker: self, next })
    }

    /// True if contexts carry the tail.
    #[inline(always)]
    fn is_carried(&self) -> bool {
        self.own().is_carried.get()
    }

    /// Carries the exact tail, from now on, if it lies there.
    #[cold]
    #[inline(never)]
    fn carry_on(&self, slot: JobSlot) -> bool {
        let is_there = self.deque().vacant() == slot;
        if is_there {
            self.hide();
        }
        is_there
    }

    /// Makes the tail in memory exact, if it is carried.
    pub(crate) fn settle(&self) {
        if self.is_carried() {
            // SAFETY: from where the contexts began, the slots in use are those of their
            // joins, none of which waits for a thief: who waits has settled.
            unsafe { self.deque().find_tail(self.own().lowest.get()) };
            self.show();
        }
    }

    /// As [`settle`](Self::settle), where it is known that the tail lies there.
    ///
    /// # Safety
    ///
    /// 1. It does.
    unsafe fn settle_at(&self, tail: JobSlot) {
        // SAFETY: by 1.
        unsafe { self.deque().set_tail(tail) };
        self.show();
    }

    /// As [`lend`](Self::lend), where the tail is carried. False if there is no slot for the
    /// job: it was not lent then.
    ///
    /// # Safety
    ///
    /// 1. and 2. as for `lend`, and
    ///
    /// 3. the tail is carried, and lies at `slot`.
    #[inline(always)]
    unsafe fn lend_ahead<B, R>(&self, slot: JobSlot, closure: &ManuallyDrop<B>) -> bool
    where
        B: FnOnce(Place) -> R,
    {
        // SAFETY: by 3. the slot is vacant; 1. is handed on.
        unsafe { SlotJob::<B, R, Place>::put(slot, closure) };
        // SAFETY: by 3., and the slot holds what the kind says; by 2. others may run it.
        let is_called = unsafe {
            self.deque()
                .publish_ahead(slot, SlotJob::<B, R, Place>::KIND)
        };
        !is_called || self.lend_ahead_slowly(slot)
    }

    /// Somebody has called, or there was no slot for the job.
    #[cold]
    #[inline(never)]
    fn lend_ahead_slowly(&self, slot: JobSlot) -> bool {
        let tail = above(slot);
        // SAFETY: the job was just published there.
        unsafe { self.settle_at(tail) };
        let stays = self.attend_at_join();
        if stays {
            self.carry_on(tail);
        }
        stays
    }

    /// As [`take_back`](Self::take_back), where the job was lent by `lend_ahead`.
    ///
    /// # Safety
    ///
    /// As for `take_back`.
    #[inline(always)]
    unsafe fn take_back_ahead(&self, slot: JobSlot) -> bool {
        if !self.is_carried() {
            // SAFETY: 1. is handed on.
            return unsafe { self.take_back_settled(slot) };
        }
        // SAFETY: by 1., and as the tail is carried: else something would have been left.
        unsafe { self.deque().retract_ahead(slot) || self.loses(slot) }
    }

    /// A thief has the newest job, which lies in this slot.
    ///
    /// # Safety
    ///
    /// 1. It has.
    #[cold]
    #[inline(never)]
    unsafe fn loses(&self, slot: JobSlot) -> bool {
        // SAFETY: by 1. the slot is in use.
        unsafe { self.settle_at(above(slot)) };
        false
    }

    /// As `take_back_ahead`, where the tail is exact.
    ///
    /// # Safety
    ///
    /// As for `take_back`.
    #[cold]
    #[inline(never)]
    unsafe fn take_back_settled(&self, slot: JobSlot) -> bool {
        // SAFETY: 1. is handed on.
        let is_ours = unsafe { self.take_back(slot) };
        if is_ours {
            self.carry_on(slot);
        }
        is_ours
    }
}

impl fmt::Debug for JoinContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinContext")
            .field("worker", &self.worker.index())
            .finish()
    }
}
