//! Where the time of the workers went, in parts that add up.
//!
//! All workers together have had their number times the wall time. Strands, the time outside pools
//! and the causes of idleness are measured; the price of forks is their number times what one is
//! known to cost. The rest is not explained, and is shown: below nothing too, where the parts that
//! were measured are more than there was.
//!
//! All of it is one run's, that with the median wall time. Its work may be more than the work of
//! the report, which is the least of several runs.

use heist_event::short_name;

use super::file::Profile;
use super::growth::Growth;
use super::report::{Cause, Part, Stretch};
use crate::words::harmless;

/// The cost of a fork that is not stolen: some 60 instructions.
pub(super) const FORK_NS: u64 = 5;

/// The time of all workers from the start to the end, by what they did.
pub(super) fn worker_time(run: &Profile, growth: Option<&Growth>) -> Vec<Part> {
    let workers = i128::from(run.workers);
    let idle = &run.idle_ns;
    let own = i128::from(run.work_ns);
    let forks = (i128::from(run.forks) * i128::from(FORK_NS)).min(own);
    let grown = growth.map_or(0.0, |growth| growth.share).max(0.0);
    // The part of the work that is more than it would be with the fewest workers.
    let growth = ((own - forks) as f64 * grown / (1.0 + grown)).round() as i128;
    let mut parts = vec![
        (Cause::Work, own - forks - growth),
        (Cause::Growth, growth),
        (Cause::Forks, forks),
        (Cause::Outside, workers * i128::from(run.outside_ns)),
        (Cause::Sequential, i128::from(idle.sequential)),
        (Cause::Narrow, i128::from(idle.narrow)),
        (Cause::Joins, i128::from(idle.joins)),
        (Cause::Stealing, i128::from(idle.stealing)),
        (Cause::Waking, i128::from(idle.waking)),
    ];
    let known: i128 = parts.iter().map(|(_, ns)| ns).sum();
    let of_the_largest = workers * i128::from(run.wall_ns);
    let all = match run.pools {
        0 | 1 => of_the_largest,
        // Others may have run at once, whose workers are not counted.
        _ => of_the_largest.max(known),
    };
    let left = all - known;
    let watching = (run.strands as f64 * run.empty_strand_ns).round() as i128;
    let watching = watching.min(left.max(0));
    parts.push((Cause::Watching, watching));
    parts.push((Cause::NotExplained, left - watching));
    let part = |(cause, ns): (Cause, i128)| {
        let share = if all > 0 { ns as f64 / all as f64 } else { 0.0 };
        Part { cause, ns, share }
    };
    parts.into_iter().map(part).collect()
}

/// The sequential stretches by short names, the longest first, with their shares of the time of all
/// workers.
pub(super) fn stretches(run: &Profile, all_ns: i128) -> Vec<Stretch> {
    let others = run.workers.saturating_sub(1).max(1) as f64;
    let all = all_ns.max(1) as f64;
    let mut stretches: Vec<Stretch> = Vec::new();
    for found in &run.sequential {
        let before = harmless(&short_name(&found.before));
        let at = stretches
            .iter()
            .position(|stretch| stretch.before == before);
        let at = at.unwrap_or_else(|| {
            stretches.push(Stretch {
                before,
                wall_ns: 0.0,
                idle_ns: 0,
                share: 0.0,
            });
            stretches.len() - 1
        });
        let stretch = &mut stretches[at];
        stretch.idle_ns = stretch.idle_ns.saturating_add(found.ns);
        stretch.wall_ns = stretch.idle_ns as f64 / others;
        stretch.share = stretch.idle_ns as f64 / all;
    }
    stretches.sort_by_key(|stretch| std::cmp::Reverse(stretch.idle_ns));
    stretches
}
