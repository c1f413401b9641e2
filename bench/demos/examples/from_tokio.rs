//! A server on tokio that computes with heist: each connection sends a number in a line, and gets
//! the primes below it, block by block, and how many they are. No thread of tokio computes, or is
//! blocked.
//!
//! Try it: `cargo run --release --manifest-path bench/Cargo.toml -p heist-bench-demos --example
//! from_tokio`, which is its own client, too.

use std::io;

use futures_lite::StreamExt;
use heist::futures::IntoStream;
use heist::prelude::*;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// How many numbers are looked at in a block.
const BLOCK: usize = 10_000;

#[tokio::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                if let Err(error) = serve(stream).await {
                    eprintln!("a connection broke off: {error}");
                }
            });
        }
    });
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"1000000\n").await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    let mut lines = text.lines();
    let last = lines.next_back().unwrap_or_default();
    let primes: usize = lines.map(|line| line.split_whitespace().count()).sum();
    eprintln!("{primes} primes came, and the server says: {last}");
    assert_eq!((primes, last), (78_498, "78498 primes below 1000000"));
    Ok(())
}

async fn serve(stream: TcpStream) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let Ok(end) = line.trim().parse::<usize>() else {
        let why = format!("{:?} is no number; send one in a line\n", line.trim());
        return stream.write_all(why.as_bytes()).await;
    };
    // One value that is computed in parallel: a job, whose handle is a future.
    let count = heist::submit(move || (0..end).into_par_iter().filter(|&n| is_prime(n)).count());
    // Many, in their order, no more than 32 blocks ahead of the socket.
    let blocks = (0..end.div_ceil(BLOCK)).into_par_iter().map(move |block| {
        let numbers = block * BLOCK..((block + 1) * BLOCK).min(end);
        let primes = numbers.filter(|&n| is_prime(n)).map(|n| n.to_string());
        primes.collect::<Vec<_>>().join(" ") + "\n"
    });
    let mut blocks = blocks.into_stream(32);
    while let Some(block) = blocks.next().await {
        stream.write_all(block.as_bytes()).await?;
    }
    let count = count
        .await
        .map_err(|error| io::Error::other(error.to_string()))?;
    let last = format!("{count} primes below {end}\n");
    stream.write_all(last.as_bytes()).await
}

fn is_prime(n: usize) -> bool {
    n > 1
        && (2..)
            .take_while(|d| d * d <= n)
            .all(|d| !n.is_multiple_of(d))
}
