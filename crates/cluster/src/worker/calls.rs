//! Calls that run in this process, and how they learn that nobody wants them any more.

use std::collections::{HashMap, HashSet, VecDeque};

use heist_sync::Mutex;

use crate::protocol::trace::Trace;
use crate::remote::context::CallContext;

/// How many calls that were cancelled before they came are remembered.
const EARLY_MAX: usize = 1024;

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
    pub(super) context: CallContext,
}

impl Calls {
    /// Notes that a call begins; `None` if it has been cancelled.
    pub(super) fn begin(&self, id: u64, trace: Option<Trace>) -> Option<RunningCall<'_>> {
        let mut state = self.0.lock();
        if state.early.remove(&id) {
            state.early_order.retain(|early| *early != id);
            return None;
        }
        let context = CallContext::new(trace);
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
            context.cancel();
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
