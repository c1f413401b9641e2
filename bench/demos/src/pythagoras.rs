//! Right triangles with whole sides, by an iterator inside an iterator.

use heist_bench_workloads::Request;
use rayon::prelude::*;

use crate::demo::Demo;

pub(crate) struct Pythagoras {
    /// The longest leg.
    leg_max: u64,
}

impl Demo for Pythagoras {
    /// The sum of all perimeters.
    type Output = u64;

    fn new(request: &Request) -> Result<Self, String> {
        let leg_max = request.size("leg_max")?;
        Ok(Self { leg_max })
    }

    fn serial(&self) -> u64 {
        let legs = 1..=self.leg_max;
        legs.flat_map(|a| (a..=self.leg_max).filter_map(move |b| perimeter(a, b)))
            .sum()
    }

    fn parallel(&self) -> u64 {
        let legs = (1..=self.leg_max).into_par_iter();
        legs.flat_map(|a| {
            let others = (a..=self.leg_max).into_par_iter();
            others.filter_map(move |b| perimeter(a, b))
        })
        .sum()
    }

    fn checksum(output: u64) -> u64 {
        output
    }
}

/// The perimeter of the right triangle with these legs, if its third side is whole.
fn perimeter(a: u64, b: u64) -> Option<u64> {
    let square = a * a + b * b;
    // Exact below 2^52, which legs of seven digits do not reach.
    let c = (square as f64).sqrt() as u64;
    (c * c == square).then_some(a + b + c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_find_all_triangles() {
        // 3-4-5, 6-8-10, 5-12-13 and 9-12-15.
        assert_eq!(agreed::<Pythagoras>("leg_max=12").1, 12 + 24 + 30 + 36);
        agreed::<Pythagoras>("leg_max=300");
    }
}
