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
}

#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    not(any(heist_loom, heist_shuttle))
))]
mod imp {
    use std::ptr;

    use super::{AtomicU32, Duration};

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
        // SAFETY: FUTEX_WAKE uses the address as a name and does not read it.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                1,
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
    use super::{AtomicU32, Duration, Ordering};
    use crate::{Condvar, Mutex};

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
        if cfg!(any(heist_loom, heist_shuttle)) && timeout.is_some() {
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
}
