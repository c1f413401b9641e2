//! Where a driven worker rests: how it is woken there.

use std::task::Waker;

use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::Mutex;

use crate::base::unwind::AbortOnUnwind;

/// Where a worker rests that a function of the program's drives.
#[derive(Debug)]
pub(super) struct Resting {
    /// True while it rests there.
    is_on: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Resting {
    pub(super) fn new() -> Self {
        Self {
            is_on: AtomicBool::new(false),
            waker: Mutex::new(None),
        }
    }

    /// Notes how the worker is woken from now on; `None` when it will not rest here any more.
    pub(super) fn is_woken_by(&self, waker: Option<&Waker>) {
        // Neither cloned nor dropped under the lock: that is the program's code, too. Only the
        // worker itself changes it, so it is the same in between.
        let is_same = match (&*self.waker.lock(), waker) {
            (Some(old), Some(waker)) => old.will_wake(waker),
            (old, new) => old.is_none() && new.is_none(),
        };
        if !is_same {
            let waker = waker.cloned();
            let old = std::mem::replace(&mut *self.waker.lock(), waker);
            drop(old);
        }
    }

    /// The worker rests here, or does not, from the moment on in which its parker is armed.
    pub(super) fn turn(&self, is_on: bool) {
        // Relaxed: the release of the parker comes after it.
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// True if the worker rests here whom the caller has unparked.
    pub(super) fn is_on(&self) -> bool {
        // Relaxed: the caller has acquired the parker.
        self.is_on.load(Ordering::Relaxed)
    }

    /// Has the worker polled.
    #[cold]
    pub(super) fn call_waker(&self) {
        // Not under the lock: it is the program's code.
        let waker = self.waker.lock().clone();
        let abort = AbortOnUnwind("the waker of a driven worker panicked");
        waker.into_iter().for_each(Waker::wake);
        abort.defuse();
    }
}
