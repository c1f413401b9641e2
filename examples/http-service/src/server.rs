//! The service on heist: its connections are futures on one pool, whose worker waits for sockets,
//! and its pictures are computed by another.

use std::future::Future;
use std::io::{stderr, Write};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use heist::futures::spawn_future;
use heist::{JoinHandle, Waiting};
use heist::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::{runtime, select, time};

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

/// A pool for the connections. Its worker waits for the sockets itself, by tokio's reactor, and
/// answers some hundred thousand requests a second. A panic ends the connection in which it is, and
/// no more: the panic hook has reported it.
///
/// # Errors
///
/// Fails if the system has no files for the reactor, or no thread for the worker.
pub fn connections() -> anyhow::Result<ThreadPool> {
    let reactor = runtime::Builder::new_current_thread().enable_all().build();
    let reactor = reactor.context("could not start tokio's reactor")?;
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let builder = builder.thread_name(|_| "connections".to_owned());
    let builder = builder.panic_handler(|_payload| {});
    let builder = builder.drive_workers(move |main_loop| reactor.block_on(main_loop));
    Ok(builder.build()?)
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

/// Serves connections until the `end`, in the pool of the calling worker. Then it accepts no more,
/// and returns when each connection has got the answer that it waited for, if it did.
pub async fn serve(listener: TcpListener, studio: Arc<Studio>, end: impl Future) {
    let connections = GracefulShutdown::new();
    let mut end = pin!(end);
    loop {
        let stream = select! {
            stream = accept(&listener) => stream,
            _ = &mut end => break,
        };
        let _ = stream.set_nodelay(true);
        let studio = Arc::clone(&studio);
        let service = service_fn(move |request| {
            let studio = Arc::clone(&studio);
            answer(request, move |width| thumbnail(studio, width))
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        let connection = connections.watch(connection);
        drop(spawn_future(async {
            // If it breaks off, that is the client's affair.
            let _ = connection.await;
        }));
    }
    drop(listener);
    connections.shutdown().await;
}

/// The next connection.
async fn accept(listener: &TcpListener) -> TcpStream {
    let mut is_refused = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                // Too many files are open, say: some connection will end. It is said once, since
                // whoever opens so many connections would fill the log, and without a panic if
                // nobody reads that.
                if !is_refused {
                    let why = "http-service: could not accept a connection, and tries again";
                    let _ = writeln!(stderr(), "{why}: {error}");
                }
                is_refused = true;
                time::sleep(Duration::from_millis(100)).await;
            }
        }
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
