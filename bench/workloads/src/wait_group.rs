//! A count of running tasks with a thread that waits for it to reach zero, for
//! runtimes whose tasks are detached.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Thread;

/// Counts tasks; the thread that made it can wait for all of them.
#[derive(Debug)]
pub(crate) struct WaitGroup {
    running: AtomicUsize,
    waiter: Thread,
}

impl WaitGroup {
    /// No task yet; the calling thread is the one that will wait.
    pub(crate) fn new() -> Self {
        // One for the waiter itself, so that the count cannot reach zero early.
        Self {
            running: AtomicUsize::new(1),
            waiter: std::thread::current(),
        }
    }

    /// One task more; called before the task is handed over.
    pub(crate) fn add(&self) {
        // The caller holds a count itself, so nothing needs to be ordered.
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    /// One task less; called when the task has done everything.
    pub(crate) fn done(&self) {
        // Release: what the task did happens before the waiter's acquiring load
        // of the zero in `wait`. The handle is copied first, because the group
        // may be gone as soon as the count is zero.
        let waiter = self.waiter.clone();
        if self.running.fetch_sub(1, Ordering::Release) == 1 {
            waiter.unpark();
        }
    }

    /// Waits until every task is done; called once, by the thread that made the group.
    pub(crate) fn wait(&self) {
        self.done();
        // Acquire: pairs with the release in `done`.
        while self.running.load(Ordering::Acquire) != 0 {
            std::thread::park();
        }
    }
}

impl Default for WaitGroup {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn waiting_ends_when_every_task_is_done() {
        let (group, ran) = (Arc::new(WaitGroup::new()), Arc::new(AtomicUsize::new(0)));
        for _ in 0..4 {
            group.add();
            let (group, ran) = (Arc::clone(&group), Arc::clone(&ran));
            std::thread::spawn(move || {
                ran.fetch_add(1, Ordering::Relaxed);
                group.done();
            });
        }
        group.wait();
        assert_eq!(ran.load(Ordering::Relaxed), 4);
    }
}
