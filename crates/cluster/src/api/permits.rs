//! The memory for arguments of calls that a driver gives away, which is bounded.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use heist_sync::{Condvar, Mutex};

/// The memory of a call besides its arguments, about.
const CALL_BYTES: u64 = 512;

/// How much there is, and who waits for it, oldest first.
#[derive(Debug)]
pub(crate) struct Permits {
    pub(super) bytes_max: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    used_bytes: u64,
    waiting: VecDeque<u64>,
    next_ticket: u64,
}

/// A share of it, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    permits: Arc<Permits>,
    bytes: u64,
}

impl Permits {
    pub(crate) fn new(bytes_max: u64) -> Arc<Self> {
        Arc::new(Self {
            bytes_max,
            state: Mutex::default(),
            changed: Condvar::default(),
        })
    }

    /// The share of a call with so many bytes of arguments. One that is larger than all there is
    /// takes all, and so runs alone.
    fn share(&self, args_bytes: usize) -> u64 {
        (args_bytes as u64 + CALL_BYTES).min(self.bytes_max)
    }

    /// Takes a share, if there is one now; otherwise says how many bytes are in use.
    pub(crate) fn try_take(self: &Arc<Self>, args_bytes: usize) -> Result<Permit, u64> {
        let bytes = self.share(args_bytes);
        let mut state = self.state.lock();
        if !state.waiting.is_empty() || state.used_bytes + bytes > self.bytes_max {
            return Err(state.used_bytes);
        }
        state.used_bytes += bytes;
        drop(state);
        Ok(self.permit(bytes))
    }

    /// Takes a share when those before have theirs and there is one, until the `deadline`.
    pub(crate) fn take(
        self: &Arc<Self>,
        args_bytes: usize,
        deadline: Option<Instant>,
    ) -> Option<Permit> {
        let bytes = self.share(args_bytes);
        let mut state = self.state.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back(ticket);
        loop {
            let is_first = state.waiting.front() == Some(&ticket);
            if is_first && state.used_bytes + bytes <= self.bytes_max {
                state.used_bytes += bytes;
                state.waiting.pop_front();
                break;
            }
            let now = Instant::now();
            match deadline {
                None => state = self.changed.wait(state),
                Some(at) if now < at => state = self.changed.wait_timeout(state, at - now),
                Some(_) => {
                    state.waiting.retain(|other| *other != ticket);
                    self.changed.notify_all();
                    return None;
                }
            }
        }
        let is_awaited = !state.waiting.is_empty();
        drop(state);
        if is_awaited {
            // There may be enough for the next one as well.
            self.changed.notify_all();
        }
        Some(self.permit(bytes))
    }

    fn permit(self: &Arc<Self>, bytes: u64) -> Permit {
        let permits = Arc::clone(self);
        Permit { permits, bytes }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.permits.state.lock();
        state.used_bytes -= self.bytes;
        let is_awaited = !state.waiting.is_empty();
        drop(state);
        if is_awaited {
            self.permits.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use heist_sync::thread;

    use super::*;

    #[test]
    fn there_is_no_more_than_there_is_and_a_large_call_runs_alone() {
        let permits = Permits::new(10 * CALL_BYTES);
        let small: Vec<_> = (0..10).map(|_| permits.try_take(0)).collect();
        assert!(small.iter().all(Result::is_ok));
        let refused = permits.try_take(0).map(drop);
        assert_eq!(refused, Err(10 * CALL_BYTES));
        let passed = Some(Instant::now());
        assert!(permits.take(0, passed).is_none(), "time is up");
        drop(small);
        let large = permits.take(usize::MAX / 2, None);
        assert!(large.is_some() && permits.try_take(0).is_err());
        drop(large);
        assert!(permits.try_take(0).is_ok());
    }

    #[test]
    fn those_who_wait_have_their_turn_and_a_small_one_passes_nobody() {
        let permits = Permits::new(4 * CALL_BYTES);
        let held = permits.take(0, None);
        let (sender, order) = mpsc::channel();
        let large = {
            let (permits, sender) = (Arc::clone(&permits), sender.clone());
            thread::spawn(move || {
                let permit = permits.take(1 << 20, None);
                sender.send("large").unwrap();
                drop(permit);
            })
        };
        while permits.state.lock().waiting.is_empty() {
            thread::yield_now();
        }
        assert!(permits.try_take(0).is_err(), "another waits");
        let deadline = Some(Instant::now() + Duration::from_millis(1));
        assert!(permits.take(0, deadline).is_none(), "another waits");
        drop(held);
        large.join().unwrap();
        assert_eq!(order.recv(), Ok("large"));
        assert_eq!(permits.state.lock().used_bytes, 0);
    }
}
