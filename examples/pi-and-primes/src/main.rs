//! The program `pi-and-primes`: how many primes there are, what they add up to, and the
//! hexadecimal digits of pi, on a backend of heist-cluster.
//!
//! Its output is the same on every backend. How long it took goes to stderr.

#![forbid(unsafe_code)]

use std::cell::Cell;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::Parser;
use heist_cluster::backend::BackendKind;
use heist_cluster::{Cluster, JobOptions};
use pi_and_primes::{
    count_primes, digits_of_pi, SumPrimes, DIGITS_MAX, DIGITS_PER_WINDOW, NUMBER_MAX,
};

/// Counts primes, sums them in a job, and computes digits of pi, on many machines
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Where it runs: local, ray or slurm
    #[arg(long, default_value = "local")]
    backend: BackendKind,
    /// Nodes of the backend local
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    nodes: Option<u32>,
    /// Processors of each node of the backend local; a chunk takes two
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=4096))]
    cpus: Option<u32>,
    /// Count the primes below this
    #[arg(long, default_value_t = 1_000_000_000,
          value_parser = clap::value_parser!(u64).range(..=NUMBER_MAX))]
    primes_below: u64,
    /// Sum the primes below this, in a job of one processor
    #[arg(long, default_value_t = 100_000_000,
          value_parser = clap::value_parser!(u64).range(..=NUMBER_MAX))]
    sum_below: u64,
    /// Compute so many hexadecimal digits of pi
    #[arg(long, default_value_t = 10_000,
          value_parser = clap::value_parser!(u64).range(..=DIGITS_MAX))]
    digits: u64,
}

fn main() -> ExitCode {
    heist_cluster::init();
    match run(&Arguments::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The error has nowhere to go if stderr is closed as well.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    let backend = arguments.backend.clone();
    let cluster = Cluster::connect(backend.sized(arguments.nodes, arguments.cpus)?)?;
    // Each chunk is combined once with what is left of it.
    let chunks = Cell::new(0_u64);
    let count_chunk = || chunks.set(chunks.get() + 1);

    let end = arguments.primes_below;
    let began = Instant::now();
    let count = cluster
        .chunks(0..end)
        .map(count_primes)
        .reduce(0, |left, right| {
            count_chunk();
            left + right
        })
        .with_context(|| format!("the primes below {end} could not be counted"))?;
    report("primes", began, chunks.take());

    let wanted = arguments.digits;
    let began = Instant::now();
    let mut digits = cluster
        .chunks(0..wanted.div_ceil(DIGITS_PER_WINDOW))
        .map(digits_of_pi)
        .reduce(String::new(), |left, right| {
            count_chunk();
            left + &right
        })
        .with_context(|| format!("{wanted} digits of pi could not be computed"))?;
    digits.truncate(wanted as usize);
    report("pi", began, chunks.take());

    let sum_below = arguments.sum_below;
    let began = Instant::now();
    let options = JobOptions::new("sum of primes");
    let job = cluster.submit(SumPrimes::below(sum_below), options)?;
    let sum = job
        .get()
        .with_context(|| format!("the primes below {sum_below} could not be summed"))?;
    report("sum", began, 1);

    let first = &digits[..digits.len().min(16)];
    let last = &digits[digits.len().saturating_sub(16)..];
    let result = format!(
        "primes below {end}: {count}\n\
         sum of the {} primes below {sum_below}: {}\n\
         pi to {wanted} hexadecimal digits: 3.{first}...{last}\n",
        sum.count, sum.sum
    );
    let mut hash = blake3::Hasher::new();
    hash.update(result.as_bytes()).update(digits.as_bytes());
    writeln!(
        out,
        "{result}BLAKE3 of these lines and all digits: {}",
        hash.finalize()
    )?;
    out.flush()?;
    Ok(())
}

/// Says how long something took, and in how many pieces; for people only.
fn report(what: &str, began: Instant, pieces: u64) {
    let seconds = began.elapsed().as_secs_f64();
    // The time is for people; a closed stderr is no error.
    let _ = writeln!(io::stderr(), "{what}: {seconds:.2} s, {pieces} piece(s)");
}
