//! One queue behind one lock, shared by all threads.

use std::collections::VecDeque;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The queue, and how many of its tasks are being run.
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    /// Signalled when a task was pushed, and when the last one has ended.
    changed: Condvar,
}

struct State<T> {
    waiting: VecDeque<T>,
    running: usize,
}

impl<T> Queue<T> {
    pub(super) fn new(tasks: Vec<T>) -> Self {
        Self {
            state: Mutex::new(State {
                waiting: tasks.into(),
                running: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Runs tasks on this thread until there are none: the sum, the time in tasks, their number.
    pub(super) fn run<A: Default>(
        &self,
        worker: usize,
        step: impl Fn(usize, T, &mut A, &mut Vec<T>),
    ) -> (A, Duration, u64) {
        let (mut sum, mut busy, mut tasks) = (A::default(), Duration::ZERO, 0);
        let mut pushed = Vec::new();
        let mut next = self.first();
        while let Some(task) = next {
            let begin = Instant::now();
            let run = || step(worker, task, &mut sum, &mut pushed);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
                // Otherwise the others would wait for this task for ever.
                self.abandon();
                resume_unwind(panic);
            }
            busy += begin.elapsed();
            tasks += 1;
            next = self.finish_and_next(&mut pushed);
        }
        (sum, busy, tasks)
    }

    /// The first task for a thread that runs none. None when all work is done.
    fn first(&self) -> Option<T> {
        self.next(self.lock())
    }

    /// Reports a task as done, with what it pushed, and takes the next.
    fn finish_and_next(&self, pushed: &mut Vec<T>) -> Option<T> {
        let mut state = self.lock();
        state.running -= 1;
        // This thread takes one of them itself; the others want a thread each.
        for _ in 1..pushed.len() {
            self.changed.notify_one();
        }
        state.waiting.extend(pushed.drain(..));
        self.next(state)
    }

    /// Gives up on everything that waits, after a task failed.
    fn abandon(&self) {
        let mut state = self.lock();
        state.running -= 1;
        state.waiting.clear();
        drop(state);
        self.changed.notify_all();
    }

    fn next(&self, mut state: MutexGuard<'_, State<T>>) -> Option<T> {
        loop {
            if let Some(task) = state.waiting.pop_front() {
                state.running += 1;
                return Some(task);
            }
            if state.running == 0 {
                drop(state);
                self.changed.notify_all();
                return None;
            }
            state = self
                .changed
                .wait(state)
                .expect("no task runs under the lock");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect("no task runs under the lock")
    }
}
