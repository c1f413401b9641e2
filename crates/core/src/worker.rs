//! What one worker owns, and how it finds something to do.
//!
//! The search order: the own deque, newest first; the own mailbox, where
//! broadcasts arrive; the victims' deques, oldest first; the injector.

use crate::config::RESERVED_SLOTS;
use crate::counters::Activity;
use crate::job::{
    lent_latch, run_in_slot, DetachedJob, Fifo, HeapJob, Job, JobRef, JobSlot, Kind, SlotJob,
};
use crate::join::FnContext;
use crate::latch::CoreLatch;
use crate::policy::{IdleLadder, IdleStep, Victims};
use crate::pool::Pool;
use crate::seat::{Own, Seat};
use crate::sleep::Bell;
use crate::unwind::AbortOnUnwind;
use crate::waiting::Waiting;
use heist_deque::{Owner, Steal};
use heist_event::{EventKind, WorkerId};
use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::{hint, thread, thread_local};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

thread_local! {
    /// The worker that this thread is, or null.
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) }
}

thread_local! {
    /// The pool of which this thread became a worker in the middle of its life.
    static ADOPTED: Cell<Option<Adopted>> = const { Cell::new(None) }
}

/// Tells the calling thread from all others that there are: the address of
/// something that each has.
#[inline(always)]
pub(crate) fn this_thread() -> usize {
    CURRENT.with(|current| ptr::from_ref(current) as usize)
}

/// Holds the pool of an adopted thread, until the thread goes, and its last
/// frame with it.
struct Adopted(#[expect(dead_code, reason = "held, not used")] Arc<Pool>);

impl Drop for Adopted {
    fn drop(&mut self) {
        Worker::leave();
    }
}

/// A guest on its seat; it leaves when this is dropped.
struct Visit<'a>(&'a Worker);

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let seat = &self.0.seat;
        let (pool, index) = (seat.pool(), seat.index());
        let now_ns = self.0.turn_to(Activity::Searching, EventKind::SearchBegin);
        self.0
            .turn_to_at(Activity::Asleep, EventKind::Sleep, now_ns);
        seat.own().visit_ns.set(None);
        Worker::leave();
        let is_seen = pool.sleep.stand_up(index, || pool.call_all());
        // What the guest spawned and did not wait for is the worker's now.
        if !is_seen || seat.has_a_job() || seat.sees_a_job() {
            pool.ring(index);
        }
    }
}

/// Work of a guest that has not lasted longer is not worth waking somebody for,
/// who would come when it is done.
const BRIEF_NS: u64 = 5_000;

/// After this many jobs from its own deque a worker looks into the injector
/// first, so that a job submitted from outside is not starved by a worker that
/// never runs dry. Prime, so that it falls into step with no pattern of jobs.
const INJECTOR_INTERVAL: u32 = 61;

/// While jobs from outside wait, a worker with more victims than that tries them
/// before one out of so many.
const STEAL_INTERVAL: u32 = 8;

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
        unsafe { current.as_ref() }
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
    }

    /// Runs `op` on the calling thread as a guest of the pool: on the seat of a
    /// worker that sleeps. Gives `op` back if none does. `op` is told that it has not
    /// migrated.
    pub(crate) fn visit<F, R>(pool: &Pool, op: F) -> Result<R, F>
    where
        F: FnOnce(&Self, bool) -> R,
    {
        let Some(index) = pool.sleep.sit_down() else {
            return Err(op);
        };
        // SAFETY: the caller holds the pool, the worker that sat here sleeps on,
        // and `stand_up` comes with the end of `visit`.
        let worker = unsafe { Self::sit(pool.seat(index)) };
        let visit = Visit(worker);
        let now_ns = worker.turn_to(Activity::Searching, EventKind::Wake);
        worker.turn_to_at(Activity::Working, EventKind::SearchEnd, now_ns);
        worker.own().visit_ns.set(Some(now_ns));
        worker.own().base.set(worker.next_slot());
        // Somebody may sleep, which a worker that begins to work would see to.
        worker.call_oneself();
        let result = op(worker, false);
        drop(visit);
        Ok(result)
    }

    /// Makes the calling thread, which has frames below it, the worker with this
    /// index for the rest of its life.
    #[expect(clippy::mem_forget, reason = "what frames may use is leaked")]
    pub(crate) fn adopt_current_thread(pool: Arc<Pool>, index: usize) {
        // SAFETY: `Adopted` holds the pool until it calls `leave`, and no other
        // thread was started for the seat.
        let worker = unsafe { Self::sit(pool.seat(index)) };
        worker.own().base.set(worker.next_slot());
        let former = ADOPTED.with(|adopted| adopted.replace(Some(Adopted(pool))));
        // There is one in a forked child, whose frames may use it: it stays.
        std::mem::forget(former);
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
    fn deque(&self) -> &Owner<Kind> {
        // SAFETY: a worker is what the one thread has that sits here.
        unsafe { self.seat.deque().owner() }
    }

    #[inline(always)]
    fn own(&self) -> &Own {
        self.seat.own()
    }

    /// The queue that makes `spawn_fifo` first in, first out on this worker.
    pub(crate) fn fifo(&self) -> &Fifo {
        &self.seat.fifo
    }

    /// Lends the second closure of a join to whoever comes for it.
    ///
    /// # Safety
    ///
    /// 1. The closure stays where it is until the job was taken back or is done.
    ///    This copy of it is used only if the job was taken back, and then once.
    /// 2. It may run on another thread, and its result come back.
    #[inline(always)]
    pub(crate) unsafe fn lend<B, R>(&self, closure: &ManuallyDrop<B>) -> JobSlot
    where
        B: FnOnce(FnContext) -> R,
    {
        let slot = self.deque().vacant();
        // SAFETY: the slot is vacant; 1. is handed on.
        unsafe { SlotJob::<B, R>::put(slot, closure) };
        // SAFETY: the slot holds what the kind says; by 2. others may run it.
        if unsafe { self.deque().publish(slot, SlotJob::<B, R>::KIND) } {
            self.attend();
        }
        slot
    }

    /// Takes a lent job back. False if a thief has it, and its latch will be set.
    ///
    /// # Safety
    ///
    /// 1. The worker lent the job, and has taken back all that it lent since.
    #[inline(always)]
    pub(crate) unsafe fn take_back(&self, slot: JobSlot) -> bool {
        if !self.deque().is_newest(slot) {
            self.run_newer(slot);
        }
        // SAFETY: it is the newest now.
        unsafe { self.deque().retract(slot) }
    }

    /// Runs what the first closure of a join left behind, newest first.
    #[cold]
    fn run_newer(&self, slot: JobSlot) {
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        while !self.deque().is_newest(slot) {
            if let Some(job) = self.pop() {
                self.execute(job);
            }
        }
        abort.defuse();
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
        while let Some(job) = newer.pop() {
            let slot = self.deque().vacant();
            // SAFETY: the slot is vacant.
            let kind = unsafe { job.put_back(slot) };
            // SAFETY: the slot holds such a job, and those may run anywhere.
            if unsafe { self.deque().publish(slot, kind) } {
                // No more than that: a job that ran here could wait for one of ours.
                self.hear_the_call();
            }
        }
        if self.pool().waits_for_a_worker() {
            self.call_oneself();
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
        // The last slots are for joins, which have nowhere else to go.
        if !self.has_room() {
            // SAFETY: as for this function.
            return self.pool().inject(unsafe { DetachedJob::new(closure) });
        }
        let slot = self.deque().vacant();
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

    /// True if a slot is vacant that is not kept for joins.
    #[inline]
    fn has_room(&self) -> bool {
        self.deque().has_room(RESERVED_SLOTS) || self.make_room()
    }

    /// Makes the slots vacant again whose jobs others took, if those are all: a
    /// worker that only pushes never pops, which does it otherwise.
    #[cold]
    fn make_room(&self) -> bool {
        if !self.seat.has_a_job() {
            let left = self.pop_detached();
            debug_assert!(left.is_none(), "all jobs were taken");
        }
        self.deque().has_room(RESERVED_SLOTS)
    }

    /// Somebody has called: a thief wants jobs, somebody sleeps, or a job from
    /// outside waits while all workers are busy.
    #[cold]
    #[inline(never)]
    fn attend(&self) {
        self.hear_the_call();
        let own = self.own();
        let is_strict = self.is_strict();
        if !is_strict && !own.is_serving.get() && self.pool().waits_for_a_worker() {
            // On the stack of a frame that has other things to do: one at a time.
            own.is_serving.set(true);
            if let Some(job) = self.take_injected() {
                self.execute(job);
            }
            own.is_serving.set(false);
        }
        if !is_strict && self.pool().waits_for_a_worker() {
            self.call_oneself();
        }
    }

    fn hear_the_call(&self) {
        self.deque().attend();
        let is_brief = || {
            let since_ns = self.own().visit_ns.get();
            since_ns.is_some_and(|since_ns| self.pool().now_ns() - since_ns < BRIEF_NS)
        };
        match self.pool().sleep.published_by(is_brief) {
            Some(woke) => self.seat.counters.wakes.add(woke as u64),
            None => self.call_oneself(),
        }
    }

    /// The next push attends.
    fn call_oneself(&self) {
        self.seat.deque().thief().call();
    }

    /// Pops the newest job, unless it belongs to a join.
    #[inline]
    fn pop(&self) -> Option<Job> {
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
    fn take_oldest(&self) -> Option<Job> {
        if !self.seat.has_a_job() {
            return None;
        }
        // SAFETY: just taken, and the deque's lock keeps others away.
        let claim = |kind, slot| unsafe { Job::claim(kind, slot, self.index(), false) };
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
            self.attend();
        }
        !self.has_pending()
    }

    /// A job that is the worker's already: from its own deque or its mailbox.
    pub(crate) fn take_own(&self) -> Option<Job> {
        let queued = if self.pool().breadth_first {
            self.take_oldest()
        } else {
            self.pop()
        };
        if queued.is_some() {
            return queued;
        }
        self.take_mail()
    }

    fn take_mail(&self) -> Option<Job> {
        let mail = self.seat.mailbox.take()?;
        self.seat.counters.mailed.add(1);
        Some(Job::Reference(mail))
    }

    /// A job from anywhere. The oldest of the own deque is one that a join
    /// further down this stack has lent.
    pub(crate) fn find(&self) -> Option<Job> {
        self.take_own()
            .or_else(|| self.take_oldest())
            .or_else(|| self.steal())
            .or_else(|| self.take_injected())
    }

    fn take_injected(&self) -> Option<Job> {
        let job = self.pool().injector.take()?;
        self.seat.counters.injected.add(1);
        self.record(EventKind::Injected);
        Some(Job::Injected(job))
    }

    /// Tries each victim once.
    fn steal(&self) -> Option<Job> {
        let counters = &self.seat.counters;
        let mut rng = self.own().rng.get();
        let mut found = None;
        for victim in Victims::new(&mut rng, self.index(), self.pool().seats().len()) {
            let may_ask = || {
                let mut manners = self.own().manners.get();
                let may = manners.may_ask(self.pool().now_ns());
                self.own().was_refused.set(!may);
                self.own().manners.set(manners);
                may
            };
            match self.pool().seat(victim).steal(may_ask) {
                Steal::Success(job) => {
                    counters.steals.add(1);
                    self.record(EventKind::Steal {
                        victim: WorkerId::new(victim),
                    });
                    found = Some(job);
                    break;
                }
                Steal::Empty => counters.steals_empty.add(1),
                Steal::Retry => counters.steals_lost.add(1),
            }
        }
        self.own().rng.set(rng);
        found
    }

    /// Runs a job that was taken from where it waited.
    pub(crate) fn execute(&self, job: Job) {
        self.pool().abort_if_forked();
        // Counted before it runs: whoever learns that it is done finds it counted.
        self.seat.counters.executed.add(1);
        self.record(EventKind::JobBegin);
        let base = self.own().base.replace(self.next_slot());
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
        self.own().base.set(base);
        self.record(EventKind::JobEnd);
    }

    /// What waits in `op` waits in this way.
    pub(crate) fn with_waiting<R>(&self, waiting: Waiting, op: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a AtomicBool, bool);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.store(self.1, Ordering::Relaxed);
            }
        }
        let is_strict = &self.seat.is_strict;
        // Relaxed: what is pushed from now on publishes it.
        let _restore = Restore(is_strict, is_strict.load(Ordering::Relaxed));
        is_strict.store(waiting == Waiting::Descendants, Ordering::Relaxed);
        op()
    }

    fn strictly_if<R>(&self, is_strict: bool, op: impl FnOnce() -> R) -> R {
        if is_strict {
            self.with_waiting(Waiting::Descendants, op)
        } else {
            op()
        }
    }

    /// Runs jobs until the latch is set; sleeps while there are none. If only
    /// descendants may run here, those are the jobs at this address and above.
    #[inline]
    pub(crate) fn wait_until(&self, latch: &CoreLatch, oldest: usize) {
        if !latch.probe() {
            self.help_until(latch, oldest);
        }
    }

    /// The address of the lowest slot that the present job could have filled.
    pub(crate) fn base(&self) -> usize {
        self.own().base.get()
    }

    /// The address of the slot that the next job will be in.
    #[inline]
    pub(crate) fn next_slot(&self) -> usize {
        self.deque().vacant().as_ptr() as usize
    }

    #[cold]
    fn help_until(&self, latch: &CoreLatch, oldest: usize) {
        // No job unwinds, and an unwinding frame here would leave a latch
        // behind that somebody is about to set.
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        let mut ladder = IdleLadder::new(self.pool().oversubscribed);
        while !latch.probe() {
            if self.run_own_job(oldest) {
                ladder = IdleLadder::new(self.pool().oversubscribed);
            } else if self.is_strict() {
                self.step_down(&mut ladder, latch);
            } else {
                self.search_until(latch, false);
            }
        }
        abort.defuse();
    }

    /// Runs a job that is the worker's already. If only descendants may run here,
    /// those are the jobs at the address `oldest` and above. False if there is none.
    pub(crate) fn run_own_job(&self, oldest: usize) -> bool {
        // As in `help_until`.
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        let has_run = if self.is_strict() {
            self.next_slot() > oldest && self.run(self.pop()) || self.run(self.take_mail())
        } else {
            self.run(self.take_own())
        };
        abort.defuse();
        has_run
    }

    /// Runs the job, if there is one.
    #[inline(always)]
    fn run(&self, job: Option<Job>) -> bool {
        match job {
            Some(job) => {
                self.execute(job);
                true
            }
            None => false,
        }
    }

    /// There is nothing that may run here: spins, yields, and withdraws in the end.
    fn step_down(&self, ladder: &mut IdleLadder, latch: &CoreLatch) {
        match ladder.step() {
            IdleStep::Spin(times) => (0..times).for_each(|_| hint::spin_loop()),
            IdleStep::Yield => thread::yield_now(),
            IdleStep::Sleep => {
                let mut is_replaced = false;
                let replace = || {
                    is_replaced = true;
                    self.pool().replace_one();
                };
                self.withdraw_until(latch, || !self.seat.mailbox.is_empty(), replace);
                if is_replaced {
                    self.pool().spares.give_back();
                }
            }
        }
    }

    fn is_strict(&self) -> bool {
        // Relaxed: own write.
        self.seat.is_strict.load(Ordering::Relaxed)
    }

    /// Sleeps until the latch is set, or somebody rings for this worker by name.
    pub(crate) fn withdraw_until(
        &self,
        latch: &CoreLatch,
        is_wanted: impl FnOnce() -> bool,
        replace: impl FnOnce(),
    ) {
        self.pool().abort_if_forked();
        self.turn_to(Activity::Searching, EventKind::SearchBegin);
        self.turn_to(Activity::Asleep, EventKind::Sleep);
        let sleep = &self.pool().sleep;
        let is_searching = sleep.withdraw(self.bell(), latch, is_wanted, replace);
        latch.wake_up();
        self.turn_to(Activity::Searching, EventKind::Wake);
        if is_searching {
            self.seat.counters.sleeps.add_beside_others(1);
            self.end_search();
        } else {
            self.turn_to(Activity::Working, EventKind::SearchEnd);
        }
    }

    /// The worker has found a job or what it waits for, or is not to search.
    /// Returns the time.
    pub(crate) fn end_search(&self) -> u64 {
        let now_ns = self.turn_to(Activity::Working, EventKind::SearchEnd);
        let woke = self.pool().sleep.stop_search();
        self.seat.counters.wakes.add(woke as u64);
        now_ns
    }

    pub(crate) fn seat(&self) -> &Seat {
        &self.seat
    }

    /// The top of a worker's stack: runs jobs until the pool ends, or the worker
    /// `is_recalled`.
    pub(crate) fn main_loop(&self, end: &CoreLatch, is_recalled: impl Fn() -> bool) {
        let vacates = !self.pool().is_spare(self.index());
        while !end.probe() && !is_recalled() {
            let ran = self.own().ran.get();
            self.own().ran.set(ran.wrapping_add(1));
            let is_due = ran % INJECTOR_INTERVAL == 0;
            let has_run = is_due && self.run(self.take_injected())
                || self.run(self.take_own())
                || self.run_waiting(ran);
            if !has_run {
                self.search_until(end, vacates);
            }
        }
    }

    /// If a job from outside waits, it takes no search to find one. A victim comes
    /// first; but if there are many, not each time, because a look at all of them
    /// takes longer than a small job.
    fn run_waiting(&self, ran: u32) -> bool {
        if self.pool().injector.is_empty() {
            return false;
        }
        if ran % STEAL_INTERVAL == 0 || self.pool().seats().len() <= STEAL_INTERVAL as usize {
            if let Some(job) = self.steal() {
                self.execute_stolen(job, self.pool().now_ns());
                return true;
            }
        }
        self.run(self.take_injected())
    }

    /// Looks for a job until it has found one, and runs it, or until the latch
    /// is set. `vacates`: a guest may take the seat while the worker sleeps.
    fn search_until(&self, latch: &CoreLatch, vacates: bool) {
        self.pool().abort_if_forked();
        let sleep = &self.pool().sleep;
        sleep.start_search();
        self.turn_to(Activity::Searching, EventKind::SearchBegin);
        let mut ladder = IdleLadder::new(self.pool().oversubscribed);
        let found = loop {
            if latch.probe() {
                break None;
            }
            if let Some(job) = self.find() {
                break Some(job);
            }
            self.look_away(latch);
            let step = if vacates && sleep.is_a_seat_wanted() {
                IdleStep::Sleep
            } else {
                ladder.step()
            };
            match step {
                IdleStep::Spin(times) => (0..times).for_each(|_| hint::spin_loop()),
                IdleStep::Yield => thread::yield_now(),
                // A job that somebody else is about to take, or that we may not
                // ask for just now. Announcing our sleep would be for nothing,
                // and disturb everybody.
                IdleStep::Sleep if self.seat.sees_a_job() => thread::yield_now(),
                IdleStep::Sleep => self.fall_asleep(latch, vacates),
            }
        };
        let began_ns = self.end_search();
        if self.pool().waits_for_a_worker() {
            // Somebody may have counted on this search.
            self.call_oneself();
        }
        match found {
            Some(job @ (Job::Reference(_) | Job::Injected(_))) => self.execute(job),
            Some(job) => self.execute_stolen(job, began_ns),
            None => {}
        }
    }

    /// Runs a job that was stolen at this time, and learns whether it was worth it.
    fn execute_stolen(&self, job: Job, began_ns: u64) {
        self.execute(job);
        let mut manners = self.own().manners.get();
        manners.stolen_job_took(self.pool().now_ns().saturating_sub(began_ns));
        self.own().manners.set(manners);
    }

    /// Leaves the owners alone for a moment, if the last round found jobs that the
    /// worker may not ask for.
    fn look_away(&self, latch: &CoreLatch) {
        if self.own().was_refused.replace(false) && !self.pool().oversubscribed {
            let until_ns = self.pool().now_ns() + self.own().manners.get().pause_ns();
            while self.pool().now_ns() < until_ns && !latch.probe() {
                hint::spin_loop();
            }
        }
    }

    /// Sleeps until the latch is set or there may be a job.
    fn fall_asleep(&self, latch: &CoreLatch, vacates: bool) {
        let sleep = &self.pool().sleep;
        let bell = self.bell();
        // Before the bell is armed: from then on a guest may sit here, and what only
        // the sitting thread writes is the guest's.
        self.turn_to(Activity::Asleep, EventKind::Sleep);
        match sleep.announce(bell, vacates, latch, || self.pool().call_all()) {
            None => {}
            Some(rest) if self.seat.sees_a_job() => sleep.cancel(bell, rest),
            Some(rest) => {
                self.seat.counters.sleeps.add_beside_others(1);
                // As the lookout it looks at its own deque as well, for the guest's jobs.
                sleep.block(bell, rest, || {
                    self.seat.has_a_job() || self.seat.sees_a_job()
                });
            }
        }
        self.turn_to(Activity::Searching, EventKind::Wake);
        latch.wake_up();
    }

    fn bell(&self) -> Bell {
        match self.own().visit_ns.get() {
            None => Bell::Worker(self.index()),
            Some(_) => Bell::Guest(self.index()),
        }
    }

    /// Notes what the worker does from now on, and returns the time.
    fn turn_to(&self, activity: Activity, event: EventKind) -> u64 {
        let now_ns = self.pool().now_ns();
        self.turn_to_at(activity, event, now_ns);
        now_ns
    }

    fn turn_to_at(&self, activity: Activity, event: EventKind, now_ns: u64) {
        self.seat.counters.time.change(activity, now_ns);
        if let Some(recorder) = &self.seat.recorder {
            recorder.record(event, now_ns);
        }
    }

    #[inline]
    fn record(&self, event: EventKind) {
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
