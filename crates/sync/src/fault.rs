//! Names for orderings and fences, so that a test can break one at a time.
//!
//! A model that passes proves little unless it fails on a wrong program. Each
//! ordering and fence that a protocol stands on is written through this module
//! with a name. In a program the name vanishes: [`ordering`] is the identity
//! and [`fence`] the fence. Built with `--cfg heist_loom` and run with the
//! environment variable `HEIST_FAULT` set to one of the names, that ordering
//! becomes `Relaxed` and that fence nothing, and the model must fail.
//!
//! Built with `--cfg heist_soak`, a thread is now and then held up where a name stands.
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

/// `order`, unless the fault `name` is planted: then `Relaxed`.
#[cfg(heist_loom)]
#[must_use]
pub fn ordering(name: &'static str, order: Ordering) -> Ordering {
    if planted(name) {
        Ordering::Relaxed
    } else {
        order
    }
}

/// A fence, unless the fault `name` is planted: then nothing.
#[cfg(heist_loom)]
pub fn fence(name: &'static str, order: Ordering) {
    if !planted(name) {
        crate::atomic::fence(order);
    }
}

/// True if the fault `name` is planted.
#[cfg(heist_loom)]
#[must_use]
pub fn planted(name: &'static str) -> bool {
    use std::sync::{Once, OnceLock};
    static FAULT: OnceLock<Option<String>> = OnceLock::new();
    static REACHED: Once = Once::new();
    let fault = FAULT.get_or_init(|| std::env::var("HEIST_FAULT").ok());
    let planted = fault.as_deref() == Some(name);
    if planted {
        // The test that planted the fault looks for this line: a name that no
        // code reaches must not pass for a fault that was caught.
        REACHED.call_once(|| eprintln!("planted fault reached: {name}"));
    }
    planted
}

/// Runs the models named `models` of the present test binary once for each of
/// `faults`, in a process of its own, and checks that the fault was reached and
/// made one of them fail.
///
/// # Panics
///
/// Panics with the name of the first fault that no model catches.
#[cfg(heist_loom)]
pub fn assert_caught(faults: &[(&str, &str)]) {
    let program = std::env::current_exe().expect("the path of the running test");
    for (fault, model) in faults {
        let output = std::process::Command::new(&program)
            .args([model, "--exact", "--nocapture"])
            .env("HEIST_FAULT", fault)
            .output()
            .expect("the test binary runs again");
        let text = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains("running 1 test"),
            "there is no model named {model}"
        );
        assert!(
            text.contains(&format!("planted fault reached: {fault}")),
            "the model {model} never comes past {fault}"
        );
        assert!(
            !output.status.success(),
            "the model {model} does not notice the fault {fault}"
        );
    }
}
