//! The back end of randomised whole-operation tests: shuttle.

/// Atomic types and fences.
pub mod atomic {
    pub use shuttle::sync::atomic::{
        fence, AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
    // Shuttle is sequentially consistent; a fence for the compiler is nothing to it.
    pub use std::sync::atomic::compiler_fence;
}

/// Hints to the processor while spinning.
pub mod hint {
    pub use shuttle::hint::spin_loop;
}

/// Threads, and what is local to each.
pub mod thread {
    pub use shuttle::thread::{
        current, panicking, scope, spawn, yield_now, Builder, JoinHandle, Scope, ScopedJoinHandle,
        Thread, ThreadId,
    };
    pub use std::thread::{available_parallelism, Result};
}

pub use shuttle::sync::MutexGuard;
pub(crate) use shuttle::sync::{Condvar, Mutex};
