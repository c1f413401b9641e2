//! `join`: two closures, the second of which a thief may take.
//!
//! `join` moves the second closure into the next slot of the worker's deque and runs the first one.
//! Then it takes the slot back. Usually the closure is still there, and runs in place, as a plain
//! call. If a thief has it, the worker runs other jobs until the thief sets the latch in the slot;
//! the result is then beside the latch.

use std::any::type_name;
use std::mem::ManuallyDrop;
use std::ptr;

use heist_sync::thread;

use crate::base::argument::{Argument, FnContext};
use crate::base::job::{lent_latch, JobSlot};
use crate::base::slot_job::SlotJob;
use crate::base::unwind::{self, Payload};
use crate::insight::call::{Fork, SeesJoin};
use crate::insight::site::Site;
use crate::schedule::Point;
use crate::state::Pool;
use crate::worker::Worker;

/// Runs both closures, perhaps in parallel, and returns both results.
///
/// On a worker, thieves may take the second closure while the first runs; if none has, the second
/// runs next, on the same worker. A caller outside any pool participates in the global one, as a
/// worker in the place of a sleeping one; if none sleeps, both closures move into the pool and the
/// caller blocks.
///
/// While it waits for a stolen closure the worker runs other jobs, which may be any jobs of the
/// pool: do not hold a lock across a `join` if such a job could want it, unless the wait is limited
/// to [`Waiting::Descendants`](crate::Waiting).
///
/// # Panics
///
/// Both closures always run to their end. If one panics, `join` panics with its payload; if both
/// do, with that of the first. As everywhere in this crate, the other payload is dropped, and the
/// process aborts if that drop panics.
///
/// # Cost
///
/// Some nanoseconds for a push and a pop on the worker's own deque, if the second closure is not
/// stolen. No allocation, unless it is stolen and its result takes more than 40 bytes.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// fn fib(n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = heist::join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
/// assert_eq!(fib(20), 6765);
/// ```
#[track_caller]
#[inline(always)]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let site = const { &Site::of::<B>("join") };
    join_at(Some(site), |_| a(), |_| b())
}

/// As [`join`], and tells each closure whether it migrated, that is, whether it runs on a thread
/// other than the caller's.
///
/// # Panics
///
/// As [`join`].
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let migrated = pool.install(|| heist::join_context(|a| a.migrated(), |b| b.migrated()));
/// assert_eq!(migrated, (false, false)); // nobody there who could steal
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[track_caller]
#[inline(always)]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_at(Some(const { &Site::of::<B>("join") }), a, b)
}

/// As [`join_context`], for two parts of one loop, which have no site of their own.
#[doc(hidden)]
#[track_caller]
pub fn join_parts<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_at(None, a, b)
}

#[track_caller]
#[inline(always)]
fn join_at<A, B, RA, RB>(site: Option<&'static Site>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Worker::visible() {
        Some(worker) => join_on(worker, false, a, b),
        None => join_elsewhere(site, a, b),
    }
}

/// The join of a caller from outside, or on a worker that is hidden.
#[cold]
#[inline(never)]
#[track_caller]
fn join_elsewhere<A, B, RA, RB>(site: Option<&'static Site>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Worker::reveal() {
        Some(worker) => join_here(worker, false, site, a, b),
        None => {
            Pool::global().participate(|worker, migrated| join_here(worker, migrated, site, a, b))
        }
    }
}

/// As [`join_on`], on a worker that may be metered or scheduled.
#[inline(never)]
pub(crate) fn join_here<A, B, RA, RB>(
    worker: &Worker,
    migrated: bool,
    site: Option<&'static Site>,
    a: A,
    b: B,
) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB,
{
    let fork = Fork::here(site);
    let fork = fork.as_ref();
    let a = |told| {
        let ra = a(told);
        // A thief may take the second closure there.
        worker.point(Point::Work);
        ra
    };
    let b = |told| Fork::run(fork, || b(told));
    join_seen(worker, migrated, a, b, fork)
}

#[inline(always)]
fn join_on<A, B, RA, RB>(worker: &Worker, migrated: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB,
{
    join_seen(worker, migrated, a, b, ())
}

/// Joins on this worker, and tells `seer` what happens.
#[inline(always)]
fn join_seen<A, B, RA, RB>(
    worker: &Worker,
    migrated: bool,
    a: A,
    b: B,
    mut seer: impl SeesJoin,
) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB,
{
    let mut b = ManuallyDrop::new(b);
    // SAFETY: 1. `b` stays in this frame until the job is taken back or done, on every path below,
    // including a panic in `a`, and if it is taken back that copy is used. 2. `b` and its result
    // are Send, by the bounds of the callers.
    let slot = unsafe { worker.lend::<B, RB>(&b) };

    let ra = match unwind::catch(|| a(FnContext::new(migrated))) {
        Ok(ra) => ra,
        // SAFETY: lent above, with these types, and not used any more. `b` itself stays: a thief
        // may read it in this frame.
        Err(payload) => unsafe {
            seer.first_has_panicked();
            let in_place = FnContext::new(migrated);
            let b = Some(ptr::read(&raw const b));
            finish_and_resume::<B, RB, FnContext>(worker, slot, b, in_place, payload)
        },
    };

    // SAFETY: lent above.
    if unsafe { worker.take_back(slot) } {
        seer.second_in_place();
        worker.count_in_place();
        // SAFETY: taken back, so that no thief has it. The copy in the slot is forgotten: most
        // closures borrow from this frame, and the compiler optimises the copy here better. If `b`
        // panics, nothing points into this frame any more.
        let b = unsafe { ManuallyDrop::take(&mut b) };
        return (ra, b(FnContext::new(migrated)));
    }
    // SAFETY: lent above, with these types, and a thief has it.
    unsafe { both::<B, RA, RB, FnContext>(worker, slot, ra) }
}

/// Resumes the panic of the first closure, now that the second has ended.
fn resume_first<RB>(payload: Payload, rb: thread::Result<RB>) -> ! {
    match rb {
        Ok(rb) => {
            unwind::discard(rb);
            unwind::resume(payload)
        }
        Err(second) => unwind::resume(unwind::first(payload, second)),
    }
}

/// Returns the result of the first closure, and that of the second, for which it waits.
///
/// # Safety
///
/// 1. The slot holds a job of these types, which a thief has taken.
#[cold]
#[inline(never)]
pub(crate) unsafe fn both<B, RA, RB, X>(worker: &Worker, slot: JobSlot, ra: RA) -> (RA, RB)
where
    B: FnOnce(X) -> RB,
    X: Argument,
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

/// Waits for the thief, and takes the result of the job.
///
/// # Safety
///
/// 1. The slot holds a job of these types, which a thief has taken.
unsafe fn stolen<B, RB, X>(worker: &Worker, slot: JobSlot) -> thread::Result<RB>
where
    B: FnOnce(X) -> RB,
    X: Argument,
{
    // SAFETY: by 1.
    let latch = unsafe { lent_latch(slot).as_ref() };
    worker.wait_for_thief(latch, slot, type_name::<B>);
    // SAFETY: the latch is set, and the result is taken once.
    let result = unsafe { SlotJob::<B, RB, X>::take_result(slot) };
    // SAFETY: the thief is done with it.
    unsafe { worker.reclaim(slot) };
    result.or_else(|payload| {
        // SAFETY: by 1.
        let b = unsafe { SlotJob::<B, RB, X>::declined(payload) }?;
        if worker.leaves() {
            Err(unwind::dropped(b, unwind::cancellation()))
        } else {
            unwind::catch(|| X::on_thief(b))
        }
    })
}

/// Resumes the panic of the first closure, after the second has ended, `in_place` or on its thief:
/// only then may the frame go.
///
/// # Safety
///
/// 1. This worker has lent a job of these types in this slot, and that is the slot's last use.
/// 2. `b` is a copy of what has stayed in the frame, which nobody else uses if the job is taken
///    back. If it is not given, the slot is not [`NOWHERE`](crate::base::job::NOWHERE).
#[cold]
#[inline(never)]
pub(crate) unsafe fn finish_and_resume<B, RB, X>(
    worker: &Worker,
    slot: JobSlot,
    b: Option<ManuallyDrop<B>>,
    in_place: X,
    payload: Payload,
) -> !
where
    B: FnOnce(X) -> RB,
    X: Argument,
{
    worker.store_tail();
    // SAFETY: by 1.
    let result = if unsafe { worker.take_back(slot) } {
        worker.count_in_place();
        let b = match b {
            Some(b) => ManuallyDrop::into_inner(b),
            // SAFETY: taken back, by 2. out of a slot.
            None => unsafe { SlotJob::<B, RB, X>::take(slot) },
        };
        if worker.leaves() {
            Err(unwind::dropped(b, unwind::cancellation()))
        } else {
            unwind::catch(|| b(in_place))
        }
    } else {
        // SAFETY: by 1., and a thief has it.
        unsafe { stolen::<B, RB, X>(worker, slot) }
    };
    resume_first(payload, result)
}
