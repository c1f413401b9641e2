//! Noticing that the process is a child made by `fork`.
//!
//! Such a child has a copy of its parent's memory, and of its parent's threads only the one that
//! called `fork`. To wait for one of the others is to wait for ever. So whatever has threads notes
//! the [`Generation`] in which they were started, and looks whether it
//! [`is_past`](Generation::is_past) before it waits for them.
//!
//! A child made by `vfork`, `posix_spawn` or the bare system call is not noticed; the first two can
//! do nothing but call `exec`. Without `fork` (Windows, WebAssembly), and under a model, there is
//! one generation.

/// How many times `fork` lies between the first process of a program and this one.
///
/// # Examples
///
/// ```
/// use heist_sync::process::{self, Generation};
///
/// process::after_fork(|| ()); // nothing to tidy up in a child
/// let born = Generation::present();
/// assert!(!born.is_past(), "nobody has called fork meanwhile");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation(u32);

impl Generation {
    /// The one that is running.
    #[inline]
    #[must_use]
    pub fn present() -> Self {
        Self(imp::present())
    }

    /// The number itself, for a word that is not only this.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.0
    }

    /// True if this was noted by a forefather of the process: then the threads of that time are not
    /// here, but for the one that called `fork`.
    #[inline]
    #[must_use]
    pub fn is_past(self) -> bool {
        self.0 != imp::present()
    }
}

/// From now on generations are counted, and in each new child `tidy_up` runs on the thread that
/// called `fork`, before it goes on. The first call decides.
///
/// `tidy_up` must not panic, and must not wait: another thread may have held any lock.
///
/// # Panics
///
/// Panics if the system has no memory left to note it.
pub fn after_fork(tidy_up: fn()) {
    imp::after_fork(tidy_up);
}

#[cfg(all(unix, not(target_family = "wasm"), not(any(heist_loom, heist_shuttle))))]
mod imp {
    use std::sync::OnceLock;

    use crate::atomic::{AtomicU32, Ordering};

    static PRESENT: AtomicU32 = AtomicU32::new(0);
    static TIDY_UP: OnceLock<fn()> = OnceLock::new();

    #[inline]
    pub(super) fn present() -> u32 {
        // Relaxed: it changes in a child that has one thread yet.
        PRESENT.load(Ordering::Relaxed)
    }

    pub(super) fn after_fork(tidy_up: fn()) {
        TIDY_UP.get_or_init(|| {
            // SAFETY: the handler is a function of this program, and does what is allowed in a
            // child: it changes memory.
            let error = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            assert_eq!(error, 0, "the system has no memory to note a fork handler");
            tidy_up
        });
    }

    extern "C" fn in_child() {
        PRESENT.fetch_add(1, Ordering::Relaxed);
        if let Some(tidy_up) = TIDY_UP.get() {
            tidy_up();
        }
    }
}

#[cfg(not(all(unix, not(target_family = "wasm"), not(any(heist_loom, heist_shuttle)))))]
mod imp {
    #[inline]
    pub(super) fn present() -> u32 {
        0
    }

    pub(super) fn after_fork(_tidy_up: fn()) {}
}
