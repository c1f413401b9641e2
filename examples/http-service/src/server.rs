//! The service on heist: its connections are futures on one pool, whose worker waits for sockets,
//! and its pictures are computed by another.

use std::future::Future;
use std::io::{stderr, Write};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use heist::futures::spawn_future;
use heist::{JoinHandle, Waiting};
use heist::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
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
    let builder = ThreadPoolBuilder::new().panic_handler(|_payload| {});
    // While a picture waits for a thief, no other begins on top of it.
    builder
        .waiting(Waiting::Descendants)
        .compensation_workers(0)
        .build()
}

/// Serves connections until the `end`, in the pool of the calling worker. Then it accepts no more,
/// and returns when each connection has got the answer that it waited for, if it did.
pub async fn serve(listener: TcpListener, studio: Arc<Studio>, end: impl Future) {
    let (says_end, ends) = watch::channel(());
    let mut end = pin!(end);
    let mut said = None;
    loop {
        let stream = select! {
            stream = accept(&listener, &mut said) => stream,
            _ = &mut end => break,
        };
        drop(spawn_future(connection(
            stream,
            Arc::clone(&studio),
            ends.clone(),
        )));
    }
    drop((listener, ends));
    let _ = says_end.send(());
    says_end.closed().await;
}

/// Serves a connection until it is closed. At the `end` it gives the answers that it owes, and is
/// closed.
async fn connection(stream: TcpStream, studio: Arc<Studio>, mut end: watch::Receiver<()>) {
    let is_asked = AtomicBool::new(false);
    let service = service_fn(|request| {
        is_asked.store(true, Ordering::Relaxed);
        let studio = Arc::clone(&studio);
        answer(request, move |width| thumbnail(studio, width))
    });
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    select! {
        // A request that is there already has its answer.
        biased;
        // If it breaks off, that is the client's affair.
        _ = connection.as_mut() => return,
        _ = end.changed() => {}
    }
    // A first request that is not complete, and may never be, is owed nothing; but hyper would wait
    // for the rest of it.
    if is_asked.load(Ordering::Relaxed) {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// How often it says at most that connections are refused.
const SAID_EVERY: Duration = Duration::from_secs(60);

/// The next connection. It has `said` last at that moment that some are refused.
async fn accept(listener: &TcpListener, said: &mut Option<Instant>) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                // Too many files are open, say: some connection will end. A client that opens so
                // many, again and again, would otherwise fill the log. It is said without a panic
                // if nobody reads that.
                if said.is_none_or(|said| said.elapsed() >= SAID_EVERY) {
                    let why = "http-service: could not accept a connection, and tries again";
                    let _ = writeln!(stderr(), "{why}: {error}");
                    *said = Some(Instant::now());
                }
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
    let mut wanted = Wanted(job.submit(compute));
    match (&mut wanted.0).await {
        Ok(file) => file,
        Err(error) => panic!("could not compute a picture {width} pixels wide: {error}"),
    }
}
