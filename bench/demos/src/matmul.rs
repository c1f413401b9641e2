//! The product of two square matrices by recursion into quadrants.

use heist_bench_workloads::rng::numbers;
use heist_bench_workloads::{fingerprint, Request};

use crate::demo::Demo;
use crate::join::{Join, Parallel, Sequential};

/// Edge of the blocks that are multiplied by plain loops.
const BLOCK: usize = 32;

/// Both matrices lie in memory quadrant after quadrant, upper left, upper right,
/// lower left, lower right, and each quadrant likewise, down to blocks that lie
/// row by row. So every quadrant is a slice.
pub(crate) struct Matmul {
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Demo for Matmul {
    type Output = Vec<f64>;

    fn new(request: &Request) -> Result<Self, String> {
        let edge = request.len("edge")?;
        if edge < BLOCK || !edge.is_power_of_two() {
            return Err(format!(
                "cannot split matrices of `edge={edge}`; it must be a power of two, {BLOCK} at least"
            ));
        }
        // Small whole numbers, so that sums are exact in any order.
        let number = |number: u64| (number % 64) as f64;
        let mut a: Vec<f64> = numbers(2 * edge * edge).into_iter().map(number).collect();
        let b = a.split_off(edge * edge);
        Ok(Self { a, b })
    }

    fn serial(&self) -> Vec<f64> {
        self.product::<Sequential>()
    }

    fn parallel(&self) -> Vec<f64> {
        self.product::<Parallel>()
    }

    fn checksum(output: Vec<f64>) -> u64 {
        fingerprint(output.into_iter().map(f64::to_bits))
    }
}

impl Matmul {
    fn product<J: Join>(&self) -> Vec<f64> {
        let mut c = vec![0.0; self.a.len()];
        add_product::<J>(&self.a, &self.b, &mut c);
        c
    }
}

/// Adds the product of `a` and `b` to `c`.
fn add_product<J: Join>(a: &[f64], b: &[f64], c: &mut [f64]) {
    if c.len() == BLOCK * BLOCK {
        return add_block_product(a, b, c);
    }
    let quarter = c.len() / 4;
    let at = |matrix, row: usize, column: usize| quadrant(matrix, quarter, row, column);
    let (upper, lower) = c.split_at_mut(2 * quarter);
    let (c00, c01) = upper.split_at_mut(quarter);
    let (c10, c11) = lower.split_at_mut(quarter);
    // A quadrant of the product is a sum of two; so there are two turns, with
    // four tasks each that write to different places.
    for inner in 0..2 {
        let (a0, a1) = (at(a, 0, inner), at(a, 1, inner));
        let (b0, b1) = (at(b, inner, 0), at(b, inner, 1));
        let (c00, c01, c10, c11) = (&mut *c00, &mut *c01, &mut *c10, &mut *c11);
        J::join(
            || {
                J::join(
                    || add_product::<J>(a0, b0, c00),
                    || add_product::<J>(a0, b1, c01),
                )
            },
            || {
                J::join(
                    || add_product::<J>(a1, b0, c10),
                    || add_product::<J>(a1, b1, c11),
                )
            },
        );
    }
}

fn quadrant(matrix: &[f64], quarter: usize, row: usize, column: usize) -> &[f64] {
    &matrix[(2 * row + column) * quarter..][..quarter]
}

fn add_block_product(a: &[f64], b: &[f64], c: &mut [f64]) {
    for (a_row, c_row) in a.chunks_exact(BLOCK).zip(c.chunks_exact_mut(BLOCK)) {
        for (&factor, b_row) in a_row.iter().zip(b.chunks_exact(BLOCK)) {
            for (sum, &other) in c_row.iter_mut().zip(b_row) {
                *sum += factor * other;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    /// Where an element lies.
    fn place(edge: usize, row: usize, column: usize) -> usize {
        if edge == BLOCK {
            return row * BLOCK + column;
        }
        let half = edge / 2;
        let quadrant = 2 * (row / half) + column / half;
        quadrant * half * half + place(half, row % half, column % half)
    }

    #[test]
    fn both_forms_give_the_sums_of_the_definition() {
        let edge = 4 * BLOCK;
        let (demo, _) = agreed::<Matmul>("edge=128");
        let product = demo.parallel();
        for (row, column) in [(0, 0), (1, 127), (70, 3), (127, 127)] {
            let terms = (0..edge)
                .map(|inner| demo.a[place(edge, row, inner)] * demo.b[place(edge, inner, column)]);
            assert_eq!(product[place(edge, row, column)], terms.sum::<f64>());
        }
    }

    #[test]
    fn an_edge_that_does_not_halve_is_refused_with_its_length() {
        let request = Request::parse(["demo", "edge=100"].map(str::to_owned)).unwrap();
        let error = Matmul::new(&request).err().unwrap();
        assert!(error.contains("`edge=100`"), "{error}");
    }
}
