//! The memory that stays resident in an idle pool after a burst of jobs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::measure::{peak_rss_kb, settled_rss_kb, timed};
use crate::peer::Spawn;
use crate::{Request, Sample};

/// Measures three bursts of `tasks` jobs each; a unit is one job. `outside_mib`,
/// `worker_mib` and `scope_mib` are by how much more is resident after each than in the
/// fresh pool, `left_mib` is the most of them, and `peak_mib` how much more it ever was.
pub(crate) fn run<P: Spawn>(peer: &mut P, request: &Request) -> Result<(), String> {
    let tasks = request.size("tasks")?;
    let ran = Arc::new(AtomicU64::new(0));
    // The code that jobs run through, and all that the first of them touch, is no rest.
    for (_, burst) in bursts::<P>() {
        if !burst(peer, FIRST_TASKS, &ran) {
            return Err("this peer cannot wait outside for the jobs of a burst".to_owned());
        }
    }
    let fresh_kb = settled_rss_kb()?;
    let mut failure = Ok(());
    request.repeat(|| {
        ran.store(0, Ordering::Relaxed);
        sample(peer, tasks, &ran, fresh_kb).unwrap_or_else(|error| {
            failure = Err(error);
            Sample::new(0, 0, 0)
        })
    })?;
    failure
}

fn sample<P: Spawn>(
    peer: &mut P,
    tasks: u64,
    ran: &Arc<AtomicU64>,
    fresh_kb: u64,
) -> Result<Sample, String> {
    let more_mib = |kb: u64| (kb as f64 - fresh_kb as f64) / 1024.0;
    let mut sample = Sample::new(0, 3 * tasks, 0);
    let mut left_mib = f64::MIN;
    for (name, burst) in bursts::<P>() {
        sample.ns += timed(|| burst(peer, tasks, ran)).0;
        let rest_mib = more_mib(settled_rss_kb()?);
        sample = sample.with(name, rest_mib);
        left_mib = left_mib.max(rest_mib);
    }
    sample.checksum = ran.load(Ordering::Relaxed).to_string();
    let peak_mib = more_mib(peak_rss_kb()?);
    Ok(sample.with("left_mib", left_mib).with("peak_mib", peak_mib))
}

/// So few that they take no memory to speak of.
const FIRST_TASKS: u64 = 100;

/// Has that many jobs run, each of which counts itself; false where the peer cannot.
type Burst<P> = fn(&mut P, u64, &Arc<AtomicU64>) -> bool;

/// From outside, by a worker, and in a scope of a caller that participates if it can.
fn bursts<P: Spawn>() -> [(&'static str, Burst<P>); 3] {
    [
        ("outside_mib", |peer, tasks, ran| {
            peer.outside(|scope| spawn_all::<P>(scope, tasks, ran))
        }),
        ("worker_mib", |peer, tasks, ran| {
            let ran = Arc::clone(ran);
            peer.outside(|scope| {
                P::spawn(scope, move |scope| spawn_all::<P>(scope, tasks, &ran));
            })
        }),
        ("scope_mib", |peer, tasks, ran| {
            let ran = Arc::clone(ran);
            peer.inside(move |scope| spawn_all::<P>(scope, tasks, &ran));
            true
        }),
    ]
}

fn spawn_all<P: Spawn>(scope: P::Scope<'_>, tasks: u64, ran: &Arc<AtomicU64>) {
    for _ in 0..tasks {
        let ran = Arc::clone(ran);
        P::spawn(scope, move |_| {
            // The end of the burst orders it before whoever reads the count.
            ran.fetch_add(1, Ordering::Relaxed);
        });
    }
}
