//! The program `http-service`: serves the pictures until a signal ends it.

#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::fmt;
use std::io::{stderr, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, Context as _};
use async_signal::{Signal, Signals};
use clap::Parser;
use futures_lite::future::or;
use futures_lite::StreamExt as _;
use heist::futures::io::{Async, Timer};
use heist::futures::{block_on, SpawnFuture};
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
    let listener = Async::<TcpListener>::bind(address)
        .with_context(|| format!("could not listen at {address}; choose another --address"))?;
    let address = listener.get_ref().local_addr()?;
    // Windows knows no other of them.
    let kinds = [Signal::Int, Signal::Term].into_iter();
    let signals = Signals::new(kinds.filter(|&kind| cfg!(unix) || kind == Signal::Int));
    let mut signals = signals.context("could not listen for signals")?;
    say(format_args!("at http://{address}/thumbnail/200"));
    let (goes_on, ends) = async_channel::bounded::<Infallible>(1);
    let service = serve(listener, studio, async move { ends.recv().await });
    let service = connections.spawn_future(service);
    let in_order = async { Ok(service.await?) };
    let at_once = async {
        signals.next().await;
        drop(goes_on);
        say(format_args!("ends when the last answer is given"));
        or(async { _ = signals.next().await }, async {
            Timer::after(PATIENCE).await;
        })
        .await;
        Err(anyhow!("ended before the last answer was given"))
    };
    block_on(or(in_order, at_once))
}

/// It serves whether or not anybody reads that.
fn say(what: fmt::Arguments<'_>) {
    let _ = writeln!(stderr(), "http-service: {what}");
}
