//! `Once`: a value that is made once, by an initialiser that those who wait for it help.
//!
//! With a lock around it, or in std's `OnceLock`, an initialiser that joins can hang: its frame
//! waits for a stolen half, its worker runs something unrelated on top meanwhile, and that wants
//! the value too. Now it waits for the frame below it. And with all workers but one waiting for the
//! value, nobody comes for the halves.
//!
//! So the winner, who runs the initialiser, waits strictly: on top of its frames runs nothing that
//! they do not need. A *piece* of it is the second half of a join that one of its frames has lent.
//! Pieces know whose they are, by the regions of `base/region.rs`; they wait strictly as well,
//! wherever they run, and what they lend are pieces again. Workers that wait for the value steal
//! pieces of its initialiser and nothing else, from any worker of their pool; so do frames of the
//! initialiser that wait for a piece, unless the program has asked for
//! [descendants](crate::Waiting::Descendants) only. If there is none, they withdraw.
//!
//! A detached job is no piece: nobody can tell whether the initialiser waits for it. It waits
//! strictly as well, since it may be needed, wherever it was queued (`worker/needed.rs`); and the
//! jobs of its scopes and groups can be run by whoever waits for those (`worker/backlog.rs`).
//!
//! # Why the waits end
//!
//! Let the frames of an initialiser be those of its closure and of its pieces. On top of one of
//! them, on any stack, lie only
//!
//! 1. frames of the same initialiser, and
//! 2. a wait for another `Once`, on which lie frames of *its* initialiser, and so on.
//!
//! Suppose that no initialiser needs its own value, not even by way of others: then there is one
//! among those that run which waits for none of the others, so that its frames have (1) on top
//! only. Each of its frames that waits does so for a piece of its own, which has begun later or not
//! at all, or for what lies on top of it, which has begun later. So the one that has begun last
//! waits for none that has begun. A piece that it waits for and that has not begun lies in the
//! deque of its own worker, above whatever is in use there, and that worker runs it. The same holds
//! for the jobs of a scope or a group that have not begun, with its backlog. So this initialiser
//! ends, then the next one. Mail that the initialiser has not sent is set aside while such frames
//! are there. (That which it has sent is the exception to (1) and (2): it runs on all frames that
//! wait. Two calls must not each need what the other's job buries.)
//!
//! An initialiser that needs its own value waits for ever, unless the frame that asks lies on top
//! of one that the initialiser needs: that is seen, in the regions of the worker, and panics. So do
//! two initialisers that need each other's values, if those who ask meet on one stack.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use heist_sync::cell::UnsafeCell;

use crate::base::once::OnceState;
use crate::base::unwind;
use crate::state::{Doing, Pool};
use crate::worker::latch::CountLatch;
use crate::worker::needed;
use crate::worker::Worker;

/// A value that is made once, when it is first wanted, perhaps in parallel.
///
/// As [`OnceLock`](std::sync::OnceLock), whose methods it has; but an initialiser may call any
/// operation of heist, such as a [`join`](crate::join()) or a parallel iterator, and threads that
/// wait for the value help. With an `OnceLock` that can deadlock: a worker that runs the
/// initialiser and waits for a thief may meanwhile begin another job that wants the value.
///
/// [`Lazy`](crate::Lazy) is a `Once` with its initialiser.
///
/// # Deadlocks
///
/// An initialiser that needs its own value panics, if the call is made by the initialiser itself,
/// by a closure of a join in it, or by code that these call. It deadlocks if the call comes from
/// another thread for which the initialiser waits, or from a job that it has spawned or submitted
/// and another worker has taken. Two initialisers that need each other's values deadlock or panic
/// in the same way.
///
/// The initialiser may wait for whatever its parts begin, on whichever worker they run, and a
/// thread that it has started: the jobs of a scope or a [group](crate::TaskGroup), those of a
/// [strand](crate::Strand) that was idle, and those that are [submitted](crate::submit()) are run by
/// the frame that waits for them, if nobody else has begun them. It should not wait for a spawned
/// future: that has no such frame, so that nobody may be left to poll it, and whoever polls it may
/// run something on top of its joins that wants the value.
///
/// A worker that waits for the value runs no other job. So an initialiser must not wait for a job
/// that it has not begun itself, such as one [submitted](crate::submit()) before, nor
/// [install](crate::ThreadPool::install) a closure in a pool whose workers may all be waiting for
/// the value, or wait for a thread that does so or joins the handle of a job there, nor for what
/// another thread, or a job that it has not begun, has sent to its worker: a
/// [broadcast](crate::broadcast()), a job that [only](crate::JobBuilder::only_on) this worker may
/// run, or the wake-up of a local future. Those run there once the initialiser has ended. It should
/// not [yield](crate::yield_now()) either: that runs any job on top of it, and one that needs the
/// value panics.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::{join, Once};
///
/// static SUM: Once<u64> = Once::new();
///
/// fn sum(from: u64, to: u64) -> u64 {
///     if to - from < 1000 {
///         return (from..to).sum();
///     }
///     let middle = (from + to) / 2;
///     let (low, high) = join(|| sum(from, middle), || sum(middle, to));
///     low + high
/// }
///
/// // Whoever comes first makes it; the other waits, and helps.
/// let sums = join(
///     || SUM.get_or_init(|| sum(0, 100_000)),
///     || SUM.get_or_init(|| sum(0, 100_000)),
/// );
/// assert_eq!(sums, (&4_999_950_000, &4_999_950_000));
/// ```
pub struct Once<T> {
    state: OnceState<CountLatch>,
    /// Written by the winner alone, and by nobody when it is ready.
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is handed from the thread that made it to others, of which one may drop it
// (Send), and several read it at a time (Sync).
unsafe impl<T: Send + Sync> Sync for Once<T> {}

impl<T: UnwindSafe> UnwindSafe for Once<T> {}
// A panic leaves it empty.
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for Once<T> {}

impl<T> Once<T> {
    /// Without a value yet.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// static NAME: heist::Once<String> = heist::Once::new();
    /// assert_eq!(NAME.get(), None);
    /// ```
    #[cfg(not(heist_loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: OnceState::new(),
            value: UnsafeCell::new(None),
        }
    }

    /// Without a value yet.
    #[cfg(heist_loom)]
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: OnceState::new(),
            value: UnsafeCell::new(None),
        }
    }

    /// The value, if there is one. Does not wait for a running initialiser.
    ///
    /// # Cost
    ///
    /// One load (acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let once = heist::Once::new();
    /// assert_eq!(once.get(), None);
    /// once.get_or_init(|| 3);
    /// assert_eq!(once.get(), Some(&3));
    /// ```
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        if !self.state.is_ready() {
            return None;
        }
        // SAFETY: nobody writes any more, as long as `self` is borrowed.
        self.value.with(|value| unsafe { (*value).as_ref() })
    }

    /// The value, if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let mut once = heist::Once::from(3);
    /// *once.get_mut().unwrap() += 1;
    /// assert_eq!(once.get(), Some(&4));
    /// ```
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: nobody else has it.
        self.value.with_mut(|value| unsafe { (*value).as_mut() })
    }

    /// Sets the value, unless there is one. Waits for a running initialiser, as
    /// [`get_or_init`](Self::get_or_init) does.
    ///
    /// # Errors
    ///
    /// Gives the value back if there is one already.
    ///
    /// # Panics
    ///
    /// Panics in the initialiser, as `get_or_init` does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let once = heist::Once::new();
    /// assert_eq!(once.set("first"), Ok(()));
    /// assert_eq!(once.set("second"), Err("second"));
    /// assert_eq!(once.get(), Some(&"first"));
    /// ```
    pub fn set(&self, value: T) -> Result<(), T> {
        loop {
            if self.state.is_ready() {
                return Err(value);
            }
            if self.state.begin() {
                self.fill(value);
                return Ok(());
            }
            self.wait();
        }
    }

    /// Takes the value, if there is one, and leaves the `Once` empty.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let mut once = heist::Once::from(3);
    /// assert_eq!(once.take(), Some(3));
    /// assert_eq!(once.take(), None);
    /// ```
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }

    /// The value, if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// assert_eq!(heist::Once::from(3).into_inner(), Some(3));
    /// ```
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Stores the winner's value.
    fn fill(&self, value: T) {
        // SAFETY: of those that have begun and not ended there is one at a time, and nobody reads
        // before it is ready.
        self.value.with_mut(|place| unsafe { *place = Some(value) });
        self.state.end(true);
    }

    /// Waits for the initialiser that runs, if one does; may return before it ends.
    #[cold]
    fn wait(&self) {
        assert!(
            !self.state.is_left_behind(),
            "could not wait for the value of a Once whose initialiser began before this process was forked: it runs on a thread of the parent; use the value in the parent before it forks, or let the child call exec"
        );
        let (caller, once) = (Worker::current(), self.name());
        assert!(
            !caller.is_some_and(|worker| worker.state().regions.is_needed_by(once)),
            "the initialiser of a Once needs the value that it is to make: a call on top of it, or of a part of it, waits for that value"
        );
        let latch = CountLatch::new(1, caller);
        self.state.wait(latch, |latch| {
            latch.wait_by(caller, |worker, latch| {
                worker.wait_for_initialiser(latch, once);
            });
        });
    }

    /// The name of this in the regions of those who initialise it.
    fn name(&self) -> *const () {
        std::ptr::from_ref(&self.state).cast()
    }
}

impl<T: Send + Sync> Once<T> {
    /// The value, which `f` makes if there is none yet.
    ///
    /// If several threads call this at the same time, one of them runs its initialiser, and the
    /// others wait: workers run parts of it meanwhile, other threads block. On a thread that is not
    /// a worker the initialiser runs in the global pool, as [`join`](crate::join()) does.
    ///
    /// # Panics
    ///
    /// If `f` panics, so does the call that has run it. The `Once` stays empty, and the next
    /// initialiser runs, which may be that of a waiting call.
    ///
    /// Panics if it is called in an initialiser of the same `Once`, which would wait for itself;
    /// [the type](Self#deadlocks) says where that goes unnoticed. Panics in a child made by `fork`
    /// if the initialiser was running then.
    ///
    /// # Cost
    ///
    /// As [`get`](Self::get), if there is a value. Otherwise two locks of the worker's own deque
    /// and one of the list of waiters, and one allocation for each waiter.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let once = heist::Once::new();
    /// assert_eq!(once.get_or_init(|| heist::join(|| 1, || 2)), &(1, 2));
    /// assert_eq!(once.get_or_init(|| unreachable!("there is a value")), &(1, 2));
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T + Send,
    {
        match self.get() {
            Some(value) => value,
            None => self.initialise(f),
        }
    }

    #[cold]
    #[track_caller]
    fn initialise<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T + Send,
    {
        loop {
            if let Some(value) = self.get() {
                return value;
            }
            if self.state.is_running() {
                self.wait();
                continue;
            }
            // On a worker first: if all of them are waiting for the value, none would come for what
            // a thread outside has begun.
            let Some(worker) = Worker::current() else {
                return Pool::global().participate(|_, _| self.initialise(f));
            };
            if self.state.begin() {
                return self.run(worker, f);
            }
        }
    }

    /// The caller has won.
    fn run(&self, worker: &Worker, f: impl FnOnce() -> T) -> &T {
        let mode = worker.wait_mode().initialising(self.name());
        let f = || worker.as_a_job(mode, f);
        let frame = worker.enters(|| Doing::Initialises(self.name() as usize));
        let result = needed::initialising(|| worker.in_mode(mode, || unwind::catch_job(f)));
        drop(frame);
        match result {
            Ok(value) => self.fill(value),
            Err(payload) => {
                self.state.end(false);
                unwind::resume(payload)
            }
        }
        self.get().expect("it has a value now")
    }
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for Once<T> {
    fn from(value: T) -> Self {
        let once = Self::new();
        once.fill(value);
        once
    }
}

impl<T: fmt::Debug> fmt::Debug for Once<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("Once");
        match self.get() {
            Some(value) => tuple.field(value).finish(),
            None => tuple.field(&format_args!("<no value>")).finish(),
        }
    }
}
