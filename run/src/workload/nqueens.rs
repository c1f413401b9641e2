//! Counts the ways to place N queens on a board so that none attacks another.

use std::io;

use super::contract::{Fact, Profile, Setup, Size, Workload};
use super::join::Heist;
use crate::strategy::{Bag, Pieces, Serial};

/// The largest board.
const ROWS_MAX: usize = 18;

/// The bag form makes every placement of this many rows a task.
const BAG_ROWS: u64 = 2;

pub(crate) struct Nqueens {
    rows: u64,
}

type Board = heist_workloads::Board<ROWS_MAX>;

impl Workload for Nqueens {
    const PROFILE: Profile = Profile {
        name: "nqueens",
        about: "Counts the placements of N queens, a join per placement",
        tasks: "a board with two queens; to stealing every queen that can stand is one",
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
        Ok(Self { rows: setup.size })
    }

    fn input(&self) -> String {
        format!("{0} queens on {0} rows", self.rows)
    }

    fn fresh(&self) {}

    fn serial(&self, (): (), serial: &mut Serial<'_>) -> u64 {
        serial.item(|| self.input(), || self.empty_board().solutions())
    }

    fn bagged(&self, (): (), bag: &mut Bag<'_>) -> io::Result<u64> {
        let mut boards = vec![self.empty_board()];
        for _ in 0..BAG_ROWS.min(self.rows) {
            let longer = boards
                .iter()
                .flat_map(|board| board.next().collect::<Vec<_>>());
            boards = longer.collect();
        }
        let sums = bag.run(
            boards,
            |board| format!("queens at {:?}", board.queens()),
            |board, sum: &mut u64, _| *sum += board.solutions(),
        )?;
        Ok(sums.into_iter().sum())
    }

    fn stealing(&self, (): (), _: Pieces<'_>) -> u64 {
        self.empty_board().solutions_joined::<Heist>()
    }

    fn facts(&self, output: &u64) -> Vec<Fact> {
        vec![Fact::new("solutions", *output)]
    }
}

impl Nqueens {
    fn empty_board(&self) -> Board {
        Board::empty(self.rows).expect("the accepted sizes fit the board")
    }
}
