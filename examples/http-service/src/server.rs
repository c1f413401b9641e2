//! The service on heist: its connections are futures on the workers.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use heist::futures::io::{Async, Timer};
use heist::futures::spawn_future;
use heist::{Injected, Priority, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, Waiting};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use smol_hyper::rt::FuturesIo;

use crate::answer::answer;
use crate::picture::Picture;

/// A pool for the service, whose workers look at new requests between two lines of a picture, too.
///
/// # Errors
///
/// Fails if the system has no threads for it.
pub fn pool() -> Result<ThreadPool, ThreadPoolBuildError> {
    let builder = ThreadPoolBuilder::new().injected(Injected::Prompt);
    builder.build()
}

/// Serves connections for ever, in the pool of the calling worker, or else in the global pool.
pub async fn serve(listener: Async<TcpListener>, picture: Arc<Picture>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(spawn_future(converse(stream, Arc::clone(&picture)))),
            Err(error) => {
                // Too many files are open, say: some connection will end.
                eprintln!("http-service: could not accept a connection: {error}");
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
        answer(request, move |width| async move {
            // Requests that take less come before it, and while it waits for a thief no other
            // picture begins on top of it.
            let job = heist::job().priority(Priority::Low);
            let compute = move || picture.thumbnail(width);
            let compute = || heist::with_waiting(Waiting::Descendants, compute);
            match job.submit(compute).await {
                Ok(file) => file,
                Err(error) => panic!("could not compute a picture {width} pixels wide: {error}"),
            }
        })
    });
    let connection = http1::Builder::new().serve_connection(FuturesIo::new(stream), service);
    let _ = connection.await;
}
