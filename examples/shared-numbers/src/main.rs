//! The program `shared-numbers BACKEND`: asks many calls and one job about the same numbers.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it prints is its result")]

use std::error::Error;

use heist_cluster::backend::BackendKind;
use heist_cluster::{Cluster, JobOptions};
use shared_numbers::{within, Band, Tally, Walk};

fn main() -> Result<(), Box<dyn Error>> {
    heist_cluster::init(); // a worker process never returns from here
    let name = std::env::args().nth(1).unwrap_or_else(|| "local".into());
    let cluster = Cluster::connect(name.parse::<BackendKind>()?)?;

    // Each node gets the numbers once, however many calls use them.
    let numbers: Vec<u64> = (0..1_000_000).collect();
    let numbers = cluster.put(&numbers)?;
    let walk = Walk {
        numbers: numbers.clone(),
        next: 0,
        found: Tally::default(),
    };
    let job = cluster.submit(walk, JobOptions::new("walk"))?;

    let band = |at: u64| Band {
        first: at * 100_000,
        last: at * 100_000 + 99_999,
    };
    let calls: Vec<_> = (0..10)
        .map(|at| cluster.call(within, (numbers.clone(), band(at))))
        .collect(); // all of them run now
    let mut by_calls = Tally::default();
    for call in calls {
        by_calls = by_calls.and(call.get()??); // lost for good; or what the function says
    }
    println!("calls: {} numbers, {} in all", by_calls.count, by_calls.sum);
    let by_job = job.get()?;
    println!("job: {} numbers, {} in all", by_job.count, by_job.sum);
    Ok(())
}
