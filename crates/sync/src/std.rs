//! The back end of programs: `std`.

/// Atomic types and fences.
pub mod atomic {
    pub use std::sync::atomic::{
        compiler_fence, fence, AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
}

/// Hints to the processor while spinning.
pub mod hint {
    pub use std::hint::spin_loop;
}

/// Threads, and what is local to each.
pub mod thread {
    pub use std::thread::{
        available_parallelism, current, panicking, scope, spawn, yield_now, Builder, JoinHandle,
        Result, Scope, ScopedJoinHandle, Thread, ThreadId,
    };
}

pub use std::sync::MutexGuard;
pub(crate) use std::sync::{Condvar, Mutex};
