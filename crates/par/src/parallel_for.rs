//! `parallel_for`: a body on sub-ranges of an index range, balanced to the end.
//!
//! Lazy binary splitting (Tzannes, Caragea, Barua and Vishkin, PPoPP 2010): a
//! worker offers the upper half of its range and works at the lower half piece
//! by piece. As long as the offer lies in its deque nobody is hungry, and it
//! goes on. When the offer is gone a thief has come, and it offers half of what
//! is left. So a range is split about as often as somebody takes a part of it,
//! whatever the iterations cost and wherever the expensive ones lie. How long a
//! piece is, [`Grain`] learns from the clock.

use heist_core::policy::Grain;
use heist_core::{current_thread_has_pending_tasks, join_context};
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::Clock;
use std::ops::Range;

/// Calls `body` with sub-ranges that together are `range`, each index once,
/// perhaps in parallel; returns when all calls have ended.
///
/// There is no grain size to choose. A worker runs the sub-ranges that it keeps
/// in ascending order. A caller outside any pool takes part in the global one, as
/// with [`join`](heist_core::join()).
///
/// # Panics
///
/// If calls of `body` panic, the loop panics with the payload of one of them,
/// once all calls that had begun have ended. Sub-ranges of the panicking part
/// that had not begun may be left out.
///
/// # Cost
///
/// No allocation. An empty range costs nothing; otherwise one job for the first
/// split and one for each time that a thief has taken one, and a reading of the
/// clock for every few microseconds of work.
///
/// # Examples
///
/// ```
/// let mut squares = vec![0; 100];
/// let cells: Vec<_> = squares.iter_mut().map(std::sync::Mutex::new).collect();
/// heist_par::parallel_for(0..100, |part| {
///     for i in part {
///         **cells[i].lock().unwrap() = i * i;
///     }
/// });
/// drop(cells);
/// assert_eq!(squares[9], 81);
/// ```
pub fn parallel_for<F>(range: Range<usize>, body: F)
where
    F: Fn(Range<usize>) + Sync,
{
    match range.len() {
        0 => {}
        1 => body(range),
        _ => split(range, Grain::new(), &body),
    }
}

/// Offers the upper half and runs the lower one; both see to their own halves
/// in the same way.
fn split<F>(range: Range<usize>, grain: Grain, body: &F)
where
    F: Fn(Range<usize>) + Sync,
{
    if range.len() < 2 {
        if !range.is_empty() {
            body(range);
        }
        return;
    }
    let middle = range.start + range.len() / 2;
    let (lower, upper) = (range.start..middle, middle..range.end);
    // What the lower half has learned when the upper one begins.
    let learned = AtomicUsize::new(grain.len());
    join_context(
        |_| {
            let grain = run(lower, grain, body);
            // Relaxed: read by the same thread, or too early, which does no harm.
            learned.store(grain.len(), Ordering::Relaxed);
        },
        |context| {
            let grain = Grain::of(learned.load(Ordering::Relaxed));
            if context.migrated() {
                // Stolen, so that somebody is hungry: offer half again.
                split(upper, grain, body);
            } else {
                run(upper, grain, body);
            }
        },
    );
}

/// Runs a range piece by piece, and offers half of the rest when nothing else
/// of this worker's is on offer. Returns what it has learned.
fn run<F>(mut range: Range<usize>, mut grain: Grain, body: &F) -> Grain
where
    F: Fn(Range<usize>) + Sync,
{
    let clock = Clock::start();
    let mut then_ns = 0;
    while !range.is_empty() {
        if range.len() > grain.len() && current_thread_has_pending_tasks() == Some(false) {
            split(range, grain, body);
            return grain;
        }
        let end = range.start + grain.len().min(range.len());
        let full = end - range.start == grain.len();
        body(range.start..end);
        range.start = end;
        let now_ns = clock.elapsed_ns();
        if full {
            grain.ran(now_ns - then_ns);
        }
        then_ns = now_ns;
    }
    grain
}
