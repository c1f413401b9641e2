//! All ways to place queens on a board, by nested parallel iterators.

use heist_bench_workloads::Request;
use rayon::prelude::*;

use crate::demo::Demo;

/// So many rows before the last the search goes on without parallel iterators.
const SERIAL_ROWS: u32 = 7;

pub(crate) struct NQueens {
    size: u32,
}

/// Which columns of the next row are attacked, as sets of bits.
#[derive(Clone, Copy, Default)]
struct Board {
    placed: u32,
    columns: u32,
    falling: u32,
    rising: u32,
}

impl Demo for NQueens {
    /// How many ways there are.
    type Output = u64;

    fn new(request: &Request) -> Result<Self, String> {
        match request.size("queens")? {
            size @ 1..=16 => Ok(Self { size: size as u32 }),
            size => Err(format!(
                "cannot place `queens={size}`; the board takes 1 to 16"
            )),
        }
    }

    fn serial(&self) -> u64 {
        self.count(Board::default())
    }

    fn parallel(&self) -> u64 {
        self.count_in_parallel(Board::default())
    }

    fn checksum(output: u64) -> u64 {
        output
    }
}

impl NQueens {
    fn count(&self, board: Board) -> u64 {
        if board.placed == self.size {
            return 1;
        }
        let columns = (0..self.size).filter(|&column| board.is_free(column));
        columns.map(|column| self.count(board.with(column))).sum()
    }

    fn count_in_parallel(&self, board: Board) -> u64 {
        if board.placed + SERIAL_ROWS >= self.size {
            return self.count(board);
        }
        (0..self.size)
            .into_par_iter()
            .filter(|&column| board.is_free(column))
            .map(|column| self.count_in_parallel(board.with(column)))
            .sum()
    }
}

impl Board {
    fn is_free(&self, column: u32) -> bool {
        (self.columns | self.falling | self.rising) & (1 << column) == 0
    }

    /// The board with one more queen, seen from the row after it.
    fn with(&self, column: u32) -> Self {
        let queen = 1 << column;
        Self {
            placed: self.placed + 1,
            columns: self.columns | queen,
            falling: (self.falling | queen) << 1,
            rising: (self.rising | queen) >> 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_count_all_ways() {
        for (queens, ways) in [(1, 1), (3, 0), (8, 92), (9, 352)] {
            assert_eq!(agreed::<NQueens>(&format!("queens={queens}")).1, ways);
        }
    }
}
