//! A pair of memory barriers whose frequent side is almost free.
//!
//! Two threads that each store one thing and then load the other's need a full barrier between the
//! two on both sides, or both loads may miss both stores. Where one side runs millions of times a
//! second and the other almost never, the system can do the frequent side's part: a *membarrier*
//! makes every running thread of the process pass a full barrier, and only the rare side asks for
//! it. Linux has a system call of that name; on Windows it is `FlushProcessWriteBuffers`. The other
//! systems that heist supports have none.
//!
//! [`light`](Barrier::light) then only keeps the compiler from moving accesses across, and
//! [`heavy`](Barrier::heavy) is the system call. The meaning is that of the asymmetric fences of
//! C++ proposal P1202R5: a light and a heavy barrier order as two sequentially consistent fences
//! do; **two light ones order nothing**.
//!
//! Where the system does not offer membarrier the frequent side still pays nothing, and the heavy
//! barrier returns that it has ordered nothing: its caller must look again later.
//!
//! Under a model both are fences, which is right exactly as long as each pair has one heavy side.

use std::fmt;

use crate::atomic::Ordering;
use crate::fault;

/// The barriers that a program asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BarrierRequest {
    /// Membarrier where the system offers it, else none.
    #[default]
    Auto,
    /// Membarrier, or an error.
    Membarrier,
    /// Nothing that orders the light side.
    Fence,
}

/// The barriers that a program got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierMode {
    /// The heavy side orders the light one, by a system call of some microseconds.
    Membarrier,
    /// The heavy side is a fence for its caller and orders nobody else.
    Fence,
}

impl fmt::Display for BarrierMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Membarrier => "membarrier",
            Self::Fence => "fence",
        })
    }
}

/// Membarrier was asked for and the system does not offer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierError(());

impl fmt::Display for BarrierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the system does not offer membarrier (it needs Windows, or Linux 4.14 and a seccomp filter that lets it pass)")
    }
}

impl std::error::Error for BarrierError {}

/// A pair of barriers, light and heavy.
///
/// # Examples
///
/// ```
/// use heist_sync::{Barrier, BarrierMode, BarrierRequest};
///
/// let barrier = Barrier::new(BarrierRequest::Fence).unwrap();
/// barrier.light("example.publish");
/// let ordered = barrier.heavy("example.sleep");
/// assert_eq!(ordered, barrier.mode() == BarrierMode::Membarrier);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Barrier {
    mode: BarrierMode,
    #[cfg(heist_loom)]
    is_withdrawn: bool,
}

impl Barrier {
    /// Chooses the mode. A model always has the full pair, made of fences.
    ///
    /// # Errors
    ///
    /// Fails if membarrier is asked for and the system does not offer it.
    pub fn new(request: BarrierRequest) -> Result<Self, BarrierError> {
        let mode = match request {
            BarrierRequest::Fence if !imp::IS_MODEL => BarrierMode::Fence,
            _ if imp::register() => BarrierMode::Membarrier,
            BarrierRequest::Auto | BarrierRequest::Fence => BarrierMode::Fence,
            BarrierRequest::Membarrier => return Err(BarrierError(())),
        };
        Ok(Self {
            mode,
            #[cfg(heist_loom)]
            is_withdrawn: false,
        })
    }

    /// For a model: a membarrier that the system refuses from now on. The light side is nothing,
    /// and the heavy one returns that it has ordered nothing.
    #[cfg(heist_loom)]
    #[must_use]
    pub fn withdrawn() -> Self {
        Self {
            mode: BarrierMode::Membarrier,
            is_withdrawn: true,
        }
    }

    #[cfg(heist_loom)]
    fn is_withdrawn(&self) -> bool {
        self.is_withdrawn
    }

    /// In a program, only the next system call can tell.
    #[cfg(not(heist_loom))]
    #[inline(always)]
    fn is_withdrawn(&self) -> bool {
        false
    }

    /// The mode that was chosen.
    #[must_use]
    pub fn mode(&self) -> BarrierMode {
        self.mode
    }

    /// The frequent side. `name` is its [fault](crate::fault).
    #[inline(always)]
    pub fn light(&self, name: &'static str) {
        #[cfg(heist_soak)]
        crate::delay::at(name);
        if !self.is_withdrawn() {
            imp::light(name);
        }
    }

    /// The rare side. `name` is its [fault](crate::fault). A full fence for the caller in any case.
    ///
    /// Returns true if it is ordered with every light barrier. False where the system has no
    /// membarrier, or has withdrawn it (a seccomp filter installed later): then a light side may
    /// have missed the caller's stores, and the caller that side's.
    #[cold]
    #[must_use]
    pub fn heavy(&self, name: &'static str) -> bool {
        // Pairs with the fences of threads that pay for one, and in a model with the one in
        // `light`.
        fault::fence(name, Ordering::SeqCst);
        self.mode == BarrierMode::Membarrier && !self.is_withdrawn() && imp::membarrier()
    }
}

#[cfg(not(any(heist_loom, heist_shuttle)))]
mod imp {
    pub(super) const IS_MODEL: bool = false;

    #[inline(always)]
    pub(super) fn light(_name: &'static str) {
        // Keeps the compiler from moving accesses across; `membarrier` keeps the processor from it,
        // when that matters.
        crate::atomic::compiler_fence(super::Ordering::SeqCst);
    }

    pub(super) use system::{membarrier, register};

    #[cfg(all(target_os = "linux", not(miri)))]
    mod system {
        fn call(command: libc::c_int) -> bool {
            // SAFETY: membarrier takes no pointers; an unknown command is an error.
            unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
        }

        /// Tells the kernel that this process will call `membarrier`, before any thread relies on
        /// it, and tries it. Done again for each pool: registering twice costs nothing, and a
        /// seccomp filter may have been installed since the last time.
        pub(in super::super) fn register() -> bool {
            call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier()
        }

        /// Makes every running thread of the process pass a full barrier.
        pub(in super::super) fn membarrier() -> bool {
            call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
        }
    }

    #[cfg(all(windows, not(miri)))]
    mod system {
        use windows_sys::Win32::System::Threading::FlushProcessWriteBuffers;

        pub(in super::super) fn register() -> bool {
            true
        }

        /// Interrupts every processor that runs a thread of the process.
        pub(in super::super) fn membarrier() -> bool {
            // SAFETY: it takes nothing, returns nothing and cannot fail.
            unsafe { FlushProcessWriteBuffers() };
            true
        }
    }

    #[cfg(any(miri, not(any(target_os = "linux", windows))))]
    mod system {
        pub(in super::super) fn register() -> bool {
            false
        }

        pub(in super::super) fn membarrier() -> bool {
            false
        }
    }
}

#[cfg(any(heist_loom, heist_shuttle))]
mod imp {
    pub(super) const IS_MODEL: bool = true;

    pub(super) fn light(name: &'static str) {
        // Stands for the barrier that `membarrier` makes this thread pass.
        super::fault::fence(name, super::Ordering::SeqCst);
    }

    pub(super) fn register() -> bool {
        true
    }

    pub(super) fn membarrier() -> bool {
        true
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn without_membarrier_the_heavy_side_says_that_it_orders_nothing() {
        let barrier = Barrier::new(BarrierRequest::Fence).expect("fences exist everywhere");
        assert_eq!(barrier.mode(), BarrierMode::Fence);
        assert!(!barrier.heavy("test.heavy"));
    }

    #[test]
    fn auto_orders_exactly_where_the_kernel_offers_membarrier() {
        let barrier = Barrier::new(BarrierRequest::Auto).expect("auto falls back to fences");
        let offered = Barrier::new(BarrierRequest::Membarrier).is_ok();
        assert_eq!(barrier.mode() == BarrierMode::Membarrier, offered);
        barrier.light("test.light");
        assert_eq!(barrier.heavy("test.heavy"), offered);
    }
}
