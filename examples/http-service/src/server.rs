//! The service on heist: its connections are futures on the workers.

use std::io::{stderr, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use heist::futures::io::{Async, Timer};
use heist::futures::spawn_future;
use heist::{Injected, JoinHandle, Priority, Waiting};
use heist::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use smol_hyper::rt::FuturesIo;

use crate::answer::answer;
use crate::picture::Picture;

/// A pool for the service, whose workers look at new requests between two lines of a picture, too.
/// A panic ends the connection in which it is, and no more: the panic hook has reported it.
///
/// # Errors
///
/// Fails if the system has no threads for it.
pub fn pool() -> Result<ThreadPool, ThreadPoolBuildError> {
    let builder = ThreadPoolBuilder::new().injected(Injected::Prompt);
    builder.panic_handler(|_payload| {}).build()
}

/// Serves connections for ever, in the pool of the calling worker, or else in the global pool.
pub async fn serve(listener: Async<TcpListener>, picture: Arc<Picture>) {
    let mut is_refused = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                is_refused = false;
                drop(spawn_future(converse(stream, Arc::clone(&picture))));
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

/// Answers the requests of one connection. If it breaks off, that is the client's affair.
async fn converse(stream: Async<TcpStream>, picture: Arc<Picture>) {
    let _ = stream.get_ref().set_nodelay(true);
    let service = service_fn(|request| {
        let picture = Arc::clone(&picture);
        answer(request, move |width| thumbnail(picture, width))
    });
    let connection = http1::Builder::new().serve_connection(FuturesIo::new(stream), service);
    let _ = connection.await;
}

/// Has a worker compute a small picture. If the future is dropped, because its client is gone, a
/// picture that has not begun is not computed.
///
/// # Panics
///
/// Panics if the computation does.
pub async fn thumbnail(picture: Arc<Picture>, width: usize) -> Vec<u8> {
    struct Wanted(JoinHandle<Vec<u8>>);
    impl Drop for Wanted {
        fn drop(&mut self) {
            self.0.abort();
        }
    }
    // Requests that take less come before it, and while it waits for a thief no other picture
    // begins on top of it.
    let job = heist::job().priority(Priority::Low);
    let compute = move || picture.thumbnail(width);
    let compute = || heist::with_waiting(Waiting::Descendants, compute);
    let mut wanted = Wanted(job.submit(compute));
    match (&mut wanted.0).await {
        Ok(file) => file,
        Err(error) => panic!("could not compute a picture {width} pixels wide: {error}"),
    }
}
