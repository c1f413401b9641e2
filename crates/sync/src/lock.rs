//! A lock and a condition variable that do not poison.
//!
//! heist runs no user code under a lock, so a panic under one is a bug of heist; a poisoned state
//! would only add a branch to each use.

use std::sync::PoisonError;
use std::time::Duration;

use crate::backend;

pub use backend::MutexGuard;

/// A mutual exclusion lock.
#[derive(Debug, Default)]
pub struct Mutex<T>(backend::Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked lock around `value`.
    #[cfg(not(heist_loom))]
    pub const fn new(value: T) -> Self {
        Self(backend::Mutex::new(value))
    }

    /// An unlocked lock around `value`.
    #[cfg(heist_loom)]
    pub fn new(value: T) -> Self {
        Self(backend::Mutex::new(value))
    }

    /// Waits until the lock is free and takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A condition variable.
#[derive(Debug, Default)]
pub struct Condvar(backend::Condvar);

impl Condvar {
    /// A condition variable without waiters.
    #[must_use]
    pub fn new() -> Self {
        Self(backend::Condvar::new())
    }

    /// Gives up the lock, waits for a notification, and takes the lock again. May return without a
    /// notification.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`wait`](Self::wait), but not longer than `timeout`. A model has no clock, and waits.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> MutexGuard<'a, T> {
        if cfg!(any(heist_loom, heist_shuttle)) {
            return self.wait(guard);
        }
        let waited = self.0.wait_timeout(guard, timeout);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes every waiter.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
