//! For tests: tasks on a queue that any thread may run.

use std::future::Future;
use std::sync::Arc;
use std::task::Wake;

use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::Mutex;

use super::{task, Handle, Runnable};

/// The runs that are queued.
#[derive(Default)]
pub(super) struct Queue {
    runnables: Mutex<Vec<Runnable<Arc<Queue>>>>,
    steps: AtomicUsize,
}

impl Queue {
    /// Runs one, if there is any.
    pub(super) fn run_one(&self) -> bool {
        let runnable = self.take();
        let is_there = runnable.map(Runnable::run).is_some();
        self.step();
        is_there
    }

    pub(super) fn take(&self) -> Option<Runnable<Arc<Self>>> {
        self.runnables.lock().pop()
    }

    /// Between two calls: makes loom try both orders of the calls around this on two threads. It
    /// would miss some, since of the accesses to the word it compares the last ones only.
    pub(super) fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn run_all(&self) {
        while self.run_one() {}
    }

    /// True if all tasks are freed: each holds a share of the queue.
    pub(super) fn is_unused(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1
    }
}

pub(super) fn spawn<F>(queue: &Arc<Queue>, future: F) -> Handle<F::Output, Arc<Queue>>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    let schedule = |runnable: Runnable<Arc<Queue>>, _| {
        let queue = Arc::clone(runnable.meta());
        queue.runnables.lock().push(runnable);
    };
    let (runnable, handle) = task(Arc::clone(queue), future, schedule);
    runnable.schedule();
    handle
}

/// How often it was woken.
pub(super) struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Count {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(0)))
    }

    #[cfg(heist_loom)]
    pub(super) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
