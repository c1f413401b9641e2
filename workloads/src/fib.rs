//! Fibonacci numbers by a join per call, without a cut-off.

use crate::Join;

/// The Fibonacci number of `n`.
pub fn fib<J: Join>(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = J::join(|| fib::<J>(n - 1), || fib::<J>(n - 2));
    a + b
}
