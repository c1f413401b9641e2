//! A pair of memory barriers of which the frequent side is almost free.
//!
//! Two threads that each store one thing and then load the other's need a full
//! barrier between the two on both sides, or both loads may miss both stores.
//! Where one side runs millions of times a second and the other almost never,
//! the kernel can do the frequent side's part: `membarrier` makes every running
//! thread of the process pass a full barrier, and only the rare side calls it.
//!
//! [`light`](Barrier::light) then only keeps the compiler from moving accesses
//! across, and [`heavy`](Barrier::heavy) is the system call. Where the kernel
//! does not offer it, both are an ordinary fence. The meaning is that of the
//! asymmetric fences of C++ proposal P1202R5: a light and a heavy barrier order
//! as two sequentially consistent fences do; **two light ones order nothing**.
//! The mode is chosen once for a pool: a light barrier of one mode does not
//! pair with a heavy one of the other.
//!
//! A model sees both as fences, which is right exactly as long as each pair has
//! one heavy side.

use crate::atomic::Ordering;
use crate::fault;
use std::fmt;

/// Which barriers a program asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BarrierRequest {
    /// Membarrier where the kernel offers it, else fences.
    #[default]
    Auto,
    /// Membarrier, or an error.
    Membarrier,
    /// Fences.
    Fence,
}

/// Which barriers a program got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierMode {
    /// The light side is free, the heavy one a system call of some microseconds.
    Membarrier,
    /// Both sides are a fence of some nanoseconds.
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
        f.write_str("the system does not offer membarrier (it needs Linux 4.14 and a seccomp filter that lets it pass)")
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
/// assert_eq!(barrier.mode(), BarrierMode::Fence);
/// barrier.light("example.publish");
/// assert!(barrier.heavy("example.sleep"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Barrier {
    mode: BarrierMode,
}

impl Barrier {
    /// Chooses the mode. Under a model it is always the fence.
    ///
    /// # Errors
    ///
    /// Fails if membarrier is asked for and the system does not offer it.
    pub fn new(request: BarrierRequest) -> Result<Self, BarrierError> {
        let mode = match request {
            BarrierRequest::Fence => BarrierMode::Fence,
            _ if imp::register() => BarrierMode::Membarrier,
            BarrierRequest::Auto => BarrierMode::Fence,
            BarrierRequest::Membarrier => return Err(BarrierError(())),
        };
        Ok(Self { mode })
    }

    /// The mode that was chosen.
    #[must_use]
    pub fn mode(&self) -> BarrierMode {
        self.mode
    }

    /// The frequent side. `name` is its [fault](crate::fault).
    #[inline(always)]
    pub fn light(&self, name: &'static str) {
        match self.mode {
            BarrierMode::Membarrier => crate::atomic::compiler_fence(Ordering::SeqCst),
            // Pairs with the fence in `heavy`.
            BarrierMode::Fence => fault::fence(name, Ordering::SeqCst),
        }
    }

    /// The rare side. `name` is its [fault](crate::fault).
    ///
    /// Returns false if the kernel has withdrawn membarrier since the mode was
    /// chosen (a seccomp filter installed later). Then nothing was ordered, and
    /// the caller must do without.
    #[cold]
    #[must_use]
    pub fn heavy(&self, name: &'static str) -> bool {
        match self.mode {
            BarrierMode::Membarrier => imp::membarrier(),
            BarrierMode::Fence => {
                // Pairs with the fence in `light`.
                fault::fence(name, Ordering::SeqCst);
                true
            }
        }
    }
}

#[cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle))))]
mod imp {
    use std::sync::OnceLock;

    fn call(command: libc::c_int) -> bool {
        // SAFETY: membarrier takes no pointers; an unknown command is an error.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// Tells the kernel that this process will call `membarrier`. Once for the
    /// process, before any thread relies on it.
    pub(super) fn register() -> bool {
        static REGISTERED: OnceLock<bool> = OnceLock::new();
        *REGISTERED
            .get_or_init(|| call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier())
    }

    /// Makes every running thread of the process pass a full barrier. The call
    /// itself is one for the caller.
    pub(super) fn membarrier() -> bool {
        call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
    }
}

#[cfg(not(all(target_os = "linux", not(any(heist_loom, heist_shuttle)))))]
mod imp {
    pub(super) fn register() -> bool {
        false
    }

    pub(super) fn membarrier() -> bool {
        false
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn asking_for_fences_gives_fences_everywhere() {
        let barrier = Barrier::new(BarrierRequest::Fence).expect("fences exist everywhere");
        assert_eq!(barrier.mode(), BarrierMode::Fence);
    }

    #[test]
    fn auto_always_finds_a_mode_whose_heavy_side_works() {
        let barrier = Barrier::new(BarrierRequest::Auto).expect("auto falls back to fences");
        barrier.light("test.light");
        assert!(barrier.heavy("test.heavy"));
    }
}
