//! The program `http-service`: serves the pictures until it is ended.

#![forbid(unsafe_code)]

use std::io::{stderr, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Parser;
use heist::futures::io::Async;
use heist::futures::SpawnFuture;
use http_service::picture::Picture;
use http_service::server::{connections, pictures, serve, Studio};

/// Makes small pictures of a large one, at /thumbnail/WIDTH
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Where it listens
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8080", value_parser = address)]
    address: SocketAddr,
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let accepted = "accepted is the address of one of this machine's interfaces, and a port, such \
                    as 127.0.0.1:8080, 0.0.0.0:80 or [::1]:0";
    text.parse().map_err(|_| accepted)
}

fn main() -> anyhow::Result<()> {
    let address = Arguments::parse().address;
    let started = "could not start the workers";
    let pool = pictures().context(started)?;
    let connections = connections().context(started)?;
    // The pool of the service, so that there is no other.
    let picture = pool.install(|| Picture::rings(1600, 1200));
    let studio = Arc::new(Studio { picture, pool });
    let listener = Async::<TcpListener>::bind(address)
        .with_context(|| format!("could not listen at {address}; choose another --address"))?;
    let address = listener.get_ref().local_addr()?;
    // It serves whether or not anybody reads that.
    let _ = writeln!(stderr(), "http-service: at http://{address}/thumbnail/200");
    connections.spawn_future(serve(listener, studio)).join();
    Ok(())
}
