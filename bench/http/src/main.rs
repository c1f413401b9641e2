//! The example `http-service` on heist, and on tokio with rayon, under the load of `wrk`.
//!
//! Each server is a process; in each round both are started once under each load, in turn.

#![forbid(unsafe_code)]

mod load;
mod parallel;
mod peer;
/// The same source as the example's, with rayon's iterators.
#[path = "../../../examples/http-service/src/picture.rs"]
#[expect(unreachable_pub, reason = "a library there")]
mod picture;
mod sockets;

use std::future::pending;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use clap::Parser;
use heist::futures::SpawnFuture;
use http_service::server::{self, Studio};
use tokio::net::TcpListener;

use load::Server;

/// Compares the example http-service on heist with tokio and rayon
#[derive(Parser)]
struct Arguments {
    /// Be this server, and say the address
    #[arg(long)]
    serve: Option<Server>,
    /// How often each server is under each load
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// How long, each time
    #[arg(long, default_value_t = 3)]
    seconds: u32,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.serve {
        None => load::run(arguments.rounds, arguments.seconds, &mut io::stdout()),
        Some(Server::Tokio) => peer::serve(say),
        Some(Server::Io) => sockets::serve(studio()?, say),
        Some(Server::Heist) => {
            let studio = Arc::new(studio()?);
            let service = async {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                say(listener.local_addr()?);
                server::serve(listener, studio, pending::<()>()).await;
                Ok(())
            };
            server::connections()?.spawn_future(service).join()
        }
    }
}

fn studio() -> anyhow::Result<Studio> {
    Ok(Studio {
        picture: http_service::picture::Picture::rings(1600, 1200),
        pool: server::pictures()?,
    })
}

fn say(address: SocketAddr) {
    // If nobody listens, nobody will ask.
    let _ = writeln!(io::stdout(), "{address}");
}
