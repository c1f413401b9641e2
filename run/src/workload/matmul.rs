//! Multiplies two square matrices, a block of rows a piece.
//!
//! Every element of the product sums its terms in the same order whoever
//! computes it, so all strategies agree to the last bit.

use std::io;

use super::contract::{Fact, Flag, Profile, Setup, Size, Workload};
use super::join::join_each;
use crate::strategy::{Bag, Pieces, Serial};

/// Rows of the product in one piece.
const BLOCK_ROWS: usize = 8;

/// How many rows of the right matrix are used before the next are fetched:
/// they stay in the cache while the rows of a piece pass over them.
const BLOCK_TERMS: usize = 64;

pub(crate) struct Matmul {
    n: usize,
    left: Vec<f64>,
    right: Vec<f64>,
}

impl Workload for Matmul {
    const PROFILE: Profile = Profile {
        name: "matmul",
        about: "Multiplies two square matrices of f64, blocks of rows by halving",
        tasks: "8 rows of the product",
        size: Some(Size {
            what: "rows of each matrix",
            default: 1_200,
            accepted: 1..=16_384,
        }),
        flags: &[Flag::Seed],
    };

    type Scratch = Vec<f64>;
    type Output = Vec<f64>;

    fn prepare(setup: &Setup) -> anyhow::Result<Self> {
        let n = setup.len();
        let mut random = fastrand::Rng::with_seed(setup.seed);
        let mut matrix = || (0..n * n).map(|_| random.f64() - 0.5).collect();
        Ok(Self {
            n,
            left: matrix(),
            right: matrix(),
        })
    }

    fn input(&self) -> String {
        format!("two matrices of {0} x {0}", self.n)
    }

    fn fresh(&self) -> Vec<f64> {
        vec![0.0; self.n * self.n]
    }

    fn serial(&self, mut product: Vec<f64>, serial: &mut Serial<'_>) -> Vec<f64> {
        for (index, rows) in product.chunks_mut(self.n * BLOCK_ROWS).enumerate() {
            serial.item(|| name(index), || self.multiply(index, rows));
        }
        product
    }

    fn bagged(&self, mut product: Vec<f64>, bag: &mut Bag<'_>) -> io::Result<Vec<f64>> {
        bag.run(
            product
                .chunks_mut(self.n * BLOCK_ROWS)
                .enumerate()
                .collect(),
            |(index, _)| name(*index),
            |(index, rows), (): &mut (), _| self.multiply(index, rows),
        )?;
        Ok(product)
    }

    fn stealing(&self, mut product: Vec<f64>, pieces: Pieces<'_>) -> Vec<f64> {
        let mut blocks: Vec<_> = product.chunks_mut(self.n * BLOCK_ROWS).collect();
        join_each(&mut blocks, &|index, rows| {
            pieces.item(|| name(index), || self.multiply(index, rows));
        });
        product
    }

    fn facts(&self, output: &Vec<f64>) -> Vec<Fact> {
        let trace: f64 = output.iter().step_by(self.n + 1).sum();
        let bytes: Vec<u8> = output
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        vec![
            Fact::new("trace", trace),
            Fact::new("hash", blake3::hash(&bytes).to_string()),
        ]
    }
}

impl Matmul {
    /// Adds the product to `rows`, the block number `index` of the product.
    fn multiply(&self, index: usize, rows: &mut [f64]) {
        let n = self.n;
        let first = index * BLOCK_ROWS;
        for terms in (0..n).step_by(BLOCK_TERMS) {
            for (row, sums) in rows.chunks_exact_mut(n).enumerate() {
                for term in terms..n.min(terms + BLOCK_TERMS) {
                    let factor = self.left[(first + row) * n + term];
                    let others = &self.right[term * n..][..n];
                    for (sum, other) in sums.iter_mut().zip(others) {
                        *sum += factor * other;
                    }
                }
            }
        }
    }
}

fn name(index: usize) -> String {
    format!("rows from {}", index * BLOCK_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Trace;

    #[test]
    fn the_product_is_the_product() {
        let n = 70;
        let matmul = Matmul {
            n,
            left: (0..n * n).map(|index| (index % 7) as f64).collect(),
            right: (0..n * n).map(|index| (index % 5) as f64).collect(),
        };
        let product = matmul.serial(matmul.fresh(), &mut Serial::new(Trace::OFF));
        for (row, column) in [(0, 0), (3, 69), (69, 1), (33, 44)] {
            let terms =
                (0..n).map(|term| matmul.left[row * n + term] * matmul.right[term * n + column]);
            // Small whole numbers: every sum is exact.
            assert_eq!(product[row * n + column], terms.sum::<f64>());
        }
    }
}
