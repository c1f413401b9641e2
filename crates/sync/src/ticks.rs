//! The processor's own counter of time, for intervals of nanoseconds.
//!
//! Reading it takes less than half of what a reading of the system's clock takes. Its unit is
//! known only by comparison with a clock.

use std::sync::OnceLock;

use crate::Clock;

/// The present count.
///
/// It goes on at a constant rate, and processors agree on it, where the processor says so;
/// elsewhere it counts nanoseconds by the system's clock.
///
/// # Examples
///
/// ```
/// let then = heist_sync::ticks();
/// assert!(heist_sync::ticks() >= then);
/// ```
#[inline]
#[must_use]
pub fn ticks() -> u64 {
    if imp::is_constant() {
        imp::read()
    } else {
        by_clock()
    }
}

#[cold]
fn by_clock() -> u64 {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    CLOCK.get_or_init(Clock::start).elapsed_ns()
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod imp {
    use std::arch::x86_64::{__cpuid, _rdtsc};
    use std::sync::atomic::{AtomicU32, Ordering};

    const UNKNOWN: u32 = 0;
    const CONSTANT: u32 = 1;
    const VARIABLE: u32 = 2;

    /// The leaf of the processor's description that says whether the counter is constant, and the
    /// bit there.
    const POWER: u32 = 0x8000_0007;
    const IS_CONSTANT: u32 = 1 << 8;

    static KIND: AtomicU32 = AtomicU32::new(UNKNOWN);

    #[inline]
    pub(super) fn is_constant() -> bool {
        // Relaxed: all threads find out the same.
        match KIND.load(Ordering::Relaxed) {
            UNKNOWN => find_out(),
            kind => kind == CONSTANT,
        }
    }

    #[cold]
    #[allow(
        unused_unsafe,
        reason = "the newest compilers do not call `__cpuid` unsafe"
    )]
    fn find_out() -> bool {
        // SAFETY: each processor of this architecture has the instruction.
        let last = unsafe { __cpuid(0x8000_0000) }.eax;
        // SAFETY: as above.
        let is_constant = last >= POWER && unsafe { __cpuid(POWER) }.edx & IS_CONSTANT != 0;
        let kind = if is_constant { CONSTANT } else { VARIABLE };
        KIND.store(kind, Ordering::Relaxed);
        is_constant
    }

    #[inline]
    pub(super) fn read() -> u64 {
        // SAFETY: each processor of this architecture has the instruction.
        unsafe { _rdtsc() }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod imp {
    #[inline]
    pub(super) fn is_constant() -> bool {
        true
    }

    #[inline]
    pub(super) fn read() -> u64 {
        let count: u64;
        // SAFETY: programs may read the counter of virtual time, and nothing else happens.
        unsafe {
            std::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack));
        }
        count
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod imp {
    pub(super) fn is_constant() -> bool {
        false
    }

    pub(super) fn read() -> u64 {
        unreachable!("there is no such counter")
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::{by_clock, ticks};

    #[test]
    fn time_goes_on_by_either_counter() {
        for count in [ticks, by_clock] {
            let then = count();
            while count() == then {
                std::hint::spin_loop();
            }
            assert!(count() > then);
        }
    }
}
