//! All ways to place queens on a board: by join over the free columns of
//! a row, and by one task per placement.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::peer::{ForkJoin, Spawn};
use crate::{measure, Request};

type Board = heist_workloads::Board<16>;

/// The empty board of the asked-for size.
fn board(request: &Request) -> Result<Board, String> {
    let size = request.size("queens")?;
    Board::empty(size).ok_or_else(|| format!("cannot place {size} queens; the board takes 1 to 16"))
}

/// How many placements the search makes from a board.
fn placements(board: &Board) -> u64 {
    board.next().map(|board| 1 + placements(&board)).sum()
}

/// Measures the search with a binary join over the free columns; a unit is one placement.
pub(crate) fn run_join<P: ForkJoin>(peer: &mut P, request: &Request) -> Result<(), String> {
    let board = board(request)?;
    let placements = placements(&board);
    request.repeat(|| {
        measure::sample(placements, || {
            peer.install(|context| row::<P>(context, black_box(&board)))
        })
    })
}

/// Measures the search with one task per placement; a unit is one placement.
pub(crate) fn run_spawn<P: Spawn>(peer: &mut P, request: &Request) -> Result<(), String> {
    static SOLUTIONS: AtomicU64 = AtomicU64::new(0);
    let board = board(request)?;
    let placements = placements(&board);
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
        assert_eq!(placements(&Board::empty(4).unwrap()), 16);
    }

    #[test]
    fn a_board_without_rows_is_refused_with_its_size() {
        let request = Request::parse(["nqueens_join", "queens=17"].map(str::to_owned)).unwrap();
        let error = board(&request).err().unwrap();
        assert!(error.contains("17"), "{error}");
    }
}
