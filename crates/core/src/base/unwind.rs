//! Panics at the borders of jobs: catch, resume, discard, abort.

use std::any::Any;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

use heist_sync::process::Generation;
use heist_sync::{thread, Mutex};

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Runs `f` and holds a panic back.
///
/// The closure counts as unwind safe because every caller either resumes the panic or hands it to
/// the waiter, so that no code looks at broken state as if it were whole.
pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> thread::Result<R> {
    catch_unwind(AssertUnwindSafe(f))
}

/// As [`catch`], for a whole job. If the job has called `fork`, its child must not come back:
/// whoever waits for the job is not there, and may have been holding the very lock under which it
/// would be told.
pub(crate) fn catch_job<R>(job: impl FnOnce() -> R) -> thread::Result<R> {
    let process = Generation::present();
    let result = catch(job);
    if process.is_past() {
        abort_child();
    }
    result
}

/// Lets a panic that was held back go on. The panic hook is not called again.
pub(crate) fn resume(payload: Payload) -> ! {
    resume_unwind(payload)
}

/// Drops a result that nobody will ever see, because a sibling panicked. If its drop panics too,
/// that panic is one too many, and goes the way of the others that lost: see [`discard_payload`].
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch(|| drop(value)) {
        discard_payload(payload);
    }
}

/// Drops the payload of a panic that nobody will ever see, because another one won. A payload whose
/// drop panics aborts: it could be neither held nor let go.
pub(crate) fn discard_payload(payload: Payload) {
    let abort = AbortOnUnwind("dropping the payload of a panic panicked");
    drop(payload);
    abort.defuse();
}

/// The first of several panics, kept for whoever waits.
#[derive(Debug, Default)]
pub(crate) struct FirstPanic(Mutex<Option<Payload>>);

impl FirstPanic {
    /// Keeps the payload if it is the first, and drops it otherwise.
    pub(crate) fn keep(&self, payload: Payload) {
        let mut first = self.0.lock();
        if first.is_none() {
            *first = Some(payload);
        } else {
            drop(first); // no user code runs under a lock
            discard_payload(payload);
        }
    }

    /// Takes the panic, if there was one.
    pub(crate) fn take(&self) -> Option<Payload> {
        self.0.lock().take()
    }

    /// True if a panic is being kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.lock().is_some()
    }
}

/// Ends the process if the scope that holds it unwinds: what follows would run on broken promises.
pub(crate) struct AbortOnUnwind(pub(crate) &'static str);

impl AbortOnUnwind {
    #[expect(clippy::mem_forget, reason = "a guard is defused by forgetting it")]
    pub(crate) fn defuse(self) {
        std::mem::forget(self);
    }
}

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        abort(self.0);
    }
}

/// Ends a forked child that has come back to what only its parent can finish.
#[cold]
pub(crate) fn abort_child() -> ! {
    abort("a job or the closure of a scope has called fork, and in the child it came back to a pool whose workers are the parent's; call exec or exit in the child")
}

/// Ends the process with a word to stderr.
#[cold]
pub(crate) fn abort(why: &str) -> ! {
    eprintln!("heist: {why}; aborting");
    std::process::abort()
}
