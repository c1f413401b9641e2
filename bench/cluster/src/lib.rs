//! The functions and the job of the benchmark of clusters.

#![forbid(unsafe_code)]

use std::ops::Range;

use heist::prelude::*;
use heist_cluster::{job, remote, Job, JobContext, Stop};
use serde::{Deserialize, Serialize};

heist_cluster::export!();

/// Nothing but a call.
#[remote]
pub fn nothing(x: u64) -> u64 {
    x
}

/// A step of a generator of pseudo-random numbers, some nanoseconds of work.
#[inline]
fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    for _ in 0..16 {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
    }
    z
}

/// Work of which two processors have as much as they like.
#[remote(cpus = 2)]
pub fn sum(range: Range<u64>) -> u64 {
    range
        .into_par_iter()
        .map(mix)
        .reduce(|| 0, u64::wrapping_add)
}

/// A job that waits to be moved; its state is ballast.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ballast {
    /// The payload.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
    /// How many safe points it goes past.
    pub left: u64,
}

#[job]
impl Job for Ballast {
    type Out = u64;
    const VERSION: u32 = 1;

    fn run(&mut self, context: &JobContext) -> Result<u64, Stop> {
        while self.left > 0 {
            context.safe_point(self)?;
            std::hint::black_box(sum_of(1 << 14));
            self.left -= 1;
        }
        Ok(self.bytes.len() as u64)
    }
}

/// Some work for one thread.
fn sum_of(end: u64) -> u64 {
    (0..end).map(mix).fold(0, u64::wrapping_add)
}
