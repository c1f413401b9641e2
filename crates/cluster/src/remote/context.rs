//! The context of code on a worker: its machine, and whether its result is still wanted.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use heist_sync::atomic::{AtomicBool, Ordering};

use crate::protocol::trace::Trace;

static NODE: OnceLock<String> = OnceLock::new();

/// The name of the machine, as the backend calls it; empty in a process that is no worker.
pub(crate) fn node() -> &'static str {
    NODE.get().map_or("", String::as_str)
}

/// Names the machine of this process. Only the first name counts.
pub(crate) fn set_node(name: String) {
    let _ = NODE.set(name);
}

/// The context of a remote function's call.
///
/// # Examples
///
/// ```
/// use heist_cluster::{remote, CallContext};
///
/// #[remote]
/// fn search(steps: u64) -> Option<u64> {
///     let call = CallContext::current();
///     (0..steps).take_while(|_| !call.is_cancelled()).find(|step| step * step == 49)
/// }
/// assert_eq!(search(100), Some(7));
/// assert_eq!(CallContext::current().node(), "", "this is no worker");
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    is_cancelled: Arc<AtomicBool>,
    trace: Option<Trace>,
}

impl CallContext {
    /// The context of the call that this thread runs. Fetch it before closures that other threads
    /// may run, and move it into them. Outside of a remote call it is never cancelled.
    #[must_use]
    pub fn current() -> Self {
        CURRENT.with(|current| current.borrow().clone().unwrap_or_default())
    }

    /// True if the caller no longer wants the result. A long function checks now and then, and then
    /// returns any value.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        // Nothing is read because of it.
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// The caller's place in a trace, if set; none outside of a call.
    /// [`Calls::trace`](crate::Calls::trace) has an example.
    #[must_use]
    pub fn trace(&self) -> Option<Trace> {
        self.trace
    }

    /// The name of the machine, as the backend calls it; empty outside of a worker.
    #[must_use]
    pub fn node(&self) -> &'static str {
        node()
    }
}

impl CallContext {
    pub(crate) fn new(trace: Option<Trace>) -> Self {
        Self {
            trace,
            ..Self::default()
        }
    }

    /// The caller does not want the result any more.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Runs `function` as the call that this context belongs to.
    pub(crate) fn run<R>(&self, function: impl FnOnce() -> R) -> R {
        /// Restores what was there, after a panic as well.
        struct Restore(Option<CallContext>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.with(|current| *current.borrow_mut() = self.0.take());
            }
        }
        let before = CURRENT.with(|current| current.replace(Some(self.clone())));
        let _restore = Restore(before);
        function()
    }
}

heist_sync::thread_local! {
    static CURRENT: RefCell<Option<CallContext>> = const { RefCell::new(None) }
}
