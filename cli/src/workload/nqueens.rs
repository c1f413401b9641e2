//! In how many ways N queens stand on a board without attacking each other.

use std::io;

use super::{Fact, Profile, Setup, Size, Workload};
use crate::strategy::{Bag, Pieces, Serial};

/// The largest board.
const ROWS_MAX: usize = 18;

/// The bag form makes every placement of this many rows a task.
const BAG_ROWS: usize = 2;

pub(crate) struct Nqueens {
    rows: usize,
}

impl Workload for Nqueens {
    const PROFILE: Profile = Profile {
        name: "nqueens",
        about: "Counts the placements of N queens, a join per placement",
        size: Some(Size {
            what: "rows of the board",
            default: 13,
            accepted: 1..=ROWS_MAX as u64,
        }),
        flags: &[],
    };

    type Scratch = ();
    type Output = u64;

    fn prepare(setup: &Setup) -> anyhow::Result<Self> {
        Ok(Self { rows: setup.len() })
    }

    fn input(&self) -> String {
        format!("{0} queens on {0} rows", self.rows)
    }

    fn fresh(&self) {}

    fn serial(&self, (): (), serial: &mut Serial<'_>) -> u64 {
        serial.item(|| self.input(), || count(Board::empty(self.rows)))
    }

    fn bagged(&self, (): (), bag: &mut impl Bag) -> io::Result<u64> {
        let first_rows = BAG_ROWS.min(self.rows);
        let mut boards = vec![Board::empty(self.rows)];
        for _ in 0..first_rows {
            boards = boards
                .iter()
                .flat_map(|board| board.next().boards().collect::<Vec<_>>())
                .collect();
        }
        let sums = bag.run(
            boards,
            |board| format!("queens at {:?}", &board.columns[..first_rows]),
            |board, sum: &mut u64, _| *sum += count(board),
        )?;
        Ok(sums.into_iter().sum())
    }

    fn stealing(&self, (): (), _: Pieces<'_>) -> u64 {
        joined(Board::empty(self.rows))
    }

    fn facts(&self, output: &u64) -> Vec<Fact> {
        vec![Fact::new("solutions", *output)]
    }
}

/// Queens in the first rows, none attacking another.
#[derive(Clone, Copy)]
struct Board {
    rows: u8,
    placed: u8,
    /// The column of the queen of each placed row.
    columns: [u8; ROWS_MAX],
}

/// The boards that have one queen more: in which columns it may stand.
struct Next {
    board: Board,
    columns: [u8; ROWS_MAX],
    len: usize,
}

impl Board {
    fn empty(rows: usize) -> Self {
        Self {
            rows: u8::try_from(rows).expect("at most 18 rows"),
            placed: 0,
            columns: [0; ROWS_MAX],
        }
    }

    fn is_full(&self) -> bool {
        self.placed == self.rows
    }

    fn next(&self) -> Next {
        let mut next = Next {
            board: *self,
            columns: [0; ROWS_MAX],
            len: 0,
        };
        for column in 0..self.rows {
            if self.is_free(column) {
                next.columns[next.len] = column;
                next.len += 1;
            }
        }
        next
    }

    /// Whether no placed queen attacks this column of the next row.
    fn is_free(&self, column: u8) -> bool {
        let placed = &self.columns[..usize::from(self.placed)];
        placed
            .iter()
            .rev()
            .zip(1..)
            .all(|(&other, distance)| other != column && other.abs_diff(column) != distance)
    }

    fn with(&self, column: u8) -> Self {
        let mut board = *self;
        board.columns[usize::from(board.placed)] = column;
        board.placed += 1;
        board
    }
}

impl Next {
    fn boards(&self) -> impl Iterator<Item = Board> + '_ {
        let columns = self.columns[..self.len].iter();
        columns.map(|&column| self.board.with(column))
    }
}

fn count(board: Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    board.next().boards().map(count).sum()
}

fn joined(board: Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    let next = board.next();
    joined_columns(&board, &next.columns[..next.len])
}

fn joined_columns(board: &Board, columns: &[u8]) -> u64 {
    match columns {
        [] => 0,
        [column] => joined(board.with(*column)),
        _ => {
            let (left, right) = columns.split_at(columns.len() / 2);
            let (left, right) = heist::join(
                || joined_columns(board, left),
                || joined_columns(board, right),
            );
            left + right
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_the_known_ones() {
        let known = [1, 0, 0, 2, 10, 4, 40, 92];
        for (rows, solutions) in (1..).zip(known) {
            assert_eq!(count(Board::empty(rows)), solutions, "{rows} rows");
        }
    }
}
