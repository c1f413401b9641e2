//! A thread that is stopped by a signal, as by a debugger.

use std::time::Duration;

use signal_hook::consts::SIGUSR1;
use signal_hook::low_level::{raise, register};

/// From now on [`stop`] stops the thread that calls it for this long.
///
/// # Errors
///
/// If the system refuses the handler.
#[expect(
    unsafe_code,
    reason = "a signal handler must keep to what is safe in one"
)]
pub(crate) fn prepare(pause: Duration) -> Result<(), String> {
    // SAFETY: the action waits for a clock by a system call that handlers may
    // make; it allocates nothing, takes no lock, and cannot panic.
    unsafe { register(SIGUSR1, move || std::thread::sleep(pause)) }
        .map(|_| ())
        .map_err(|error| format!("cannot handle the signal that stops a thread: {error}"))
}

/// Sends the signal to the calling thread, which is back when the handler ends.
pub(crate) fn stop() {
    raise(SIGUSR1).expect("a process may send signals to itself");
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_stopped_thread_comes_back_after_the_pause_and_not_before() {
        let pause = Duration::from_millis(2);
        prepare(pause).unwrap();
        let started = Instant::now();
        stop();
        assert!(started.elapsed() >= pause);
    }
}
