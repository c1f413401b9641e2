//! The erased job, in a slot of a deque or in transit, and the owner of its memory.
//!
//! | kind | memory | runs | freed by |
//! |---|---|---|---|
//! | [`SlotJob`](crate::base::slot_job::SlotJob) | a slot of the deque of the worker that waits for it | once | the worker, after the latch is set or the job was taken back |
//! | [`StackJob`](crate::base::job_ref::StackJob) | the frame that waits for it | once | the frame, after the latch is set |
//! | [`DetachedJob`] | a slot or the injector, until it is taken | once | the run itself |
//! | [`HeapJob`](crate::base::job_ref::HeapJob) | a box | once | the run itself |
//! | [`Claimed`](crate::worker::claimed::Claimed) | an `Arc`, shared with its handle | once, or never | the last of the shares |
//!
//! A deque holds whole jobs: the second half of a join is a `SlotJob`, which runs in its slot; a
//! spawned job is a `DetachedJob`, which moves out first, and holds a box if it would not fit. The
//! injector holds `DetachedJob`s too. Mailboxes hold a [`JobRef`] for each job, which points to a
//! [`Header`](crate::base::job_ref::Header), whose only field is the function that runs the job.
//!
//! A job whose region is cancelled, or cannot be entered, is discarded instead of run.
//!
//! Invariant J1: each `JobRef` that is made is run exactly once.

use std::any::type_name;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::sync::Arc;

use heist_deque::{Slot, PAYLOAD};

use crate::base::claim::Claim;
use crate::base::job_ref::JobRef;
use crate::base::latch::CoreLatch;
use crate::base::region::Context;
use crate::base::task::{Boxed, Carrying, Task};
use crate::base::unwind::{self, Payload};
use crate::base::waiting::WaitMode;
use crate::policy::Priority;

/// A slot of a worker's deque.
pub(crate) type JobSlot = NonNull<Slot<Kind>>;

/// The slot of a job that has none.
pub(crate) const NOWHERE: JobSlot = JobSlot::dangling();

/// Gives the name of a closure's type.
pub(crate) type Name = fn() -> &'static str;

/// The kind of a job: the functions that run or discard its payload.
pub(crate) struct Kind {
    /// Runs the job whose content lies at this address.
    pub(super) run: unsafe fn(NonNull<u8>),
    /// As `run`, by [`Task::run_in_turn`].
    pub(super) run_in_turn: unsafe fn(NonNull<u8>),
    /// True if the job is to be discarded.
    pub(super) is_cancelled: unsafe fn(NonNull<u8>) -> bool,
    /// True if the job, which brings its context along, may run in the surroundings that the thread
    /// has entered.
    pub(super) may_run_here: unsafe fn(NonNull<u8>) -> bool,
    /// Discards the job instead of running it; the payload says why.
    pub(super) discard: unsafe fn(NonNull<u8>, Payload),
    /// True if its owner waits for it: then it runs in its slot. Otherwise it moves out first.
    pub(super) lent: bool,
    /// True if its content is the reference to a job that begins with a [`Claim`].
    pub(super) claimed: bool,
    /// True if it brings its context along, and so is not of the region in whose slots it lies.
    pub(super) carries: bool,
    /// True if its content is a [`Gathered`](crate::worker::overflow::Gathered).
    pub(super) gathers: bool,
    /// True if no newer job is to keep it waiting for ever.
    pub(super) woken: bool,
    /// The words of its content that are in use, if it is detached.
    pub(super) words: usize,
    /// Gives the name of its type, in which those of the program's closures are.
    pub(super) name: Name,
}

impl Kind {
    pub(crate) fn is_detached(&self) -> bool {
        !self.lent
    }

    pub(crate) fn is_lent(&self) -> bool {
        self.lent
    }

    /// True if somebody may claim the job before it is taken from its queue.
    pub(crate) fn is_claimed(&self) -> bool {
        self.claimed
    }

    /// True if it holds other jobs.
    pub(crate) fn gathers(&self) -> bool {
        self.gathers
    }

    /// True if no newer job is to keep it waiting for ever.
    pub(crate) fn is_woken(&self) -> bool {
        self.woken
    }

    /// The context of the job, of which `context` gives that of its slot.
    pub(crate) fn context(
        &self,
        context: impl FnOnce() -> Option<Arc<Context>>,
    ) -> Option<Arc<Context>> {
        if self.carries {
            None
        } else {
            context()
        }
    }
}

/// The context in which a job is to run. It has no drop glue, so that moving a [`Job`] costs
/// nothing: by J1 each is run once.
pub(crate) type Inherited = ManuallyDrop<Option<Arc<Context>>>;

/// A job that has been taken from its queue, and is to be run once.
pub(crate) enum Job {
    Reference(JobRef),
    /// Still in the slot from which the worker popped it, which counts as vacant: the job must
    /// start before anything else is pushed.
    Popped {
        slot: JobSlot,
        kind: &'static Kind,
    },
    /// From a lane, or from a queue of jobs with a hint.
    Injected {
        job: DetachedJob,
        /// Only more urgent jobs than this may run in the middle of it.
        serving: Priority,
    },
    Detached {
        job: DetachedJob,
        /// The way in which the frame that pushed it waits.
        mode: WaitMode,
        context: Inherited,
    },
    /// In the slot of the worker with this index, which waits for it.
    Lent {
        slot: JobSlot,
        kind: &'static Kind,
        owner: usize,
        /// As above.
        mode: WaitMode,
        context: Inherited,
    },
}

impl Job {
    /// Gives the name of its type, if that is known.
    pub(crate) fn name(&self) -> Option<Name> {
        match self {
            Self::Reference(_) => None,
            Self::Popped { kind, .. } | Self::Lent { kind, .. } => Some(kind.name),
            Self::Injected { job, .. } | Self::Detached { job, .. } => Some(job.name()),
        }
    }

    /// The job that a thief takes from the slot of the worker with index `owner`, which is of the
    /// region with that context.
    ///
    /// # Safety
    ///
    /// 1. The caller has just taken the job in `slot`, which is of this kind, and nobody else looks
    ///    at the slot meanwhile.
    pub(crate) unsafe fn claim(
        kind: &'static Kind,
        slot: JobSlot,
        owner: usize,
        mode: WaitMode,
        context: impl FnOnce() -> Option<Arc<Context>>,
    ) -> Self {
        let context = Inherited::new(kind.context(context));
        if kind.lent {
            // SAFETY: by 1. the slot holds a `SlotJob`, whose latch is made by the one thief.
            unsafe { lent_latch(slot).write(CoreLatch::new()) };
            Self::Lent {
                slot,
                kind,
                owner,
                mode,
                context,
            }
        } else {
            // SAFETY: by 1.
            let job = unsafe { DetachedJob::move_from(slot, kind) };
            let mode = mode.detached();
            Self::Detached { job, mode, context }
        }
    }
}

/// A job that nobody waits for, while it is outside a slot.
pub(crate) struct DetachedJob {
    pub(super) kind: &'static Kind,
    pub(super) content: [MaybeUninit<u64>; PAYLOAD / size_of::<u64>()],
}

// SAFETY: `new` and `put` take tasks, which may run anywhere.
unsafe impl Send for DetachedJob {}

impl DetachedJob {
    /// True if a task fits a slot.
    pub(crate) const fn fits<F>() -> bool {
        size_of::<F>() <= PAYLOAD && align_of::<F>() <= align_of::<u64>()
    }

    /// A job that is in no slot yet. Boxes a task that does not fit one.
    ///
    /// # Safety
    ///
    /// 1. The task's borrows live until it has run or is discarded.
    /// 2. The task does not unwind.
    #[inline]
    pub(crate) unsafe fn new<T: Task>(task: T) -> Self {
        if Self::fits::<T>() {
            Self::fitting(task)
        } else {
            Self::fitting(Boxed(Box::new(task)))
        }
    }

    fn fitting<T: Task>(task: T) -> Self {
        let mut content = [MaybeUninit::uninit(); PAYLOAD / size_of::<u64>()];
        // SAFETY: as `new` has found, the task fits, and the content is aligned as it needs.
        unsafe { content.as_mut_ptr().cast::<T>().write(task) };
        let kind = Self::kind_of::<T>();
        Self { kind, content }
    }

    pub(super) const fn kind_of<T: Task>() -> &'static Kind {
        const {
            &Kind {
                run: Self::run::<T>,
                run_in_turn: Self::run_in_turn::<T>,
                is_cancelled: Self::is_content_cancelled::<T>,
                may_run_here: Self::may_content_run_here::<T>,
                discard: Self::discard_content::<T>,
                lent: false,
                claimed: false,
                carries: T::CARRIES,
                gathers: T::GATHERS,
                woken: T::WOKEN,
                words: words_of::<T>(),
                name: type_name::<T>,
            }
        }
    }

    /// The reference to a job that begins with a [`Claim`], and whose closure is an `F`, as a
    /// detached job.
    ///
    /// # Safety
    ///
    /// 1. The job does begin with one, and the reference has not been run.
    pub(crate) unsafe fn claimed<F>(job: JobRef) -> Self {
        let kind = const {
            &Kind {
                run: run_claimed,
                run_in_turn: run_claimed,
                is_cancelled: |_| false,
                may_run_here: |content| {
                    // SAFETY: handed on.
                    let job = unsafe { content.cast::<JobRef>().read() };
                    // SAFETY: by the promise of `claimed`.
                    unsafe { Claim::may_run_here(job) }
                },
                // It carries its context.
                discard: |content, _| {
                    // SAFETY: handed on.
                    unsafe { run_claimed(content) }
                },
                lent: false,
                claimed: true,
                carries: true,
                gathers: false,
                woken: false,
                words: words_of::<JobRef>(),
                name: type_name::<F>,
            }
        };
        let mut content = [MaybeUninit::uninit(); PAYLOAD / size_of::<u64>()];
        // SAFETY: the reference fits.
        unsafe { content.as_mut_ptr().cast::<JobRef>().write(job) };
        Self { kind, content }
    }

    /// Puts a task into a slot, and returns the kind with which to push it.
    ///
    /// # Safety
    ///
    /// 1. The slot is vacant and the caller's, and the task fits.
    /// 2. The task's borrows live until it has run or is discarded.
    /// 3. The task does not unwind.
    #[inline]
    pub(crate) unsafe fn put<T: Task>(slot: JobSlot, task: T) -> &'static Kind {
        // SAFETY: by 1.
        unsafe { Slot::payload(slot).cast::<T>().write(task) };
        Self::kind_of::<T>()
    }

    /// The function that gives the name of its task's type.
    pub(crate) fn name(&self) -> Name {
        self.kind.name
    }

    /// True if the job brings its context along.
    pub(crate) fn carries(&self) -> bool {
        self.kind.carries
    }

    /// True if the job, which brings its context along, may run in the surroundings that the thread
    /// has entered.
    pub(crate) fn may_run_here(&self) -> bool {
        // SAFETY: the content is that of the kind.
        unsafe { (self.kind.may_run_here)(NonNull::from(&self.content).cast()) }
    }

    /// Moves the job out of a slot, which is free afterwards.
    ///
    /// # Safety
    ///
    /// 1. The caller has taken the job, which is detached and of this kind.
    #[inline]
    pub(crate) unsafe fn move_from(slot: JobSlot, kind: &'static Kind) -> Self {
        // SAFETY: by 1. the payload is the caller's; its bytes need not mean anything.
        let content = unsafe { Slot::payload(slot).cast().read() };
        Self { kind, content }
    }

    /// Puts the job back into a slot, and returns the kind with which to push it.
    ///
    /// # Safety
    ///
    /// 1. The slot is vacant and the caller's.
    pub(crate) unsafe fn put_back(self, slot: JobSlot) -> &'static Kind {
        // SAFETY: by 1.
        unsafe { Slot::payload(slot).cast().write(self.content) };
        self.kind
    }

    /// The task of the job.
    ///
    /// # Safety
    ///
    /// 1. It is a `T`, which fits a slot.
    pub(crate) unsafe fn into_task<T: Task>(self) -> T {
        // SAFETY: by 1. The content has no drop glue.
        unsafe { NonNull::from(&self.content).cast::<T>().read() }
    }

    /// Takes the job apart into words.
    #[inline(always)]
    pub(crate) fn into_words(self, mut put: impl FnMut(MaybeUninit<u64>)) {
        let mut kind = MaybeUninit::<u64>::uninit();
        // SAFETY: a reference fits a word.
        unsafe { kind.as_mut_ptr().cast::<&'static Kind>().write(self.kind) };
        put(kind);
        self.content[..self.kind.words]
            .iter()
            .copied()
            .for_each(put);
    }

    /// Puts a job together from its words.
    ///
    /// # Safety
    ///
    /// 1. `next` gives the words of a job, in their order, once.
    #[inline]
    pub(crate) unsafe fn from_words(mut next: impl FnMut() -> MaybeUninit<u64>) -> Self {
        let kind = next();
        // SAFETY: by 1. the first is a reference to the kind.
        let kind = unsafe { kind.as_ptr().cast::<&'static Kind>().read() };
        let mut content = [MaybeUninit::uninit(); PAYLOAD / size_of::<u64>()];
        // A call less for an empty job.
        if kind.words > 0 {
            content[..kind.words].fill_with(next);
        }
        Self { kind, content }
    }

    /// Runs the job.
    ///
    /// # Safety
    ///
    /// 1. This is its one run: it was taken from where it was put.
    #[inline]
    pub(crate) unsafe fn execute(mut self) {
        // SAFETY: the content is that of the kind; 1. is handed on.
        unsafe { (self.kind.run)(NonNull::from(&mut self.content).cast()) }
    }

    /// Runs the job, or drops it if there is a reason.
    ///
    /// # Safety
    ///
    /// 1. As for [`execute`](Self::execute).
    pub(crate) unsafe fn finish(mut self, why: Option<Payload>) {
        let content = NonNull::from(&mut self.content).cast();
        // SAFETY: the content is that of the kind.
        let is_cancelled = unsafe { (self.kind.is_cancelled)(content) };
        match why.or_else(|| is_cancelled.then(unwind::cancellation)) {
            // SAFETY: handed on.
            None => unsafe { self.execute() },
            // SAFETY: the content is that of the kind; 1. is handed on.
            Some(why) => unsafe { (self.kind.discard)(content, why) },
        }
    }

    /// # Safety
    ///
    /// 1. At `content` lies a `T`, to be moved out once.
    unsafe fn run<T: Task>(content: NonNull<u8>) {
        // SAFETY: by 1.
        let task = unsafe { content.cast::<T>().read() };
        task.run();
    }

    /// # Safety
    ///
    /// 1. As for `run`.
    unsafe fn run_in_turn<T: Task>(content: NonNull<u8>) {
        // SAFETY: by 1.
        let task = unsafe { content.cast::<T>().read() };
        task.run_in_turn();
    }

    /// # Safety
    ///
    /// 1. As for `run`.
    unsafe fn is_content_cancelled<T: Task>(content: NonNull<u8>) -> bool {
        // SAFETY: by 1.
        unsafe { content.cast::<T>().as_ref() }.is_cancelled()
    }

    /// # Safety
    ///
    /// 1. As for `run`.
    unsafe fn may_content_run_here<T: Task>(content: NonNull<u8>) -> bool {
        // SAFETY: by 1.
        unsafe { content.cast::<T>().as_ref() }.may_run_here()
    }

    /// # Safety
    ///
    /// 1. As for `run`.
    unsafe fn discard_content<T: Task>(content: NonNull<u8>, why: Payload) {
        // SAFETY: by 1.
        let task = unsafe { content.cast::<T>().read() };
        task.discard(why);
    }
}

/// How many words a task takes that fits a slot.
const fn words_of<T>() -> usize {
    size_of::<T>().div_ceil(size_of::<u64>())
}

impl From<JobRef> for DetachedJob {
    fn from(job: JobRef) -> Self {
        // SAFETY: by J1 this is its one run.
        let run = move || unsafe { job.execute() };
        // SAFETY: 1. and 2. are those of the job.
        unsafe { Self::new(Carrying(run)) }
    }
}

/// # Safety
///
/// 1. At `content` lies the reference to a job, to be run once.
unsafe fn run_claimed(content: NonNull<u8>) {
    // SAFETY: by 1.
    unsafe { content.cast::<JobRef>().read().execute() };
}

/// True if somebody has the claimed job that lies in this slot.
///
/// # Safety
///
/// 1. The caller has taken the job, whose kind [is that](Kind::is_claimed), and not run it.
pub(crate) unsafe fn is_void(slot: JobSlot) -> bool {
    // SAFETY: by 1.
    let job = unsafe { Slot::payload(slot).cast::<JobRef>().read() };
    // SAFETY: by 1. and the promise of `claimed`.
    unsafe { Claim::is_void(job) }
}

/// The latch of the lent job in a slot; meaningful once a thief has it.
///
/// # Safety
///
/// 1. The slot is in use for a lent job.
#[inline(always)]
pub(crate) unsafe fn lent_latch(slot: JobSlot) -> NonNull<CoreLatch> {
    // SAFETY: by 1. The latch comes first.
    unsafe { Slot::payload(slot) }.cast()
}

/// Runs a job that is in its slot. The latch of a lent one is the caller's to set.
///
/// # Safety
///
/// 1. The caller has taken the job, which is of this kind, and this is its one run.
/// 2. A lent job's slot stays in use; into that of another one nothing was put.
#[inline]
pub(crate) unsafe fn run_in_slot(slot: JobSlot, kind: &'static Kind) {
    // SAFETY: by 1. and 2. A job that is not lent moves out before it starts.
    unsafe { (kind.run)(Slot::payload(slot)) };
}

/// Gives a lent job back, which is not to begin, and why. Its latch is the caller's to set.
///
/// # Safety
///
/// 1. As for [`run_in_slot`], in the place of the run.
pub(crate) unsafe fn discard_in_slot(slot: JobSlot, kind: &'static Kind, why: Payload) {
    // SAFETY: by 1.
    unsafe { (kind.discard)(Slot::payload(slot), why) };
}
