//! The future of a remote call's result.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::call::{Call, Returned};
use crate::error::RemoteError;
use crate::protocol;

/// The result of a remote call: await it, or wait for it.
///
/// Dropping it does not cancel the call. Waiting costs a lock. The arguments are kept for retries
/// until there is a result.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use heist_cluster::{remote, Cluster, Local};
///
/// #[remote]
/// fn square(x: u64) -> u64 {
///     x * x
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     heist_cluster::init();
///     let cluster = Cluster::connect(Local::new().nodes(2))?;
///     let (one, mut other) = (cluster.call(square, 7), cluster.call(square, 8));
///     match other.wait_timeout(Duration::from_secs(60)) {
///         Some(result) => assert_eq!(result?, 64),
///         None => other.cancel(),
///     }
///     assert_eq!(one.get()?, 49);
///     // Not wanted any more, even if that costs its worker.
///     let unwanted = cluster.call(square, 9);
///     unwanted.kill();
///     assert!(unwanted.is_done());
///     Ok(())
/// }
/// ```
#[must_use = "a call runs without it, but nobody learns whether it went well"]
pub struct RemoteFuture<T> {
    call: Arc<Call>,
    result: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for RemoteFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteFuture")
            .field("function", &self.call.function())
            .finish_non_exhaustive()
    }
}

impl<T> RemoteFuture<T> {
    pub(crate) fn new(call: Arc<Call>) -> Self {
        Self {
            call,
            result: PhantomData,
        }
    }

    /// Waits for the bytes of the result.
    pub(crate) fn get_bytes(&self) -> Result<Vec<u8>, RemoteError> {
        loop {
            if let Some(result) = self.call.wait(Duration::from_secs(3600)) {
                return result.map(|(bytes, _)| bytes);
            }
        }
    }
}

impl<T: DeserializeOwned> RemoteFuture<T> {
    /// Waits for the result and blocks the thread. In a job of a pool, await it instead, or wait
    /// inside `heist::blocking`.
    ///
    /// # Errors
    ///
    /// See [`RemoteError`].
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{remote, Cluster, Local, RemoteError};
    ///
    /// #[remote]
    /// fn reciprocal(x: f64) -> f64 {
    ///     assert!(x != 0.0, "division by zero");
    ///     1.0 / x
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new())?;
    ///     assert_eq!(cluster.call(reciprocal, 4.0).get()?, 0.25);
    ///     let failed = cluster.call(reciprocal, 0.0).get();
    ///     assert_eq!(failed, Err(RemoteError::Panicked("division by zero".to_owned())));
    ///     Ok(())
    /// }
    /// ```
    pub fn get(mut self) -> Result<T, RemoteError> {
        loop {
            if let Some(result) = self.wait_timeout(Duration::from_secs(3600)) {
                return result;
            }
        }
    }

    /// Waits for the result for at most `patience`; `None` if there is none by then. The result is
    /// given once; a later call gets an error that says so.
    pub fn wait_timeout(&mut self, patience: Duration) -> Option<Result<T, RemoteError>> {
        self.call.wait(patience).map(read)
    }
}

impl<T> RemoteFuture<T> {
    /// The number of the call, unique in its cluster; [`LogLine`](crate::LogLine) carries it and
    /// has an example.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.call.number()
    }

    /// True once there is a result.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.call.is_over()
    }

    /// Cancels the call: a function that has not begun never does, and a running one sees
    /// [`CallContext::is_cancelled`](crate::CallContext::is_cancelled) if the backend can reach it.
    /// The future completes at once, as cancelled.
    pub fn cancel(&self) {
        self.call.cancel(false);
    }

    /// Cancels the call and kills the worker process that runs it. Other calls in that process are
    /// lost and retried. A cancelled call can still be killed.
    pub fn kill(&self) {
        self.call.cancel(true);
    }
}

fn read<T: DeserializeOwned>(result: Result<Returned, RemoteError>) -> Result<T, RemoteError> {
    let (bytes, _) = result?;
    protocol::decode(&bytes).map_err(|error| {
        RemoteError::malformed(format!(
            "the result of the function cannot be understood: {error}"
        ))
    })
}

impl<T: DeserializeOwned> Future for RemoteFuture<T> {
    type Output = Result<T, RemoteError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.call.poll_with(context.waker()) {
            Some(result) => Poll::Ready(read(result)),
            None => Poll::Pending,
        }
    }
}
