//! Fibonacci numbers by a join per call, without a cut-off.

use heist_bench_workloads::Request;
use heist_workloads::fib;

use crate::demo::Demo;
use crate::join::{Parallel, Sequential};

pub(crate) struct Fibonacci {
    n: u64,
}

impl Demo for Fibonacci {
    type Output = u64;

    fn new(request: &Request) -> Result<Self, String> {
        let n = request.size("n")?;
        Ok(Self { n })
    }

    fn serial(&self) -> u64 {
        fib::<Sequential>(self.n)
    }

    fn parallel(&self) -> u64 {
        fib::<Parallel>(self.n)
    }

    fn checksum(output: u64) -> u64 {
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_find_the_number() {
        assert_eq!(agreed::<Fibonacci>("n=20").1, 6765);
    }
}
