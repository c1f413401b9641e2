//! The one door to concurrency: every other crate of heist reaches atomics, cells, threads, the
//! futex and the barrier through this one.
//!
//! Behind the door stand three back ends with the same names:
//!
//! | built with | back end | for |
//! |---|---|---|
//! | nothing | `std` and the operating system | programs |
//! | `--cfg heist_loom` | [loom](https://docs.rs/loom) | models: every interleaving, weak memory |
//! | `--cfg heist_shuttle` | [shuttle](https://docs.rs/shuttle) | whole operations under random schedules |
//!
//! The facade never weakens an ordering or a fence, so that a model checks the program that runs.
//! The one exception is asked for by name: see [`fault`].
//!
//! # Contents
//!
//! - [`atomic`], [`cell`], [`thread`], [`hint`], [`Mutex`], [`Condvar`], [`thread_local!`]: the
//!   usual, with a lock that does not poison.
//! - [`Futex`]: an atomic word that a thread can sleep on.
//! - [`Barrier`]: a pair of barriers of which one side is almost free.
//! - [`Clock`]: the time since something began, on systems without a clock too.
//! - [`Reserved`]: address space that becomes memory piece by piece; [`stack_size`].
//! - [`thread_limit`]: how many threads there can be; [`usable_processors`]: how many run at once.
//! - [`Topology`]: how far apart the processors are; [`bind_current_thread`].
//! - [`Backoff`]: waiting for a thread that is in the middle of something short.
//! - [`process`]: noticing that the process is a child made by `fork`.
//! - [`process_folder`]: a folder for the user alone, with a file of each process.
//! - [`thread_state`]: whether a thread waits, and where.
//! - [`CachePadded`]: keeps neighbours off a cache line.
//! - [`fault`]: names for orderings and fences, so that a test can break each.
//!
//! # Systems
//!
//! | system | barrier | futex | besides |
//! |---|---|---|---|
//! | Linux, 64-bit | `membarrier`, unless the kernel refuses | the system call | |
//! | Linux, 32-bit | as above | a lock and a condition variable | |
//! | Windows | `FlushProcessWriteBuffers` | as above | no `fork` |
//! | macOS and other Unix | fences only | as above | |
//! | under Miri | fences only | as its system | no other system calls, and no files |
//! | WebAssembly | fences only | as above | no `fork`; mostly no threads; in browsers no clock |
//!
//! # Examples
//!
//! ```
//! use heist_sync::{Futex, atomic::Ordering, thread};
//! use std::sync::Arc;
//!
//! let word = Arc::new(Futex::new(0));
//! let sleeper = thread::spawn({
//!     let word = Arc::clone(&word);
//!     move || while word.load(Ordering::Acquire) == 0 { word.wait(0) }
//! });
//! word.store(1, Ordering::Release);
//! word.wake_one();
//! sleeper.join().unwrap();
//! ```

#[cfg(heist_loom)]
#[path = "loom.rs"]
mod backend;
#[cfg(heist_shuttle)]
#[path = "shuttle.rs"]
mod backend;
#[cfg(not(any(heist_loom, heist_shuttle)))]
#[path = "std.rs"]
mod backend;

mod backoff;
mod barrier;
mod binding;
#[cfg(not(heist_loom))]
pub mod cell;
#[cfg(heist_loom)]
pub use loom::cell;
mod cache_padded;
mod clock;
#[cfg(any(all(target_os = "linux", not(miri)), test))]
mod control_groups;
#[cfg(heist_soak)]
pub mod delay;
pub mod fault;
mod futex;
mod limits;
mod lock;
mod memory;
pub mod parent;
pub mod process;
pub mod process_folder;
mod processors;
mod stack;
mod tally;
pub mod thread_state;
mod ticks;
mod topology;

pub use backend::{atomic, hint, thread};
pub use backoff::Backoff;
pub use barrier::{Barrier, BarrierError, BarrierMode, BarrierRequest};
pub use binding::{bind_current_thread, set_thread_nice};
pub use cache_padded::CachePadded;
pub use clock::{set_time_ns, Clock};
pub use futex::Futex;
pub use limits::{thread_limit, ThreadLimit};
pub use lock::{Condvar, Mutex, MutexGuard};
pub use memory::{address_space_limit, Reserved};
pub use processors::{allowed_processors, usable_processors};
pub use stack::stack_size;
pub use tally::Tally;
pub use ticks::ticks;
pub use topology::{processor_list, CoreClass, Distance, NumaNode, Topology};

#[cfg(heist_loom)]
#[doc(hidden)]
pub use loom as __loom;
#[cfg(heist_shuttle)]
#[doc(hidden)]
pub use shuttle as __shuttle;

/// Declares a thread-local value, with a constant initial value or a lazy one.
///
/// # Examples
///
/// ```
/// use std::cell::Cell;
/// heist_sync::thread_local! { static DEPTH: Cell<u32> = const { Cell::new(0) } }
/// DEPTH.with(|depth| depth.set(1));
/// ```
#[macro_export]
#[cfg(not(any(heist_loom, heist_shuttle)))]
macro_rules! thread_local {
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = const { $init:expr }) => {
        ::std::thread_local! { $(#[$meta])* $vis static $name: $type = const { $init } }
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr) => {
        ::std::thread_local! { $(#[$meta])* $vis static $name: $type = $init }
    };
}

/// Declares a value local to one of loom's threads.
#[macro_export]
#[cfg(heist_loom)]
macro_rules! thread_local {
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = const { $init:expr }) => {
        $crate::__loom::thread_local! { $(#[$meta])* $vis static $name: $type = $init }
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr) => {
        $crate::__loom::thread_local! { $(#[$meta])* $vis static $name: $type = $init }
    };
}

/// Declares a value local to one of shuttle's threads.
#[macro_export]
#[cfg(heist_shuttle)]
macro_rules! thread_local {
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = const { $init:expr }) => {
        $crate::__shuttle::thread_local! { $(#[$meta])* $vis static $name: $type = const { $init } }
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr) => {
        $crate::__shuttle::thread_local! { $(#[$meta])* $vis static $name: $type = $init }
    };
}
