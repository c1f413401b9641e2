//! The deadlines of calls, and the thread that waits for them.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use heist_sync::{thread, Condvar, Mutex};

/// Something that has a deadline.
pub(super) trait Timed: Send + Sync {
    /// The time has come. Must not wait.
    fn is_due(self: Arc<Self>);
}

/// Deadlines, soonest first. There is a thread once there is a deadline.
#[derive(Default)]
pub(crate) struct Timers {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    due: BTreeMap<Timer, Arc<dyn Timed>>,
    next: u64,
    has_thread: bool,
    is_closed: bool,
}

/// A deadline, and a number that no other has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timer(Instant, u64);

impl Timers {
    /// Tells `timed` at the time `at`, unless the timer is removed before; keeps it until then.
    pub(super) fn add(self: &Arc<Self>, at: Instant, timed: Arc<dyn Timed>) -> io::Result<Timer> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(io::Error::other("the cluster has ended"));
        }
        if !state.has_thread {
            let this = Arc::clone(self);
            thread::Builder::new()
                .name("heist-cluster-deadlines".to_owned())
                .spawn(move || this.run())?;
            state.has_thread = true;
        }
        let timer = Timer(at, state.next);
        state.next += 1;
        state.due.insert(timer, timed);
        let is_soonest = state.due.first_key_value().map(|(first, _)| *first) == Some(timer);
        drop(state);
        if is_soonest {
            self.changed.notify_all();
        }
        Ok(timer)
    }

    pub(super) fn remove(&self, timer: Timer) {
        let removed = self.state.lock().due.remove(&timer);
        // Without the lock: what is dropped with it may have timers of its own.
        drop(removed);
    }

    /// Ends the thread; no deadline comes any more.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let due = std::mem::take(&mut state.due);
        drop(state);
        drop(due);
        self.changed.notify_all();
    }

    fn run(&self) {
        let mut state = self.state.lock();
        while !state.is_closed {
            let now = Instant::now();
            let Some((Timer(at, _), _)) = state.due.first_key_value() else {
                state = self.changed.wait(state);
                continue;
            };
            if *at > now {
                let left = *at - now;
                state = self.changed.wait_timeout(state, left);
                continue;
            }
            let due = state.due.pop_first();
            drop(state);
            if let Some((_, timed)) = due {
                timed.is_due();
            }
            state = self.state.lock();
        }
    }
}
