//! The program `http-service`: serves the pictures until a signal ends it.

#![forbid(unsafe_code)]

use std::fmt;
use std::io::{stderr, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, Context as _};
use clap::Parser;
use heist::futures::SpawnFuture;
use http_service::picture::Picture;
use http_service::server::{connections, pictures, serve, Studio};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::{select, time};

/// Makes small pictures of a large one, at /thumbnail/WIDTH
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Where it listens
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8080", value_parser = address)]
    address: SocketAddr,
}

/// How long it waits for the last answers after a signal; another signal ends it at once.
const PATIENCE: Duration = Duration::from_secs(10);

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
    connections.spawn_future(run(address, studio)).join()
}

/// Serves until a signal.
async fn run(address: SocketAddr, studio: Arc<Studio>) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).await;
    let listener = listener
        .with_context(|| format!("could not listen at {address}; choose another --address"))?;
    let mut signals = Signals::new().context("could not listen for signals")?;
    say(format_args!(
        "at http://{}/thumbnail/200",
        listener.local_addr()?
    ));
    let (end, ends) = oneshot::channel::<()>();
    let at_once = async {
        signals.next().await;
        drop(end);
        say(format_args!("ends when the last answer is given"));
        select! {
            () = signals.next() => {}
            () = time::sleep(PATIENCE) => {}
        }
    };
    select! {
        () = serve(listener, studio, ends) => Ok(()),
        () = at_once => Err(anyhow!("ended before the last answer was given")),
    }
}

/// The signals that end it.
#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 2]);

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{signal, SignalKind};
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self([interrupt, signal(SignalKind::terminate())?]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate] = &mut self.0;
        select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// The signal that ends it.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        // Without it the keys end the program as they end any other.
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// It serves whether or not anybody reads that.
fn say(what: fmt::Arguments<'_>) {
    let _ = writeln!(stderr(), "http-service: {what}");
}
