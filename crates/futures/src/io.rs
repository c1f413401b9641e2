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
//! tokio's runtime does not.
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
//! # Cost
//!
//! A wake-up comes from the reactor's thread: some microseconds if all workers sleep. A server
//! whose requests are shorter than that is better off with a runtime whose threads wait for
//! sockets themselves, as tokio's do: `examples/http-service` has figures.
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

#[cfg(doc)]
use heist_core::ThreadPoolBuilder;

pub use async_io::{Async, Timer};
