//! Calls that run in this process, and how they learn that nobody wants them any more.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::Mutex;

/// How many calls that were cancelled before they came are remembered.
const EARLY_MAX: usize = 1024;

/// What a remote function can ask about its call.
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
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    is_cancelled: Arc<AtomicBool>,
}

impl CallContext {
    /// The one of the function that this thread has begun. Fetch it first, and take it along
    /// into closures that other threads may run. Outside of a remote call it belongs to a
    /// call that nobody cancels.
    #[must_use]
    pub fn current() -> Self {
        CURRENT.with(|current| current.borrow().clone().unwrap_or_default())
    }

    /// True if the caller does not want the result any more. A long function looks now and
    /// then, and returns anything.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        // Nothing is read because of it.
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// The name of the machine, as the backend calls it; empty outside of a worker.
    #[must_use]
    pub fn node(&self) -> &'static str {
        super::node()
    }
}

heist_sync::thread_local! {
    static CURRENT: RefCell<Option<CallContext>> = const { RefCell::new(None) }
}

/// Runs `function` as the call of `running`.
pub(super) fn within<R>(running: &RunningCall<'_>, function: impl FnOnce() -> R) -> R {
    /// Restores what was there, after a panic as well.
    struct Restore(Option<CallContext>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.with(|current| *current.borrow_mut() = self.0.take());
        }
    }
    let before = CURRENT.with(|current| current.replace(Some(running.context.clone())));
    let _restore = Restore(before);
    function()
}

/// All calls of a worker.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    running: HashMap<u64, CallContext>,
    /// Cancelled before they came, which happens where requests have several ways.
    early: HashSet<u64>,
    early_order: VecDeque<u64>,
}

/// A call in the table, until it is dropped.
#[derive(Debug)]
pub(super) struct RunningCall<'a> {
    calls: &'a Calls,
    id: u64,
    context: CallContext,
}

impl Calls {
    /// Notes that a call begins; `None` if it has been cancelled.
    pub(super) fn begin(&self, id: u64) -> Option<RunningCall<'_>> {
        let mut state = self.0.lock();
        if state.early.remove(&id) {
            state.early_order.retain(|early| *early != id);
            return None;
        }
        let context = CallContext::default();
        state.running.insert(id, context.clone());
        Some(RunningCall {
            calls: self,
            id,
            context,
        })
    }

    pub(super) fn cancel(&self, id: u64) {
        let mut state = self.0.lock();
        if let Some(context) = state.running.get(&id) {
            context.is_cancelled.store(true, Ordering::Relaxed);
        } else if state.early.insert(id) {
            state.early_order.push_back(id);
            if state.early_order.len() > EARLY_MAX {
                let oldest = state.early_order.pop_front();
                oldest.map(|oldest| state.early.remove(&oldest));
            }
        }
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.calls.0.lock().running.remove(&self.id);
    }
}
