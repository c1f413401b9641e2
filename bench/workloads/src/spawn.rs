//! Many empty tasks spawned by one thread, a worker or one outside.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

use crate::measure::{peak_rss_kb, timed};
use crate::peer::Spawn;
use crate::{Request, Sample};

/// Measures `tasks` spawns from a worker; a unit is one task.
pub(crate) fn run_inside<P: Spawn>(peer: &mut P, request: &Request) -> Result<(), String> {
    run(request, |tasks, counter, calls_ns| {
        let calls_ns = Arc::clone(calls_ns);
        peer.inside(move |scope| {
            calls_ns.store(spawn_all::<P>(scope, tasks, counter), Ordering::Relaxed);
        });
        true
    })
}

/// Measures `tasks` spawns from a thread outside; a unit is one task.
pub(crate) fn run_outside<P: Spawn>(peer: &mut P, request: &Request) -> Result<(), String> {
    run(request, |tasks, counter, calls_ns| {
        peer.outside(|scope| {
            calls_ns.store(spawn_all::<P>(scope, tasks, counter), Ordering::Relaxed);
        })
    })
}

/// Calls `wave` with a number of tasks, a counter for the tasks if they shall
/// count themselves, and a place for the time that the calls of spawn took.
fn run(
    request: &Request,
    mut wave: impl FnMut(u64, Option<&'static AtomicU64>, &Arc<AtomicU64>) -> bool,
) -> Result<(), String> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let tasks = request.size("tasks")?;
    let calls_ns = Arc::new(AtomicU64::new(0));
    let before_kb = peak_rss_kb()?;
    // Empty tasks leave no trace, so that the peer runs all is checked beforehand.
    if !wave(tasks / 100, Some(&COUNTER), &calls_ns) {
        return Err(format!(
            "this peer cannot wait outside for `{}`",
            request.workload()
        ));
    }
    let checksum = COUNTER.load(Ordering::Relaxed);
    let mut memory = Ok(());
    request.repeat(|| {
        let (ns, _) = timed(|| wave(tasks, None, &calls_ns));
        let grown_kb = peak_rss_kb().unwrap_or_else(|error| {
            memory = Err(error);
            before_kb
        }) - before_kb;
        let call_ns = calls_ns.load(Ordering::Relaxed) as f64 / tasks as f64;
        Sample::new(ns, tasks, checksum)
            .with("call_ns", call_ns)
            .with("task_bytes", grown_kb as f64 * 1024.0 / tasks as f64)
    })?;
    memory
}

/// Spawns the tasks and returns how long the calls took.
fn spawn_all<P: Spawn>(
    scope: P::Scope<'_>,
    tasks: u64,
    counter: Option<&'static AtomicU64>,
) -> u64 {
    let started = Instant::now();
    match counter {
        Some(counter) => {
            for _ in 0..tasks {
                P::spawn(scope, move |_| {
                    counter.fetch_add(1, Ordering::Relaxed);
                });
            }
        }
        None => {
            for _ in 0..tasks {
                P::spawn(scope, |_| ());
            }
        }
    }
    started.elapsed().as_nanos() as u64
}
