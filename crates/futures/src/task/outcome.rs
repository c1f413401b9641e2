//! How a future ended, until somebody claims it.

use std::any::Any;
use std::mem;

use heist_core::hosting::{held_back, Host};
use heist_core::JoinError;
use heist_sync::thread;

/// The output of a future, or its panic.
pub(crate) struct Outcome<T>(Result<Output<T>, Box<Unclaimed>>);

/// An output until it is taken. A panic of its drop is held back.
pub(crate) struct Output<T>(Option<T>);

impl<T> Output<T> {
    #[inline]
    pub(crate) fn new(output: T) -> Self {
        Self(Some(output))
    }

    #[inline]
    pub(crate) fn take(mut self) -> T {
        self.0.take().expect("it is taken once")
    }
}

impl<T> Drop for Output<T> {
    #[inline]
    fn drop(&mut self) {
        let output = self.0.take();
        if !mem::needs_drop::<T>() {
            return;
        }
        held_back(|| drop(output));
    }
}

impl<T> Outcome<T> {
    /// The outcome of a poll on a worker.
    #[inline]
    pub(super) fn new(result: thread::Result<Output<T>>) -> Self {
        Self(result.map_err(|payload| {
            let (host, payload) = (Host::current(), Some(payload));
            Box::new(Unclaimed { host, payload })
        }))
    }

    #[inline]
    pub(crate) fn claim(self) -> Result<T, JoinError> {
        match self.0 {
            Ok(output) => Ok(output.take()),
            Err(mut panic) => {
                let payload = panic.payload.take().expect("it is claimed once");
                Err(JoinError::Panicked(payload.into()))
            }
        }
    }
}

/// A panic, which the pool's handler gets unless somebody claims it.
struct Unclaimed {
    host: Host,
    payload: Option<Box<dyn Any + Send>>,
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(payload) = self.payload.take() {
            self.host.handle_panic(payload);
        }
    }
}
