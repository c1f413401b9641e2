//! Panics at the boundaries of jobs: catch, resume, discard, abort.

use std::any::Any;
use std::mem;
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

/// As [`catch`], for a whole job. If the job has called `fork`, the child must not come back from
/// it: the waiter is not in the child, and may have held the very lock under which it would be
/// told.
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

/// The payload with which a cancelled job leaves its region. It is made in this file only.
struct Cancellation;

/// Unwinds to the entry of the region, which was cancelled.
pub(crate) fn cancel() -> ! {
    resume(cancellation())
}

/// The payload of [`cancel`].
pub(crate) fn cancellation() -> Payload {
    Box::new(Cancellation)
}

/// True if the payload is no panic, but that of a job which was cancelled.
pub(crate) fn is_cancellation(payload: &Payload) -> bool {
    payload.is::<Cancellation>()
}

/// Drops what a job consists of that is not to begin, and why: the payload of which whoever waits
/// is told, a panic of the drop before a cancellation.
pub(crate) fn dropped<T>(job: T, why: Payload) -> Payload {
    match catch(|| drop(job)) {
        Ok(()) => why,
        Err(payload) => first(why, payload),
    }
}

/// The one of two payloads that goes on: the first, but a panic before a cancellation. Drops the
/// other.
pub(crate) fn first(first: Payload, second: Payload) -> Payload {
    let (first, second) = if is_cancellation(&first) {
        (second, first)
    } else {
        (first, second)
    };
    discard_payload(second);
    first
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

/// The [`first`] of several panics, kept for whoever waits.
#[derive(Debug, Default)]
pub(crate) struct FirstPanic(Mutex<Option<Payload>>);

impl FirstPanic {
    /// Keeps the payload if it is the first, and drops it otherwise.
    pub(crate) fn keep(&self, payload: Payload) {
        let mut kept = self.0.lock();
        let lost = match &mut *kept {
            Some(first) if is_cancellation(first) => Some(mem::replace(first, payload)),
            Some(_) => Some(payload),
            none => {
                *none = Some(payload);
                None
            }
        };
        drop(kept); // no user code runs under a lock
        if let Some(lost) = lost {
            discard_payload(lost);
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
        mem::forget(self);
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
