//! The kernel that stands for work: a chain of dependent multiplications whose
//! length is given in iterations, so that it means the same on every machine.

use std::hint::black_box;

/// Does `iterations` dependent steps from `seed` and returns the last state.
///
/// `black_box` hides the start, so that nothing is computed beforehand; the
/// chain itself cannot be shortened or vectorised.
#[inline]
pub(crate) fn spin(seed: u64, iterations: u64) -> u64 {
    let mut state = black_box(seed);
    for _ in 0..iterations {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state ^= state >> 29;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_iteration_changes_the_state() {
        let states: Vec<u64> = (0..4).map(|iterations| spin(1, iterations)).collect();
        assert_eq!(states[0], 1);
        assert_eq!(states[3], spin(states[2], 1));
        assert!(states.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
