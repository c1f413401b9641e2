//! The service on heist: its connections are futures on one pool, whose worker waits for sockets,
//! and its pictures are computed by another.

use std::convert::Infallible;
use std::future::Future;
use std::io::{stderr, Write};
use std::net::{TcpListener, TcpStream};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_channel::Receiver;
use futures_lite::future::or;
use heist::futures::io::{self, Async, Timer};
use heist::futures::spawn_future;
use heist::{JoinHandle, Waiting};
use heist::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use smol_hyper::rt::FuturesIo;

use crate::answer::answer;
use crate::picture::Picture;

/// A large picture, and the pool that makes small ones of it.
#[derive(Debug)]
pub struct Studio {
    /// The large one.
    pub picture: Picture,
    /// Its workers do nothing else.
    pub pool: ThreadPool,
}

/// A pool for the connections. Its worker waits for the sockets itself, and answers some hundred
/// thousand requests a second. A panic ends the connection in which it is, and no more: the panic
/// hook has reported it.
///
/// # Errors
///
/// Fails if the system has no thread for it.
pub fn connections() -> Result<ThreadPool, ThreadPoolBuildError> {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let builder = builder.thread_name(|_| "connections".to_owned());
    let builder = builder.panic_handler(|_payload| {});
    builder.drive_workers(io::drive).build()
}

/// A pool for the pictures. A panic in one whose client is gone ends nothing else.
///
/// # Errors
///
/// Fails if the system has no threads for it.
pub fn pictures() -> Result<ThreadPool, ThreadPoolBuildError> {
    let builder = ThreadPoolBuilder::new();
    builder.panic_handler(|_payload| {}).build()
}

/// Serves connections until the `end`, in the pool of the calling worker, or else in the global
/// pool. Then it accepts no more, and returns when each connection has got the answer that it
/// waited for, if it did.
pub async fn serve(listener: Async<TcpListener>, studio: Arc<Studio>, end: impl Future) {
    // No message is sent: a channel closes when the last of its senders is dropped.
    let (goes_on, ends) = async_channel::bounded(1);
    let (serves, has_served) = async_channel::bounded::<Infallible>(1);
    let accept = accept(&listener, |stream| {
        let (studio, ends, serves) = (Arc::clone(&studio), ends.clone(), serves.clone());
        drop(spawn_future(async move {
            converse(stream, studio, ends).await;
            drop(serves);
        }));
    });
    or(accept, async { _ = end.await }).await;
    drop((listener, goes_on, serves));
    let _ = has_served.recv().await;
}

/// Accepts connections for ever.
async fn accept(listener: &Async<TcpListener>, serve: impl Fn(Async<TcpStream>)) {
    let mut is_refused = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                is_refused = false;
                serve(stream);
            }
            Err(error) => {
                // Too many files are open, say: some connection will end. It is said once, since
                // whoever opens so many connections would fill the log, and without a panic if
                // nobody reads that.
                if !is_refused {
                    let why = "http-service: could not accept a connection, and tries again";
                    let _ = writeln!(stderr(), "{why}: {error}");
                }
                is_refused = true;
                Timer::after(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Answers the requests of one connection, until the service `ends`. If it breaks off, that is the
/// client's affair.
async fn converse(stream: Async<TcpStream>, studio: Arc<Studio>, ends: Receiver<Infallible>) {
    let _ = stream.get_ref().set_nodelay(true);
    let service = service_fn(|request| {
        let studio = Arc::clone(&studio);
        answer(request, move |width| thumbnail(studio, width))
    });
    let connection = http1::Builder::new().serve_connection(FuturesIo::new(stream), service);
    let mut connection = pin!(connection);
    let all = async {
        let _ = connection.as_mut().await;
        true
    };
    let is_over = or(all, async {
        let _ = ends.recv().await;
        false
    });
    if !is_over.await {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// Has a small picture computed. If the future is dropped, because its client is gone, a picture
/// that has not begun is not computed.
///
/// # Panics
///
/// Panics if the computation does.
pub async fn thumbnail(studio: Arc<Studio>, width: usize) -> Vec<u8> {
    struct Wanted(JoinHandle<Vec<u8>>);
    impl Drop for Wanted {
        fn drop(&mut self) {
            self.0.abort();
        }
    }
    let job = studio.pool.job();
    let compute = {
        let studio = Arc::clone(&studio);
        move || studio.picture.thumbnail(width)
    };
    // While it waits for a thief, no other picture begins on top of it.
    let compute = || heist::with_waiting(Waiting::Descendants, compute);
    let mut wanted = Wanted(job.submit(compute));
    match (&mut wanted.0).await {
        Ok(file) => file,
        Err(error) => panic!("could not compute a picture {width} pixels wide: {error}"),
    }
}
