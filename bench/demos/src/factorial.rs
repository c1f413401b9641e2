//! The factorial of a number as a big integer, as a product of halves.

use heist_bench_workloads::{fingerprint, Request};
use num_bigint::BigUint;

use crate::demo::Demo;
use crate::join::{Join, Parallel, Sequential};

/// So few factors are multiplied one by one.
const SERIAL_LEN: u64 = 16;

pub(crate) struct Factorial {
    n: u64,
}

impl Demo for Factorial {
    type Output = BigUint;

    fn new(request: &Request) -> Result<Self, String> {
        let n = request.size("n")?;
        Ok(Self { n })
    }

    fn serial(&self) -> BigUint {
        product::<Sequential>(1, self.n + 1)
    }

    fn parallel(&self) -> BigUint {
        product::<Parallel>(1, self.n + 1)
    }

    fn checksum(output: BigUint) -> u64 {
        fingerprint(output.iter_u64_digits())
    }
}

/// The product of the numbers from `low` up to, but not including, `high`.
fn product<J: Join>(low: u64, high: u64) -> BigUint {
    if high - low <= SERIAL_LEN {
        return (low..high).product();
    }
    let middle = low.midpoint(high);
    let (a, b) = J::join(|| product::<J>(low, middle), || product::<J>(middle, high));
    a * b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_find_the_factorial() {
        let expected: u64 = (1..=20).product();
        assert_eq!(agreed::<Factorial>("n=20").1, expected);
        agreed::<Factorial>("n=500");
    }
}
