//! A value that several tasks want at the same time, and that one of them makes by joins.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::fib::fib;
use crate::measure::timed;
use crate::peer::{MakeOnce, Spawn};
use crate::{Request, Sample};

/// Measures `fib(n)` as the value that one task makes and `losers` others want; a unit is the
/// value. `over` is that time over the time of as many tasks of which one calls `fib(n)` and the
/// others do nothing. With `inside` 1 a worker spawns the tasks, otherwise a thread outside.
pub(crate) fn run<P: MakeOnce>(peer: &mut P, request: &Request) -> Result<(), String> {
    let (n, losers) = (request.size("n")?, request.size("losers")?);
    let inside = request.size("inside")? == 1;
    request.repeat(|| {
        let alone = move |_: &P::Value, task| if task == 0 { fib::<P>(&mut (), n) } else { 0 };
        let (alone_ns, _) = timed(|| tasks(peer, losers, inside, alone));
        let shared = move |value: &P::Value, _| P::get_or_init(value, || fib::<P>(&mut (), n));
        let (ns, sum) = timed(|| tasks(peer, losers, inside, shared));
        Sample::new(ns, 1, sum).with("over", ns as f64 / alone_ns as f64)
    })
}

/// Runs `task` with a fresh value and with each number up to `losers`, all in tasks of their own,
/// and returns the sum of the results.
fn tasks<P: MakeOnce>(
    peer: &mut P,
    losers: u64,
    inside: bool,
    task: impl Fn(&P::Value, u64) -> u64 + Copy + Send + 'static,
) -> u64 {
    let (value, sum) = (Arc::new(P::Value::default()), Arc::new(AtomicU64::new(0)));
    let spawn_all = {
        let sum = Arc::clone(&sum);
        move |scope: P::Scope<'_>| {
            for number in 0..=losers {
                let (value, sum) = (Arc::clone(&value), Arc::clone(&sum));
                <P as Spawn>::spawn(scope, move |_| {
                    sum.fetch_add(task(&value, number), Ordering::Relaxed);
                });
            }
        }
    };
    if inside {
        peer.inside(spawn_all);
    } else {
        peer.outside(spawn_all);
    }
    sum.load(Ordering::Relaxed)
}
