//! Processors, counted in whole thousandths.

use std::fmt;
use std::iter::Sum;
use std::ops::{AddAssign, SubAssign};

/// An amount of processors, in whole thousandths: what is taken and given back adds up, which
/// it does not with floats.
///
/// # Examples
///
/// ```
/// use heist_cluster::backend::Cpus;
///
/// let mut free = Cpus::from(1);
/// let parts = [0.3, 0.1].map(|part| Cpus::try_from(part).expect("a part of one"));
/// parts.iter().for_each(|part| free -= *part);
/// assert_eq!(free.to_string(), "0.6");
/// parts.iter().for_each(|part| free += *part);
/// assert_eq!(free, Cpus::from(1));
/// assert_eq!(Cpus::try_from(1.5).map(Cpus::whole), Ok(2));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpus {
    thousandths: u64,
}

impl Cpus {
    /// As many as whole processors, if need be one more than there are.
    #[must_use]
    pub fn whole(self) -> u32 {
        // No more than there are of u32 went in; a sum of many may be more.
        u32::try_from(self.thousandths.div_ceil(1000)).unwrap_or(u32::MAX)
    }
}

impl From<u32> for Cpus {
    fn from(cpus: u32) -> Self {
        Self {
            thousandths: u64::from(cpus) * 1000,
        }
    }
}

impl TryFrom<f64> for Cpus {
    /// Says what is possible.
    type Error = String;

    /// The nearest amount; of what is more than nothing a thousandth at least.
    fn try_from(cpus: f64) -> Result<Self, String> {
        // No range has NaN in it.
        if !(0.0..=f64::from(u32::MAX)).contains(&cpus) {
            let most = u32::MAX;
            return Err(format!(
                "{cpus} processors cannot be had; 0 to {most} are possible"
            ));
        }
        // The range keeps it whole.
        let nearest = (cpus * 1000.0).round() as u64;
        let thousandths = nearest.max(u64::from(cpus > 0.0));
        Ok(Self { thousandths })
    }
}

impl From<Cpus> for f64 {
    fn from(cpus: Cpus) -> Self {
        cpus.thousandths as Self / 1000.0
    }
}

impl AddAssign for Cpus {
    fn add_assign(&mut self, other: Self) {
        self.thousandths += other.thousandths;
    }
}

impl SubAssign for Cpus {
    /// # Panics
    ///
    /// If more is taken than there is.
    fn sub_assign(&mut self, other: Self) {
        let left = self.thousandths.checked_sub(other.thousandths);
        self.thousandths = left.expect("no more is taken than there is");
    }
}

impl Sum for Cpus {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), |mut sum, amount| {
            sum += amount;
            sum
        })
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f64::from(*self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_amount_is_refused_with_what_is_possible() {
        for cpus in [f64::NAN, f64::INFINITY, -0.1, -1e300, 4_294_967_295.5] {
            let error = Cpus::try_from(cpus).expect_err("it is no amount");
            assert!(error.contains("0 to 4294967295"), "{error}");
        }
    }

    #[test]
    fn an_amount_is_the_nearest_thousandth_but_never_nothing_for_something() {
        for (cpus, shown) in [
            (0.0, "0"),
            (-0.0, "0"),
            (f64::MIN_POSITIVE, "0.001"),
            (0.3, "0.3"),
            (1.0 / 3.0, "0.333"),
            (2.0 / 3.0, "0.667"),
            (2.0, "2"),
            (f64::from(u32::MAX), "4294967295"),
        ] {
            let amount = Cpus::try_from(cpus).expect("it is an amount");
            assert_eq!(amount.to_string(), shown, "{cpus}");
            assert_eq!(amount.whole(), cpus.ceil() as u32);
        }
    }
}
