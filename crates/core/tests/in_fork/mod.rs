//! Tests that fork: each in a process of its own, away from the threads of the test harness, with
//! children that an alarm kills if they hang. `heist-futures` includes this file too.

use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::{Command, Output};

/// Runs one ignored test of this program in a process of its own.
pub(crate) fn alone(test: &str) -> Output {
    let program = std::env::current_exe().expect("the path of this test");
    Command::new(program)
        .args([test, "--exact", "--ignored", "--nocapture"])
        .output()
        .expect("the test runs again")
}

/// As [`alone`], for a test that must pass.
pub(crate) fn assert_passes(test: &str) {
    let output = alone(test);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{text}");
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Exit(i32),
    Signal(i32),
}

pub(crate) const FINE: End = End::Exit(0);

/// Calls `f` in a forked child, which ends then: well, unless `f` panics.
pub(crate) fn in_fork(f: impl FnOnce()) -> End {
    // SAFETY: what the child does with its copy of the memory is what is tested.
    match unsafe { libc::fork() } {
        -1 => panic!("could not fork: {}", io::Error::last_os_error()),
        0 => {
            // SAFETY: it sets a timer that kills the process.
            unsafe { libc::alarm(60) };
            let ended_well = catch_unwind(AssertUnwindSafe(f)).is_ok();
            // SAFETY: ends the process, without the parent's exit handlers.
            unsafe { libc::_exit(i32::from(!ended_well)) }
        }
        child => {
            let mut status = 0;
            // SAFETY: the place for the status is ours.
            let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert_eq!(waited, child);
            match libc::WIFSIGNALED(status) {
                true => End::Signal(libc::WTERMSIG(status)),
                false => End::Exit(libc::WEXITSTATUS(status)),
            }
        }
    }
}

/// `call` panics, and says what it attempted and why that cannot be.
pub(crate) fn assert_refused<R>(attempt: &str, call: impl FnOnce() -> R) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(call)) else {
        panic!("the attempt to {attempt} the parent's pool was not refused")
    };
    let text: &String = payload.downcast_ref().expect("a message");
    let says = format!("could not {attempt} a pool that was built before this process was forked");
    assert!(text.starts_with(&says), "{text}");
}
