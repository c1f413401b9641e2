//! Waves of tasks on runtimes whose tasks are detached, so that a count has to wait for them.

use std::sync::Arc;

use crate::peer::{Block, Spawn};
use crate::wait_group::WaitGroup;

/// Starts a task that nobody waits for.
pub trait Detached: Clone + Send + 'static {
    /// Starts it on some worker.
    fn start(&self, task: impl FnOnce() + Send + 'static);
}

/// A peer that can [`Spawn`], made of a runtime that can start tasks.
#[derive(Clone, Debug)]
pub struct Waves<R>(pub R);

/// A runtime and the tasks of one wave on it.
#[derive(Clone, Debug)]
pub struct Wave<R> {
    runtime: R,
    tasks: Arc<WaitGroup>,
}

impl<R: Detached> Waves<R> {
    fn wave(&self) -> Wave<R> {
        Wave {
            runtime: self.0.clone(),
            tasks: Arc::new(WaitGroup::new()),
        }
    }
}

impl<R: Detached> Spawn for Waves<R> {
    type Scope<'s> = &'s Wave<R>;

    fn inside<F: FnOnce(&Wave<R>) + Send + 'static>(&mut self, task: F) {
        let wave = self.wave();
        Self::spawn(&wave, task);
        wave.tasks.wait();
    }

    fn outside<F: FnOnce(&Wave<R>)>(&mut self, task: F) -> bool {
        let wave = self.wave();
        task(&wave);
        wave.tasks.wait();
        true
    }

    fn spawn<F: FnOnce(&Wave<R>) + Send + 'static>(wave: &Wave<R>, task: F) {
        let of_task = wave.clone();
        wave.tasks.add();
        wave.runtime.start(move || {
            task(&of_task);
            of_task.tasks.done();
        });
    }
}

/// A runtime whose tasks may block.
pub trait Blocking: Detached {
    /// Starts a task that blocks.
    fn start_blocking(&self, task: impl FnOnce() + Send + 'static);

    /// Calls `op`, which may block, in the middle of a task.
    fn block<T>(op: impl FnOnce() -> T) -> T;
}

impl<R: Blocking> Block for Waves<R> {
    fn spawn_blocking<F: FnOnce() + Send + 'static>(wave: &Wave<R>, task: F) {
        let tasks = Arc::clone(&wave.tasks);
        tasks.add();
        wave.runtime.start_blocking(move || {
            task();
            tasks.done();
        });
    }

    fn block<T>(op: impl FnOnce() -> T) -> T {
        R::block(op)
    }
}
