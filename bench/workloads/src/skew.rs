//! Loops over independent items whose cost is even, rises, or sits in a cluster.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::peer::Loop;
use crate::spin::spin;
use crate::{measure, Request, Sample};

/// Measures a loop whose items all cost `spins` iterations; a unit is one item.
pub(crate) fn run_uniform<P: Loop>(peer: &mut P, request: &Request) -> Result<(), String> {
    let spins = request.size("spins")?;
    run(peer, request, |_, _| spins)
}

/// Measures a loop whose items cost from nothing up to twice `spins`, rising.
pub(crate) fn run_linear<P: Loop>(peer: &mut P, request: &Request) -> Result<(), String> {
    let spins = request.size("spins")?;
    run(peer, request, |item, len| 2 * spins * item / len)
}

/// Measures a loop whose first eighth is expensive.
pub(crate) fn run_cluster_low<P: Loop>(peer: &mut P, request: &Request) -> Result<(), String> {
    let (cheap, dear) = (request.size("spins")?, request.size("dear_spins")?);
    run(
        peer,
        request,
        |item, len| if item < len / 8 { dear } else { cheap },
    )
}

/// Measures a loop whose last eighth is expensive.
pub(crate) fn run_cluster_high<P: Loop>(peer: &mut P, request: &Request) -> Result<(), String> {
    let (cheap, dear) = (request.size("spins")?, request.size("dear_spins")?);
    run(peer, request, |item, len| {
        if item >= len - len / 8 {
            dear
        } else {
            cheap
        }
    })
}

fn run<P: Loop>(
    peer: &mut P,
    request: &Request,
    spins: impl Fn(u64, u64) -> u64 + Sync + Send,
) -> Result<(), String> {
    let items = Items::new(request.len("len")?);
    let len = items.results.len() as u64;
    request.repeat(|| {
        items.sample(|| {
            peer.for_each(items.results.len(), |item| {
                items.work(item, spins(item as u64, len));
            });
        })
    })
}

/// One place per item for its result, which shows that the item ran.
///
/// The places are atomic because a loop's body is shared by all workers, and
/// because compilers do not merge or vectorise atomic stores.
pub(crate) struct Items {
    pub(crate) results: Vec<AtomicU32>,
}

impl Items {
    pub(crate) fn new(len: usize) -> Self {
        Self {
            results: (0..len).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// The body of the loop.
    #[inline]
    pub(crate) fn work(&self, item: usize, spins: u64) {
        let result = spin(item as u64, spins) as u32;
        // A place of its own for every item: no ordering is needed.
        self.results[item].store(result, Ordering::Relaxed);
    }

    /// Times `all` and sums up the results, clearing them for the next time.
    fn sample(&self, all: impl FnOnce()) -> Sample {
        let mut sample = measure::sample(self.results.len() as u64, || {
            all();
            0
        });
        sample.checksum = self.take_sum().to_string();
        sample
    }

    /// The sum over all results, which are zero afterwards.
    pub(crate) fn take_sum(&self) -> u64 {
        self.results
            .iter()
            .map(|result| u64::from(result.swap(0, Ordering::Relaxed)))
            .sum()
    }
}
