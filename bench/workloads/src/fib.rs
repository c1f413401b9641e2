//! Fibonacci numbers without a cut-off: nothing but joins.

use std::hint::black_box;

use crate::peer::{ByValue, ForkJoin};
use crate::{measure, Request};

/// Measures `fib(n)`; a unit is one join.
pub(crate) fn run<P: ForkJoin>(peer: &mut P, request: &Request) -> Result<(), String> {
    run_on(request, |n| peer.install(|context| fib::<P>(context, n)))
}

/// As [`run`], on a peer with a body of its own.
pub(crate) fn run_by_value<P: ByValue>(peer: &mut P, request: &Request) -> Result<(), String> {
    run_on(request, |n| peer.fib(n))
}

fn run_on(request: &Request, mut fib: impl FnMut(u64) -> u64) -> Result<(), String> {
    let n = request.size("n")?;
    let joins = joins(n);
    request.repeat(|| measure::sample(joins, || fib(black_box(n))))
}

// Out of line in every peer, so that the serial one is not unrolled by inlining.
#[inline(never)]
pub(crate) fn fib<P: ForkJoin>(context: &mut P::Context<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = P::join(
        context,
        |context| fib::<P>(context, n - 1),
        |context| fib::<P>(context, n - 2),
    );
    a + b
}

/// How often `fib(n)` joins: once per call with `n >= 2`.
fn joins(n: u64) -> u64 {
    let (mut this, mut next) = (0, 0);
    for _ in 0..n {
        (this, next) = (next, 1 + this + next);
    }
    this
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_joins_is_that_of_calls_above_one() {
        // fib(4): 4, 3, 2, 2 join.
        assert_eq!([0, 1, 2, 3, 4, 5].map(joins), [0, 0, 1, 2, 4, 7]);
    }
}
