//! An atomic word that a thread can sleep on.
//!
//! On 64-bit Linux this is the futex system call. Elsewhere, and under a model, a lock and a
//! condition variable beside the word give the same meaning: a waiter looks at the word under the
//! lock, and a waker passes through the lock after the word has changed, so either the waiter sees
//! the change or the waker finds it waiting. (32-bit Linux has two forms of the call, for two
//! widths of time; telling them apart is not worth it for so few users.)

use std::time::Duration;

use crate::atomic::{AtomicU32, Ordering};

/// A 32-bit atomic word that threads can sleep on until it changes.
///
/// The word carries the meaning; [`wait`](Self::wait) and [`wake_one`](Self::wake_one) only save
/// processor time. A waker changes the word first and wakes afterwards; a waiter loops until the
/// word has the value that it needs.
///
/// # Examples
///
/// ```
/// use heist_sync::{atomic::Ordering, Futex};
///
/// let word = Futex::new(1);
/// word.wait(0); // returns at once: the word is not 0
/// assert_eq!(word.load(Ordering::Relaxed), 1);
/// ```
#[derive(Debug)]
pub struct Futex {
    word: AtomicU32,
    sleepers: imp::Sleepers,
}

impl Futex {
    /// A word with this value.
    #[must_use]
    pub fn new(value: u32) -> Self {
        Self {
            word: AtomicU32::new(value),
            sleepers: imp::Sleepers::new(),
        }
    }

    /// Reads the word.
    #[inline]
    pub fn load(&self, order: Ordering) -> u32 {
        self.word.load(order)
    }

    /// Writes the word. Wakes nobody.
    #[inline]
    pub fn store(&self, value: u32, order: Ordering) {
        self.word.store(value, order);
    }

    /// Writes the word and returns its former value. Wakes nobody.
    #[inline]
    pub fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.word.swap(value, order)
    }

    /// Replaces `from` by `to` and returns true, or returns false if the word is not `from`. Wakes
    /// nobody. A failure is a relaxed load.
    #[inline]
    pub fn replace(&self, from: u32, to: u32, success: Ordering) -> bool {
        self.word
            .compare_exchange(from, to, success, Ordering::Relaxed)
            .is_ok()
    }

    /// Sleeps while the word is `expected`. May return early: call it in a loop.
    #[cold]
    pub fn wait(&self, expected: u32) {
        imp::wait(&self.word, &self.sleepers, expected, None);
    }

    /// As [`wait`](Self::wait), but not longer than `timeout`. In a model the time has passed at
    /// once; there a loop around this must yield.
    #[cold]
    pub fn wait_timeout(&self, expected: u32, timeout: Duration) {
        imp::wait(&self.word, &self.sleepers, expected, Some(timeout));
    }

    /// Wakes one thread that sleeps on the word. Costs a system call.
    #[cold]
    pub fn wake_one(&self) {
        imp::wake_one(&self.word, &self.sleepers);
    }

    /// Writes the word, wakes all threads that sleep on it if it was `asleep`, and touches nothing
    /// of it afterwards: a thread that has seen the value and [let the writer
    /// leave](Self::let_leave) may drop it.
    ///
    /// # Safety
    ///
    /// 1. `this` points to a live word when the call begins.
    pub unsafe fn write_and_leave(this: *const Self, value: u32, asleep: u32, order: Ordering) {
        // SAFETY: handed on.
        unsafe { imp::write_and_leave(this, value, asleep, order) }
    }

    /// Waits until a thread whose value the caller has seen has left the word.
    #[inline]
    pub fn let_leave(&self) {
        imp::let_leave(&self.sleepers);
    }
}

#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    not(any(heist_loom, heist_shuttle))
))]
mod imp {
    use std::ptr;

    use super::{AtomicU32, Duration, Futex, Ordering};

    /// Linux keeps the sleepers itself.
    #[derive(Debug)]
    pub(super) struct Sleepers;

    impl Sleepers {
        pub(super) fn new() -> Self {
            Self
        }
    }

    pub(super) fn wait(word: &AtomicU32, _: &Sleepers, expected: u32, timeout: Option<Duration>) {
        let timeout = timeout.map(|timeout| libc::timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: FUTEX_WAIT reads the aligned word that `word` borrows for the whole call, and the
        // timeout, where null means none. A wrong value, a signal and a spurious wake-up all
        // return; the caller loops.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                expected,
                timeout,
            );
        }
    }

    pub(super) fn wake_one(word: &AtomicU32, _: &Sleepers) {
        wake(word.as_ptr(), 1);
    }

    /// # Safety
    ///
    /// As for [`Futex::write_and_leave`].
    pub(super) unsafe fn write_and_leave(
        this: *const Futex,
        value: u32,
        asleep: u32,
        order: Ordering,
    ) {
        // SAFETY: alive until the swap.
        let (name, before) = unsafe {
            let name = (*this).word.as_ptr();
            (name, (*this).word.swap(value, order))
        };
        if before == asleep {
            // Another word may have this address by now. Its sleepers look at it and sleep again.
            wake(name, i32::MAX);
        }
    }

    pub(super) fn let_leave(_: &Sleepers) {}

    fn wake(name: *const u32, most: i32) {
        // SAFETY: FUTEX_WAKE uses the address as a name and does not read it.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                name,
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                most,
            );
        }
    }
}

#[cfg(not(all(
    target_os = "linux",
    target_pointer_width = "64",
    not(any(heist_loom, heist_shuttle))
)))]
mod imp {
    use super::{AtomicU32, Duration, Futex, Ordering};
    use crate::{Condvar, Mutex};

    const IS_MODEL: bool = cfg!(any(heist_loom, heist_shuttle));
    /// Under loom no word is dropped early, and a lock around the write would hide its order.
    const IS_LOCKED: bool = !cfg!(heist_loom);

    #[derive(Debug)]
    pub(super) struct Sleepers {
        lock: Mutex<()>,
        change: Condvar,
    }

    impl Sleepers {
        pub(super) fn new() -> Self {
            Self {
                lock: Mutex::new(()),
                change: Condvar::new(),
            }
        }
    }

    pub(super) fn wait(
        word: &AtomicU32,
        sleepers: &Sleepers,
        expected: u32,
        timeout: Option<Duration>,
    ) {
        if IS_MODEL && timeout.is_some() {
            return;
        }
        let guard = sleepers.lock.lock();
        // The lock orders this load with the waker's change of the word.
        if word.load(Ordering::Relaxed) == expected {
            drop(match timeout {
                Some(timeout) => sleepers.change.wait_timeout(guard, timeout),
                None => sleepers.change.wait(guard),
            });
        }
    }

    pub(super) fn wake_one(_: &AtomicU32, sleepers: &Sleepers) {
        let _guard = sleepers.lock.lock();
        sleepers.change.notify_one();
    }

    /// # Safety
    ///
    /// As for [`Futex::write_and_leave`].
    pub(super) unsafe fn write_and_leave(
        this: *const Futex,
        value: u32,
        asleep: u32,
        order: Ordering,
    ) {
        // SAFETY: alive until the lock is free, for which everybody waits who would drop it; and a
        // lock may die once it has been unlocked.
        let this = unsafe { &*this };
        let lock = || this.sleepers.lock.lock();
        let guard = IS_LOCKED.then(lock);
        if this.word.swap(value, order) == asleep {
            let _guard = guard.unwrap_or_else(lock);
            this.sleepers.change.notify_all();
        }
    }

    pub(super) fn let_leave(sleepers: &Sleepers) {
        if IS_LOCKED {
            drop(sleepers.lock.lock());
        }
    }
}
