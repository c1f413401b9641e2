//! The tests that every backend passes: properties of remote functions and jobs that hold on all of
//! them.
//!
//! Each program in `tests/` has a [`World`](world::World) of one backend, in which it runs the
//! [`suite!`], and what is true of that backend only.

#![forbid(unsafe_code)]

use std::io::Write as _;
use std::time::{Duration, Instant};

pub mod calls;
pub mod chaos;
pub mod chunks;
pub mod claims;
pub mod crashes;
pub mod hostile;
pub mod jobs;
pub mod logs;
pub mod names;
pub mod odd_names;
pub mod sharing;
pub mod stage;
pub mod traces;
pub mod work;
pub mod world;

heist_cluster::export!();

/// Waits until `is_so`, looking again and again.
///
/// # Panics
///
/// If it is not so in a minute; a test has failed then.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        heist_sync::thread::yield_now();
    }
}

/// Shows how long a job with 64 MiB of state stood still, beside the bar.
pub fn report_standstill(pausing: Duration, standstill: Duration) {
    let bar = Duration::from_secs(2);
    let line = format!(
        "64 MiB: paused after {pausing:?}, stood still for {standstill:?} (bar: {bar:?})\n"
    );
    // The caller of the tests may have closed it.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
