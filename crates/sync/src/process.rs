//! Noticing that the process is a child made by `fork`.
//!
//! Such a child has a copy of its parent's memory, but of its parent's threads only the one that
//! called `fork`. Waiting for one of the others never ends. So the owner of threads notes the
//! [`Generation`] in which they were started, and checks whether it
//! [`is_past`](Generation::is_past) before it waits for them.
//!
//! A child made by `vfork`, `posix_spawn` or the bare system call is not noticed; the first two can
//! do nothing but call `exec`. Without `fork` (Windows, WebAssembly), and under a model, there is
//! one generation.

/// The number of forks between the first process of a program and this one.
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
    /// The generation of the running process.
    #[inline]
    #[must_use]
    pub fn present() -> Self {
        Self(imp::present())
    }

    /// The bare number, to be packed into a word.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.0
    }

    /// True if an ancestor of the process noted this generation: of the threads of that time, only
    /// the one that called `fork` is here.
    #[inline]
    #[must_use]
    pub fn is_past(self) -> bool {
        self.0 != imp::present()
    }
}

/// Starts to count generations, and has `tidy_up` run in each new child on the thread that called
/// `fork`, before it goes on. Only the first call has an effect.
///
/// `tidy_up` must not panic, and must not wait: another thread may have held any lock.
///
/// # Panics
///
/// Panics if the system has no memory left to register the handler.
pub fn after_fork(tidy_up: fn()) {
    imp::after_fork(tidy_up);
}

/// Has `last` called when the process ends by `exit`, also by the return of `main` or its panic.
/// False if the system has no means for that.
///
/// `last` must not panic; the other threads go on meanwhile. It is called in a child made by `fork`
/// too, if that calls `exit`. Of several functions, of which there is room for four, the one noted
/// last is called first.
#[must_use]
pub fn at_exit(last: fn()) -> bool {
    imp::at_exit(last)
}

/// Ends the process at once, with this code: nothing that waits for its end is called, which may
/// want a lock that some thread holds for ever.
pub fn leave(code: i32) -> ! {
    imp::leave(code)
}

/// Kills the processes of the group that this one leads, if there are any.
pub fn kill_group(leader: u32) {
    imp::kill_group(leader);
}

#[cfg(all(unix, not(target_family = "wasm"), not(any(heist_loom, heist_shuttle))))]
mod imp {
    use std::sync::OnceLock;

    use crate::atomic::{AtomicU32, Ordering};

    static PRESENT: AtomicU32 = AtomicU32::new(0);
    static TIDY_UP: OnceLock<fn()> = OnceLock::new();

    #[inline]
    pub(super) fn present() -> u32 {
        // Relaxed: it changes in a child that still has a single thread.
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

    pub(super) fn at_exit(last: fn()) -> bool {
        /// Without a lock, which another thread may hold when the process is forked.
        static LAST: [OnceLock<fn()>; 4] = [const { OnceLock::new() }; 4];
        static IS_NOTED: OnceLock<bool> = OnceLock::new();
        extern "C" fn call() {
            for last in LAST.iter().rev().filter_map(OnceLock::get) {
                last();
            }
        }
        let has_room = LAST.iter().any(|place| place.set(last).is_ok());
        // SAFETY: the function is of this program; if it is in a library, the system calls it
        // before the library goes.
        has_room && *IS_NOTED.get_or_init(|| unsafe { libc::atexit(call) } == 0)
    }

    pub(super) fn leave(code: i32) -> ! {
        // SAFETY: it ends the process, and touches no memory of it.
        unsafe { libc::_exit(code) }
    }

    pub(super) fn kill_group(leader: u32) {
        // 1 would be all processes, and 0 our own group.
        if let Some(leader) = libc::pid_t::try_from(leader).ok().filter(|&id| id > 1) {
            // SAFETY: it takes two numbers, and touches no memory.
            unsafe { libc::kill(-leader, libc::SIGKILL) };
        }
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

    pub(super) fn at_exit(_last: fn()) -> bool {
        false
    }

    pub(super) fn leave(code: i32) -> ! {
        std::process::exit(code)
    }

    pub(super) fn kill_group(_leader: u32) {}
}
