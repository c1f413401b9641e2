//! The back end of models: loom.

/// Atomic types and fences.
pub mod atomic {
    pub use loom::sync::atomic::{
        fence, AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
    // Loom does not reorder within a thread; a fence for the compiler is nothing to it.
    pub use std::sync::atomic::compiler_fence;
}

/// Hints to the processor while spinning.
pub mod hint {
    pub use loom::hint::spin_loop;
}

/// Threads, and what is local to each.
pub mod thread {
    pub use loom::thread::{current, spawn, yield_now, Builder, JoinHandle, Thread, ThreadId};
    // Never reached in a model; here so that whole crates compile.
    pub use std::thread::{
        available_parallelism, panicking, scope, Result, Scope, ScopedJoinHandle,
    };
}

pub use loom::sync::MutexGuard;
pub(crate) use loom::sync::{Condvar, Mutex};
