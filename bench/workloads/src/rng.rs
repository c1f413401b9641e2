//! The SplitMix64 step: input data and tree shapes that are equal in all languages.

/// The odd constant by which states advance.
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Scrambles a state into a well-spread number.
pub fn mix(state: u64) -> u64 {
    let a = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let b = (a ^ (a >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    b ^ (b >> 31)
}

/// The first `len` numbers of the generator with seed 0.
pub fn numbers(len: usize) -> Vec<u64> {
    (1..=len as u64)
        .map(|index| mix(index.wrapping_mul(GOLDEN)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // First outputs of the reference generator with seed 0.
        assert_eq!(numbers(2), [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
    }
}
