//! Where rayon-core's unit tests find what they know from inside of it.
//!
//! This file is the root of a generated package. The tests come beside it as
//! they were published; what they reach as `crate::` is the stand-in's public
//! API, but for two helpers of theirs.

#![allow(deprecated, reason = "some of the tests are as old as what they test")]
#![allow(dead_code, reason = "a helper of a test that is replaced stays behind")]

pub use rayon_core::*;

/// The original's way to catch panics.
pub mod unwind {
    /// `catch_unwind`, with the assertion that the original makes as well.
    pub fn halt_unwinding<R>(f: impl FnOnce() -> R) -> std::thread::Result<R> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
    }
}

/// The original's way into its pool.
pub mod registry {
    /// Runs `op` on a worker, as every scope does; the tests ignore its arguments.
    pub fn in_worker<R: Send>(op: impl FnOnce((), bool) -> R + Send) -> R {
        rayon_core::scope(|_| op((), false))
    }
}

#[cfg(test)]
mod broadcast {
    mod test;
}
#[cfg(test)]
mod join {
    use rayon_core::*;

    use crate::unwind;
    mod test;
}
#[cfg(test)]
mod scope {
    mod test;
}
#[cfg(test)]
mod spawn {
    use rayon_core::*;
    mod test;
}
#[cfg(test)]
mod thread_pool {
    mod test;
}
#[cfg(test)]
mod test;
