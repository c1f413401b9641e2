//! `join`: two closures, the second of which somebody else may take.
//!
//! The path of a task: `join` moves the second closure into the next slot of the
//! worker's deque and runs the first one. Then it takes the slot back. Usually
//! the closure is still there, and runs in place, as a plain call. If a thief
//! has it, the worker runs other jobs until the thief sets the latch in the slot,
//! beside which the result lies then.

use crate::job::{lent_latch, JobSlot, SlotJob};
use crate::pool::Pool;
use crate::unwind::{self, Payload};
use crate::worker::Worker;
use heist_sync::thread;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

/// Runs both closures, perhaps in parallel, and returns both results.
///
/// On a worker the second closure is made available to thieves, the first runs
/// at once, and then the second, unless it was stolen. A caller outside any pool
/// takes part in the global one, as a worker in the place of one that sleeps; if
/// none sleeps, both closures move into the pool and the caller blocks.
///
/// While it waits for a stolen closure the worker runs other jobs, which may be
/// any jobs of the pool: do not hold a lock over a `join` that such a job could
/// want, unless you say so by [`Waiting::Descendants`](crate::Waiting).
///
/// # Panics
///
/// Both closures always run to their end. If one panics, `join` panics with its
/// payload; if both do, with that of the first. As everywhere in this crate, the payloads
/// of the others are dropped, and one whose drop panics aborts the process.
///
/// # Cost
///
/// No allocation, unless the second closure is stolen and its result takes more
/// than 40 bytes. Not stolen: one push and one pop on the worker's own deque,
/// some nanoseconds.
///
/// # Examples
///
/// ```
/// fn fib(n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = heist_core::join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
/// assert_eq!(fib(20), 6765);
/// ```
#[inline(always)]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_context(|_| a(), |_| b())
}

/// As [`join`], and tells each closure whether it migrated: whether it runs on
/// another worker, or at another time, than the call alone would suggest.
///
/// # Panics
///
/// As [`join`].
///
/// # Examples
///
/// ```
/// let pool = heist_core::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let migrated = pool.install(|| heist_core::join_context(|a| a.migrated(), |b| b.migrated()));
/// assert_eq!(migrated, (false, false)); // nobody there who could steal
/// # Ok::<(), heist_core::ThreadPoolBuildError>(())
/// ```
#[inline(always)]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Worker::current() {
        Some(worker) => join_on(worker, false, a, b),
        None => Pool::global().take_part(|worker, migrated| join_on(worker, migrated, a, b)),
    }
}

/// What a closure of [`join_context`] is told.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Says something about the present thread only: neither `Send` nor `Sync`.
    here: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline(always)]
    pub(crate) fn new(migrated: bool) -> Self {
        Self {
            migrated,
            here: PhantomData,
        }
    }

    /// True if the closure was stolen, or has moved into the pool from outside.
    ///
    /// # Examples
    ///
    /// ```
    /// heist_core::ThreadPoolBuilder::new().callers_take_part(false).build_global()?;
    /// let (a, _) = heist_core::join_context(|a| a.migrated(), |_| ());
    /// assert!(a, "both closures moved into the pool");
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Tells a job that was lent where it runs.
pub(crate) trait Told: Sized {
    /// Runs a job on its thief.
    fn on_thief<R>(job: impl FnOnce(Self) -> R) -> R;
}

impl Told for FnContext {
    #[inline(always)]
    fn on_thief<R>(job: impl FnOnce(Self) -> R) -> R {
        job(Self::new(true))
    }
}

#[inline(always)]
pub(crate) fn join_on<A, B, RA, RB>(worker: &Worker, migrated: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB,
{
    let mut b = ManuallyDrop::new(b);
    // SAFETY: 1. `b` stays in this frame until the job is taken back or done: on
    // every way out below, also that of a panic in `a`. One of the copies is used. 2. `b` is Send and so is
    // its result, by the bounds of our callers.
    let Some(slot) = (unsafe { worker.lend::<B, RB>(&b) }) else {
        return join_in_place(migrated, a, ManuallyDrop::into_inner(b));
    };

    let ra = match unwind::halt(|| a(FnContext::new(migrated))) {
        Ok(ra) => ra,
        // SAFETY: lent above, with these types.
        Err(payload) => unsafe {
            let in_place = FnContext::new(false);
            finish_and_resume::<B, RB, FnContext>(worker, slot, in_place, payload)
        },
    };

    // SAFETY: lent above.
    if unsafe { worker.take_back(slot) } {
        worker.count_in_place();
        // SAFETY: taken back, so that nobody else has it. What is in the slot is forgotten:
        // most closures borrow from this frame, and the compiler knows where. If `b`
        // panics, nothing points into this frame any more.
        let b = unsafe { ManuallyDrop::take(&mut b) };
        return (ra, b(FnContext::new(migrated)));
    }
    // SAFETY: lent above, with these types, and a thief has it.
    unsafe { both::<B, RA, RB, FnContext>(worker, slot, ra) }
}

/// One closure after the other: the deque is full.
#[cold]
#[inline(never)]
fn join_in_place<A, B, RA, RB>(migrated: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB,
{
    let ra = unwind::halt(|| a(FnContext::new(migrated)));
    let rb = unwind::halt(|| b(FnContext::new(migrated)));
    match (ra, rb) {
        (Ok(ra), Ok(rb)) => (ra, rb),
        (Ok(ra), Err(payload)) => {
            unwind::discard(ra);
            unwind::resume(payload)
        }
        (Err(payload), rb) => {
            match rb {
                Ok(rb) => unwind::discard(rb),
                Err(second) => unwind::discard_payload(second),
            }
            unwind::resume(payload)
        }
    }
}

/// The result of the first closure, and of the second what the thief makes of it.
///
/// # Safety
///
/// 1. The slot holds a job of these types, which a thief has taken.
#[cold]
#[inline(never)]
pub(crate) unsafe fn both<B, RA, RB, X>(worker: &Worker, slot: JobSlot, ra: RA) -> (RA, RB)
where
    B: FnOnce(X) -> RB,
    X: Told,
{
    // SAFETY: by 1.
    match unsafe { stolen::<B, RB, X>(worker, slot) } {
        Ok(rb) => (ra, rb),
        Err(payload) => {
            unwind::discard(ra);
            unwind::resume(payload)
        }
    }
}

/// Waits for the thief, and takes what it has made of the job.
///
/// # Safety
///
/// 1. The slot holds a job of these types, which a thief has taken.
unsafe fn stolen<B, RB, X>(worker: &Worker, slot: JobSlot) -> thread::Result<RB>
where
    B: FnOnce(X) -> RB,
    X: Told,
{
    // SAFETY: by 1.
    let latch = unsafe { lent_latch(slot).as_ref() };
    // What is above the slot was pushed by the first closure.
    worker.wait_until(latch, |_| slot.as_ptr() as usize + 1);
    // SAFETY: the latch is set, and the result is taken once.
    let result = unsafe { SlotJob::<B, RB, X>::take_result(slot) };
    // SAFETY: the thief is done with it.
    unsafe { worker.reclaim(slot) };
    result
}

/// The first closure has panicked: lets the second come to its end, `in_place` or at
/// the thief's, before the frame goes.
///
/// # Safety
///
/// 1. The slot is that of a job of these types that this worker has lent.
#[cold]
#[inline(never)]
pub(crate) unsafe fn finish_and_resume<B, RB, X>(
    worker: &Worker,
    slot: JobSlot,
    in_place: X,
    payload: Payload,
) -> !
where
    B: FnOnce(X) -> RB,
    X: Told,
{
    worker.settle();
    // SAFETY: by 1.
    let result = if unsafe { worker.take_back(slot) } {
        worker.count_in_place();
        // SAFETY: taken back.
        let b = unsafe { SlotJob::<B, RB, X>::take(slot) };
        unwind::halt(|| b(in_place))
    } else {
        // SAFETY: by 1., and a thief has it.
        unsafe { stolen::<B, RB, X>(worker, slot) }
    };
    match result {
        Ok(rb) => unwind::discard(rb),
        Err(second) => unwind::discard_payload(second),
    }
    unwind::resume(payload)
}
