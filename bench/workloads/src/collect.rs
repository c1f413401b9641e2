//! Vectors made in parallel: of an item for each index, and of those that are kept.

use crate::measure::{peak_rss_kb, sample_of};
use crate::peer::Collect;
use crate::rng::mix;
use crate::{Outcome, Request};

/// Runs the workload `collect_map` or `collect_filter`, if it is asked for.
///
/// # Errors
///
/// If the size `len` is missing, or the kernel does not tell the memory.
pub fn collects<P: Collect>(peer: &mut P, request: &Request) -> Outcome {
    match request.workload() {
        "collect_map" => run(request, |len| peer.map(len, mix))?,
        "collect_filter" => run(request, |len| {
            peer.filter(len, |n| mix(n).is_multiple_of(2))
        })?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// A unit is one item that is looked at. `memory` is by how much the largest resident set
/// grew, over the size of the result.
fn run(request: &Request, mut collect: impl FnMut(u64) -> Vec<u64>) -> Result<(), String> {
    let len = request.size("len")?;
    let before_kb = peak_rss_kb()?;
    let mut failure = Ok(());
    request.repeat(|| {
        let mut bytes = 0;
        let sample = sample_of(
            len,
            || collect(len),
            |result| {
                bytes = size_of_val(&result[..]);
                result
                    .into_iter()
                    .fold(0, |sum: u64, n| sum.wrapping_mul(31).wrapping_add(n))
            },
        );
        let peak_kb = peak_rss_kb().unwrap_or_else(|error| {
            failure = Err(error);
            before_kb
        });
        sample.with(
            "memory",
            (peak_kb - before_kb) as f64 * 1024.0 / bytes as f64,
        )
    })?;
    failure
}
