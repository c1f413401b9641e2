//! The example's service with the sockets of heist's feature `io`.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use heist::futures::io::{self, Async};
use heist::futures::{spawn_future, SpawnFuture};
use heist::ThreadPoolBuilder;
use http_service::answer::answer;
use http_service::server::{thumbnail, Studio};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use smol_hyper::rt::FuturesIo;

/// Serves connections for ever; `ready` is told the address.
pub(crate) fn serve(studio: Studio, ready: impl FnOnce(SocketAddr)) -> anyhow::Result<()> {
    let studio = Arc::new(studio);
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0))?;
    ready(listener.get_ref().local_addr()?);
    let connections = ThreadPoolBuilder::new()
        .num_threads(1)
        .drive_workers(io::drive)
        .build()?;
    let accepting = connections.spawn_future(async move {
        loop {
            let (stream, _) = listener.accept().await?;
            let _ = stream.get_ref().set_nodelay(true);
            let studio = Arc::clone(&studio);
            let service = service_fn(move |request| {
                let studio = Arc::clone(&studio);
                answer(request, move |width| thumbnail(studio, width))
            });
            let stream = FuturesIo::new(stream);
            let connection = http1::Builder::new().serve_connection(stream, service);
            drop(spawn_future(async {
                let _ = connection.await;
            }));
        }
    });
    accepting.join()
}
