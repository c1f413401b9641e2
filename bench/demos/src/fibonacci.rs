//! Fibonacci numbers by a join per call, without a cut-off.

use heist_bench_workloads::Request;

use crate::demo::Demo;
use crate::join::{Join, Parallel, Serial};

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
        fibonacci::<Serial>(self.n)
    }

    fn parallel(&self) -> u64 {
        fibonacci::<Parallel>(self.n)
    }

    fn checksum(output: u64) -> u64 {
        output
    }
}

fn fibonacci<J: Join>(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = J::join(|| fibonacci::<J>(n - 1), || fibonacci::<J>(n - 2));
    a + b
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
