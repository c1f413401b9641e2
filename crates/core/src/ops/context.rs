//! Joins with a context: the deque's tail goes along as an argument.
//!
//! A plain join reads from memory where its job is to lie, and writes there where the next one is.
//! A [`JoinContext`] has that place in a register, as the tasks of Lace do (van Dijk and van de
//! Pol, Euro-Par 2014 workshops), and writes it nowhere: while contexts *carry* the tail, the one
//! in memory lags behind.
//!
//! Everything else that a worker does reads the tail in memory. So a worker whose tail is carried
//! is hidden from [`Worker::current`], which finds the tail before it hands the worker out, and
//! from then on the tail in memory is *exact*. Each join by a context looks whether the tail is
//! carried or exact. From an exact tail it carries on if that lies where the context would have it:
//! then the jobs in the deque are just those of the joins around it. Otherwise something was left
//! there, a spawned job say, and it is a plain join.
//!
//! The contexts of one call of [`with_context`] are a [`Chain`], of which one is not borrowed. Of
//! several chains on a thread one carries the tail: the types do not exclude that a context is used
//! in the middle of another chain's join (a wrapper that is `Send`, and checks the thread when it
//! is used, takes it there), and it finds then that its own does not.

use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr;

use crate::base::argument::{Argument, FnContext};
use crate::base::job::{JobSlot, NOWHERE};
use crate::base::slot_job::SlotJob;
use crate::base::unwind;
use crate::insight::site::Site;
use crate::ops::join::{both, finish_and_resume, join_here};
use crate::state::{Carrier, Pool};
use crate::worker::Worker;

/// Calls `op` with a context for joins, on the calling worker; an external caller
/// [participates](crate::participate) in the global pool.
///
/// For recursions that do little but join: such a join costs about 0.7 of what
/// [`join`](crate::join()) costs. Each closure of a join gets a context of its own, to join with
/// and to hand on.
///
/// # Panics
///
/// Panics if `op` does.
///
/// # Cost
///
/// Some nanoseconds on a worker, else that of [`participate`](crate::participate). Any other
/// operation of this crate in `op` costs some nanoseconds more than elsewhere, and so does the next
/// join with the context.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::JoinContext;
///
/// fn fib(mut cx: JoinContext<'_>, n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = cx.join(move |cx| fib(cx, n - 1), move |cx| fib(cx, n - 2));
///     a + b
/// }
/// assert_eq!(heist::with_context(|cx| fib(cx, 20)), 6765);
/// ```
#[track_caller]
pub fn with_context<OP, R>(op: OP) -> R
where
    OP: FnOnce(JoinContext<'_>) -> R + Send,
    R: Send,
{
    Pool::on_worker(|worker| Chain::begin(worker, |place| op(place.context())))
}

/// The means to join inside of [`with_context`].
///
/// It is for the closure that it was given to, on its thread:
///
/// ```compile_fail,E0277
/// # use heist_core as heist;
/// heist::with_context(|mut cx| {
///     // Would run on another thread.
///     heist::join(|| (), || cx.join(|_| (), |_| ()));
/// });
/// ```
///
/// ```compile_fail
/// # use heist_core as heist;
/// let kept = heist::with_context(|cx| cx); // would outlive the call
/// ```
///
/// ```compile_fail,E0499
/// # use heist_core as heist;
/// heist::with_context(|mut cx| {
///     let mut outer = cx.reborrow();
///     cx.join(|_| outer.join(|_| (), |_| ()), |_| ()); // the inner one is the one to use
/// });
/// ```
pub struct JoinContext<'call> {
    chain: &'call Chain<'call>,
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
    /// Not stolen: the second closure is copied into the deque, and three words are looked at. It
    /// does not appear in the [counters](crate::WorkerCounters), where counting it would be a good
    /// part of what it costs. Closures that `move` what they capture, and functions that take the
    /// context by value, keep it in registers; a context behind a reference costs as much as a
    /// plain join.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let sums = heist::with_context(|mut cx| {
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
            self.chain,
            self.next,
            const { &Site::of::<B>("join") },
            |place: Place| a(place.context()),
            |place: Place| b(place.context()),
        )
    }

    /// The same context, to hand on to a call and to use again afterwards.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use heist::JoinContext;
    ///
    /// fn both(mut cx: JoinContext<'_>) -> (u8, u8) {
    ///     cx.join(|_| 1, |_| 2)
    /// }
    /// heist::with_context(|mut cx| {
    ///     assert_eq!(both(cx.reborrow()), both(cx));
    /// });
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn reborrow(&mut self) -> JoinContext<'_> {
        let Self { chain, next } = *self;
        JoinContext { chain, next }
    }
}

/// A context whose lifetime is left to whoever uses it: inside one closure of a join.
pub(crate) struct Place {
    chain: *const Chain<'static>,
    next: JobSlot,
}

impl Place {
    #[inline(always)]
    fn new(chain: &Chain<'_>, next: JobSlot) -> Self {
        let chain = ptr::from_ref(chain).cast();
        Self { chain, next }
    }

    #[inline(always)]
    fn context<'call>(self) -> JoinContext<'call> {
        JoinContext {
            // SAFETY: made in this file for a closure that is about to run inside of the chain,
            // whose frame and whose worker are there until that has ended. The closure takes any
            // lifetime, so that nothing that it returns or leaves behind can hold the context.
            chain: unsafe { &*self.chain },
            next: self.next,
        }
    }
}

impl Argument for Place {
    fn on_thief<R>(job: impl FnOnce(Self) -> R) -> R {
        Chain::begin(Worker::current().expect("jobs run on workers"), job)
    }
}

/// Joins on the chain's worker, whose next job lies in `slot`, says a context.
#[inline(always)]
fn join_ahead<A, B, RA, RB>(
    chain: &Chain<'_>,
    slot: JobSlot,
    site: &'static Site,
    a: A,
    b: B,
) -> (RA, RB)
where
    A: FnOnce(Place) -> RA,
    B: FnOnce(Place) -> RB,
{
    if !chain.carrier.carries.get() && !chain.carry_on(slot) {
        return join_plainly(chain, site, a, b);
    }
    debug_assert_ne!(slot, NOWHERE);

    let b = ManuallyDrop::new(b);
    // SAFETY: 1. `b` stays in this frame until the job is taken back or done. 2. `b` is Send, and
    // so is its result, by the bounds of our caller. 3. The chain carries the tail, and this is its
    // one context that is not borrowed.
    if !unsafe { chain.lend::<B, RB>(slot, &b) } {
        return join_plainly(chain, site, a, ManuallyDrop::into_inner(b));
    }
    let ra = match unwind::catch(|| a(Place::new(chain, above(slot)))) {
        Ok(ra) => ra,
        // SAFETY: lent above, with these types.
        Err(payload) => unsafe {
            let in_place = Place::new(chain, slot);
            finish_and_resume::<B, RB, Place>(chain.worker, slot, None, in_place, payload)
        },
    };
    // SAFETY: lent above.
    if unsafe { chain.take_back(slot) } {
        // SAFETY: as in `join_on`, but out of the slot: what a context's closures move in would
        // otherwise take registers.
        let b = unsafe { SlotJob::<B, RB, Place>::take(slot) };
        return (ra, b(Place::new(chain, slot)));
    }
    // SAFETY: lent above, with these types, and a thief has it.
    unsafe { both::<B, RA, RB, Place>(chain.worker, slot, ra) }
}

/// The slot behind this one.
#[inline(always)]
fn above(slot: JobSlot) -> JobSlot {
    // SAFETY: a job was pushed in it, so that there is one more behind it.
    unsafe { slot.add(1) }
}

/// A join among jobs that are not those of the joins around it, or of which there are so many that
/// the deque has no room. The contexts in it carry nothing.
#[cold]
#[inline(never)]
fn join_plainly<A, B, RA, RB>(chain: &Chain<'_>, site: &'static Site, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(Place) -> RA,
    B: FnOnce(Place) -> RB,
{
    let here = ptr::from_ref(chain).cast();
    let nowhere = move || Place {
        chain: here,
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
    join_here(chain.worker, false, Some(site), a, b)
}

/// The contexts of one call of [`with_context`], or of one job that was stolen from such a call: it
/// lies in the frame in which they begin.
pub(crate) struct Chain<'call> {
    worker: &'call Worker,
    carrier: Carrier,
}

impl Chain<'_> {
    /// Calls `op` with the first place of a chain on this worker.
    fn begin<R>(worker: &Worker, op: impl FnOnce(Place) -> R) -> R {
        struct End<'a>(&'a Worker);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store_tail();
            }
        }
        let lowest = worker.deque().vacant();
        let chain = Chain {
            worker,
            carrier: Carrier {
                carries: Cell::new(false),
                lowest,
            },
        };
        let _end = End(worker);
        if !worker.pool().hides_workers() {
            chain.carry();
        }
        op(Place::new(&chain, lowest))
    }

    /// From now on this chain carries the tail, which is exact.
    fn carry(&self) {
        self.carrier.carries.set(true);
        self.worker
            .local()
            .frames
            .carrier
            .set(&raw const self.carrier);
        self.worker.hide();
    }

    /// Carries the exact tail, from now on, if it lies there. No other chain does then.
    #[cold]
    #[inline(never)]
    fn carry_on(&self, slot: JobSlot) -> bool {
        self.worker.unblock();
        self.worker.store_tail();
        let is_there = self.worker.deque().vacant() == slot && !self.worker.pool().hides_workers();
        if is_there {
            self.carry();
        }
        is_there
    }

    /// As [`Worker::lend`], where the chain carries the tail. False if there is no slot for the
    /// job: it was not lent then.
    ///
    /// # Safety
    ///
    /// 1. and 2. as for `lend`, and
    ///
    /// 3. the chain carries the tail, which lies at `slot`.
    #[inline(always)]
    unsafe fn lend<B, R>(&self, slot: JobSlot, closure: &ManuallyDrop<B>) -> bool
    where
        B: FnOnce(Place) -> R,
    {
        // SAFETY: by 3. the slot is vacant; 1. is handed on.
        unsafe { SlotJob::<B, R, Place>::put(slot, closure) };
        let deque = self.worker.deque();
        // SAFETY: by 3., and the slot holds what the kind says; by 2. others may run it.
        let is_signalled = unsafe { deque.push_ahead(slot, SlotJob::<B, R, Place>::KIND) };
        !is_signalled || self.lend_slowly(slot)
    }

    /// The worker was signalled, or there was no slot for the job.
    #[cold]
    #[inline(never)]
    fn lend_slowly(&self, slot: JobSlot) -> bool {
        let tail = above(slot);
        // SAFETY: the job was just pushed there.
        unsafe { self.worker.store_tail_at(tail) };
        let stays = self.worker.service_at_join();
        if stays {
            self.carry_on(tail);
        }
        stays
    }

    /// As [`Worker::take_back`], where the job was lent by `lend`.
    ///
    /// # Safety
    ///
    /// As for `take_back`.
    #[inline(always)]
    unsafe fn take_back(&self, slot: JobSlot) -> bool {
        if !self.carrier.carries.get() {
            // SAFETY: 1. is handed on.
            return unsafe { self.take_back_stored(slot) };
        }
        // SAFETY: by 1., and as the chain carries the tail: else something would have been left.
        unsafe { self.worker.deque().retract_ahead(slot) || self.loses(slot) }
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
        unsafe { self.worker.store_tail_at(above(slot)) };
        false
    }

    /// As `take_back`, where this chain does not carry the tail.
    ///
    /// # Safety
    ///
    /// As for `take_back`.
    #[cold]
    #[inline(never)]
    unsafe fn take_back_stored(&self, slot: JobSlot) -> bool {
        self.worker.store_tail();
        // SAFETY: 1. is handed on.
        let is_ours = unsafe { self.worker.take_back(slot) };
        if is_ours {
            self.carry_on(slot);
        }
        is_ours
    }
}

impl fmt::Debug for JoinContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinContext")
            .field("worker", &self.chain.worker.index())
            .finish()
    }
}
