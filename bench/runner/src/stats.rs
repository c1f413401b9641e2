//! Medians, spreads and ratios.

/// The middle of a list and its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// None for an empty list.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some(Self {
            median: f64::midpoint(low, high),
            min,
            max,
        })
    }
}

/// The median of a list; none for an empty one.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    Spread::of(values).map(|spread| spread.median)
}

/// Median of `a` over median of `b`; none if either is empty or `b`'s is zero.
pub(crate) fn ratio_of_medians(a: &[f64], b: &[f64]) -> Option<f64> {
    ratio(median(a)?, median(b)?)
}

/// The median over rounds of the ratio within each round, which cancels what
/// slows down a whole round; rounds that lack one side do not count.
pub(crate) fn median_of_ratios(a: &[Option<f64>], b: &[Option<f64>]) -> Option<f64> {
    let ratios: Vec<f64> = a
        .iter()
        .zip(b)
        .filter_map(|(&a, &b)| ratio(a?, b?))
        .collect();
    median(&ratios)
}

fn ratio(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_middles() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_spread_has_both_ends() {
        let spread = Spread::of(&[5.0, 1.0, 2.0]);
        assert_eq!(
            spread,
            Some(Spread {
                median: 2.0,
                min: 1.0,
                max: 5.0
            })
        );
    }

    #[test]
    fn the_ratio_of_medians_ignores_outliers() {
        assert_eq!(
            ratio_of_medians(&[2.0, 2.0, 90.0], &[4.0, 4.0, 1.0]),
            Some(0.5)
        );
    }

    #[test]
    fn there_is_no_ratio_to_nothing() {
        assert_eq!(ratio_of_medians(&[1.0], &[]), None);
        assert_eq!(ratio_of_medians(&[1.0], &[0.0]), None);
    }

    #[test]
    fn a_slow_round_does_not_move_the_median_of_ratios() {
        let (a, b) = (
            [Some(1.0), Some(10.0), Some(1.0)],
            [Some(2.0), Some(20.0), Some(2.0)],
        );
        assert_eq!(median_of_ratios(&a, &b), Some(0.5));
    }

    #[test]
    fn a_round_without_the_other_side_does_not_count() {
        assert_eq!(
            median_of_ratios(&[Some(1.0), Some(9.0)], &[Some(2.0), None]),
            Some(0.5)
        );
    }
}
