//! The worker: what the thread does with the seat on which it sits. It lends jobs and
//! takes them back, attends to whoever calls, and runs what it has found.

use crate::counters::Activity;
use crate::job::{
    lent_latch, run_in_slot, DetachedJob, Fifo, HeapJob, Job, JobRef, JobSlot, Kind, SlotJob,
};
use crate::join::FnContext;
use crate::latch::CoreLatch;
use crate::pool::Pool;
use crate::room::RESERVED_SLOTS;
use crate::seat::{Own, Seat};
use crate::unwind::AbortOnUnwind;
use crate::waiting::{Region, Waiting};
use heist_deque::Owner;
use heist_event::EventKind;
use heist_sync::thread_local;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr;

thread_local! {
    /// The worker that this thread is, or null.
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) }
}

thread_local! {
    /// The worker that this thread is, while it is not in `CURRENT` as contexts carry the
    /// tail of its deque (`context.rs`).
    static HIDDEN: Cell<*const Worker> = const { Cell::new(ptr::null()) }
}

/// Tells the calling thread from all others that there are: the address of
/// something that each has.
#[inline(always)]
pub(crate) fn this_thread() -> usize {
    CURRENT.with(|current| ptr::from_ref(current) as usize)
}

/// When no more jobs than that wait in a deque, they can begin anew at its first vacant
/// slot.
const FEW_WAITING: usize = 128;

/// One part in so many of the stack may be in use where a job begins that has nothing to
/// do with what is there.
const DEEP: usize = 4;

/// An address in the caller's frame, or nearly so.
#[inline(always)]
fn address_of_frame() -> usize {
    let here = 0_u8;
    &raw const here as usize
}

/// One worker of a pool, as the thread sees it that sits on its [`Seat`].
#[repr(transparent)]
pub(crate) struct Worker {
    seat: Seat,
    /// Neither `Send` nor `Sync`.
    here: PhantomData<*const ()>,
}

impl Worker {
    /// The worker that the calling thread is. It lives as long as the thread
    /// sits there, which is longer than any frame of a job: the borrow must not
    /// be kept beyond the job.
    #[inline(always)]
    pub(crate) fn current<'job>() -> Option<&'job Self> {
        let current = CURRENT.with(Cell::get);
        // SAFETY: not null between `sit` and `leave`, and then it points to the
        // seat that `sit` was given, which is there meanwhile.
        match unsafe { current.as_ref() } {
            Some(worker) => Some(worker),
            None => Self::come_out(),
        }
    }

    /// The worker that is hidden on the calling thread, which it is no more.
    #[cold]
    #[inline(never)]
    fn come_out<'job>() -> Option<&'job Self> {
        let worker = Self::hidden()?;
        worker.settle();
        Some(worker)
    }

    fn hidden<'job>() -> Option<&'job Self> {
        // SAFETY: as in `current`.
        unsafe { HIDDEN.with(Cell::get).as_ref() }
    }

    /// As [`current`](Self::current), for those who leave its deque alone.
    #[inline]
    pub(crate) fn seen<'job>() -> Option<&'job Self> {
        // SAFETY: as in `current`.
        unsafe { CURRENT.with(Cell::get).as_ref() }.or_else(Self::hidden)
    }

    /// From now on `current` has to `settle` first.
    pub(crate) fn hide(&self) {
        CURRENT.with(|current| current.set(ptr::null()));
        HIDDEN.with(|hidden| hidden.set(self));
    }

    /// The tail in memory is exact.
    pub(crate) fn show(&self) {
        HIDDEN.with(|hidden| hidden.set(ptr::null()));
        CURRENT.with(|current| current.set(self));
    }

    /// Makes the calling thread the worker that sits here, until it calls `leave`.
    ///
    /// # Safety
    ///
    /// 1. The seat stays in place until then, or for ever.
    /// 2. Nobody else sits there meanwhile. What the last one did there happens
    ///    before this.
    pub(crate) unsafe fn sit(seat: &Seat) -> &Self {
        // SAFETY: transparent, and by 2. the caller may have the worker's view.
        let worker: &Self = unsafe { &*ptr::from_ref(seat).cast() };
        CURRENT.with(|current| {
            assert!(current.get().is_null(), "a thread is one worker at most");
            current.set(worker);
        });
        worker
    }

    /// The calling thread is no worker any more.
    pub(crate) fn leave() {
        CURRENT.with(|current| current.set(ptr::null()));
        // In a forked child, in the middle of a context.
        HIDDEN.with(|hidden| hidden.set(ptr::null()));
    }

    #[inline(always)]
    pub(crate) fn index(&self) -> usize {
        self.seat.index()
    }

    #[inline(always)]
    pub(crate) fn pool(&self) -> &Pool {
        self.seat.pool()
    }

    #[inline(always)]
    pub(crate) fn deque(&self) -> &Owner<Kind> {
        // SAFETY: a worker is what the one thread has that sits here.
        unsafe { self.seat.deque().owner() }
    }

    #[inline(always)]
    pub(crate) fn own(&self) -> &Own {
        self.seat.own()
    }

    /// The queue that makes `spawn_fifo` first in, first out on this worker.
    pub(crate) fn fifo(&self) -> &Fifo {
        &self.seat.fifo
    }

    /// Lends the second closure of a join to whoever comes for it. `None` if there is no
    /// slot for it: then nobody has it.
    ///
    /// # Safety
    ///
    /// 1. If there is one, the closure stays where it is until the job was taken back or is
    ///    done. There are two copies then, of which one is used, once: if the job was taken
    ///    back, either of them.
    /// 2. It may run on another thread, and its result come back.
    #[inline(always)]
    pub(crate) unsafe fn lend<B, R>(&self, closure: &ManuallyDrop<B>) -> Option<JobSlot>
    where
        B: FnOnce(FnContext) -> R,
    {
        let slot = self.deque().vacant();
        // SAFETY: the slot is vacant; 1. is handed on.
        unsafe { SlotJob::<B, R, FnContext>::put(slot, closure) };
        // SAFETY: the slot holds what the kind says; by 2. others may run it.
        let is_called = unsafe { self.deque().publish(slot, SlotJob::<B, R, FnContext>::KIND) };
        (!is_called || self.attend_at_join()).then_some(slot)
    }

    /// Takes a lent job back. False if a thief has it, and its latch will be set.
    ///
    /// # Safety
    ///
    /// 1. The worker lent the job, and has taken back all that it lent since.
    #[inline(always)]
    pub(crate) unsafe fn take_back(&self, slot: JobSlot) -> bool {
        if !self.deque().is_newest(slot) {
            // SAFETY: 1. is handed on.
            return unsafe { self.take_back_slowly(slot) };
        }
        // SAFETY: it is the newest.
        unsafe { self.deque().retract(slot) }
    }

    /// Runs what the first closure of a join left behind, newest first; then as
    /// `take_back`.
    ///
    /// # Safety
    ///
    /// As for `take_back`.
    #[cold]
    #[inline(never)]
    unsafe fn take_back_slowly(&self, slot: JobSlot) -> bool {
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        while !self.deque().is_newest(slot) {
            if let Some(job) = self.pop() {
                self.execute(job);
            }
        }
        abort.defuse();
        // SAFETY: it is the newest now.
        unsafe { self.deque().retract(slot) }
    }

    /// The slot of a lent job, which its thief is done with, is vacant again.
    ///
    /// # Safety
    ///
    /// 1. The thief has set the latch, and the result was taken.
    pub(crate) unsafe fn reclaim(&self, slot: JobSlot) {
        // Jobs that were pushed while the worker waited keep their order.
        let mut newer = Vec::new();
        while !self.deque().is_newest(slot) {
            if let Some((kind, slot)) = self.pop_detached() {
                // SAFETY: just popped.
                newer.push(unsafe { DetachedJob::move_from(slot, kind) });
            }
        }
        // SAFETY: by 1. for the slot itself; those above it are free.
        unsafe { self.deque().reclaim(slot) };
        self.put_back(newer);
        if self.pool().waits_for_a_worker() {
            self.call_oneself();
        }
    }

    /// Puts jobs back into the deque that were popped, newest first.
    fn put_back(&self, mut jobs: Vec<DetachedJob>) {
        while let Some(job) = jobs.pop() {
            let slot = self.deque().vacant();
            self.note(slot.as_ptr() as usize);
            // SAFETY: the slot is vacant.
            let kind = unsafe { job.put_back(slot) };
            // SAFETY: the slot holds such a job, and those may run anywhere.
            if unsafe { self.deque().publish(slot, kind) } {
                self.attend();
            }
        }
    }

    /// Pushes a job that nobody waits for in this frame, to be popped back or
    /// stolen, and sees to it that somebody who has nothing to do comes for it.
    ///
    /// # Safety
    ///
    /// 1. What the closure borrows lives until it has run.
    /// 2. The closure does not unwind.
    #[inline]
    pub(crate) unsafe fn push<F: FnOnce() + Send>(&self, closure: F) {
        if !DetachedJob::fits::<F>() {
            // SAFETY: as for this function.
            return self.push_reference(unsafe { HeapJob::into_job_ref(closure) });
        }
        if !self.deque().has_room() && !self.make_room() {
            // SAFETY: as for this function.
            return self.pool().inject(unsafe { DetachedJob::new(closure) });
        }
        let slot = self.deque().vacant();
        self.note(slot.as_ptr() as usize);
        // SAFETY: the slot is vacant, and the closure fits; 1. and 2. are handed on.
        let kind = unsafe { DetachedJob::put(slot, closure) };
        // SAFETY: the slot holds what the kind says, which may run anywhere.
        if unsafe { self.deque().publish(slot, kind) } {
            self.attend();
        }
    }

    /// Pushes a job by its reference.
    pub(crate) fn push_reference(&self, job: JobRef) {
        // SAFETY: 1. and 2. are those of the job. By J1 this is its one run.
        unsafe { self.push(move || job.execute()) };
    }

    /// Room for jobs that could go elsewhere. False if there is none: the last slots are
    /// for joins.
    ///
    /// A worker that only pushes never pops, which is what makes slots vacant again whose
    /// jobs others took. So if few jobs wait, they begin anew at the first of those; unless
    /// somebody has noted where they lie.
    #[cold]
    fn make_room(&self) -> bool {
        if self.own().watch.get().is_null() && self.deque().waiting() <= FEW_WAITING {
            let mut waiting = Vec::new();
            while let Some((kind, slot)) = self.pop_detached() {
                // SAFETY: just popped.
                waiting.push(unsafe { DetachedJob::move_from(slot, kind) });
            }
            self.put_back(waiting);
        }
        self.deque().make_room(RESERVED_SLOTS)
    }

    /// The thread is about to leave its seat, or to sleep there: gives back what memory a
    /// burst of jobs has taken.
    pub(crate) fn tidy_up(&self) {
        if !self.seat.has_a_job() {
            // Makes the slots vacant again whose jobs others took.
            let left = self.pop_detached();
            debug_assert!(left.is_none(), "all jobs were taken");
        }
        self.deque().shrink();
    }

    /// Somebody has called: a thief wants jobs, or somebody sleeps. Runs nothing.
    #[cold]
    #[inline(never)]
    pub(crate) fn attend(&self) {
        let stays = self.hear_the_call();
        debug_assert!(stays, "there was room");
        if self.pool().waits_for_a_worker() {
            // The call was for the next join as well.
            self.call_oneself();
        }
    }

    /// As [`attend`](Self::attend), where a join has just lent a job, or between two
    /// pieces of a loop: in a prompt pool the call may be for a job from outside, which
    /// runs here. False if the lent job has found no slot.
    #[cold]
    #[inline(never)]
    pub(crate) fn attend_at_join(&self) -> bool {
        let stays = self.hear_the_call();
        let (pool, own) = (self.pool(), self.own());
        if !pool.prompt || self.is_strict() {
            return stays;
        }
        if !own.is_serving.get() {
            // On the stack of a frame that has other things to do: one at a time.
            own.is_serving.set(true);
            if let Some(job) = self.take_urgent() {
                self.execute(job);
            }
            own.is_serving.set(false);
        }
        if pool.waits_for_a_worker() {
            self.call_oneself();
        }
        stays
    }

    /// A job from outside for which nobody is free, in a prompt pool, and if there is room
    /// for it on the stack.
    pub(crate) fn take_urgent(&self) -> Option<Job> {
        if self.pool().waits_for_a_worker() && !self.is_deep() {
            self.take_injected()
        } else {
            None
        }
    }

    /// Makes the jobs public and wakes whom the sleep protocol says. False if the newest
    /// job has found no slot.
    fn hear_the_call(&self) -> bool {
        let stays = self.deque().attend();
        let own = self.own();
        let is_brief = || own.is_guest.get() && own.visits.get().is_brief(self.pool().now_ns());
        match self.pool().sleep.published_by(is_brief) {
            Some(woke) => self.seat.counters.wakes.add(woke as u64),
            None => self.call_oneself(),
        }
        stays
    }

    /// After a search, on which somebody may have counted who has a job from outside.
    pub(crate) fn look_after_a_search(&self) {
        let pool = self.pool();
        let is_missed = pool.prompt && pool.sleep.nobody_is_free_any_more();
        if is_missed && !pool.injector.is_empty() {
            self.call_oneself();
        }
    }

    /// The thread has just become a worker.
    pub(crate) fn begins_to_work(&self) {
        let now_ns = self.pool().now_ns();
        self.seat.counters.time.change(Activity::Working, now_ns);
    }

    /// From here on downwards the stack of the thread is this worker's.
    pub(crate) fn begin_stack(&self, size: usize) {
        let here = address_of_frame();
        self.own().deep.set(here.saturating_sub(size / DEEP));
        self.own().base.set(self.next_slot());
    }

    /// True if much of the stack is in use, so that a job that has nothing to do with it
    /// should not begin here.
    pub(crate) fn is_deep(&self) -> bool {
        address_of_frame() < self.own().deep.get()
    }

    /// The next push attends.
    pub(crate) fn call_oneself(&self) {
        self.seat.deque().thief().call();
    }

    /// Pops the newest job, unless it belongs to a join.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Job> {
        let (kind, slot) = self.pop_detached()?;
        self.seat.counters.pops.add(1);
        Some(Job::Popped { slot, kind })
    }

    #[inline]
    fn pop_detached(&self) -> Option<(&'static Kind, JobSlot)> {
        // SAFETY: a thief moves such a job out of its slot when it claims it.
        unsafe { self.deque().pop_if(Kind::is_detached) }
    }

    /// The oldest job of the own deque, taken as thieves take it.
    pub(crate) fn take_oldest(&self) -> Option<Job> {
        if !self.seat.has_a_job() {
            return None;
        }
        let claim = |kind, slot: JobSlot| {
            // SAFETY: the deque's lock is held.
            let is_strict = unsafe { self.seat.manner.is_strict_at(slot.as_ptr() as usize) };
            // SAFETY: just taken, and the deque's lock keeps others away.
            unsafe { Job::claim(kind, slot, self.index(), is_strict) }
        };
        // SAFETY: `claim` moves a detached job out, and the slot of a lent one stays
        // in use until its latch is set.
        let job = unsafe { self.deque().take_oldest(claim) }?;
        self.seat.counters.pops.add(1);
        Some(job)
    }

    /// Counts a job that was taken back and run by the join that lent it.
    #[inline(always)]
    pub(crate) fn count_in_place(&self) {
        self.seat.counters.in_place.add(1);
    }

    /// True if the own deque holds a job.
    #[inline]
    pub(crate) fn has_pending(&self) -> bool {
        self.seat.has_a_job()
    }

    /// In the middle of a long job that pushes rarely: attends to whoever has called.
    /// True if the own deque is empty then.
    #[inline]
    pub(crate) fn look_up(&self) -> bool {
        if self.deque().is_called() {
            self.attend_at_join();
        }
        !self.has_pending()
    }

    /// Runs a job that was taken from where it waited.
    pub(crate) fn execute(&self, job: Job) {
        self.pool().abort_if_forked();
        // Counted before it runs: whoever learns that it is done finds it counted.
        self.seat.counters.executed.add(1);
        if self.own().is_watched.get() {
            return self.execute_watched(job);
        }
        let base = self.own().base.replace(self.next_slot());
        self.run_job(job);
        self.own().base.set(base);
    }

    /// As `execute`, where somebody wants to know what the job does.
    #[cold]
    #[inline(never)]
    fn execute_watched(&self, job: Job) {
        self.record(EventKind::JobBegin);
        self.watched(true, || self.run_job(job));
        self.record(EventKind::JobEnd);
    }

    #[inline(always)]
    fn run_job(&self, job: Job) {
        match job {
            // SAFETY: taken from a mailbox, where each reference was put once and is
            // handed out once.
            Job::Reference(job) => unsafe { job.execute() },
            // SAFETY: taken from a deque, which hands each job out once. Nothing was
            // pushed since it was popped.
            Job::Popped { slot, kind } => unsafe { run_in_slot(slot, kind) },
            // Moved, not referred to: or else the compiler copies every `Job` whole
            // before this, and a popped one waits until its few bytes are written.
            // SAFETY: taken from the injector, which hands each job out once.
            Job::Injected(job) => unsafe { job.execute() },
            Job::Detached { job, is_strict } => {
                // SAFETY: taken from a deque, which hands each job out once.
                let run = move || unsafe { job.execute() };
                self.strictly_if(is_strict, run);
            }
            Job::Lent {
                slot,
                kind,
                owner,
                is_strict,
            } => {
                // SAFETY: as above.
                self.strictly_if(is_strict, || unsafe { run_in_slot(slot, kind) });
                // SAFETY: the slot is in use until its latch is set. The owner
                // may then use it again, and the pool keeps the memory.
                if unsafe { CoreLatch::set(lent_latch(slot).as_ptr()) } {
                    self.pool().ring(owner);
                }
            }
        }
    }

    /// What waits in `op` waits in this way.
    pub(crate) fn with_waiting<R>(&self, waiting: Waiting, op: impl FnOnce() -> R) -> R {
        struct Open<'a>(&'a Worker, &'a Region, bool);
        impl Drop for Open<'_> {
            fn drop(&mut self) {
                let Self(worker, region, was_strict) = self;
                worker.own().is_strict.set(*was_strict);
                worker.deque().locked(|| worker.seat.manner.close(region));
            }
        }
        let region = self.seat.manner.region(waiting, self.next_slot());
        // SAFETY: in place, and the newest, until `Open` is dropped below.
        self.deque()
            .locked(|| unsafe { self.seat.manner.open(&region) });
        let was_strict = self.own().is_strict.replace(region.is_strict());
        let _open = Open(self, &region, was_strict);
        self.watched(false, op)
    }

    fn strictly_if<R>(&self, is_strict: bool, op: impl FnOnce() -> R) -> R {
        if is_strict {
            self.with_waiting(Waiting::Descendants, op)
        } else {
            op()
        }
    }

    /// The address of the slot that the next job will be in.
    #[inline]
    pub(crate) fn next_slot(&self) -> usize {
        self.deque().vacant().as_ptr() as usize
    }

    /// True if only descendants may run while this worker waits here.
    #[inline]
    pub(crate) fn is_strict(&self) -> bool {
        self.own().is_strict.get()
    }

    pub(crate) fn seat(&self) -> &Seat {
        &self.seat
    }

    /// Notes what the worker does from now on, and returns the time.
    pub(crate) fn turn_to(&self, activity: Activity, event: EventKind) -> u64 {
        let now_ns = self.pool().now_ns();
        self.turn_to_at(activity, event, now_ns);
        now_ns
    }

    pub(crate) fn turn_to_at(&self, activity: Activity, event: EventKind, now_ns: u64) {
        self.seat.counters.time.change(activity, now_ns);
        if let Some(recorder) = &self.seat.recorder {
            recorder.record(event, now_ns);
        }
    }

    #[inline]
    pub(crate) fn record(&self, event: EventKind) {
        if let Some(recorder) = &self.seat.recorder {
            recorder.record(event, self.pool().now_ns());
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("index", &self.index())
            .finish()
    }
}
