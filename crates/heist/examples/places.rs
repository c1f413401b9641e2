//! Where work runs: a pool for each NUMA node; and with a number of seconds as argument, for so
//! long, how many workers of a pool are active while the limits on the process change.

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use heist::prelude::*;
use heist::{pools_per_node, ThreadPoolBuilder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1) {
        None => on_each_node(),
        Some(text) => match text.parse() {
            Ok(seconds) => follow(Duration::from_secs(seconds)),
            Err(error) => Err(format!(
                "could not follow the limits for {text:?} seconds: {error}; a whole number is accepted"
            )
            .into()),
        },
    }
}

fn on_each_node() -> Result<(), Box<dyn std::error::Error>> {
    let mut nodes = Vec::new();
    let pools = pools_per_node(|node| {
        nodes.push(node.clone());
        ThreadPoolBuilder::new()
    })?;
    for (pool, node) in pools.iter().zip(nodes) {
        let ran_on = Mutex::new(BTreeSet::new());
        pool.install(|| {
            (0..200).into_par_iter().for_each(|_| {
                work();
                ran_on.lock().unwrap().extend(processor());
            });
        });
        let ran_on = ran_on.into_inner()?;
        let is_there = ran_on.iter().all(|cpu| node.processors().contains(cpu));
        println!(
            "node {} has the CPUs {:?}; its pool's {} workers ran {} there",
            node.id(),
            node.processors(),
            pool.current_num_threads(),
            if is_there { "only" } else { "not only" }
        );
    }
    Ok(())
}

fn follow(time: Duration) -> Result<(), Box<dyn std::error::Error>> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(8)
        .follow_cpu_limit()
        .build()?;
    let begin = Instant::now();
    let mut last = None;
    while begin.elapsed() < time {
        pool.install(|| (0..500).into_par_iter().for_each(|_| work()));
        let active = pool.active_threads();
        if last.replace(active) != Some(active) {
            println!("active: {active}");
        }
    }
    Ok(())
}

fn work() {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_micros(200) {
        std::hint::spin_loop();
    }
}

/// The processor on which the caller runs, where the system tells: proc(5), field 39.
fn processor() -> Option<usize> {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(36)?.parse().ok()
}
