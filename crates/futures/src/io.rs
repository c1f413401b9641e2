//! Sockets and timers for futures on the workers, by the crate `async-io`.
//!
//! A future that waits for one of these is pending like any other. The reactor wakes it: a thread
//! named `async-io`, which is not a worker. The first socket or timer of the process starts that
//! thread, and it stays. It is independent of pools, so it serves all of them, and local futures
//! too. Where the system has no file or no thread left for it, the first socket or timer panics.
//!
//! In a pool [without threads](ThreadPoolBuilder::serial), the thread that wakes a future polls it,
//! and that is the reactor's, unless another is in the pool. Until the poll has ended, no timer and
//! no socket of the process wakes anybody, and if it waits for one of them, say by
//! [`block_on`](crate::block_on()), it waits for ever. So give sockets a pool with a worker.
//!
//! Anything on top of `async-io` and of the traits of `futures-io` works in the same way:
//! `async-net` with its TCP streams, `smol-hyper` with adapters for hyper. A library that wants
//! tokio's runtime does not, unless that [drives](ThreadPoolBuilder::drive_workers) the workers:
//! `examples/http-service` does so.
//!
//! # Forked processes
//!
//! A process that forks before it has used a socket or a timer, as a daemon does at its start, may
//! use them in the child. One that has used any before has a reactor, and its child has not: there
//! a socket or a timer waits for ever, without an error, and the system's table of the sockets that
//! are waited for is still the parent's. If the child drops one of the parent's sockets, the parent
//! is not woken for it any more. So such a child should do nothing with them, and call `exec` or
//! `_exit`.
//!
//! # Turns
//!
//! A socket whose other side is fast is ready at each read, so that a future which reads on and on
//! is never pending, and keeps its worker from all others. `async-io` does not count; a loop of
//! your own charges the [budget](crate::poll_budget()) of its poll, and lets others have their turn
//! when it is used up. Servers such as hyper bound their turns themselves.
//!
//! ```
//! use std::future::poll_fn;
//!
//! use futures_lite::{AsyncRead, AsyncReadExt};
//! use heist::futures::poll_budget;
//!
//! async fn count(mut upload: impl AsyncRead + Unpin) -> std::io::Result<usize> {
//!     let (mut sum, mut bytes) = (0, [0; 4096]);
//!     loop {
//!         poll_fn(poll_budget).await;
//!         match upload.read(&mut bytes).await? {
//!             0 => return Ok(sum),
//!             len => sum += len,
//!         }
//!     }
//! }
//!
//! assert_eq!(heist::futures::block_on(count(&[7; 10_000][..]))?, 10_000);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Workers that wait for sockets
//!
//! A wake-up comes from the reactor's thread: some microseconds if all workers sleep, and longer if
//! they have to wait for a processor. A pool whose workers this module [drives](drive) waits for
//! sockets and timers itself, and answers half as many brief requests again; beside another pool
//! that computes, several times as many. `bench/http` has such a server, and
//! `examples/http-service` the figures.
//!
//! ```
//! use heist::futures::{io, SpawnFuture};
//! use heist::ThreadPoolBuilder;
//! # use std::time::Duration;
//!
//! let connections = ThreadPoolBuilder::new().num_threads(1).drive_workers(io::drive).build()?;
//! let future = async {
//!     io::Timer::after(Duration::from_millis(1)).await;
//!     // Awaited here, and computed by the global pool.
//!     heist::submit(|| 6 * 7).await
//! };
//! assert!(matches!(connections.spawn_future(future).join(), Ok(42)));
//! # Ok::<(), heist::ThreadPoolBuildError>(())
//! ```
//!
//! # Cost
//!
//! A socket is read before it is waited for, and armed anew each time. Under hyper a request takes
//! three reads, of which two find nothing, a write, and two calls that arm the socket. tokio's
//! reactor arms a socket once: a read and a write.
//!
//! # Examples
//!
//! ```
//! use std::net::{TcpListener, TcpStream};
//! use std::time::Duration;
//!
//! use futures_lite::{AsyncReadExt, AsyncWriteExt};
//! use heist::futures::io::{Async, Timer};
//! use heist::futures::{block_on, spawn_future};
//!
//! let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0))?;
//! let address = listener.get_ref().local_addr()?;
//! let server = spawn_future(async move {
//!     let (mut stream, _) = listener.accept().await?;
//!     Timer::after(Duration::from_millis(1)).await;
//!     stream.write_all(b"hello").await
//! });
//! let text = block_on(async {
//!     let mut stream = Async::<TcpStream>::connect(address).await?;
//!     let mut text = String::new();
//!     stream.read_to_string(&mut text).await?;
//!     Ok::<_, std::io::Error>(text)
//! })?;
//! assert_eq!(text, "hello");
//! server.join()?;
//! # Ok::<(), std::io::Error>(())
//! ```

use std::future::Future;
use std::pin::Pin;

#[cfg(doc)]
use heist_core::ThreadPoolBuilder;

pub use async_io::{Async, Timer};

/// Drives workers of a pool by the reactor: give it to
/// [`drive_workers`](ThreadPoolBuilder::drive_workers).
///
/// While such a worker has nothing to do, it waits for sockets and timers, and runs the futures
/// that they wake. While all of them compute, the reactor's own thread takes over after 50 us to
/// 20 ms, so keep long jobs out of such a pool. There is one reactor, and several such workers, of
/// one pool or more, take turns there: a future of another pool is handed to that.
///
/// [The module](self) has an example.
pub fn drive(main_loop: Pin<&mut dyn Future<Output = ()>>) {
    async_io::block_on(main_loop);
}
