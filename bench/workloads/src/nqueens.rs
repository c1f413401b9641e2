//! All ways to place queens on a board: by join over the free columns of
//! a row, and by one task per placement.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::peer::{ForkJoin, Spawn};
use crate::{measure, Request};

/// Columns of the queens placed so far, by row.
#[derive(Clone, Copy)]
struct Board {
    columns: [u8; 16],
    placed: u8,
    size: u8,
}

impl Board {
    fn empty(size: u64) -> Result<Self, String> {
        match u8::try_from(size) {
            Ok(size @ 1..=16) => Ok(Self {
                columns: [0; 16],
                placed: 0,
                size,
            }),
            _ => Err(format!(
                "cannot place {size} queens; the board takes 1 to 16"
            )),
        }
    }

    fn is_full(&self) -> bool {
        self.placed == self.size
    }

    /// Whether no queen attacks that column of the next row.
    fn is_free(&self, column: u8) -> bool {
        self.columns[..usize::from(self.placed)]
            .iter()
            .zip(0..)
            .all(|(&other, row)| {
                let distance = self.placed - row;
                other != column && other + distance != column && column + distance != other
            })
    }

    /// The board with one more queen.
    fn with(&self, column: u8) -> Self {
        let mut board = *self;
        board.columns[usize::from(self.placed)] = column;
        board.placed += 1;
        board
    }

    /// The columns of the next row that no queen attacks, and how many they are.
    fn free_columns(&self) -> ([u8; 16], usize) {
        let (mut columns, mut count) = ([0; 16], 0);
        for column in 0..self.size {
            if self.is_free(column) {
                columns[count] = column;
                count += 1;
            }
        }
        (columns, count)
    }

    /// How many placements the search makes from here.
    fn placements(&self) -> u64 {
        if self.is_full() {
            return 0;
        }
        let (columns, count) = self.free_columns();
        columns[..count]
            .iter()
            .map(|&column| 1 + self.with(column).placements())
            .sum()
    }
}

/// Measures the search with a binary join over the free columns; a unit is one placement.
pub(crate) fn run_join<P: ForkJoin>(peer: &mut P, request: &Request) -> Result<(), String> {
    let board = Board::empty(request.size("queens")?)?;
    let placements = board.placements();
    request.repeat(|| {
        measure::sample(placements, || {
            peer.install(|context| row::<P>(context, black_box(&board)))
        })
    })
}

/// Measures the search with one task per placement; a unit is one placement.
pub(crate) fn run_spawn<P: Spawn>(peer: &mut P, request: &Request) -> Result<(), String> {
    static SOLUTIONS: AtomicU64 = AtomicU64::new(0);
    let board = Board::empty(request.size("queens")?)?;
    let placements = board.placements();
    request.repeat(|| {
        measure::sample(placements, || {
            peer.inside(move |scope| spawn_row::<P>(scope, board, &SOLUTIONS));
            SOLUTIONS.swap(0, Ordering::Relaxed)
        })
    })
}

fn row<P: ForkJoin>(context: &mut P::Context<'_>, board: &Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    let (columns, count) = board.free_columns();
    over::<P>(context, board, &columns[..count])
}

/// The solutions with the next queen in one of `columns`.
#[inline(never)]
fn over<P: ForkJoin>(context: &mut P::Context<'_>, board: &Board, columns: &[u8]) -> u64 {
    match columns {
        [] => 0,
        [column] => row::<P>(context, &board.with(*column)),
        _ => {
            let (low, high) = columns.split_at(columns.len() / 2);
            let (a, b) = P::join(
                context,
                |context| over::<P>(context, board, low),
                |context| over::<P>(context, board, high),
            );
            a + b
        }
    }
}

fn spawn_row<P: Spawn>(scope: P::Scope<'_>, board: Board, solutions: &'static AtomicU64) {
    if board.is_full() {
        // A counter only: the peer's own wait orders it before the read.
        solutions.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let (columns, count) = board.free_columns();
    for &column in &columns[..count] {
        let next = board.with(column);
        P::spawn(scope, move |scope| spawn_row::<P>(scope, next, solutions));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_queens_take_sixteen_placements() {
        assert_eq!(Board::empty(4).unwrap().placements(), 16);
    }

    #[test]
    fn queens_attack_along_columns_and_diagonals() {
        let (columns, count) = Board::empty(4).unwrap().with(1).free_columns();
        assert_eq!(columns[..count], [3]);
    }

    #[test]
    fn a_board_without_rows_is_refused_with_its_size() {
        let error = Board::empty(17).err().unwrap();
        assert!(error.contains("17"), "{error}");
    }
}
