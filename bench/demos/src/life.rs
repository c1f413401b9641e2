//! Conway's game of life on a torus, row by row.

use heist_bench_workloads::rng::mix;
use heist_bench_workloads::{fingerprint, Request};
use rayon::prelude::*;

use crate::demo::Demo;

pub(crate) struct Life {
    /// Cells along one edge.
    edge: usize,
    generations: u64,
    /// Row after row, one where there is life.
    start: Vec<u8>,
}

impl Demo for Life {
    type Output = Vec<u8>;

    fn new(request: &Request) -> Result<Self, String> {
        let edge = request.len("edge")?;
        if edge == 0 {
            return Err("cannot live on `edge=0`; one cell at least is needed".to_owned());
        }
        let generations = request.size("generations")?;
        let cells = 0..(edge * edge) as u64;
        let start = cells.map(|cell| (mix(cell) & 1) as u8).collect();
        Ok(Self {
            edge,
            generations,
            start,
        })
    }

    fn serial(&self) -> Vec<u8> {
        self.run(|old, new| {
            for (row, cells) in new.chunks_mut(self.edge).enumerate() {
                self.advance_row(old, row, cells);
            }
        })
    }

    fn parallel(&self) -> Vec<u8> {
        self.run(|old, new| {
            new.par_chunks_mut(self.edge)
                .enumerate()
                .for_each(|(row, cells)| self.advance_row(old, row, cells));
        })
    }

    fn checksum(output: Vec<u8>) -> u64 {
        fingerprint(output.into_iter().map(u64::from))
    }
}

impl Life {
    /// All generations, each made by `advance` from the one before.
    fn run(&self, advance: impl Fn(&[u8], &mut [u8])) -> Vec<u8> {
        let mut old = self.start.clone();
        let mut new = vec![0; old.len()];
        for _ in 0..self.generations {
            advance(&old, &mut new);
            std::mem::swap(&mut old, &mut new);
        }
        old
    }

    /// One row of the next generation.
    fn advance_row(&self, old: &[u8], row: usize, cells: &mut [u8]) {
        let edge = self.edge;
        let line = |row: usize| &old[row % edge * edge..][..edge];
        let (above, here, below) = (line(row + edge - 1), line(row), line(row + 1));
        for (column, cell) in cells.iter_mut().enumerate() {
            let (left, right) = ((column + edge - 1) % edge, (column + 1) % edge);
            let around = |line: &[u8]| line[left] + line[column] + line[right];
            let alive = here[column];
            let neighbours = around(above) + around(here) + around(below) - alive;
            *cell = u8::from(neighbours == 3 || (neighbours == 2 && alive == 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_come_to_the_same_generation() {
        agreed::<Life>("edge=33 generations=20");
    }

    #[test]
    fn a_glider_comes_home_around_the_torus() {
        let edge = 8;
        let mut start = vec![0; edge * edge];
        for (row, column) in [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)] {
            start[row * edge + column] = 1;
        }
        // It moves by one cell along both axes in four generations.
        let glider = Life {
            edge,
            generations: 4 * edge as u64,
            start: start.clone(),
        };
        assert_eq!(glider.serial(), start);
    }
}
