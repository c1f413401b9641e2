//! Sockets and timers for futures on the workers, by the crate `async-io`.
//!
//! A future that waits for one of these is pending like any other. The reactor wakes it: a thread
//! named `async-io`, which is not a worker. The first socket or timer of the process starts that
//! thread, and it stays. It is independent of pools, so it serves all of them, and local futures
//! too. A forked child does not have it.
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
