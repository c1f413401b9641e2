//! Work for remote functions whose result is known.

use std::path::Path;
use std::sync::mpsc;

/// A step of a generator of pseudo-random numbers, `SplitMix64`'s output function.
pub fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The sum of [`mix`] over a range.
pub fn sum_of_mix(range: std::ops::Range<u64>) -> u64 {
    range.map(mix).fold(0, u64::wrapping_add)
}

/// Writes a file, and does nothing for ever.
pub(crate) fn stay(begun: &Path) {
    std::fs::write(begun, "").expect("the folder is there");
    let (_sender, never) = mpsc::channel::<()>();
    never.recv().expect_err("somebody would have to send");
}
