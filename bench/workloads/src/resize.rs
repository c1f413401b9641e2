//! A pool that somebody resizes all the time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::measure::{sample_of_times, timed};
use crate::peer::{ForkJoin, Resize};
use crate::Request;

/// Measures `rounds` trees of `levels` levels, one after the other, while the number of active
/// workers changes between one and all every `period_us`; a unit is one tree.
pub(crate) fn run<P>(peer: &mut P, request: &Request) -> Result<(), String>
where
    P: Resize + for<'s> ForkJoin<Context<'s> = ()>,
{
    let (workers, levels) = (request.workers()?, request.len("levels")? as u32);
    let (rounds, period) = (
        request.size("rounds")?,
        Duration::from_micros(request.size("period_us")?),
    );
    request.repeat(|| {
        let is_over = AtomicBool::new(false);
        let (mut times, leaves) = thread::scope(|threads| {
            threads.spawn(|| {
                // Relaxed: it says when to stop, and nothing else hangs on it.
                while !is_over.load(Ordering::Relaxed) {
                    for active in [1, workers] {
                        peer.set_active(active);
                        thread::sleep(period);
                    }
                }
            });
            let trees = (0..rounds).map(|_| timed(|| peer.inside(|| tree::<P>(levels))));
            let (times, leaves): (Vec<u64>, Vec<u64>) = trees.unzip();
            is_over.store(true, Ordering::Relaxed);
            (times, leaves.iter().sum())
        });
        sample_of_times(&mut times, leaves)
    })
}

/// How many leaves a tree of joins has.
fn tree<P: for<'s> ForkJoin<Context<'s> = ()>>(levels: u32) -> u64 {
    if levels == 0 {
        return 1;
    }
    let (a, b) = P::join(
        &mut (),
        |()| tree::<P>(levels - 1),
        |()| tree::<P>(levels - 1),
    );
    a + b
}
