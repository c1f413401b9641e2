//! Names for orderings and fences, so that a test can break one at a time.
//!
//! A model that passes proves little unless it fails on a wrong program. Each ordering and fence on
//! which a protocol relies is written through this module, with a name. In a program the name
//! vanishes: [`ordering`] is the identity and [`fence`] the fence. Built with `--cfg heist_loom`
//! and run with the environment variable `HEIST_FAULT` set to one of the names, that ordering
//! becomes `Relaxed` and that fence nothing, and a model must fail: `cargo xtask mutate` tries
//! each. With `NAME:acquire` or `NAME:release`, an acquire-release ordering keeps that half. Faults
//! other than weak orderings are conditions in the code, [`planted`].
//!
//! Built with `--cfg heist_soak`, a thread is now and then delayed at a named access.
//!
//! # Examples
//!
//! ```
//! use heist_sync::{atomic::{AtomicBool, Ordering}, fault};
//!
//! let ready = AtomicBool::new(false);
//! ready.store(true, fault::ordering("example.ready", Ordering::Release));
//! ```

#[cfg(not(heist_soak))]
use crate::atomic::Ordering;
#[cfg(heist_soak)]
pub use crate::delay::{fence, ordering};

/// `order`, unless the fault `name` is planted: then `Relaxed`.
#[cfg(not(any(heist_loom, heist_soak)))]
#[inline(always)]
#[must_use]
pub const fn ordering(_name: &'static str, order: Ordering) -> Ordering {
    order
}

/// A fence, unless the fault `name` is planted: then nothing.
#[cfg(not(any(heist_loom, heist_soak)))]
#[inline(always)]
pub fn fence(_name: &'static str, order: Ordering) {
    crate::atomic::fence(order);
}

/// True if the fault `name` is planted. Never in a program.
#[cfg(not(heist_loom))]
#[inline(always)]
#[must_use]
pub const fn planted(_name: &'static str) -> bool {
    false
}

/// `order`, unless the fault `name` is planted: then `Relaxed`, or with `name:acquire` and
/// `name:release` that half of it.
#[cfg(heist_loom)]
#[must_use]
pub fn ordering(name: &'static str, order: Ordering) -> Ordering {
    match planted_at(name) {
        None => order,
        Some(":acquire") => Ordering::Acquire,
        Some(":release") => Ordering::Release,
        Some(_) => Ordering::Relaxed,
    }
}

/// A fence, unless the fault `name` is planted: then nothing.
#[cfg(heist_loom)]
pub fn fence(name: &'static str, order: Ordering) {
    if planted_at(name).is_none() {
        crate::atomic::fence(order);
    }
}

/// True if the fault `name` is planted.
#[cfg(heist_loom)]
#[must_use]
pub fn planted(name: &'static str) -> bool {
    planted_at(name).is_some()
}

/// The rest of the planted fault's name behind `name`: empty, or the half of an ordering that
/// stays. `None` if another fault is planted.
#[cfg(heist_loom)]
fn planted_at(name: &'static str) -> Option<&'static str> {
    use std::collections::HashSet;
    use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
    static FAULT: OnceLock<Option<String>> = OnceLock::new();
    static REACHED: LazyLock<Mutex<HashSet<&str>>> = LazyLock::new(Mutex::default);
    let fault = FAULT.get_or_init(|| std::env::var("HEIST_FAULT").ok());
    let fault = fault.as_deref()?;
    let rest = fault
        .strip_prefix(name)
        .filter(|rest| rest.is_empty() || rest.starts_with(':'));
    if rest.is_some() || fault == SURVEY {
        // `cargo xtask mutate` looks for this line: a name that no code reaches must not pass for a
        // fault that was caught.
        let mut reached = REACHED.lock().unwrap_or_else(PoisonError::into_inner);
        if reached.insert(name) {
            eprintln!("fault reached: {name}");
        }
    }
    rest
}

/// This fault plants nothing, and prints the names that the program reaches.
#[cfg(heist_loom)]
const SURVEY: &str = "survey";
