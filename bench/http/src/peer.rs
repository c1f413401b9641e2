//! The service on tokio: its connections are tasks, and the pictures are computed by rayon, in a
//! pool of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use http_service::answer::answer;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::picture::Picture;

/// Serves connections for ever; `ready` is told the address.
pub(crate) fn serve(ready: impl FnOnce(SocketAddr)) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let picture = Arc::new(Picture::rings(1600, 1200));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        ready(listener.local_addr()?);
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await?;
                tokio::spawn(converse(stream, Arc::clone(&picture)));
            }
        });
        accepting.await?
    })
}

async fn converse(stream: TcpStream, picture: Arc<Picture>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let picture = Arc::clone(&picture);
        answer(request, move |width| async move {
            let (say, heard) = oneshot::channel();
            rayon::spawn(move || {
                // The client may have gone.
                let _ = say.send(picture.thumbnail(width));
            });
            heard.await.expect("rayon computes it")
        })
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}
