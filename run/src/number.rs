//! Numbers on the command line, with errors that say which are accepted.

use std::ops::RangeInclusive;

/// Reads a whole number.
///
/// # Errors
///
/// Fails, naming those that are accepted, if it is another.
pub fn whole(given: &str, accepted: RangeInclusive<u64>) -> Result<u64, String> {
    let (least, most) = (accepted.start(), accepted.end());
    let number = given
        .parse()
        .ok()
        .filter(|number| accepted.contains(number));
    number.ok_or_else(|| format!("accepted is a whole number from {least} to {most}"))
}

/// Reads a number that need not be whole, of the unit `unit`.
///
/// # Errors
///
/// Fails, naming those that are accepted, if it is another.
pub fn real(given: &str, accepted: RangeInclusive<f64>, unit: &str) -> Result<f64, String> {
    let (least, most) = (accepted.start(), accepted.end());
    let number = given
        .parse()
        .ok()
        .filter(|number| accepted.contains(number));
    number.ok_or_else(|| format!("accepted is a number of {unit} from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_in_range_are_accepted_and_others_are_told_the_range() {
        assert_eq!(whole("7", 1..=9), Ok(7));
        for wrong in ["0", "10", "-1", "1.5", "", "seven", "99999999999999999999"] {
            let message = whole(wrong, 1..=9).expect_err(wrong);
            assert!(message.contains("1 to 9"), "{message}");
        }
        assert_eq!(real("7.5", 0.0..=9.5, "seconds"), Ok(7.5));
        for wrong in ["-1", "9.6", "NaN", "inf", "", "seven"] {
            let message = real(wrong, 0.0..=9.5, "seconds").expect_err(wrong);
            assert!(message.contains("seconds from 0 to 9.5"), "{message}");
        }
    }
}
